"""What the policies that place pods have in common: pods that wait, and what a plan does to a world."""

from collections.abc import Callable, Iterable

import msgspec

from reprieve import texts
from reprieve.engine.holds import HeldVictim, Hold
from reprieve.engine.nodes.units import Units
from reprieve.engine.plan import Plan
from reprieve.manifests.pods import Pod
from reprieve.model.names import key_of
from reprieve.policies.registry import Known, NothingToDecide, Preemptor
from reprieve.world import PodFacts, World

ON_NODES = "nodes"
"""The ledger that they share."""


def commit_pods(world: World, pods: Iterable[PodFacts], plan: Plan) -> None:
    """Victims are gone, places are taken or held."""
    for victim in plan.victims:
        namespace, name = key_of(victim.unit)
        world.delete(Pod, name, namespace)
    for facts in pods:
        node = plan.placement.get(facts.unit)
        if node is None:
            continue
        pod = facts.pod
        if plan.outcome == "Fits":
            spec = msgspec.structs.replace(pod.spec, node_name=node)
            world.put(msgspec.structs.replace(pod, spec=spec))
        else:
            status = msgspec.structs.replace(pod.status, nominated_node_name=node)
            world.put(msgspec.structs.replace(pod, status=status))


def waiting_pod(facts: PodFacts, policy: str) -> Preemptor:
    """A pod that waits, alone. Raises `NothingToDecide` when it does not."""
    if not facts.pending:
        raise NothingToDecide(texts.questions.nothing_to_decide(whereabouts(facts)))
    never = facts.preemption_policy == "Never"
    return Preemptor(facts.unit, policy, facts.priority, facts.created, facts, (facts,), never)


def known_pod(facts: PodFacts) -> Known:
    """A pod for whoever asks about it."""
    unrelated = texts.pods.on_no_known_node(facts.node) if facts.node else ""
    conditions = facts.pod.status.conditions
    return Known(facts.unit, ON_NODES, facts.pending, bool(facts.node), whereabouts(facts), conditions, unrelated)


def whereabouts(facts: PodFacts) -> str:
    """What a pod is doing, in a sentence."""
    gates = [gate.name for gate in facts.pod.spec.scheduling_gates]
    finished, leaving = facts.pod.finished, facts.pod.terminating
    return texts.pods.whereabouts(facts.unit, facts.node, finished=finished, leaving=leaving, gates=gates)


# Places that are promised to pods which wait


def displaced(nominated: Iterable[PodFacts], priority: int, units: Units) -> list[PodFacts]:
    """Those of some nominated pods who have to look again, because somebody of this priority goes there."""
    return [facts for facts in nominated if units.scheduling_priority(facts) < priority]


def still_below(
    hold: Hold, priority: int, units: Units, find: Callable[[HeldVictim], PodFacts | None], *, between_queues: bool
) -> Hold:
    """A hold with those of its victims that may still be told."""
    most = priority if between_queues else priority - 1
    found = ((victim, find(victim)) for victim in hold.victims)
    return hold.only(victim for victim, facts in found if facts is not None and units.of(facts).priority <= most)
