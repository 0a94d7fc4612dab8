"""Topologies of flavors: what is free in their domains, beside the quota of queues.

1. A node counts where it is ready, schedulable, has the labels of the flavor and all levels of its topology.
2. Pods on nodes that are no pods of a workload with a topology assignment take what they ask for where they are.
3. Workloads with an assignment take what their pods ask for in the domains that it names, whether the pods run or not;
   but for pods that have done their work and give their quota back (status.reclaimablePods): where they were is free.

Quota says how much; this says where. It is a ledger like the quota tree: workloads are taken out of it and given back
in the same search. Where no flavor has a topology there is none, and nobody asks.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from reprieve.manifests.core import Node
from reprieve.manifests.kueue import QuotaWorkload, ResourceFlavor
from reprieve.manifests.kueue_topology import (
    POD_SET_LABEL,
    TAS_LABEL,
    WORKLOAD_ANNOTATION,
    Domain,
    Topology,
    TopologyAssignment,
)
from reprieve.manifests.pods import Pod, pod_slots
from reprieve.model.names import Key
from reprieve.policies.quota.topology_domains import FlavorTopology, Ints, PlaceRequest, Taken
from reprieve.world import Change, PodFacts, World

Frees = Mapping[str, Ints]
"""What is free in the leaves of each flavor, in some state."""


class DomainPlace(NamedTuple):
    """Pods of one pod set in one domain."""

    flavor: str
    values: tuple[str, ...]
    each: Mapping[str, int]
    pods: int


class PlacedPods(NamedTuple):
    """Where the pods of a pod set go."""

    flavor: str
    levels: tuple[str, ...]
    domains: list[Domain]


Places = tuple[DomainPlace, ...]


class TopologyLedger:
    """All flavors with a topology."""

    def __init__(self, world: World, flavors: Mapping[str, ResourceFlavor], topologies: Mapping[str, Topology]) -> None:
        self._world = world
        self._kinds = {
            name: (flavor, topologies[flavor.spec.topology_name])
            for name, flavor in flavors.items()
            if flavor.spec.topology_name in topologies
        }
        self._residents: Counter[Places] = Counter()
        self._others: dict[str, Counter[str]] = {}
        """What pods without an assignment take, by node."""
        self._done: dict[Key, dict[Key, PodFacts]] = {}
        """Pods that have succeeded, by the workload that they are of."""
        for facts in world.pods.values():
            self._note(facts, 1)
            self._note_done(facts)
        self.version = 0
        """Another one whenever anything is free that was not, or the other way round."""
        self._build()

    def _build(self) -> None:
        nodes = list(self._world.all(Node))
        self.flavors = {name: FlavorTopology(*kind, nodes) for name, kind in self._kinds.items()}
        for node, taken in self._others.items():
            self._take(node, taken, -1)
        for places, times in self._residents.items():
            self.move(places, -times)
        self.version += 1

    def levels(self, flavor: str) -> tuple[str, ...]:
        return self._kinds[flavor][1].levels

    def __contains__(self, flavor: object) -> bool:
        return flavor in self._kinds

    # The world goes on

    def follow(self, change: Change) -> None:
        """A node or a pod has changed."""
        if change.kind is Node and _as_counted(change.old) != _as_counted(change.new):
            self._build()
        elif change.kind is Pod:
            self._note_done(change.new)
            old, new = _counted(change.old), _counted(change.new)
            if old != new:
                for facts, times in ((change.old, -1), (change.new, 1)):
                    if _counted(facts) is not None:
                        self._note(facts, times)
                        self._take(facts.node, facts.requests, -times)
                self.version += 1

    def _note(self, facts: PodFacts, times: int) -> None:
        if _counted(facts) is not None:
            taken = self._others.setdefault(facts.node, Counter())
            for name, amount in facts.requests.items():
                taken[name] += times * amount

    def _note_done(self, facts: PodFacts | None) -> None:
        if facts is not None and (workload := done_for(facts)) is not None:
            self._done.setdefault(workload, {})[facts.key] = facts

    def _take(self, node: str, amounts: Mapping[str, int], times: int) -> None:
        for flavor in self.flavors.values():
            leaf = flavor.leaf_of(node)
            if leaf is not None:
                flavor.move(flavor.free, leaf, amounts, times)
                flavor.move(flavor.idle, leaf, amounts, times)

    # Workloads

    def places_of(self, workload: QuotaWorkload) -> Places:
        """What an admitted workload takes, and where."""
        admission = workload.status.admission
        pod_sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
        found = []
        for item in admission.pod_set_assignments if admission is not None else ():
            flavor = next((name for name in item.flavors.values() if name in self._kinds), "")
            if item.topology_assignment is not None and flavor and item.name in pod_sets:
                each = pod_slots(pod_sets[item.name].template.spec)
                domains = self._without_done(workload, item.name, item.topology_assignment)
                found += [DomainPlace(flavor, values, each, pods) for values, pods in domains if pods]
        return tuple(found)

    def _without_done(self, workload: QuotaWorkload, pod_set: str, assignment: TopologyAssignment) -> list[Domain]:
        """The domains of an assignment, without the pods that have given their quota back and are known to have been
        there."""
        domains = assignment.all_domains()
        left = sum(item.count for item in workload.status.reclaimable_pods if item.name == pod_set)
        if not left:
            return domains
        pods = self._done.get((workload.namespace, workload.name), {}).values()
        of_set = [facts.pod for facts in pods if facts.pod.metadata.labels.get(POD_SET_LABEL) == pod_set]
        were = Counter(tuple(pod.spec.node_selector.get(level, "") for level in assignment.levels) for pod in of_set)
        found = []
        for values, count in domains:
            gone = min(count, left, were[values])
            left -= gone
            found.append((values, count - gone))
        return found

    def settle(self, places: Places, times: int) -> None:
        """A workload is there from now on, or no more."""
        self._residents[places] += times
        if not self._residents[places]:
            del self._residents[places]
        self.move(places, -times)
        self.version += 1

    def move(self, places: Iterable[DomainPlace], times: int, frees: Frees | None = None) -> None:
        """Give back (1) or take (-1) what workloads take; in the ledger itself, or in another state of it."""
        for flavor, values, each, pods in places:
            topology = self.flavors.get(flavor)
            leaf = topology.find(values) if topology is not None else None
            if topology is not None and leaf is not None:
                free = topology.free if frees is None else frees[flavor]
                topology.move(free, leaf, each, pods * times)

    # Who fits where

    def frees(self) -> dict[str, Ints]:
        """A copy of the state as it is."""
        return {name: flavor.free.copy() for name, flavor in self.flavors.items()}

    def fits(self, requests: tuple[PlaceRequest, ...], frees: Frees | None = None) -> bool:
        """Whether all pod sets can have what they wish; the last one need not be placed to tell."""
        if not requests:
            return True
        *before, last = requests
        with self._placed(before, frees) as placed:
            return placed is not None and self._most(last, frees) >= last.pods

    def place(self, requests: tuple[PlaceRequest, ...], frees: Frees | None = None) -> dict[str, PlacedPods] | None:
        """Where the pods of each pod set go, one pod set after the other; None where one cannot have what it wishes."""
        with self._placed(requests, frees) as placed:
            if placed is None:
                return None
            return {
                request.pod_set: PlacedPods(request.flavor, *self.flavors[request.flavor].named(taken))
                for request, taken in zip(requests, placed, strict=True)
            }

    @contextmanager
    def _placed(self, requests: Iterable[PlaceRequest], frees: Frees | None) -> Iterator[list[Taken] | None]:
        """Pod sets placed one after the other, for as long as it lasts."""
        done: list[tuple[PlaceRequest, Taken]] = []
        whole = True
        try:
            for request in requests:
                topology = self.flavors[request.flavor]
                taken = topology.place(request, self._free(request.flavor, frees))
                if taken is None:
                    whole = False
                    break
                done.append((request, taken))
                self._pour(request, taken, frees, -1)
            yield [taken for _, taken in done] if whole else None
        finally:
            for request, taken in done:
                self._pour(request, taken, frees, 1)

    def _pour(self, request: PlaceRequest, taken: Taken, frees: Frees | None, times: int) -> None:
        topology, free = self.flavors[request.flavor], self._free(request.flavor, frees)
        for leaf, pods in taken:
            topology.move(free, leaf, dict(request.each), pods * times)

    def _free(self, flavor: str, frees: Frees | None) -> Ints:
        return self.flavors[flavor].free if frees is None else frees[flavor]

    def _most(self, request: PlaceRequest, frees: Frees | None) -> int:
        return self.flavors[request.flavor].most(request, self._free(request.flavor, frees))

    def fits_idle(self, requests: tuple[PlaceRequest, ...]) -> bool:
        """Whether they could be placed if no other workload were there."""
        return self.fits(requests, self._idle())

    def _idle(self) -> Frees:
        return {name: flavor.idle for name, flavor in self.flavors.items()}

    def shortest(self, requests: tuple[PlaceRequest, ...], *, idle: bool = False) -> tuple[PlaceRequest, int]:
        """The first pod set that cannot have what it wishes, and how many of its pods could."""
        frees = self._idle() if idle else None
        for number, request in enumerate(requests):
            with self._placed(requests[:number], frees) as placed:
                most = self._most(request, frees) if placed is not None else 0
            if most < request.pods:
                return request, most
        return requests[-1], requests[-1].pods

    def fingerprint(self) -> list[tuple[str, bytes]]:
        return [(name, flavor.free.tobytes()) for name, flavor in sorted(self.flavors.items())]


def done_for(facts: PodFacts) -> Key | None:
    """The workload that a pod has done its work for, on a topology."""
    metadata = facts.pod.metadata
    if facts.pod.status.phase != "Succeeded" or TAS_LABEL not in metadata.labels:
        return None
    name = metadata.annotations.get(WORKLOAD_ANNOTATION)
    return (metadata.namespace, name) if name else None


def _counted(facts: PodFacts | None) -> tuple[object, ...] | None:
    """What a pod takes of a node, if it is there and no workload takes it for it."""
    if facts is None or not facts.node or TAS_LABEL in facts.pod.metadata.labels:
        return None
    return facts.node, facts.requests


def _as_counted(node: Node | None) -> tuple[object, ...] | None:
    """All about a node that topologies go by."""
    if node is None:
        return None
    ready = [(item.type, item.status) for item in node.status.conditions if item.type == "Ready"]
    return node.metadata.labels, node.allocatable, node.spec, ready
