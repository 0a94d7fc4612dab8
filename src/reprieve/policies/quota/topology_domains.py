"""The nodes of one flavor as a tree of domains, and where in it the pods of a pod set go, as Kueue documents it.

1. A domain of the lowest level (a leaf) has what its nodes have; a larger one holds as many pods as its leaves do.
2. Required: the pods go into one domain of that level; of those that hold them all, into the one that holds fewest.
3. Preferred: the same at that level, else at the next one above; where no domain of the highest holds them all, into
   several.
4. Unconstrained: into leaves, wherever they are, the fullest first; into one where one holds all of them.
5. Inside a domain, and where it takes several: those that hold most come first; the last one is again the one that
   holds fewest of those that hold the rest. So few domains are used, and what is left is in one piece.
6. Slices are never torn: a domain of their level holds as many whole ones as it has pods for, a larger one those of its
   parts, and whole slices are what is placed down to that level; below it, pods. What cannot be divided into slices
   does not fit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from reprieve.manifests.core import Node
from reprieve.manifests.kueue import ResourceFlavor
from reprieve.manifests.kueue_topology import HOSTNAME, Domain, Topology
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import PodSpec
from reprieve.policies.quota.flavor_labels import may_run_on

Ints = npt.NDArray[np.int64]
Wish = Literal["required", "preferred", "unconstrained"]
Taken = list[tuple[int, int]]
"""Domains of one level, and how many pods go to each."""
_NO_LIMIT = 2**31
"""Pods of a leaf for what asks for nothing."""


class PlaceRequest(NamedTuple):
    """What a pod set asks of the topology of the flavor that it gets."""

    pod_set: str
    flavor: str
    wish: Wish
    level: int
    pods: int
    each: tuple[tuple[str, int], ...]
    """What one pod takes."""
    spec: PodSpec
    says: bytes
    """What its pods say about nodes, to tell such apart."""
    size: int = 1
    """How many pods stay together in one domain of `slice_level`; one: nobody has to."""
    slice_level: int = 0


class FlavorTopology:
    """The domains of one flavor, and what is free in each leaf."""

    def __init__(self, flavor: ResourceFlavor, topology: Topology, nodes: Iterable[Node]) -> None:
        self.flavor = flavor
        self.levels = topology.levels
        self.by_host = self.levels[-1] == HOSTNAME
        """Whether leaves are nodes: then what pods say about nodes counts, too."""
        placed = [(node, values) for node in nodes if (values := self._values(node)) is not None]
        self.leaves: list[tuple[str, ...]] = sorted({values for _, values in placed})
        index = {values: number for number, values in enumerate(self.leaves)}
        self._leaf_of = {node.name: index[values] for node, values in placed}
        self._named = {leaf[-1:] if self.by_host else leaf: at for leaf, at in index.items()}
        resources = {name for node, _ in placed for name in node.allocatable}
        self._columns = {name: at for at, name in enumerate(sorted(resources))}
        capacity: Ints = np.zeros((len(self.leaves), len(self._columns)), dtype=np.int64)
        for node, _ in placed:
            self.move(capacity, self._leaf_of[node.name], node.allocatable, 1)
        self.idle: Ints = capacity.copy()
        """What is free if no workload is there."""
        self.free: Ints = capacity.copy()
        self._nodes = {self._leaf_of[node.name]: node for node, _ in placed} if self.by_host else {}
        self._reach: dict[bytes, npt.NDArray[np.bool_]] = {}
        self._domains = [_numbers(self.leaves, depth) for depth in range(1, len(self.levels) + 1)]
        self._firsts = [np.unique(numbers, return_index=True)[1] for numbers in self._domains]
        """Of each level, the first leaf of each of its domains."""

    def _values(self, node: Node) -> tuple[str, ...] | None:
        """Where a node is; None: pods of the flavor are not sent there."""
        labels = node.metadata.labels
        if not is_ready(node) or any(labels.get(key) != value for key, value in self.flavor.spec.node_labels.items()):
            return None
        values = [labels[level] for level in self.levels if level in labels]
        return tuple(values) if len(values) == len(self.levels) else None

    def leaf_of(self, node: str) -> int | None:
        return self._leaf_of.get(node)

    def find(self, values: Sequence[str]) -> int | None:
        """The leaf that an assignment names: by all levels, or by its host alone."""
        return self._named.get(tuple(values[-1:] if self.by_host else values))

    def move(self, free: Ints, leaf: int, amounts: Mapping[str, int], times: int) -> None:
        for name, amount in amounts.items():
            if name in self._columns:
                free[leaf, self._columns[name]] += amount * times

    # How many pods, and where

    def counts(self, request: PlaceRequest, free: Ints) -> Ints:
        """How many of its pods each leaf holds."""
        found: Ints = np.full(len(self.leaves), _NO_LIMIT, dtype=np.int64)
        for name, amount in request.each:
            if amount > 0:
                column = self._columns.get(name)
                left = free[:, column] // amount if column is not None else np.zeros_like(found)
                np.minimum(found, left, out=found)
        np.maximum(found, 0, out=found)
        return found * self._within_reach(request) if self.by_host else found

    def _within_reach(self, request: PlaceRequest) -> npt.NDArray[np.bool_]:
        known = self._reach.get(request.says)
        if known is None:
            nodes, tolerations = (self._nodes[leaf] for leaf in range(len(self.leaves))), self.flavor.spec.tolerations
            found = [may_run_on(node, request.spec, tolerations) for node in nodes]
            known = self._reach[request.says] = np.array(found, dtype=np.bool_)
        return known

    def most(self, request: PlaceRequest, free: Ints) -> int:
        """How many of its pods could be placed as it wishes."""
        counts = self.counts(request, free)
        if not len(counts):
            return 0
        held = self._held(request, counts, request.level if request.wish == "required" else 0)
        most = held.max() if request.wish == "required" else held.sum()
        return int(min(most, request.pods // request.size)) * request.size

    def place(self, request: PlaceRequest, free: Ints) -> Taken | None:
        """Leaves, and how many pods go to each; None where it cannot have what it wishes."""
        counts = self.counts(request, free)
        if not len(counts) or request.pods % request.size:
            return None
        level, taken = self._level(request, counts)
        while taken is not None and level < len(self.levels) - 1:
            if request.size > 1 and level == request.slice_level:
                taken = [(domain, number * request.size) for domain, number in taken]
            level += 1
            held = self._held(request, counts, level).tolist()
            taken = [
                part
                for domain, number in taken
                for part in _largest_first([(one, held[one]) for one in self._inside(level - 1, domain)], number) or ()
            ]
        if taken is not None and request.size > 1 and level == request.slice_level:
            taken = [(domain, number * request.size) for domain, number in taken]
        return sorted(taken) if taken is not None else None

    def _level(self, request: PlaceRequest, counts: Ints) -> tuple[int, Taken | None]:
        """The level at which one domain holds all, and that domain; at the highest, if need be, several. Of slices, as
        of pods, wherever they go: of the domains that they stay together in."""
        level, number = request.level, request.pods // request.size
        if request.wish == "unconstrained":
            level = request.slice_level if request.size > 1 else len(self.levels) - 1
            return level, _fullest_first(list(enumerate(self._held(request, counts, level).tolist())), number)
        while True:
            held = list(enumerate(self._held(request, counts, level).tolist()))
            whole = _best(held, number)
            if whole is not None:
                return level, [(whole, number)]
            if request.wish == "required":
                return level, None
            if level == 0:
                return level, _largest_first(held, number)
            level -= 1

    def _held(self, request: PlaceRequest, counts: Ints, level: int) -> Ints:
        """What the domains of a level hold: slices down to their own level, below it, or without any, pods."""
        if request.size == 1 or level > request.slice_level:
            return self._sums(counts, level)
        slices = self._sums(counts, request.slice_level) // request.size
        above: Ints = np.zeros(int(self._domains[level][-1]) + 1, dtype=np.int64)
        np.add.at(above, self._domains[level][self._firsts[request.slice_level]], slices)
        return above

    def _sums(self, counts: Ints, level: int) -> Ints:
        numbers = self._domains[level]
        found: Ints = np.zeros(int(numbers[-1]) + 1, dtype=np.int64)
        np.add.at(found, numbers, counts)
        return found

    def _inside(self, level: int, domain: int) -> list[int]:
        """The domains of the next level in one of this level."""
        return sorted(set(self._domains[level + 1][self._domains[level] == domain].tolist()))

    def named(self, taken: Taken) -> tuple[tuple[str, ...], list[Domain]]:
        """Levels and domains as an assignment has them: of nodes, the host is enough."""
        if self.by_host:
            return self.levels[-1:], [(self.leaves[leaf][-1:], pods) for leaf, pods in taken]
        return self.levels, [(self.leaves[leaf], pods) for leaf, pods in taken]


def is_ready(node: Node) -> bool:
    """Whether pods are sent to it; one that says nothing about it is ready."""
    ready = find_condition(node.status.conditions, "Ready")
    return not node.spec.unschedulable and (ready is None or ready.status == "True")


def _numbers(leaves: list[tuple[str, ...]], depth: int) -> Ints:
    """For each leaf the number of its domain at a level, in the order of their values."""
    known: dict[tuple[str, ...], int] = {}
    return np.array([known.setdefault(leaf[:depth], len(known)) for leaf in leaves], dtype=np.int64)


def _best(held: Iterable[tuple[int, int]], pods: int) -> int | None:
    """Of those that hold so many, the one that holds fewest; of equals the first."""
    return min(((count, domain) for domain, count in held if count >= pods), default=(0, None))[1]


def _largest_first(held: list[tuple[int, int]], pods: int) -> Taken | None:
    """Rule 5."""
    rest = sorted(((domain, count) for domain, count in held if count), key=lambda item: (-item[1], item[0]))
    taken: Taken = []
    for at, (domain, count) in enumerate(rest):
        if count >= pods:
            last = _best(rest[at:], pods)
            return [*taken, (domain if last is None else last, pods)]
        taken.append((domain, count))
        pods -= count
    return None


def _fullest_first(held: list[tuple[int, int]], pods: int) -> Taken | None:
    """Rule 4."""
    whole = _best(held, pods)
    if whole is not None:
        return [(whole, pods)]
    return sorted(_poured(held, pods)) if sum(count for _, count in held) >= pods else None


def _poured(held: list[tuple[int, int]], pods: int) -> Iterator[tuple[int, int]]:
    for domain, count in sorted(held, key=lambda item: (item[1], item[0])):
        if count and pods:
            yield domain, min(count, pods)
            pods -= min(count, pods)
