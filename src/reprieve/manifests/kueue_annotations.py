"""What quota workloads say about their own preemption: how long to wait, how to end, what it costs.

KEP-83 considered these as fields and put them off. The fields are read as the KEP has them; Kueue's API does not keep
them, so there are annotations too. A field wins. An annotation that cannot be read counts as not said: admission
reports it, decisions pass over it.
"""

import re
from collections.abc import Mapping

from reprieve.manifests.kueue import (
    DISRUPTION_COST,
    ON_PREEMPTION,
    PRIORITY_BOOST,
    WAIT_BEFORE_PREEMPTION,
    QuotaWorkload,
    WorkloadPreemption,
)
from reprieve.manifests.priorities import parse_integer
from reprieve.model.remembering import remembered

TERMINATE, REQUEUE = "Terminate", "Requeue"
_CARRIED = "reprieve.scheduling/"
_HOLD = "reprieve.scheduling/hold"
_MILESTONE = re.compile(r"\s*(\d{1,12})\s*:\s*(\d{1,12})\s*", re.ASCII)
Milestones = tuple[tuple[int, int], ...]


def wait_seconds(annotations: Mapping[str, str]) -> int | None:
    """How long it waits before it may preempt; None: it does not say."""
    if WAIT_BEFORE_PREEMPTION not in annotations:
        return None
    said = parse_integer(annotations[WAIT_BEFORE_PREEMPTION], 32)
    return said if said is not None and said >= 0 else None


def ends_when_preempted(workload: QuotaWorkload) -> bool:
    """Whether it is over once preempted, instead of waiting for another turn."""
    return (workload.spec.on_preemption or workload.metadata.annotations.get(ON_PREEMPTION)) == TERMINATE


def boost(annotations: Mapping[str, str]) -> int:
    """What is added to its priority where the gate PriorityBoost is on."""
    if PRIORITY_BOOST not in annotations:
        return 0
    return parse_integer(annotations[PRIORITY_BOOST], 32) or 0


def cost_milestones(workload: QuotaWorkload) -> Milestones:
    """Seconds of running and what an interruption costs then, in order; none where an annotation is malformed."""
    return in_order(workload.spec.preemption) or milestones_of(workload.metadata.annotations)


def milestones_of(annotations: Mapping[str, str]) -> Milestones:
    """The same, as annotations of anybody have it."""
    return _milestones(annotations.get(DISRUPTION_COST, "")) or ()


def in_order(said: WorkloadPreemption | None) -> Milestones:
    """The same, as fields have it."""
    return tuple(sorted((one.seconds, one.cost) for one in said.disruption_cost_milestones)) if said else ()


@remembered(4096)
def _milestones(text: str) -> Milestones | None:
    """`60:100,600:0`."""
    points = [_MILESTONE.fullmatch(part) for part in text.split(",")]
    found = tuple(sorted((int(point[1]), int(point[2])) for point in points if point is not None))
    return found if len(found) == len(points) else None


def unreadable(annotations: Mapping[str, str]) -> dict[str, str]:
    """Annotations that say nothing because of what they say, and what would be right."""
    if _RIGHT.keys().isdisjoint(annotations):
        return {}
    wrong = {
        WAIT_BEFORE_PREEMPTION: wait_seconds(annotations) is None,
        ON_PREEMPTION: annotations.get(ON_PREEMPTION) not in (TERMINATE, REQUEUE),
        DISRUPTION_COST: _milestones(annotations.get(DISRUPTION_COST, "")) is None,
        PRIORITY_BOOST: parse_integer(annotations.get(PRIORITY_BOOST, ""), 32) is None,
    }
    return {name: _RIGHT[name] for name, is_wrong in wrong.items() if is_wrong and name in annotations}


_RIGHT = {
    WAIT_BEFORE_PREEMPTION: "it must be a number of seconds, such as 300",
    ON_PREEMPTION: f"allowed: {TERMINATE}, {REQUEUE}",
    DISRUPTION_COST: "it must be seconds and costs, such as 60:100,600:0",
    PRIORITY_BOOST: "it must be a number of 32 bits, such as 100",
}


def carried_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """What an object says about its own preemption, in annotations that its Workload takes over.

    What cannot be read counts as not said, and what only a scheduler may write cannot be smuggled in.
    """
    left_out = {*unreadable(annotations), _HOLD}
    return {
        key: value
        for key, value in annotations.items()
        if (key.startswith(_CARRIED) or key == PRIORITY_BOOST) and key not in left_out
    }
