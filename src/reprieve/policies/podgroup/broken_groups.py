"""Groups of which a part is gone: who of the rest goes, too.

1. Pods that were chosen together, and of which some were bound while others lost their places: none of them runs alone.
2. A group that leaves as a whole, and of which a part has left or is about to: the rest leaves.
"""

from collections.abc import Iterable

from reprieve.engine.holds import Hold, hold_of
from reprieve.engine.nodes.trial import Gang
from reprieve.engine.nodes.units import Units
from reprieve.world import PodFacts


def left_alone(gang: Gang) -> list[PodFacts]:
    """The bound pods of a gang for whose other members there is no place any more; none, if others run there, too."""
    for facts in (*gang.bound, *gang.members):
        hold = hold_of(facts.pod.metadata.annotations)
        if hold is not None and _chosen(hold, gang.members):
            chosen = _chosen(hold, gang.bound)
            return chosen if len(chosen) == len(gang.bound) else []
    return []


def _chosen(hold: Hold, pods: Iterable[PodFacts]) -> list[PodFacts]:
    """Those of some pods that a hold has chosen: these, and no later ones of the same names."""
    return [facts for facts in pods if hold.members.get(facts.unit) == facts.pod.metadata.uid]


def is_broken(facts: PodFacts, units: Units, pods: Iterable[PodFacts]) -> bool:
    """Whether the group that a pod leaves with is not whole any more; False where it leaves alone."""
    group = units.of(facts).group
    if not group:
        return False
    mates = [other for other in pods if units.of(other).group == group]
    running = [other for other in mates if other.node]
    staying = [other for other in running if not other.pod.terminating]
    done = [other for other in mates if other.pod.status.phase == "Succeeded"]
    return len(staying) < max(len(running), _least(facts, units) - len(done))


def _least(facts: PodFacts, units: Units) -> int:
    """How many pods its group cannot be without."""
    spec, namespace = facts.pod.spec, facts.key[0]
    if spec.workload_ref is not None:
        found = units.workload_group(namespace, spec.workload_ref)
        return (found[1].policy.min_count or 0) if found else 0
    path = units.group_path(namespace, spec.scheduling_group.pod_group_name) if spec.scheduling_group else []
    return (path[0].policy.min_count or 0) if path else 0
