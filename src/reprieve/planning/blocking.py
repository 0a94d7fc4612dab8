"""Gangs that can never fit, so far as manifests tell: before anybody waits for them in a cluster.

1. One for which empty nodes would not be enough.
2. One that is kept out by units of lower priority with a preemption priority that is not: whoever asks for that makes
   its workload as good as never preempted.
"""

from collections.abc import Iterator

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.units import Units
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.core import Node
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.pods import Pod
from reprieve.manifests.problems import Finding, Problem
from reprieve.manifests.scheduling import PodGroup, Workload
from reprieve.model.names import UnitName, parts_of
from reprieve.policies.podgroup.groups import Group, Groups
from reprieve.policies.podgroup.policy import PodGroupPolicy
from reprieve.world import PodFacts, World

_ALL_GATES = ("GenericWorkload", "CompositePodGroup", "TopologyAwareWorkloadScheduling")
_GATES_ON = Settings(feature_gates=dict.fromkeys(_ALL_GATES, True))
_MOST = 100
"""So many groups are tried: who has more that wait has a cluster to ask."""


def never_fit(loaded: Loaded, world: World) -> Iterator[Problem]:
    """A warning for each gang that waits among the manifests and can never fit on their nodes."""
    waiting = Groups(world, _GATES_ON).gathered(world.pending()) if any(True for _ in world.all(Node)) else {}
    origins = {entry.unit: entry.origin for entry in loaded.entries if isinstance(entry.manifest, (Workload, PodGroup))}
    for name, members in sorted(waiting.items())[:_MOST]:
        owner = _object_of(name)
        finding = _finding(world, name, members) if owner in origins else None
        if finding is not None:
            yield finding.at(origins[owner], owner, "admission")


def _finding(world: World, name: UnitName, members: list[PodFacts]) -> Finding | None:
    plan, group = _decided(world, name, members)
    if plan.outcome != "Unschedulable" or group.refused:
        return None
    others = [facts for facts in world.pods.values() if facts.node]
    empty, _ = _decided(_without(world, others), name, members)
    if empty.outcome == "Unschedulable":
        return Finding("$.spec", *texts.groups.never_fits(empty.message), severity="warning")
    units, priority = Units(world, _GATES_ON), group.gang.priority
    blocking = [facts for facts in others if units.scheduling_priority(facts) < priority <= units.of(facts).priority]
    if not blocking or _decided(_without(world, blocking), name, members)[0].outcome == "Unschedulable":
        return None
    named = sorted({(_owner(facts), units.of(facts).priority) for facts in blocking})
    return Finding("$.spec", *texts.groups.blocked(priority, named), severity="warning")


def _decided(world: World, name: UnitName, members: list[PodFacts]) -> tuple[Plan, Group]:
    group = Groups(world, _GATES_ON).group(name, members)
    return decide(PodGroupPolicy(NodeLedger(world, _GATES_ON)), group, 0), group


def _without(world: World, pods: list[PodFacts]) -> World:
    other = world.fork()
    for facts in pods:
        other.delete(Pod, facts.key[1], facts.key[0])
    return other


def _object_of(group: UnitName) -> str:
    """The object that says what a group is: of a Workload's groups, the Workload."""
    kind, namespace, name = parts_of(group)
    return f"{kind}/{namespace}/{name.partition('/')[0]}"


def _owner(facts: PodFacts) -> str:
    reference = facts.pod.spec.workload_ref
    return f"Workload/{facts.key[0]}/{reference.name}" if reference is not None else facts.unit
