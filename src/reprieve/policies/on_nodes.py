"""What the policies that place pods have in common: pods that wait, and what a plan does to a world."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.exposure import Exposure, levels
from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold
from reprieve.engine.nodes.exposure import NodeExposure
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.reservations import is_reserved
from reprieve.engine.nodes.units import Units
from reprieve.engine.nodes.volumes import volume_needs
from reprieve.engine.plan import Plan, Remark
from reprieve.engine.reasons import GateOff, MemberLeftOut
from reprieve.manifests.core import Node
from reprieve.manifests.pods import Pod
from reprieve.model.names import key_of, unit_name
from reprieve.policies.entry import Known, NothingToDecide, Preemptor
from reprieve.world import PodFacts, World

ON_NODES = "nodes"
"""The ledger that they share."""
GROUPS = "GenericWorkload"
"""The gate without which groups that pods name are no groups."""


def commit_pods(world: World, pods: Iterable[PodFacts], plan: Plan, limit: int | None = None) -> None:
    """Victims are gone, places are taken or held; `limit` is what a hold remembers of who made way for a group."""
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
            hold = Hold(
                preemptor=plan.preemptor, policy=plan.policy, reserves=plan.reserves, closes=plan.closes, limit=limit
            )
            world.put(_nominated(pod, node, hold))


def _nominated(pod: Pod, node: str, hold: Hold) -> Pod:
    """A pod that was promised a place, as the loop would write it, with as much of its hold as decisions ask for."""
    status = msgspec.structs.replace(pod.status, nominated_node_name=node)
    said = pod.metadata.annotations
    remembered = hold.reserves or hold.closes or hold.limit is not None
    if not remembered and HOLD_ANNOTATION not in said:
        return msgspec.structs.replace(pod, status=status)
    annotations = {**said, HOLD_ANNOTATION: hold.text()}
    metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
    return msgspec.structs.replace(pod, metadata=metadata, status=status)


def take_back(world: World, pods: Iterable[PodFacts]) -> bool:
    """Pods that were given a place in a world that is looked at wait as before."""
    for facts in pods:
        world.put(facts.pod)
    return True


def waiting_pod(facts: PodFacts, policy: str) -> Preemptor:
    """A pod that waits, alone. Raises `NothingToDecide` when it does not."""
    if not facts.pending:
        raise NothingToDecide(texts.questions.nothing_to_decide(whereabouts(facts)))
    never = facts.preemption_policy == "Never"
    return Preemptor(facts.unit, policy, facts.priority, facts.created, facts, (facts,), never)


def known_pod(world: World, facts: PodFacts) -> Known:
    """A pod for whoever asks about it."""
    exists = world.get(Node, facts.node) is not None
    unrelated = texts.pods.not_asked(facts.node, exists=exists) if facts.node else ""
    conditions = facts.pod.status.conditions
    return Known(facts.unit, ON_NODES, facts.pending, bool(facts.node), whereabouts(facts), conditions, unrelated)


def whereabouts(facts: PodFacts) -> str:
    """What a pod is doing, in a sentence."""
    gates = [gate.name for gate in facts.pod.spec.scheduling_gates]
    finished, leaving = facts.pod.finished, facts.pod.terminating
    return texts.pods.whereabouts(facts.unit, facts.node, finished=finished, leaving=leaving, gates=gates)


def group_counts_for_nothing(facts: PodFacts, settings: Settings) -> list[Remark]:
    """A pod that names a group and is decided for alone, because groups are switched off."""
    group = facts.pod.spec.scheduling_group
    if group is None or settings.gate(GROUPS):
        return []
    named = unit_name("PodGroup", facts.key[0], group.pod_group_name)
    return [texts.remarks.gate_off(GateOff(GROUPS, named))]


def members_left_out(world: World, members: Iterable[PodFacts]) -> list[Remark]:
    """Pods of a group that get no place, whatever room there is; of several for the same reason, the first."""
    obstacles = ((facts.unit, volume_needs(world, facts).obstacle) for facts in members)
    found = {claim: unit for unit, claim in reversed(list(obstacles)) if claim is not None}
    return [texts.remarks.member_left_out(MemberLeftOut(unit, claim)) for claim, unit in found.items()]


def exposure_on_nodes(nodes: NodeLedger, now: int) -> Exposure:
    """Of all pods, whoever placed them: groups go by the same rules, and those in queues make way for pods too."""
    units, world = nodes.table.units, nodes.world
    may_preempt = (facts for facts in world.pending() if facts.preemption_policy != "Never")
    return NodeExposure(nodes, now).of(levels(world, map(units.scheduling_priority, may_preempt)))


def carried_priorities(world: World) -> Iterator[Pod]:
    """Pods that only name a class, with what it says now."""
    for facts in world.pods.values():
        spec = facts.pod.spec
        if spec.priority is None or spec.preemption_policy is None:
            said = {"priority": facts.priority, "preemption_policy": facts.preemption_policy}
            yield msgspec.structs.replace(facts.pod, spec=msgspec.structs.replace(spec, **said))


# Places that are promised to pods which wait


def displaced(nominated: Iterable[PodFacts], priority: int, units: Units) -> list[PodFacts]:
    """Those of some nominated pods who have to look again, because somebody of this priority goes there; a reservation
    yields to nobody."""
    return [facts for facts in nominated if units.scheduling_priority(facts) < priority and not is_reserved(facts)]


def still_below(
    hold: Hold, priority: int, units: Units, find: Callable[[HeldVictim], PodFacts | None], *, between_queues: bool
) -> Hold:
    """A hold with those of its victims that may still be told."""
    most = priority if between_queues else priority - 1
    found = ((victim, find(victim)) for victim in hold.victims)
    return hold.only(victim for victim, facts in found if facts is not None and units.of(facts).priority <= most)
