"""Groups of pods as preemptors: found in either API shape, with what the search has to know of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from reprieve.configuration import Settings
from reprieve.engine.holds import Hold, hold_of
from reprieve.engine.nodes.trial import Gang
from reprieve.engine.nodes.units import Units, workload_group_name
from reprieve.engine.reasons import GateOff
from reprieve.manifests.pods import WorkloadReference
from reprieve.manifests.priorities import Priority, recorded_priorities
from reprieve.manifests.scheduling import GroupPolicy, PodGroup, Workload, WorkloadStatus
from reprieve.model.names import UnitName, key_of, kind_of, unit_name
from reprieve.policies.on_nodes import GROUPS
from reprieve.policies.podgroup.composites import (
    COMPOSITE,
    Member,
    complete_groups,
    composite_gang,
    scheduled_as_one,
)
from reprieve.texts import groups as texts
from reprieve.world import PodFacts, World

TOPOLOGY = "TopologyAwareWorkloadScheduling"
PREEMPTION_POLICY = "PodGroupPreemptionPolicy"
"""The gates of what groups can ask for."""


class Group(NamedTuple):
    """A group with pods that wait: the gang to place, whether it may preempt, and why it is refused, if it is."""

    gang: Gang
    never_preempts: bool = False
    refused: str = ""
    off: tuple[GateOff, ...] = ()
    """What it asks for and does not get, because a feature gate is off."""


class Groups:
    """The groups of a world."""

    def __init__(self, world: World, settings: Settings) -> None:
        self._world = world
        self._settings = settings
        self._units = Units(world, settings)
        self._bound: dict[UnitName, list[PodFacts]] = {}
        self._succeeded: dict[UnitName, list[PodFacts]] = {}
        self._looked_up_at = -1

    def name_of(self, facts: PodFacts) -> UnitName | None:
        """The group that a pod is scheduled with, whether that exists yet or not; None: it is scheduled alone."""
        spec, namespace = facts.pod.spec, facts.key[0]
        if spec.workload_ref is not None:
            return workload_group_name(namespace, spec.workload_ref)
        if spec.scheduling_group is not None and self._settings.gate(GROUPS):
            name = spec.scheduling_group.pod_group_name
            tree = scheduled_as_one(self._units.group_path(namespace, name))
            return (
                unit_name("PodGroup", namespace, name) if tree is None else unit_name(COMPOSITE, namespace, tree.name)
            )
        return None

    def priority_of(self, members: Sequence[PodFacts]) -> int:
        """At which priority a pod or a group with these pods is scheduled; one that is not there yet as its highest."""
        return max(map(self._units.scheduling_priority, members))

    def below(self, facts: PodFacts, composite: str) -> bool:
        """Whether a pod's group stands below a composite group, or says so of one that does not exist."""
        return any(group.parent == composite for group in self._path(facts))

    def gathered(self, pods: Iterable[PodFacts]) -> dict[UnitName, list[PodFacts]]:
        """Those of some pods that are in groups, by the group's name and in order of age."""
        found: dict[UnitName, list[PodFacts]] = {}
        for facts in sorted(pods, key=lambda facts: (facts.created, facts.key)):
            name = self.name_of(facts)
            if name:
                found.setdefault(name, []).append(facts)
        return found

    def group(self, name: UnitName, members: list[PodFacts]) -> Group:
        """What there is to decide for a group with these pending members."""
        spec = members[0].pod.spec
        if spec.workload_ref is not None:
            return self._of_workload(name, members, spec.workload_ref)
        return self._of_composite(name, members) if kind_of(name) == COMPOSITE else self._of_pod_group(name, members)

    def _of_workload(self, name: UnitName, members: list[PodFacts], reference: WorkloadReference) -> Group:
        found = self._units.workload_group(members[0].key[0], reference)
        if found is None:
            return _missing(name, members)
        workload, inline = found
        priority = self._world.classes.of_workload(workload)
        gang = self._gang(name, members, inline.policy, priority.value)
        return Group(gang, priority.preemption_policy == "Never", self._too_few(gang) or self._too_low(workload))

    def _too_low(self, workload: Workload) -> str:
        """A workload that is easier to preempt than it preempts is not accepted."""
        own = self._world.classes.of_workload(workload).value
        asked = self._world.classes.asked_to_preempt(workload)
        if asked is None or asked >= own:
            return ""
        return texts.preemption_priority_too_low(unit_name("Workload", workload.namespace, workload.name), asked, own)

    def _of_pod_group(self, name: UnitName, members: list[PodFacts]) -> Group:
        path = self._units.group_path(*key_of(name))
        if not path:
            return _missing(name, members)
        priority = self._world.classes.of_group(path[-1].policy)
        off = tuple(self._switched_off(path[:1], path[-1].parent, priority))
        policy = path[0].policy
        if TOPOLOGY in {reason.gate for reason in off}:
            policy = msgspec.structs.replace(policy, topology_key="")
        gang = self._gang(name, members, policy, priority.value)
        refused = self._without_parent(path, members) or self._too_few(gang) or _mixed(gang, path[0])
        return Group(gang, self._never(members, priority, off), refused, off)

    def _of_composite(self, name: UnitName, members: list[PodFacts]) -> Group:
        """A composite group whose groups are scheduled together."""
        together = self._together(name, members)
        path = together[0].path
        priority = self._world.classes.of_group(path[-1].policy)
        seen = {group.name: group for member in together for group in member.path}
        off = tuple(self._switched_off(list(seen.values()), path[-1].parent, priority))
        top = next(group for group in path if unit_name(group.kind, group.namespace, group.name) == name)
        gang = composite_gang(top, together, priority.value, topology=TOPOLOGY not in {reason.gate for reason in off})
        gang = gang._replace(ceiling=_ceiling(name, (member.facts for member in together)))
        refused = self._without_parent(path, members) or self._too_few(gang) or _mixed(gang, top)
        return Group(gang, self._never(members, priority, off), refused, off)

    def _together(self, name: UnitName, members: list[PodFacts]) -> list[Member]:
        """All pods of a tree: those that wait, those that have their place, and those that are done."""
        bound = self.bound().get(name, ())
        owners = {_controller(facts) for facts in members}
        done = [facts for facts in self._succeeded.get(name, ()) if _controller(facts) in owners]
        states = [(members, "waits"), (bound, "bound"), (done, "done")]
        return [Member(facts, self._path(facts), state) for pods, state in states for facts in pods]  # type: ignore[arg-type]

    def _path(self, facts: PodFacts) -> list[PodGroup]:
        group = facts.pod.spec.scheduling_group
        return self._units.group_path(facts.key[0], group.pod_group_name) if group else []

    def _never(self, members: list[PodFacts], priority: Priority, off: tuple[GateOff, ...]) -> bool:
        by_group = all(each.gate != PREEMPTION_POLICY for each in off) and priority.preemption_policy == "Never"
        return by_group or any(facts.preemption_policy == "Never" for facts in members)

    def _without_parent(self, path: list[PodGroup], members: list[PodFacts]) -> str:
        """Groups may come before the composite group above them. They wait for it: it may say that they go together."""
        namespace, parent = path[-1].namespace, path[-1].parent
        if not parent or not self._settings.gate(COMPOSITE):
            return ""
        exists = self._world.get(PodGroup, parent, namespace, called=COMPOSITE) is not None
        return "" if exists else texts.group_missing(unit_name(COMPOSITE, namespace, parent), len(members))

    def _switched_off(self, groups: list[PodGroup], above: str, priority: Priority) -> Iterator[GateOff]:
        """What groups say that counts for nothing while its gate is off."""
        if above and not self._settings.gate(COMPOSITE):
            yield GateOff(COMPOSITE, unit_name(COMPOSITE, groups[0].namespace, above))
        keys = [group.policy.topology_key for group in groups if group.policy.topology_key]
        if keys and not self._settings.gate(TOPOLOGY):
            yield GateOff(TOPOLOGY, keys[0])
        if priority.preemption_policy == "Never" and not self._settings.gate(PREEMPTION_POLICY):
            yield GateOff(PREEMPTION_POLICY)

    def _gang(self, name: UnitName, members: list[PodFacts], policy: GroupPolicy, priority: int) -> Gang:
        bound = tuple(self.bound().get(name, ()))
        done = self._has_succeeded(name, members)
        # Without a gang each pod stands for itself, and none is optional.
        entitled = len(members) if policy.min_count is None else max(policy.min_count - len(bound) - len(done), 0)
        required = 1 if policy.min_count is None else max(entitled, 1)
        ceiling = _ceiling(name, (*bound, *done, *members))
        return Gang(name, members, required, priority, policy.topology_key, bound, entitled=entitled, ceiling=ceiling)

    def bound(self) -> dict[UnitName, list[PodFacts]]:
        """All groups that have pods on nodes, by name, with those pods: looked up once for each state of the world.

        Pods that are leaving do not count: a group that relied on them would soon be there in part only.
        """
        self._look_up()
        return self._bound

    def _has_succeeded(self, name: UnitName, members: list[PodFacts]) -> list[PodFacts]:
        """The pods of a group that have done their work: they count as placed, since nobody will come in their stead.

        Otherwise a gang of which one pod is done could never return after a preemption. Only pods of the same
        controller count: a group that is used again by another one begins anew.
        """
        self._look_up()
        owners = {_controller(facts) for facts in members}
        return [facts for facts in self._succeeded.get(name, ()) if _controller(facts) in owners]

    def _look_up(self) -> None:
        if self._looked_up_at == self._world.version:
            return
        self._bound, self._succeeded = {}, {}
        for facts in self._world.pods.values():
            succeeded = facts.pod.status.phase == "Succeeded"
            if (facts.node or succeeded) and not facts.pod.terminating and (name := self.name_of(facts)):
                found = self._succeeded if succeeded else self._bound
                found.setdefault(name, []).append(facts)
        self._looked_up_at = self._world.version

    def _too_few(self, gang: Gang) -> str:
        if gang.groups and _short(gang):
            return texts.too_few_groups(gang.name, complete_groups(gang), gang.required_groups)
        return texts.too_few_pods(gang.name, len(gang.members), gang.required) if _short(gang) else ""


