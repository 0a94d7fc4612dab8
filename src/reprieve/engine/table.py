"""The node table: allocatable, requested and running pods of all nodes, in columns.

Rows go over resources and ranks, columns over nodes, so that one step of a search is one operation on all nodes.
Each node's pods stand in order of importance: rank 0 is the last to be asked to leave. The table follows the
world's journal; what it touched is logged, so that results kept for a shape of pod are renewed only there.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from reprieve.engine.columns import Interner, Ints, Mask, enough, resized
from reprieve.objects.affinity import PodAffinityTerm
from reprieve.objects.core import Namespace, Node, PodDisruptionBudget
from reprieve.objects.meta import Taint
from reprieve.objects.pods import Pod
from reprieve.objects.scheduling import PriorityClass
from reprieve.resources import PODS
from reprieve.world import NEVER, Change, PodFacts, World

NOBODY = 2**62
"""The priority of an empty rank: higher than any, so that nobody is ever preempted from it."""
LARGEST = 2**52
"""Amounts above this (4 PiB) count as this, so that a thousand of them can be summed in 64 bits."""
# One array each over ranks and nodes, and what stands where nobody is.
_RANKED = {
    "priority": NOBODY,
    "start": NEVER,
    "scheduled": NEVER,
    "labels": 0,
    "repels": 0,
    "tolerates": 0,
    "leaves": 0,
}
_STRUCTURE = (PriorityClass, PodDisruptionBudget, Namespace)
_LONGEST_LOG = 200_000


class Repelling(NamedTuple):
    """A kind of pod that keeps others away: where it lives, its labels, and its required anti-affinity."""

    namespace: str
    labels: dict[str, str]
    terms: tuple[PodAffinityTerm, ...]


class NodeTable:
    """Columns over all nodes of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.epoch = 0
        """Raised when something changed that may matter for every node."""
        self._version = 0
        self._ties: Ints | None = None
        self._rebuild()

    # Reading

    @property
    def size(self) -> int:
        return len(self.names)

    def ranked(self, name: str, nodes: slice | Ints) -> Ints:
        """One fact about the pods of some nodes, rank by rank, as deep as the fullest of all nodes."""
        return self.ranks[name][: self.depth, nodes]

    @property
    def depth(self) -> int:
        return int(self.occupied[: self.size].max(initial=0))

    def row(self, resource: str) -> int:
        """The row of a resource, made when it is first asked for."""
        row = self.resources.get(resource)
        if row is None:
            row = self.resources[resource] = len(self.resources)
            self._grow(resources=row + 1)
            for index, node in enumerate(self.nodes):
                if node is not None:
                    self.allocatable[row, index] = min(node.allocatable.of(resource), LARGEST)
        return row

    def tie_break(self) -> Ints:
        """Each node's place in the order that ends all ties: creation time, then name."""
        if self._ties is None:
            ties = np.empty(self.size, dtype=np.int64)
            ties[sorted(range(self.size), key=self._age)] = np.arange(self.size)
            self._ties = ties
        return self._ties

    def _age(self, index: int) -> tuple[float, str]:
        node = self.nodes[index]
        if node is None:
            return float("inf"), ""
        created = node.metadata.creation_timestamp
        return (created.timestamp() if created else 0.0), node.name

    def fingerprint(self) -> str:
        """A digest of all columns: equal before and after a search, or the search forgot to put something back."""
        digest = hashlib.blake2b()
        for array in (self.allocatable, self.used, self.requests, self.occupied, *self.ranks.values()):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # Following the world

    def sync(self) -> None:
        """Catch up with the world."""
        changes = self.world.changes_since(self._version)
        if changes is None:
            return self._rebuild()
        for change in changes:
            self._apply(change)
        self._version = self.world.version
        if len(self.log) > _LONGEST_LOG:
            self.log.clear()
            self.epoch += 1
        return None

    def _rebuild(self) -> None:
        nodes = list(self.world.all(Node))
        self.epoch += 1
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.index: dict[str, int] = {}
        self.resources: dict[str, int] = {PODS: 0}
        self.residents: list[list[PodFacts]] = []
        self.nominated: dict[int, list[PodFacts]] = {}
        self.stray: dict[str, dict[tuple[str, str], PodFacts]] = {}
        """Pods that name a node that is not there, by that name."""
        self.ported: dict[tuple[str, str], PodFacts] = {}
        self.log: list[int] = []
        self._ties = None
        self.taints = Interner[tuple[Taint, ...]]()
        self.labels = Interner[tuple[str, frozenset[tuple[str, str]]]]()
        self.repels = Interner[Repelling]()
        self.tolerates = Interner[str]()
        width = max(len(nodes), 16)
        self.allocatable: Ints = np.zeros((4, width), dtype=np.int64)
        self.used: Ints = np.zeros((4, width), dtype=np.int64)
        self.occupied: Ints = np.zeros(width, dtype=np.int64)
        self.unschedulable: Mask = np.zeros(width, dtype=np.bool_)
        self.gone: Mask = np.zeros(width, dtype=np.bool_)
        self.taint_set: Ints = np.zeros(width, dtype=np.int64)
        self.ranks = {name: np.full((8, width), empty, dtype=np.int64) for name, empty in _RANKED.items()}
        self.requests: Ints = np.zeros((8, 4, width), dtype=np.int64)
        for node in nodes:
            self._put_node(node)
        self._fill(self.world.pods.values())
        self._version = self.world.version

    def _fill(self, everyone: Iterable[PodFacts]) -> None:
        """All pods at once: each node's sorted once, and every column written once."""
        by_node: dict[int, list[PodFacts]] = {}
        for facts in everyone:
            node = self.index.get(facts.node)
            if node is None:
                self._put_pod(facts)
            else:
                by_node.setdefault(node, []).append(facts)
                self._note_ports(facts)
        order: list[PodFacts] = []
        places: list[tuple[int, int]] = []
        for node, pods in by_node.items():
            pods.sort(key=lambda facts: facts.importance)
            self.residents[node] = pods
            self.occupied[node] = len(pods)
            order += pods
            places += [(rank, node) for rank in range(len(pods))]
        self._grow(ranks=max(map(len, by_node.values()), default=0))
        if order:
            self._write(np.array(places, dtype=np.int64).T, order)
            self.used += self.requests.sum(axis=0)

    def _apply(self, change: Change) -> None:
        if change.kind is Pod:
            if change.old is not None:
                self._take_pod(change.old)
            if change.new is not None:
                self._put_pod(change.new)
        elif change.kind is Node:
            if change.new is not None:
                self._put_node(change.new)
            else:
                self._drop_node(change.key[1])
        elif change.kind in _STRUCTURE:
            self.epoch += 1

    # Nodes

    def _put_node(self, node: Node) -> None:
        index = self.index.get(node.name)
        if index is None:
            index = self.index[node.name] = len(self.names)
            self._grow(nodes=index + 1)
            self.names.append(node.name)
            self.nodes.append(None)
            self.residents.append([])
        before, self.nodes[index] = self.nodes[index], node
        if before is None or before.metadata != node.metadata:
            self._ties = None
            self.epoch += 1  # labels decide affinity and spreading, also on other nodes
        for name in node.allocatable:
            self.row(name)
        for name, row in self.resources.items():
            self.allocatable[row, index] = min(node.allocatable.of(name), LARGEST)
        self.unschedulable[index] = node.spec.unschedulable
        self.gone[index] = False
        self.taint_set[index] = self.taints.number(node.spec.taints)
        self.log.append(index)
        for facts in self.stray.pop(node.name, {}).values():
            self._put_pod(facts)

    def _drop_node(self, name: str) -> None:
        index = self.index.get(name)
        if index is None:
            return
        leaving = [*self.residents[index], *self.nominated.get(index, [])]
        for facts in leaving:
            self._take_pod(facts)
        self.nodes[index] = None
        self.gone[index] = True
        self.allocatable[:, index] = 0
        self._ties = None
        self.epoch += 1
        for facts in leaving:
            self._put_pod(facts)

    # Pods

    def _put_pod(self, facts: PodFacts) -> None:
        name = facts.node or facts.nominated
        node = self.index.get(name)
        if node is None or self.nodes[node] is None:
            if name:
                self.stray.setdefault(name, {})[facts.key] = facts
            return
        self.log.append(node)
        if not facts.node:
            self.nominated.setdefault(node, []).append(facts)
            return
        self._note_ports(facts)
        pods = self.residents[node]
        count = len(pods)
        rank = bisect_left(pods, facts.importance, key=lambda other: other.importance)
        self._grow(ranks=count + 1)
        for array in (self.requests, *self.ranks.values()):
            array[rank + 1 : count + 1, ..., node] = array[rank:count, ..., node].copy()
        pods.insert(rank, facts)
        self.requests[rank, :, node] = 0
        self._write(np.array([[rank], [node]]), [facts])
        self.used[:, node] += self.requests[rank, :, node]
        self.occupied[node] = count + 1

    def _take_pod(self, facts: PodFacts) -> None:
        name = facts.node or facts.nominated
        node = self.index.get(name)
        if self.stray.get(name, {}).pop(facts.key, None) is not None or node is None:
            return
        self.log.append(node)
        if not facts.node:
            self.nominated[node] = [other for other in self.nominated.get(node, []) if other.key != facts.key]
            if not self.nominated[node]:
                del self.nominated[node]
            return
        self.ported.pop(facts.key, None)
        pods = self.residents[node]
        rank = bisect_left(pods, facts.importance, key=lambda other: other.importance)
        last = len(pods) - 1
        self.used[:, node] -= self.requests[rank, :, node]
        for array, empty in ((self.requests, 0), *((self.ranks[name], empty) for name, empty in _RANKED.items())):
            array[rank:last, ..., node] = array[rank + 1 : last + 1, ..., node].copy()
            array[last, ..., node] = empty
        del pods[rank]
        self.occupied[node] = last

    def _write(self, places: Ints, pods: list[PodFacts]) -> None:
        """Facts of pods into the columns, at ranks and nodes."""
        ranks, nodes = places
        values: dict[str, list[int]] = {
            "priority": [facts.priority for facts in pods],
            "start": [facts.start for facts in pods],
            "scheduled": [facts.scheduled for facts in pods],
            "labels": [self.labels.number((facts.key[0], facts.labels)) for facts in pods],
            "repels": [self._repels(facts) for facts in pods],
            "tolerates": [self.tolerates.number(facts.pod.spec.priority_class_name) for facts in pods],
            "leaves": [int(facts.pod.terminating) for facts in pods],
        }
        for name, column in values.items():
            self.ranks[name][ranks, nodes] = column
        for name in dict.fromkeys(name for facts in pods for name in facts.requests):
            row = self.row(name)
            self.requests[ranks, row, nodes] = [min(facts.requests.of(name), LARGEST) for facts in pods]

    def _repels(self, facts: PodFacts) -> int:
        """Which kind of pod it is to those it keeps away; 0: to nobody."""
        affinity = facts.pod.spec.affinity
        if affinity is None or affinity.pod_anti_affinity is None or not affinity.pod_anti_affinity.required:
            return 0
        terms = affinity.pod_anti_affinity.required
        key = (facts.key[0], facts.labels, msgspec.msgpack.encode(terms))
        return self.repels.number(Repelling(facts.key[0], facts.pod.metadata.labels, terms), key)

    def _note_ports(self, facts: PodFacts) -> None:
        if facts.host_ports:
            self.ported[facts.key] = facts

    # Room

    def _grow(self, *, nodes: int = 0, ranks: int = 0, resources: int = 0) -> None:
        """Make room for so many of each; doubling, so that growing is rare."""
        depth, rows, width = self.requests.shape
        shape = (enough(depth, ranks), enough(rows, resources), enough(width, nodes))
        if shape == (depth, rows, width):
            return
        self.allocatable = resized(self.allocatable, shape[1:], 0)
        self.used = resized(self.used, shape[1:], 0)
        self.occupied = resized(self.occupied, shape[2:], 0)
        self.unschedulable = resized(self.unschedulable, shape[2:], False)
        self.gone = resized(self.gone, shape[2:], False)
        self.taint_set = resized(self.taint_set, shape[2:], 0)
        self.requests = resized(self.requests, shape, 0)
        for name, empty in _RANKED.items():
            self.ranks[name] = resized(self.ranks[name], (shape[0], shape[2]), empty)
