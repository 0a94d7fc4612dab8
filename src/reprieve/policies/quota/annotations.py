"""What workloads may ask of their preemption, as the quota policy counts it; nothing changes where nobody asks."""

from typing import NamedTuple

from reprieve.manifests.kueue import ClusterQueueSpec, QuotaWorkload
from reprieve.manifests.kueue_annotations import Milestones, wait_seconds

_SECOND = 1_000_000


class Wait(NamedTuple):
    """How long a workload waits before it may preempt."""

    seconds: int
    from_attempt: bool = False
    """Counted from the first time that it was attempted; else from its creation."""


def wait_of(workload: QuotaWorkload, queue: ClusterQueueSpec, default: int) -> Wait:
    """As it says itself, else as its queue says, else as the settings say."""
    said = wait_seconds(workload.metadata.annotations)
    if said is not None:
        return Wait(said)
    of_queue = queue.preemption.trigger_after_workload_waiting_seconds
    if of_queue is None:
        of_queue = queue.wait_before_preemption_seconds
    return Wait(default) if of_queue is None else Wait(of_queue, from_attempt=True)


def disruption_cost(milestones: Milestones, reserved_at: int, now: int) -> int:
    """What an interruption costs now, in thousandths: from 0 at the start, linear between milestones, level after."""
    running = max(0, now - reserved_at)
    before = (0, 0)
    for seconds, cost in milestones:
        if running < seconds * _SECOND:
            passed, span = running - before[0] * _SECOND, (seconds - before[0]) * _SECOND
            return before[1] * 1000 + (cost - before[1]) * 1000 * passed // span
        before = (seconds, cost)
    return before[1] * 1000