def _missing(name: UnitName, members: list[PodFacts]) -> Group:
    """A group that its pods name and that is not there yet: they wait for it, since alone they must not be placed."""
    priority = max(facts.priority for facts in members)
    never = any(facts.preemption_policy == "Never" for facts in members)
    gang = Gang(name, members, len(members), priority, entitled=len(members))
    return Group(gang, never, texts.group_missing(name, len(members)))


def _ceiling(name: UnitName, pods: Iterable[PodFacts]) -> int | None:
    """The highest priority that made way for a group, as the holds on its pods remember."""
    holds = (hold_of(facts.pod.metadata.annotations) for facts in pods)
    limits = (hold.limit for hold in holds if hold is not None and hold.preemptor == name)
    return max((limit for limit in limits if limit is not None), default=None)


def carried_by_groups(world: World) -> Iterator[Workload | PodGroup]:
    """Workloads and groups that only name a class, with what it says now."""
    for workload in world.all(Workload):
        if workload.holds_groups and workload.status.priority is None:
            status = msgspec.convert(recorded_priorities(workload, world.classes), WorkloadStatus)
            yield msgspec.structs.replace(workload, status=status)
    for group in world.all(PodGroup):
        if group.policy.priority is None:
            resolved = world.classes.of_group(group.policy)
            said = {"priority": resolved.value, "preemption_policy": resolved.preemption_policy}
            yield msgspec.structs.replace(group, policy=msgspec.structs.replace(group.policy, **said))


