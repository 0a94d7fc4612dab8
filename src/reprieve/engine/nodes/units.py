"""Units: what is preempted as one. A pod, or all scheduled pods of a group that is disrupted as a whole.

1. In the v1alpha1 form a pod names a Workload and one of its pod groups: the Workload says how the group is preempted
   (preemptionMode) and at which priority, whatever its pods say.
2. Since v1alpha2 a pod names a PodGroup (gate GenericWorkload), which may stand in a tree of composite groups (gate
   CompositePodGroup): the topmost group found gives the priority; the topmost that is disrupted as a whole is the unit.
3. A group that is not found is no group: its pods stand for themselves.
"""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from reprieve.configuration import Settings
from reprieve.manifests.lost_work import Said, said_in
from reprieve.manifests.pods import WorkloadReference
from reprieve.manifests.scheduling import PodGroup, Workload, WorkloadPodGroup
from reprieve.model.names import UnitName, unit_name
from reprieve.model.resources import Resources
from reprieve.world import PodFacts, World

POD, GROUP, COMPOSITE = 0, 1, 2
"""What a unit is: at equal priority a composite group is worth more than a group, and a group more than a pod."""


class Membership(NamedTuple):
    """Where a pod belongs."""

    key: Hashable
    """Of the unit it is preempted with."""
    priority: int
    """What it takes to preempt that unit: anybody above this."""
    kind: int = POD
    group: UnitName | None = None
    """The name of the group that goes as a whole; None: the pod goes alone."""


class PlacedBy(NamedTuple):
    """The schedulers whose pods of a unit are to place, and whether one of them is there by its kubelet's own will."""

    schedulers: frozenset[str]
    mirror: bool


class Unit:
    """What is preempted as one, with the pods it takes down wherever they run."""

    __slots__ = ("group", "importance", "key", "kind", "name", "pods", "priority", "shares")

    def __init__(self, membership: Membership, pods: list[PodFacts]) -> None:
        self.key = membership.key
        self.priority = membership.priority
        self.kind = membership.kind
        self.group = membership.group
        self.pods = sorted(pods, key=lambda facts: facts.importance) if len(pods) > 1 else pods
        self.name = membership.group or pods[0].unit
        start, created = self._age()
        # More important first: priority, kind, size, age; the rest only makes the order total.
        self.importance = (-self.priority, -self.kind, -len(pods), start, created, self.name)
        self.shares = {node: UnitShare(self, here) for node, here in self._by_node().items()}

    def _age(self) -> tuple[int, int]:
        """When the first of its pods started, and was made."""
        if len(self.pods) == 1:
            return self.pods[0].start, self.pods[0].created
        return min(facts.start for facts in self.pods), min(facts.created for facts in self.pods)

    def _by_node(self) -> dict[str, list[PodFacts]]:
        if len(self.pods) == 1:
            return {self.pods[0].node: self.pods}
        by_node: dict[str, list[PodFacts]] = {}
        for facts in self.pods:
            by_node.setdefault(facts.node, []).append(facts)
        return by_node

    @property
    def placed_by(self) -> PlacedBy:
        names = frozenset(facts.pod.spec.scheduler_name for facts in self.pods)
        return PlacedBy(names, any(facts.pod.mirror for facts in self.pods))


class UnitShare:
    """The part of a unit that runs on one node."""

    __slots__ = ("pods", "requests", "unit")

    def __init__(self, unit: Unit, pods: list[PodFacts]) -> None:
        self.unit = unit
        self.pods = pods
        requests = pods[0].requests
        for facts in pods[1:]:
            requests += facts.requests
        self.requests: Resources = requests


