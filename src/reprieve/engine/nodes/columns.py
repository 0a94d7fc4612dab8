"""The columns that the node table is made of, and the units that stand in them.

One array over resources and nodes for what nodes offer and what is used; one over ranks, resources and nodes for what
each share asks for; one over ranks, facts and nodes for what else a search reads. Whoever comes or leaves moves the
shares below it by a rank, in one operation for each array.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sized
from typing import NamedTuple

import msgspec
import numpy as np

from reprieve.engine.arrays import Interner, Ints, Mask, enough, resized
from reprieve.engine.nodes.units import PlacedBy, Unit, UnitShare
from reprieve.engine.nodes.wishers import Wishers
from reprieve.manifests.core import Node
from reprieve.manifests.meta import Taint
from reprieve.manifests.pods import PodAffinityTerm
from reprieve.model.names import UnitName
from reprieve.model.resources import CPU, PODS
from reprieve.world import NEVER, PodFacts

NOBODY = 2**62
"""The priority of an empty rank: higher than any, so that nobody is ever preempted from it."""
LARGEST = 2**52
"""Amounts above this (4 PiB) count as this, so that a thousand of them can be summed in 64 bits."""
SCORED = (CPU, "memory")
"""The resources by which nodes are scored."""
# One array each over ranks and nodes, and what stands where nobody is. `priority` is what it takes to preempt the unit;
# `top`, `total`, `count` and `start` are the price of its pods, wherever they run, by their own priorities.
# `no_cpu` and `no_memory` are how many of its pods on the node do not say how much they need of that.
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
    "placed_by": 0,
    "leaves": 0,
    "group": 0,
    "no_cpu": 0,
    "no_memory": 0,
    "breaks": 0,
    "kept": 0,
}
_SILENT = slice(list(_RANKED).index("no_cpu"), list(_RANKED).index("no_memory") + 1)
_EMPTY = np.array(list(_RANKED.values()), dtype=np.int64).reshape(1, len(_RANKED), 1)
SHIFT = 2**31
"""Added to priorities before they are summed, so that more victims never look cheaper because they are negative."""


def importance_of(share: UnitShare) -> tuple[int, int, int, int, int, UnitName]:
    return share.unit.importance


Classes = tuple[tuple[str, int], ...]
"""Names of priority classes, and since when the last pod of each is scheduled. Where it is only one, the column
`scheduled` says since when."""


def _silent(facts: PodFacts) -> list[bool]:
    """Whether a pod asks for nothing of each resource by which nodes are scored."""
    return [not facts.requests.of(name) for name in SCORED]


class Mark(NamedTuple):
    """How many pods of a unit would break a budget, and whether it has been reprieved for good."""

    breaks: int = 0
    kept: int = 0


_UNMARKED = Mark()


class Repelling(NamedTuple):
    """A kind of pod that keeps others away: where it lives, its labels, and its required anti-affinity."""

    namespace: str
    labels: dict[str, str]
    terms: tuple[PodAffinityTerm, ...]


class NodeColumns:
    """Columns over nodes, with the units that run there."""

    def __init__(self) -> None:
        self.epoch = 0
        """Raised when something changed that may matter for every node."""
        self.marks: dict[Hashable, Mark] = {}
        """What a search over all nodes has found out about units, while it lasts."""

    def clear(self, nodes: int) -> None:
        """Empty columns, with room for so many nodes."""
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.index: dict[str, int] = {}
        self.resources: dict[str, int] = {PODS: 0}
        self.residents: list[list[UnitShare]] = []
        self.groups: dict[Hashable, Unit] = {}
        """Units of more than one pod, or that could have more, by key."""
        self.ported: dict[tuple[str, str], PodFacts] = {}
        self.wishers = Wishers()
        self.log: list[int] = []
        """Nodes that were touched, one after the other."""
        self._numbers = Interner[Hashable]()
        self.taints = Interner[tuple[Taint, ...]]()
        self.labels = Interner[tuple[str, frozenset[tuple[str, str]]]]()
        self.repels = Interner[Repelling]()
        self.tolerates = Interner[Classes]()
        """Which priority classes a unit is of, and since when: what its pods tolerate follows from that."""
        self.placed_by = Interner[PlacedBy]()
        width = max(nodes, 16)
        self.allocatable: Ints = np.zeros((4, width), dtype=np.int64)
        self.used: Ints = np.zeros((4, width), dtype=np.int64)
        self.silent: Ints = np.zeros((len(SCORED), width), dtype=np.int64)
        """How many pods on each node do not say how much they need of what nodes are scored by."""
        self.occupied: Ints = np.zeros(width, dtype=np.int64)
        self.unschedulable: Mask = np.zeros(width, dtype=np.bool_)
        self.gone: Mask = np.zeros(width, dtype=np.bool_)
        self.taint_set: Ints = np.zeros(width, dtype=np.int64)
        self._facts = np.repeat(_EMPTY, 8, axis=0).repeat(width, axis=2)
        self._name_ranks()
        self.requests: Ints = np.zeros((8, 4, width), dtype=np.int64)

    # Reading

    @property
    def size(self) -> int:
        return len(self.names)

    def ranked(self, name: str, nodes: slice | Ints) -> Ints:
        """One fact about the pods of some nodes, rank by rank, as deep as the fullest of all nodes."""
        return self.ranks[name][: self.depth, nodes]

    @property
    def numbered(self) -> int:
        """How many kinds of pods and groups have a number: those that are there, and those that were."""
        kinds: tuple[Sized, ...] = (self.labels, self.repels, self.tolerates, self.placed_by, self._numbers)
        return max(map(len, kinds))

    @property
    def depth(self) -> int:
        return int(self.occupied[: self.size].max(initial=0))

    def free(self, rows: Ints | slice | int, nodes: Ints | slice | int) -> Ints:
        """What is left on some nodes of some resources; those who are leaving still count as there."""
        return np.asarray(self.allocatable[rows, nodes] - self.used[rows, nodes])

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
        for array in (
            *arrays,
            self.silent[:, :size],
            self.occupied[:size],
            *(ranks[:depth, :size] for ranks in self.ranks.values()),
        ):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # Units

    def rank_of(self, unit: Unit, node: int) -> int:
        """Where a unit stands on a node."""
        return bisect_left(self.residents[node], unit.importance, key=importance_of)

    def put_unit(self, unit: Unit) -> None:
        """A unit runs: because the world says so, or on trial."""
        if unit.group:
            self.groups[unit.key] = unit
        for name, share in unit.shares.items():
            for facts in share.pods:
                self._note(facts)
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
            self._write(share, rank, node)
            self.used[:, node] += self.requests[rank, :, node]
            self.silent[:, node] += self._facts[rank, _SILENT, node]
            self.occupied[node] = count + 1

    def take_unit(self, unit: Unit) -> None:
        """A unit leaves."""
        if unit.group:
            self.groups.pop(unit.key, None)
        for facts in unit.pods:
            self._forget(facts)
        for name in unit.shares:
            node = self.index[name]
            self.log.append(node)
            shares = self.residents[node]
            rank = self.rank_of(unit, node)
            last = len(shares) - 1
            self.used[:, node] -= self.requests[rank, :, node]
            self.silent[:, node] -= self._facts[rank, _SILENT, node]
            for array, empty in ((self.requests, 0), (self._facts, _EMPTY[0, :, 0])):
                array[rank:last, :, node] = array[rank + 1 : last + 1, :, node].copy()
                array[last, :, node] = empty
            del shares[rank]
            self.occupied[node] = last

    def renew_unit(self, before: Unit, unit: Unit, node: int) -> bool:
        """A pod alone says something else of itself than before; False where it ranks or stands elsewhere by that."""
        shares, rank = self.residents[node], self.rank_of(before, node)
        known = shares[rank].unit if rank < len(shares) else None
        if known is None or known.key != unit.key or known.group or before.importance != unit.importance:
            return False
        for facts in unit.pods:
            self._forget(facts)
            self._note(facts)
        self.log.append(node)
        shares[rank] = unit.shares[self.names[node]]
        self._facts[rank, :, node] = self._facts_of(shares[rank])
        return True

    def _write(self, share: UnitShare, rank: int, node: int) -> None:
        """Facts of a share into the columns."""
        self._facts[rank, :, node] = self._facts_of(share)
        for name, units in share.requests.items():
            row = self.row(name)  # first: it may make the columns larger
            self.requests[rank, row, node] = min(units, LARGEST)

    def _write_all(self, places: Ints, shares: list[UnitShare]) -> None:
        """The same of all shares at once, at ranks and nodes, into columns that are empty."""
        ranks, nodes = places
        self._facts[ranks, :, nodes] = [self._facts_of(share) for share in shares]
        for name in dict.fromkeys(name for share in shares for name in share.requests):
            row = self.row(name)
            self.requests[ranks, row, nodes] = [min(share.requests.of(name), LARGEST) for share in shares]
        self.used += self.requests.sum(axis=0)
        self.silent += self._facts[:, _SILENT].sum(axis=0)

    def _facts_of(self, share: UnitShare) -> tuple[int, ...]:
        """One value for each column, in order."""
        unit = share.unit
        if unit.group:
            return self._group_facts(share)
        facts = unit.pods[0]
        return (
            unit.priority,
            facts.priority,
            facts.priority + SHIFT,
            1,
            facts.start,
            facts.scheduled,
            self.labels.number((facts.key[0], facts.labels)),
            self.repelling(facts),
            self.tolerates.number(((facts.pod.spec.priority_class_name, NEVER),)),
            self.placed_by.number(unit.placed_by),
            int(facts.pod.terminating),
            0,
            *_silent(facts),
            *self.marks.get(unit.key, _UNMARKED),
        )

    def _group_facts(self, share: UnitShare) -> tuple[int, ...]:
        """A group counts with all its pods; what only some of them are is looked up pod by pod where it matters."""
        unit = share.unit
        top = max(facts.priority for facts in unit.pods)
        for facts in unit.pods:
            self.repelling(facts)
        return (
            unit.priority,
            top,
            sum(facts.priority + SHIFT for facts in unit.pods),
            len(unit.pods),
            min(facts.start for facts in unit.pods if facts.priority == top),
            max(facts.scheduled for facts in unit.pods),
            0,
            0,
            self._classes_of(unit),
            self.placed_by.number(unit.placed_by),
            int(all(facts.pod.terminating for facts in unit.pods)),
            self._numbers.number(unit.key),
            *map(sum, zip(*map(_silent, share.pods), strict=True)),
            *self.marks.get(unit.key, _UNMARKED),
        )

    def _classes_of(self, unit: Unit) -> int:
        """A group of one class is as one pod of it, the one that was scheduled last; of several, each has its own."""
        latest: dict[str, int] = {}
        for facts in unit.pods:
            name = facts.pod.spec.priority_class_name
            latest[name] = max(facts.scheduled, latest.get(name, -NEVER))
        if len(latest) == 1:
            latest = dict.fromkeys(latest, NEVER)
        return self.tolerates.number(tuple(sorted(latest.items())))

    def repelling(self, facts: PodFacts) -> int:
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

    def _note(self, facts: PodFacts) -> None:
        """What others have to know of a pod beside the columns: its ports, and whom it would like around."""
        if facts.host_ports:
            self.ported[facts.key] = facts
        if facts.node:
            self.wishers.note(facts)

    def _forget(self, facts: PodFacts) -> None:
        self.ported.pop(facts.key, None)
        self.wishers.forget(facts.key)

    # Room

    def _grow(self, *, nodes: int = 0, ranks: int = 0, resources: int = 0) -> None:
        """Make room for so many of each; doubling, so that growing is rare."""
        depth, rows, width = self.requests.shape
        shape = (enough(depth, ranks), enough(rows, resources), enough(width, nodes))
        if shape == (depth, rows, width):
            return
        self.allocatable = resized(self.allocatable, shape[1:], 0)
        self.used = resized(self.used, shape[1:], 0)
        self.silent = resized(self.silent, (len(SCORED), shape[2]), 0)
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
