"""What further places cost on each node, and who leaves for them: in columns, all nodes at once.

1. Where all who may leave a node give the same, the cheapest leave first.
2. Where at most eight may, every set of them is looked at.
3. Where more may, the largest leave first: by each resource, by all of them together, and by what they free least of.
   That is exact where one resource is short.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Ints, Mask

NEVER = 2**61
"""The cost of what cannot be had."""
MOST_TRIED = 8
"""Of so many who may leave a node, every set is looked at."""
_AT_ONCE = 200_000


class _Sets(NamedTuple):
    """For some nodes, sets of those who may leave: sets by nodes."""

    nodes: Ints
    places: Ints
    costs: Ints
    orders: Ints | None
    """Orders by places in it by nodes: the first so many of an order are a set; None: every set is one, as a number."""
    who: Ints
    """The ranks of those who may leave, by nodes."""

    def members(self, number: int, column: int) -> list[int]:
        if self.orders is None:
            places = [place for place in range(len(self.who)) if (number + 1) >> place & 1]
            return [int(self.who[place, column]) for place in places]
        order, last = divmod(number, self.orders.shape[1])
        return [int(self.who[place, column]) for place in self.orders[order, : last + 1, column]]


class NodeCurves:
    """For each number of further places on each node: what they cost, and who leaves."""

    def __init__(self, free: Ints, needs: Ints, gives: Ints, cost: Ints, now: Ints, lacking: int) -> None:
        """`now`: the places that nodes have already. Nobody may leave where `cost` is negative."""
        self._free, self._needs, self._gives, self._cost, self._now = free, needs, gives, cost, now
        self._may = cost >= 0
        self._lacking = lacking
        freed = np.where(self._may[:, None, :], gives, 0)
        most = np.clip(self._places(free + freed.sum(axis=0), slice(None)), 0, lacking)
        self.nodes: Ints = np.flatnonzero(most)
        """Those where somebody's leaving makes places."""
        self.costs: Ints = np.full((int(most.max(initial=0)) + 1, len(self.nodes)), NEVER, dtype=np.int64)
        """Further places by `nodes`; nothing is free."""
        self.exact = True
        """Whether every set of those who may leave counted."""
        self.costs[0] = 0
        self._which = np.zeros(self.costs.shape, dtype=np.int32)
        self._source = np.zeros((2, len(self.nodes)), dtype=np.int64)
        self._sets = list(self._every_kind_of_set(freed))
        column = np.zeros(len(most), dtype=np.int64)
        column[self.nodes] = np.arange(len(self.nodes))
        for number, sets in enumerate(self._sets):
            self._read(number, sets, column[sets.nodes])

    def leave(self, column: int, places: int) -> list[int]:
        """The ranks that leave one of `nodes` for so many further places."""
        source, at = map(int, self._source[:, column])
        return self._sets[source].members(int(self._which[places, column]), at)

    def _read(self, number: int, sets: _Sets, columns: Ints) -> None:
        self._source[0, columns] = number
        self._source[1, columns] = np.arange(len(columns))
        for places in range(1, min(len(self.costs) - 1, int(sets.places.max(initial=0))) + 1):
            costs = np.where(sets.places >= places, sets.costs, NEVER)
            best = costs.argmin(axis=0)
            self._which[places, columns] = best
            self.costs[places, columns] = costs[best, np.arange(len(columns))]

    def _places(self, free: Ints, nodes: Ints | slice) -> Ints:
        """Further places, with so much free on some nodes; resources stand before the last axis."""
        each: Ints = free[..., 0, :] // self._needs[0]
        for row in range(1, len(self._needs)):
            each = np.minimum(each, free[..., row, :] // self._needs[row])
        return np.asarray(np.minimum(np.clip(each, 0, None) - self._now[nodes], self._lacking))

    def _every_kind_of_set(self, freed: Ints) -> Iterator[_Sets]:
        may = self._may[:, self.nodes]
        numbers = may.sum(axis=0)
        freed = freed[:, :, self.nodes]
        least = np.where(may[:, None, :], freed, NEVER).min(axis=0, initial=NEVER)
        alike = (freed.max(axis=0, initial=0) == least).all(axis=0)
        many = ~alike & (numbers > MOST_TRIED)
        self.exact = not many.any()
        yield from self._in_orders(np.flatnonzero(alike), numbers, alike=True)
        yield from self._in_orders(np.flatnonzero(many), numbers, alike=False)
        for number in range(2, MOST_TRIED + 1):
            yield from self._all_sets(self.nodes[~alike & (numbers == number)], number)

    def _in_orders(self, columns: Ints, numbers: Ints, *, alike: bool) -> Iterator[_Sets]:
        if not len(columns):
            return
        nodes, depth = self.nodes[columns], int(numbers[columns].max())
        who, amounts, prices = self._who(nodes, depth)
        there = np.arange(depth)[:, None] < numbers[columns]
        prices = np.where(there, prices, 0)
        amounts = np.where(there[:, None, :], amounts, 0)
        orders = np.stack(
            [np.argsort(np.where(there, prices, NEVER), axis=0, kind="stable")]
            if alike
            else [np.lexsort((prices, -key, ~there), axis=0) for key in self._keys(amounts)]
        )
        places, costs = [], []
        for order in orders:
            freed = np.take_along_axis(amounts, order[:, None, :], axis=0).cumsum(axis=0)
            places.append(self._places(self._free[:, nodes] + freed, nodes))
            costs.append(np.take_along_axis(prices, order, axis=0).cumsum(axis=0))
        yield _Sets(nodes, np.concatenate(places), np.concatenate(costs), orders, who)

    def _keys(self, amounts: Ints) -> list[Ints]:
        shares = amounts / self._needs[None, :, None]
        keys = [*(shares[:, row] for row in range(len(self._needs))), shares.sum(axis=1), shares.min(axis=1)]
        return keys if len(self._needs) > 1 else keys[:1]

    def _all_sets(self, nodes: Ints, number: int) -> Iterator[_Sets]:
        sets = (np.arange(1, 2**number)[:, None] >> np.arange(number)[None]) & 1
        size = _AT_ONCE >> number
        for begin in range(0, len(nodes), size):
            some = nodes[begin : begin + size]
            who, amounts, prices = self._who(some, number)
            freed = np.einsum("sk,krn->srn", sets, amounts)
            yield _Sets(some, self._places(self._free[:, some] + freed, some), sets @ prices, None, who)

    def _who(self, nodes: Ints, depth: int) -> tuple[Ints, Ints, Ints]:
        """Those who may leave first, then others: ranks, what they give, what it costs."""
        who = np.argsort(~self._may[:, nodes], axis=0, kind="stable")[:depth]
        amounts = self._gives[who[:, None, :], np.arange(len(self._needs))[None, :, None], nodes[None, None, :]]
        return who, amounts, self._cost[who, nodes]


def reachable(free: Ints, needs: Ints, reach: Mask, wanted: int) -> Ints:
    """The places that nodes have as they are."""
    return np.where(reach, np.clip((free // needs[:, None]).min(axis=0), 0, wanted), 0)