class Units:
    """Which unit each pod of a world belongs to."""

    def __init__(self, world: World, settings: Settings) -> None:
        self._world = world
        self._generic = settings.gate("GenericWorkload")
        self._composite = settings.gate("CompositePodGroup")

    def of(self, facts: PodFacts) -> Membership:
        spec = facts.pod.spec
        if spec.workload_ref is not None:
            return self._of_workload(facts, spec.workload_ref) or self._alone(facts)
        if self._generic and spec.scheduling_group is not None:
            return self._of_groups(facts, spec.scheduling_group.pod_group_name) or self._alone(facts)
        return self._alone(facts)

    def scheduling_priority(self, facts: PodFacts) -> int:
        """At which priority a pod is scheduled: that of its workload or topmost group, else its own."""
        spec, namespace = facts.pod.spec, facts.key[0]
        if spec.workload_ref is not None:
            found = self.workload_group(namespace, spec.workload_ref)
            return self._world.classes.of_workload(found[0]).value if found else facts.priority
        if self._generic and spec.scheduling_group is not None:
            path = self.group_path(namespace, spec.scheduling_group.pod_group_name)
            return self._world.classes.of_group(path[-1].policy).value if path else facts.priority
        return facts.priority

    def said_of_work(self, facts: PodFacts) -> Said:
        """What a pod says of the work that is lost with it; else its group, those above it, or its workload."""
        spec, namespace = facts.pod.spec, facts.key[0]
        around: list[Mapping[str, str]] = [facts.pod.metadata.annotations]
        if spec.workload_ref is not None:
            found = self.workload_group(namespace, spec.workload_ref)
            around += [found[0].metadata.annotations] if found else []
        elif self._generic and spec.scheduling_group is not None:
            path = self.group_path(namespace, spec.scheduling_group.pod_group_name)
            around += [group.metadata.annotations for group in path]
        return said_in(*around)

    def _alone(self, facts: PodFacts) -> Membership:
        return Membership(facts.key, facts.priority)

    def _of_workload(self, facts: PodFacts, reference: WorkloadReference) -> Membership | None:
        found = self.workload_group(facts.key[0], reference)
        if found is None:
            return None
        workload, group = found
        priority = self._world.classes.to_preempt_workload(workload).value
        if group.policy.unit == "Pod":
            return Membership(facts.key, priority, GROUP)
        name = workload_group_name(facts.key[0], reference)
        return Membership(name, priority, GROUP, name)

    def workload_group(self, namespace: str, reference: WorkloadReference) -> tuple[Workload, WorkloadPodGroup] | None:
        """The v1alpha1 Workload and the pod group that a pod names, if both exist."""
        workload: Workload | None = self._world.get(Workload, reference.name, namespace)
        if workload is None or not workload.holds_groups:
            return None
        group = next((group for group in workload.pod_groups if group.name == reference.pod_group), None)
        return None if group is None else (workload, group)

    def _of_groups(self, facts: PodFacts, name: str) -> Membership | None:
        path = self.group_path(facts.key[0], name)
        if not path:
            return None
        priority = self._world.classes.of_group(path[-1].policy).value
        whole = [group for group in path if group.policy.unit == "PodGroup"]
        if not whole:
            return Membership(facts.key, priority, GROUP)
        unit = whole[-1]
        kind = COMPOSITE if unit.kind == "CompositePodGroup" else GROUP
        display = unit_name(unit.kind, unit.namespace, unit.name)
        return Membership(display, priority, kind, display)

    def group_path(self, namespace: str, name: str) -> list[PodGroup]:
        """A pod group and the composite groups above it, as far as they exist and the gate allows."""
        path: list[PodGroup] = []
        group = self._pod_group("PodGroup", name, namespace)
        while group is not None and group not in path:
            path.append(group)
            parent = group.parent if self._composite else ""
            group = self._pod_group("CompositePodGroup", parent, namespace) if parent else None
        return path

    def _pod_group(self, kind: str, name: str, namespace: str) -> PodGroup | None:
        return self._world.get(PodGroup, name, namespace, called=kind)


def workload_group_name(namespace: str, reference: WorkloadReference) -> UnitName:
    """How a pod group replica of a Workload is written."""
    replica = f"/{reference.pod_group_replica_key}" if reference.pod_group_replica_key else ""
    return unit_name("Workload", namespace, f"{reference.name}/{reference.pod_group}{replica}")
