"""The node table: allocatable, requested and running pods of all nodes, in columns.

Rows go over resources and ranks, columns over nodes, so that one step of a search is one operation on all nodes.
On each node stand the shares that units have there, in order of importance: rank 0 is the last to be asked to leave.
The table follows the world's journal; what it touched is logged, so that results kept for a shape of pod are renewed
only there.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from reprieve.engine.columns import Interner, Ints, Mask, enough, resized
from reprieve.engine.units import Share, Unit, Units
from reprieve.objects.affinity import PodAffinityTerm
from reprieve.objects.core import Namespace, Node, PodDisruptionBudget
from reprieve.objects.meta import Taint
from reprieve.objects.pods import Pod
from reprieve.objects.scheduling import PodGroup, PriorityClass, Workload
from reprieve.resources import PODS
from reprieve.world import NEVER, Change, PodFacts, World

NOBODY = 2**62
"""The priority of an empty rank: higher than any, so that nobody is ever preempted from it."""
LARGEST = 2**52
"""Amounts above this (4 PiB) count as this, so that a thousand of them can be summed in 64 bits."""
# One array each over ranks and nodes, and what stands where nobody is. `priority` is what it takes to preempt the unit;
# `top`, `total`, `count` and `start` are the price of its pods, wherever they run, by their own priorities.
_RANKED = {
    "priority": NOBODY,
    "top": NOBODY,
    "total": 0,
    "count": 0,
    "start": NEVER,
    "scheduled": NEVER,
    "labels": 0,
    "repels": 0,
    "tolerates": 0,
    "leaves": 0,
    "group": 0,
    "breaks": 0,
    "kept": 0,
}
_EMPTY = np.array(list(_RANKED.values()), dtype=np.int64).reshape(1, len(_RANKED), 1)
SHIFT = 2**31
"""Added to priorities before they are summed, so that more victims never look cheaper because they are negative."""
_STRUCTURE = (PriorityClass, PodDisruptionBudget, Namespace)
_GROUPING = (PriorityClass, PodGroup, Workload)
_LONGEST_LOG = 200_000


def _importance(share: Share) -> tuple[int, int, int, int, int, str]:
    return share.unit.importance


class Mark(NamedTuple):
    """How many pods of a unit would break a budget, and whether it has been reprieved for good."""

    breaks: int = 0
    kept: int = 0


_UNMARKED = Mark()


def _face(node: Node) -> tuple[object, ...]:
    """What decides whether pods may come at all, whatever its size."""
    return node.metadata.labels, node.metadata.creation_timestamp, node.spec


class Repelling(NamedTuple):
    """A kind of pod that keeps others away: where it lives, its labels, and its required anti-affinity."""

    namespace: str
    labels: dict[str, str]
    terms: tuple[PodAffinityTerm, ...]


class NodeTable:
    """Columns over all nodes of a world."""

    def __init__(self, world: World, units: Units) -> None:
        self.world = world
        self.units = units
        self.epoch = 0
        """Raised when something changed that may matter for every node."""
        self._version = 0
        self.marks: dict[Hashable, Mark] = {}
        """What a search over all nodes has found out about units, while it lasts."""
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

    def mark(self, marks: dict[Hashable, Mark], units: Iterable[Unit]) -> None:
        """Note what a search over all nodes has found out about some units; without marks, forget it."""
        self.marks = marks
        for unit in units:
            mark = marks.get(unit.key, _UNMARKED)
            for name in unit.shares:
                node = self.index[name]
                rank = self.rank_of(unit, node)
                self.ranks["breaks"][rank, node] = mark.breaks
                self.ranks["kept"][rank, node] = mark.kept

    def fingerprint(self) -> str:
        """A digest of all columns: equal before and after a search, or the search forgot to put something back."""
        digest = hashlib.blake2b()
        depth, size = self.depth, self.size
        rows = [row for row in self.resources.values() if self.allocatable[row].any() or self.used[row].any()]
        arrays = [self.allocatable[rows, :size], self.used[rows, :size], self.requests[:depth, rows, :size]]
        for array in (*arrays, self.occupied[:size], *(ranks[:depth, :size] for ranks in self.ranks.values())):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # Following the world

    def sync(self) -> None:
        """Catch up with the world."""
        changes = self.world.changes_since(self._version)
        if changes is None or any(change.kind in _GROUPING for change in changes):
            return self._rebuild()
        for change in changes:
            self._apply(change)
        self._settle()
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
        self.residents: list[list[Share]] = []
        self.groups: dict[Hashable, Unit] = {}
        """Units of more than one pod, or that could have more, by key."""
        self._members: dict[Hashable, dict[tuple[str, str], PodFacts]] = {}
        self._unsettled: set[Hashable] = set()
        self._numbers = Interner[Hashable]()
        self.nominated: dict[int, list[PodFacts]] = {}
        self.standing: dict[tuple[str, str], int] = {}
        """At which priority each nominated pod holds its place: that of the group it is scheduled with, if any."""
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
        self._facts = np.repeat(_EMPTY, 8, axis=0).repeat(width, axis=2)
        self._name_ranks()
        self.requests: Ints = np.zeros((8, 4, width), dtype=np.int64)
        for node in nodes:
            self._put_node(node)
        self._fill(self.world.pods.values())
        self._unsettled.clear()
        self._version = self.world.version

    def _fill(self, everyone: Iterable[PodFacts]) -> None:
        """All pods at once: each node's shares sorted once, and every column written once."""
        by_node: dict[int, list[Share]] = {}
        for facts in everyone:
            node = self.index.get(facts.node)
            if node is None:
                self._put_pod(facts)
            elif (membership := self.units.of(facts)).group:
                self._members.setdefault(membership.key, {})[facts.key] = facts
                self._note_ports(facts)
            else:
                by_node.setdefault(node, []).append(Unit(membership, [facts]).shares[facts.node])
                self._note_ports(facts)
        for key, members in self._members.items():
            unit = self.groups[key] = self._group(members)
            for name, share in unit.shares.items():
                by_node.setdefault(self.index[name], []).append(share)
        order: list[Share] = []
        places: list[tuple[int, int]] = []
        for node, shares in by_node.items():
            shares.sort(key=_importance)
            self.residents[node] = shares
            self.occupied[node] = len(shares)
            order += shares
            places += [(rank, node) for rank in range(len(shares))]
        self._grow(ranks=max(map(len, by_node.values()), default=0))
        if order:
            self._write(np.array(places, dtype=np.int64).T, order)
            self.used += self.requests.sum(axis=0)

    def _group(self, members: dict[tuple[str, str], PodFacts]) -> Unit:
        """A unit of all its pods, standing where nodes are known."""
        pods = list(members.values())
        unit = Unit(self.units.of(pods[0]), pods)
        known = {name: share for name, share in unit.shares.items() if self._known(name)}
        unit.shares = known
        return unit

    def _known(self, name: str) -> bool:
        node = self.index.get(name)
        return node is not None and self.nodes[node] is not None

    def _settle(self) -> None:
        """Groups whose pods came or went: taken out and put in again, once for however many changes."""
        for key in sorted(self._unsettled, key=str):
            before = self.groups.get(key)
            if before is not None:
                self.take_unit(before)
            members = self._members.get(key)
            if members:
                self.put_unit(self._group(members))
            else:
                self._members.pop(key, None)
        self._unsettled.clear()

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
        if before is None or _face(before) != _face(node):
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
        running = [facts for share in self.residents[index] for facts in share.pods]
        leaving = [*running, *self.nominated.get(index, [])]
        for facts in leaving:
            self._take_pod(facts)
        self._settle()
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
                self._count_in(facts)
            return
        self.log.append(node)
        if not facts.node:
            self.nominated.setdefault(node, []).append(facts)
            self.standing[facts.key] = self.units.scheduling_priority(facts)
            self._repels(facts)  # so that whoever comes next knows that somebody may keep it away
            return
        self._note_ports(facts)
        if not self._count_in(facts):
            self.put_unit(Unit(self.units.of(facts), [facts]))

    def _count_in(self, facts: PodFacts) -> bool:
        """A running pod of a group that goes as a whole belongs to it, be its node known or not."""
        membership = self.units.of(facts)
        if not membership.group or not facts.node:
            return False
        self._members.setdefault(membership.key, {})[facts.key] = facts
        self._unsettled.add(membership.key)
        return True

    def _count_out(self, facts: PodFacts) -> bool:
        membership = self.units.of(facts)
        if not membership.group or not facts.node:
            return False
        self._members.get(membership.key, {}).pop(facts.key, None)
        self._unsettled.add(membership.key)
        return True

    def _take_pod(self, facts: PodFacts) -> None:
        name = facts.node or facts.nominated
        node = self.index.get(name)
        if self.stray.get(name, {}).pop(facts.key, None) is not None or node is None:
            self._count_out(facts)
            return
        self.log.append(node)
        if not facts.node:
            self.nominated[node] = [other for other in self.nominated.get(node, []) if other.key != facts.key]
            if not self.nominated[node]:
                del self.nominated[node]
            return
        if not self._count_out(facts):
            self.take_unit(Unit(self.units.of(facts), [facts]))

    def rank_of(self, unit: Unit, node: int) -> int:
        """Where a unit stands on a node."""
        return bisect_left(self.residents[node], unit.importance, key=_importance)

    def put_unit(self, unit: Unit) -> None:
        """A unit runs: because the world says so, or on trial."""
        if unit.group:
            self.groups[unit.key] = unit
        for name, share in unit.shares.items():
            for facts in share.pods:
                self._note_ports(facts)
            node = self.index[name]
            self.log.append(node)
            shares = self.residents[node]
            count = len(shares)
            rank = self.rank_of(unit, node)
            self._grow(ranks=count + 1)
            for array in (self.requests, self._facts):
                array[rank + 1 : count + 1, :, node] = array[rank:count, :, node].copy()
            shares.insert(rank, share)
            self.requests[rank, :, node] = 0
            self._write(np.array([[rank], [node]]), [share])
            self.used[:, node] += self.requests[rank, :, node]
            self.occupied[node] = count + 1

    def take_unit(self, unit: Unit) -> None:
        """A unit leaves."""
        if unit.group:
            self.groups.pop(unit.key, None)
        for facts in unit.pods:
            self.ported.pop(facts.key, None)
        for name in unit.shares:
            node = self.index[name]
            self.log.append(node)
            shares = self.residents[node]
            rank = self.rank_of(unit, node)
            last = len(shares) - 1
            self.used[:, node] -= self.requests[rank, :, node]
            for array, empty in ((self.requests, 0), (self._facts, _EMPTY[0, :, 0])):
                array[rank:last, :, node] = array[rank + 1 : last + 1, :, node].copy()
                array[last, :, node] = empty
            del shares[rank]
            self.occupied[node] = last

    def _write(self, places: Ints, shares: list[Share]) -> None:
        """Facts of shares into the columns, at ranks and nodes."""
        ranks, nodes = places
        self._facts[ranks, :, nodes] = [self._facts_of(share) for share in shares]
        for name in dict.fromkeys(name for share in shares for name in share.requests):
            row = self.row(name)
            self.requests[ranks, row, nodes] = [min(share.requests.of(name), LARGEST) for share in shares]

    def _facts_of(self, share: Share) -> tuple[int, ...]:
        """One value for each column, in order."""
        unit = share.unit
        if unit.group:
            return self._group_facts(unit)
        facts = unit.pods[0]
        return (
            unit.priority,
            facts.priority,
            facts.priority + SHIFT,
            1,
            facts.start,
            facts.scheduled,
            self.labels.number((facts.key[0], facts.labels)),
            self._repels(facts),
            self.tolerates.number(facts.pod.spec.priority_class_name),
            int(facts.pod.terminating),
            0,
            *self.marks.get(unit.key, _UNMARKED),
        )

    def _group_facts(self, unit: Unit) -> tuple[int, ...]:
        """A group counts with all its pods; what only some of them are is looked up pod by pod where it matters."""
        top = max(facts.priority for facts in unit.pods)
        for facts in unit.pods:
            self._repels(facts)
        return (
            unit.priority,
            top,
            sum(facts.priority + SHIFT for facts in unit.pods),
            len(unit.pods),
            min(facts.start for facts in unit.pods if facts.priority == top),
            max(facts.scheduled for facts in unit.pods),
            0,
            0,
            self.tolerates.number(unit.pods[0].pod.spec.priority_class_name),
            int(all(facts.pod.terminating for facts in unit.pods)),
            self._numbers.number(unit.key),
            *self.marks.get(unit.key, _UNMARKED),
        )

    def _repels(self, facts: PodFacts) -> int:
        """Which kind of pod it is to those it keeps away; 0: to nobody."""
        affinity = facts.pod.spec.affinity
        if affinity is None or affinity.pod_anti_affinity is None or not affinity.pod_anti_affinity.required:
            return 0
        terms = affinity.pod_anti_affinity.required
        key = (facts.key[0], facts.labels, msgspec.msgpack.encode(terms))
        known = len(self.repels)
        number = self.repels.number(Repelling(facts.key[0], facts.pod.metadata.labels, terms), key)
        if number == known:
            self.epoch += 1  # a new kind may keep away whom nobody kept away before
        return number

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
        larger = np.repeat(_EMPTY, shape[0], axis=0).repeat(shape[2], axis=2)
        larger[:depth, :, :width] = self._facts
        self._facts = larger
        self._name_ranks()

    def _name_ranks(self) -> None:
        """Each fact by name: a view of one array, so that moving a pod to another rank is one operation."""
        self.ranks = {name: self._facts[:, place, :] for place, name in enumerate(_RANKED)}