def _controller(facts: PodFacts) -> str:
    """The uid of what the pod was made by; empty where somebody made it by hand."""
    return next((owner.uid for owner in facts.pod.metadata.owner_references if owner.controller), "")


def _short(gang: Gang) -> bool:
    return len(gang.members) < gang.required


def _mixed(gang: Gang, group: PodGroup) -> str:
    """Pods of a group share scheduler, priority (the group's) and preemption policy, or the group is refused."""
    for what, values in (
        ("scheduler names", {facts.pod.spec.scheduler_name for facts in gang.members}),
        ("priorities", {facts.priority for facts in gang.members} | {gang.priority}),
        ("preemption policies", {facts.preemption_policy for facts in gang.members}),
    ):
        if len(values) > 1:
            return texts.mixed_group(unit_name(group.kind, group.namespace, group.name), what, sorted(map(str, values)))
    return ""


# Groups of which a part is gone: who of the rest goes, too


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
    return len(staying) < max(len(running), least_of(facts, units) - len(done))


def least_of(facts: PodFacts, units: Units) -> int:
    """How many pods its group cannot be without."""
    spec, namespace = facts.pod.spec, facts.key[0]
    if spec.workload_ref is not None:
        found = units.workload_group(namespace, spec.workload_ref)
        return (found[1].policy.min_count or 0) if found else 0
    path = units.group_path(namespace, spec.scheduling_group.pod_group_name) if spec.scheduling_group else []
    return (path[0].policy.min_count or 0) if path else 0
