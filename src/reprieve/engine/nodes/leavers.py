"""Who may leave some nodes for a gang, in columns: units are made of them only where somebody asks for these."""

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.model.resources import PODS
from reprieve.world import PodFacts

_BITS = 59
"""Of the cost of all who could leave together, as one number."""
_MOST_LEVELS = 2**12


class Leavers:
    """Shares of units on the nodes of one domain: ranks by nodes."""

    def __init__(self, table: NodeTable, nodes: Ints, may: Mask, breaks: Mapping[Hashable, int], broken: Ints) -> None:
        """`breaks`: how many pods of a unit go against a budget; `broken`: the same for each share."""
        self.nodes = nodes
        self.may = may
        self.breaks = breaks
        self._broken = broken
        self._table = table
        self.depth = len(may)

    @cached_property
    def units(self) -> list[Unit]:
        """The least important first."""
        found: dict[Hashable, Unit] = {}
        nodes = self.nodes.tolist()
        for rank, place in np.argwhere(self.may).tolist():
            unit = self._table.residents[nodes[place]][rank].unit
            found[unit.key] = unit
        return sorted(found.values(), key=lambda unit: unit.importance)[::-1]

    def unit_at(self, rank: int, place: int) -> Unit:
        unit: Unit = self._table.residents[self.nodes[place]][rank].unit
        return unit

    @cached_property
    def gives(self) -> Ints:
        """What each share frees: ranks by resources by nodes."""
        return self._table.requests[: self.depth][:, :, self.nodes]

    def column(self, name: str) -> Ints:
        return self._table.ranks[name][: self.depth, self.nodes]

    @cached_property
    def single(self) -> Mask:
        """Those who leave without anybody else."""
        return np.asarray(self.may & (self.column("count") == 1))

    @cached_property
    def together(self) -> bool:
        """Whether there are units of several pods."""
        return bool((self.may & ~self.single).any())

    @cached_property
    def number(self) -> int:
        """How many shares there are: at least as many as units."""
        return int(np.count_nonzero(self.may))

    def seconds(self, now: int) -> Ints:
        """For how long each has run."""
        return np.asarray(np.clip(now - self.column("start"), 0, None))

    def of_singles(self, asked: Callable[[PodFacts], int]) -> Ints:
        """The same, as it is said of each single pod."""
        found = np.zeros(self.may.shape, dtype=np.int64)
        for rank, place in np.argwhere(self.single).tolist():
            found[rank, place] = asked(self.unit_at(rank, place).pods[0])
        return found

    def costs(self, wanted: int, ran: Ints) -> Ints:
        """What it costs that single pods leave, as one number each, so that sums compare as prices do; negative: it may
        not leave, or not alone."""
        single = self.single
        cost = np.full(single.shape, -1, dtype=np.int64)
        if not single.any():
            return cost
        lost = (self._share() * ran)[single]
        deepest = int(np.count_nonzero(single, axis=0).max())
        top = self.column("top")[single]
        cost[single] = sums_as_prices(self._broken[single], top, lost, wanted * deepest)
        return cost

    def _share(self) -> Ints:
        """The largest share that each holds of what there is of any resource."""
        totals = self._table.allocatable[:, : self._table.size].sum(axis=1)
        rows = np.flatnonzero(totals > 0).tolist()
        shares = [self.gives[:, row] * (1.0 / totals[row]) for row in rows]
        return np.asarray(np.max(shares, axis=0) if shares else np.zeros(self.may.shape))

    @cached_property
    def pods(self) -> Ints:
        """How many pods each share has, at least: who leaves with them on other nodes is not counted."""
        return np.where(self.may, np.maximum(self.gives[:, self._table.resources[PODS]], 1), -1)


def sums_as_prices(broken: Ints, priorities: Ints, lost: NDArray[Any], most: int) -> Ints:
    """What it costs that each of some leaves, as one number, so that sums of at most so many compare as prices do: by
    broken budgets, then how many they are, their importance, and the work that is lost."""
    importance = _levels(priorities)
    together = min(len(lost), most).bit_length()
    levels = (int(importance.max()) * 2**together).bit_length()
    left = max(1, _BITS - 2 * together - levels - (int(broken.max()) * 2**together).bit_length())
    work = (lost * ((2**left - 1) / (lost.max() + 1.0))).astype(np.int64)
    fewer = (broken << together) + 1 << (levels + left + together)
    return np.asarray(fewer + (importance << (left + together)) + work)


def _levels(priorities: Ints) -> Ints:
    """Priorities from 0 up, so that sums compare as theirs; where they are too far apart, only their order."""
    above: Ints = priorities - priorities.min()
    if int(above.max()) < _MOST_LEVELS:
        return above
    return np.unique(priorities, return_inverse=True)[1].reshape(-1)
