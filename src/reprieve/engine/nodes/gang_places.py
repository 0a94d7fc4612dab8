"""Room for a gang while units leave and come back, as plain arithmetic: where no pod of it minds its neighbours.

Where all members are alike, the places of a node are what its free room divides into. Where they are not, the largest
are packed first, each on the node that they leave least room on; and where that fails, everything is tried, as far as
that is few enough (`exact`). A packing that was found here is a proposal: whoever makes a plan of it has every pod
looked at in full.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import prod

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.units import Unit

Packing = dict[int, list[int]]
"""For each node, how many of each shape go there."""
_MOST_WAYS, _MOST_PATTERNS = 1000, 1000
_COUNTABLE = 2**62


class Room:
    """What the nodes have, what shapes need, and where these may go."""

    def __init__(self, free: Ints, needs: Ints, reach: Mask, counts: Sequence[int], wanted: int, order: Ints) -> None:
        """`free`: resources by nodes; `needs`: shapes by resources; `reach`: shapes by nodes; `order`: in which ties
        between nodes end."""
        self.free = free
        self.needs = needs
        self.reach = reach
        self.counts = list(counts)
        self.wanted = wanted
        self.order = order

    def capacity(self, shape: int, free: Ints) -> Ints:
        """How many of a shape each node could hold."""
        needs = self.needs[shape]
        rows = np.flatnonzero(needs)
        if not len(rows):
            return np.where(self.reach[shape], self.counts[shape], 0)
        each = (free[rows] // needs[rows, None]).min(axis=0)
        return np.where(self.reach[shape], np.clip(each, 0, self.counts[shape]), 0)

    def take(self, shape: int, free: Ints) -> bool:
        """All of a shape come, to the nodes first that hold most of them; tells whether there is room for them."""
        places, count = self.capacity(shape, free), self.counts[shape]
        for node in self.order[np.argsort(-places[self.order], kind="stable")].tolist():
            taken = min(count, int(places[node]))
            free[:, node] -= self.needs[shape] * taken
            count -= taken
            if count <= 0:
                return True
        return False


Gives = Callable[[Unit], Iterator[tuple[int, Ints]]]
"""What a unit gives to each node that it leaves."""


class OneShape:
    """All members are alike: places are counted, node by node, and only where something has changed."""

    def __init__(self, room: Room, gives: Gives) -> None:
        self._gives = gives
        self._wanted = room.wanted
        self._most = room.counts[0]
        rows = np.flatnonzero(room.needs[0])
        self._rows = rows
        self._needs: list[int] = room.needs[0][rows].tolist()
        self._reach: list[bool] = room.reach[0].tolist()
        self._free: list[list[int]] = room.free[rows].T.tolist()
        self._places: list[int] = room.capacity(0, room.free).tolist()
        self.total: int = sum(self._places)

    def fits(self) -> bool:
        return bool(self.total >= self._wanted)

    def remove(self, unit: Unit) -> None:
        self._move(unit, 1)

    def give_back(self, unit: Unit) -> None:
        self._move(unit, -1)

    def _move(self, unit: Unit, sign: int) -> None:
        for node, amounts in self._gives(unit):
            if not self._reach[node]:
                continue
            free = self._free[node]
            places = self._most
            for place, (row, need) in enumerate(zip(self._rows, self._needs, strict=True)):
                free[place] += sign * int(amounts[row])
                places = min(places, free[place] // need)
            places = max(places, 0)
            self.total += places - self._places[node]
            self._places[node] = places


class SeveralShapes:
    """Members of several shapes, packed anew each time somebody asks."""

    def __init__(self, room: Room, gives: Gives, tries: int) -> None:
        self._room = room
        self._gives = gives
        self._free = room.free.copy()
        self._tries = tries
        """So often everything is tried where packing the largest first fails."""
        scale = np.maximum(room.free.max(axis=1, initial=1), 1)
        sizes = (room.needs / scale).max(axis=1)
        few = room.reach.sum(axis=1)
        self._orders = list(
            dict.fromkeys(
                [
                    tuple(np.lexsort((few, -sizes)).tolist()),
                    tuple(np.lexsort((-sizes, few)).tolist()),
                    tuple(np.argsort(-(room.needs / scale).sum(axis=1), kind="stable").tolist()),
                ]
            )
        )
        self._sizes = sizes

    def fits(self) -> bool:
        return self.packing() is not None

    def remove(self, unit: Unit) -> None:
        self._move(unit, 1)

    def give_back(self, unit: Unit) -> None:
        self._move(unit, -1)

    def _move(self, unit: Unit, sign: int) -> None:
        for node, amounts in self._gives(unit):
            self._free[:, node] += sign * amounts

    def packing(self) -> Packing | None:
        """Where all who are wanted go; None: no way was found."""
        if not self._enough_at_all():
            return None
        for order in self._orders:
            found = self._pack(order)
            if found is not None:
                return found
        if self._tries <= 0:
            return None
        self._tries -= 1
        return exact(self._room, self._free)

    def _enough_at_all(self) -> bool:
        room = self._room
        most = [int(min(room.capacity(shape, self._free).sum(), count)) for shape, count in enumerate(room.counts)]
        if sum(most) < room.wanted:
            return False
        # Where all are wanted, so is all that they need.
        there = np.where(room.reach.any(axis=0), np.maximum(self._free, 0), 0).sum(axis=1)
        needed = room.needs.T @ np.array(room.counts, dtype=np.int64)
        return sum(room.counts) > room.wanted or bool((needed <= there).all())

    def _pack(self, order: Sequence[int]) -> Packing | None:
        room, free = self._room, self._free.copy()
        spare = sum(room.counts) - room.wanted
        packed: Packing = {}
        for shape in order:
            waiting = room.counts[shape]
            places = room.capacity(shape, free)
            open_ = room.order[places[room.order] > 0]
            if len(open_):
                left = (free[:, open_] - room.needs[shape][:, None] * places[open_]) / np.maximum(
                    room.needs.max(axis=0)[:, None], 1
                )
                for node in open_[np.argsort(left.sum(axis=0), kind="stable")].tolist():
                    taken = min(waiting, int(places[node]))
                    packed.setdefault(node, [0] * len(room.counts))[shape] += taken
                    free[:, node] -= room.needs[shape] * taken
                    waiting -= taken
                    if not waiting:
                        break
            spare -= waiting
            if spare < 0:
                return None
        return packed


def exact(room: Room, free: Ints) -> Packing | None:
    """Every way of packing, node by node; where there are too many, those that have packed most by then."""
    capacities = np.stack([room.capacity(shape, free) for shape in range(len(room.counts))])
    nodes = room.order[np.asarray(capacities.any(axis=0))[room.order]].tolist()
    counts = np.array(room.counts, dtype=np.int64)
    if prod(count + 1 for count in room.counts) >= _COUNTABLE:
        return None
    radix = np.cumprod([1, *(counts[:-1] + 1)])
    weight = (room.needs / np.maximum(np.maximum(free, 0).sum(axis=1), 1)).sum(axis=1)
    ways = np.zeros((1, len(counts)), dtype=np.int64)
    trail: list[tuple[Ints, Ints]] = []
    for node in nodes:
        found = islice(_patterns(room, free[:, node], capacities[:, node].tolist()), _MOST_PATTERNS)
        patterns = np.array([(0,) * len(counts), *found], dtype=np.int64)
        more = np.minimum(ways[:, None] + patterns[None], counts).reshape(-1, len(counts))
        kept = np.unique(more @ radix, return_index=True)[1]
        if len(kept) > _MOST_WAYS:
            kept = kept[np.argsort(-(more[kept] @ weight), kind="stable")[:_MOST_WAYS]]
        trail.append((kept // len(patterns), patterns[kept % len(patterns)]))
        ways = more[kept]
        done = np.flatnonzero(ways.sum(axis=1) >= room.wanted)
        if len(done):
            return _followed(room, nodes, trail, int(done[0]))
    return None


def _followed(room: Room, nodes: list[int], trail: list[tuple[Ints, Ints]], way: int) -> Packing:
    """What each node holds on one of the ways, no more of a shape than there are."""
    steps: list[list[int]] = []
    for before, patterns in reversed(trail):
        steps.append(patterns[way].tolist())
        way = int(before[way])
    left, packed = list(room.counts), {}
    for node, pattern in zip(nodes, reversed(steps), strict=False):
        packed[node] = [min(number, most) for number, most in zip(pattern, left, strict=True)]
        left = [most - number for most, number in zip(left, packed[node], strict=True)]
    return packed


def _patterns(room: Room, free: Ints, capacity: list[int]) -> Iterator[tuple[int, ...]]:
    """What one node could hold at once: only what cannot be more of anything."""

    def fill(shape: int, left: Ints, so_far: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if shape == len(room.counts):
            yield so_far
            return
        needs = room.needs[shape]
        rows = needs > 0
        most = capacity[shape]
        if rows.any():
            most = min(most, max(0, int((left[rows] // needs[rows]).min())))
        last = shape == len(room.counts) - 1
        for number in range(most, most - 1 if last else -1, -1):
            yield from fill(shape + 1, left - needs * number, (*so_far, number))

    yield from (pattern for pattern in fill(0, free, ()) if any(pattern))
