"""What workloads may say about their own preemption: how long to wait, how to end, what it costs.

KEP-83 considered these and put them off. They stand as annotations, and change nothing where nobody sets them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reprieve.objects.kueue import DISRUPTION_COST, ON_PREEMPTION, WAIT_BEFORE_PREEMPTION, QuotaWorkload
from reprieve.objects.priorities import parse_integer

_SECOND = 1_000_000
_MILESTONE = re.compile(r"\s*(\d{1,12})\s*:\s*(\d{1,12})\s*", re.ASCII)
TERMINATE = "Terminate"


def wait_seconds(workload: QuotaWorkload, default: int) -> int:
    """How long it waits before it may preempt; what is no number, or negative, counts as not said."""
    said = parse_integer(workload.metadata.annotations.get(WAIT_BEFORE_PREEMPTION, ""), 32)
    return default if said is None or said < 0 else said


def ends_when_preempted(workload: QuotaWorkload) -> bool:
    """Whether it is over once preempted, instead of waiting for another turn."""
    return workload.metadata.annotations.get(ON_PREEMPTION) == TERMINATE


@lru_cache(maxsize=4096)
def milestones(text: str) -> tuple[tuple[int, int], ...]:
    """`60:100,600:0`: seconds of running and what an interruption costs then; nothing where any part is malformed."""
    points = [_MILESTONE.fullmatch(part) for part in text.split(",")] if text else []
    if any(point is None for point in points):
        return ()
    return tuple(sorted((int(point[1]), int(point[2])) for point in points if point is not None))


def disruption_cost(workload: QuotaWorkload, reserved_at: int, now: int) -> int:
    """What an interruption costs now, in thousandths: from 0 at the start, linear between milestones, level after."""
    points = milestones(workload.metadata.annotations.get(DISRUPTION_COST, ""))
    running = max(0, now - reserved_at)
    before = (0, 0)
    for seconds, cost in points:
        if running < seconds * _SECOND:
            passed, span = running - before[0] * _SECOND, (seconds - before[0]) * _SECOND
            return before[1] * 1000 + (cost - before[1]) * 1000 * passed // span
        before = (seconds, cost)
    return before[1] * 1000
