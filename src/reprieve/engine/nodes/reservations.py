"""Places on nodes that are held against everybody: what a queue's preemptor has been promised while its victims leave.

A nomination yields to whoever ranks above it. A reservation does not: "The reservation guarantees that the pod
triggering the preemption will be scheduled on that node", whoever else comes, from within the queues or from outside.
It ends when its pod is bound, leaves or is decided for anew. It is written on the pod: a nomination, and a hold that
says so (`Hold.reserves`); a hold alone, which anybody may write who may annotate a pod, reserves nothing.

A pod that must run on one node closes that node, too (`Hold.closes`): "nothing else will be scheduled on that node
until the DaemonSet pod is scheduled". Who was promised a place there before keeps it.
"""

from collections.abc import Iterable

from reprieve.engine.holds import hold_of
from reprieve.model.resources import Resources
from reprieve.world import PodFacts

EVERYBODY = 2**62
"""What a reservation stands at among priorities: above all."""


def is_reserved(facts: PodFacts) -> bool:
    """Whether the place that a pod is nominated to is held against everybody."""
    hold = hold_of(facts.pod.metadata.annotations) if facts.nominated else None
    return hold is not None and hold.reserves and (hold.preemptor == facts.unit or hold.of_application)


def is_closing(facts: PodFacts) -> bool:
    """Whether nobody else is placed on the node that a pod is nominated to."""
    hold = hold_of(facts.pod.metadata.annotations) if is_reserved(facts) else None
    return hold is not None and hold.closes


def reservations(pods: Iterable[PodFacts]) -> dict[str, Resources]:
    """By node: the amounts that are held against everybody, for some of these pods."""
    held: dict[str, Resources] = {}
    for facts in pods:
        if is_reserved(facts):
            held[facts.nominated] = held.get(facts.nominated, Resources()) + facts.requests
    return held
