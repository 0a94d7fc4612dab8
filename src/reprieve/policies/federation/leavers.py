"""Who may leave all clusters of a search, in columns.

Clusters are to replicas that go by room what nodes are to a gang of one shape. So the least is worked out by the same
dynamic program: exact where one resource is asked for, where at most eight may leave a cluster, or all hold the same.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reprieve.engine.arrays import Ints
from reprieve.engine.lost_work import Totals
from reprieve.engine.nodes.cheapest_places import cheapest_places
from reprieve.engine.nodes.leavers import sums_as_prices
from reprieve.model.resources import NOTHING
from reprieve.policies.federation.residents import ResidentBinding, Residents
from reprieve.policies.federation.rules import candidates
from reprieve.policies.federation.search import ClusterSearch

_COUNTABLE = 2.0**62


class BindingLeavers:
    """The bindings in all clusters of a search whom no rule protects, up to a priority."""

    def __init__(self, search: ClusterSearch, top: int | None) -> None:
        self._search = search
        self._clusters = list(search.clusters)
        self._residents = [search.view.federation.in_cluster(name) for name in self._clusters]
        ranks = [candidates(search.rules, residents) for residents in self._residents]
        if top is not None:
            at_most = (residents.priorities() <= top for residents in self._residents)
            ranks = [allowed & low for allowed, low in zip(ranks, at_most, strict=True)]
        self._ranks = [allowed.nonzero()[0] for allowed in ranks]
        self._depth = max(map(len, self._ranks), default=0)
        self.number = sum(map(len, self._ranks))
        self.exact = True
        """Whether every set that could be less was looked at."""

    def cheapest(self, totals: Totals, lost: Callable[[ResidentBinding], int] | None) -> list[ResidentBinding]:
        """Those whose leaving costs least; nobody, where more is held than can be counted. `lost`: the work that is
        lost, where it is not just what they hold."""
        request = self._search.facts.request
        names = tuple(name for name, units in request.items() if units > 0)
        if not names or not self._depth:
            return []
        free, gives = self._free(names), self._column(lambda residents: residents.shares(names), len(names))
        if float(np.abs(free).max()) + gives.sum(axis=0, dtype=np.float64).max() > _COUNTABLE:
            return []
        needs = np.array([request[name] for name in names], dtype=np.int64)
        reach = np.ones(len(self._clusters), dtype=np.bool_)
        made = cheapest_places(free, needs, reach, gives, self._costs(totals, lost), self._search.facts.missing)
        self.exact = made.exact
        return [self._at(place, rank) for place, ranks in made.leave.items() for rank in ranks]

    def _at(self, column: int, rank: int) -> ResidentBinding:
        return ResidentBinding(self._residents[column].bindings[self._ranks[column][rank]], self._clusters[column])

    def _free(self, names: tuple[str, ...]) -> Ints:
        soon = [self._search.view.soon.get(cluster, NOTHING) for cluster in self._clusters]
        amounts = [[free.of(name) for free in soon] for name in names]
        return np.asarray(np.clip(np.array(amounts, dtype=object), -(2**62), 2**62), dtype=np.int64)

    def _column(self, read: Callable[[Residents], Ints], width: int) -> Ints:
        """Ranks by columns by clusters; zero where nobody may leave."""
        found = np.zeros((self._depth, width, len(self._clusters)), dtype=np.int64)
        for number, (residents, ranks) in enumerate(zip(self._residents, self._ranks, strict=True)):
            if len(ranks):
                found[: len(ranks), :, number] = read(residents)[ranks]
        return found

    def _costs(self, totals: Totals, lost: Callable[[ResidentBinding], int] | None) -> Ints:
        """As one number each, so that sums compare as prices do; negative where nobody stands."""
        there = np.arange(self._depth)[:, None] < np.array([len(ranks) for ranks in self._ranks])
        cost = np.full(there.shape, -1, dtype=np.int64)
        work = self._held(totals) if lost is None else self._said(lost)
        priorities = self._column(lambda residents: residents.priorities()[:, None], 1)[:, 0]
        most = self._search.facts.missing * self._depth
        nothing = np.zeros(self.number, dtype=np.int64)
        cost[there] = sums_as_prices(nothing, priorities[there], work[there], most)
        return cost

    def _held(self, totals: Totals) -> NDArray[np.float64]:
        """The largest share that each holds of what there is of any resource."""
        names = tuple(name for name, amount in totals.amounts.items() if amount > 0)
        if not names:
            return np.zeros((self._depth, len(self._clusters)))
        amounts = self._column(lambda residents: residents.shares(names), len(names))
        shares = amounts / np.array([float(totals.amounts[name]) for name in names])[None, :, None]
        return np.asarray(shares.max(axis=1), dtype=np.float64)

    def _said(self, lost: Callable[[ResidentBinding], int]) -> NDArray[np.float64]:
        found = np.zeros((self._depth, len(self._clusters)))
        for column, ranks in enumerate(self._ranks):
            found[: len(ranks), column] = [lost(self._at(column, rank)) for rank in range(len(ranks))]
        return found
