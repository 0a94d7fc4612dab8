"""Who else could make way for a binding: in one cluster alone, or in the clusters that were freed together.

Only for replicas that go by room, without spread constraints: where each replica has a fixed place, every cluster is
freed by itself; under constraints, what can be freed at all depends on the places that are left.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from reprieve.engine.alternatives import BaseAlternatives
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.lost_work import Totals
from reprieve.engine.offers import Offer
from reprieve.engine.price import UnitCost, price
from reprieve.manifests.lost_work import said_in
from reprieve.model.names import UnitName
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.leavers import BindingLeavers
from reprieve.policies.federation.placement import PLENTY, room
from reprieve.policies.federation.residents import ResidentBinding
from reprieve.policies.federation.rules import candidates
from reprieve.policies.federation.search import ClusterSearch, least_important_first, offer_of
from reprieve.policies.federation.view import BindingTerms

_MOST_CLUSTERS = 8
"""So many clusters are looked at once more, those first that could cost least."""
_MANY = 500
_ROUNDING = 1e-9


class Freeing(BaseAlternatives):
    """Candidates in some clusters, while the room of all of them counts."""

    def __init__(
        self,
        search: ClusterSearch,
        clusters: Sequence[str],
        chosen: Offer | None,
        totals: Totals,
        *,
        taken: bool,
        fewest: int = 1,
    ) -> None:
        self.taken = taken
        self.fewest = fewest
        self._search = search
        self._clusters = clusters
        self._totals = totals
        self._criterion = chosen.criterion if chosen is not None else ""
        self._known: dict[tuple[UnitName, str], ResidentBinding] = {}
        self.chosen: Sequence[ResidentBinding] | None = None
        if chosen is not None and taken:
            self.chosen = self._each_once(least_important_first(chosen.terms.evictions))

    def _each_once(self, residents: Iterable[ResidentBinding]) -> list[ResidentBinding]:
        """Whoever looks for less knows them by what they are, and not by what they say."""
        return [self._known.setdefault((one.facts.unit, one.cluster), one) for one in residents]

    @cached_property
    def candidates(self) -> Sequence[ResidentBinding]:  # looked at only where somebody asks: it may be thousands
        return self._each_once(least_important_first(self._search.everybody(self._clusters)))

    # The least of all, at once

    @cached_property
    def settled(self) -> bool:  # type: ignore[override]
        """Where swaps one by one would take longer than they are worth."""
        return len(self._clusters) > 1 and self._leavers.number > _MANY

    @cached_property
    def _leavers(self) -> BindingLeavers:
        top = max((one.facts.priority for one in self.chosen), default=None) if self.chosen else None
        return BindingLeavers(self._search, top)

    def least(self) -> Sequence[ResidentBinding] | None:  # type: ignore[override]
        """Where the dynamic program is exact; else whoever it asks in vain comes back in the search."""
        if not self.settled:
            return None
        cheapest = self._cheapest
        if not self._leavers.exact:
            return None
        known = [each for each in (self.chosen, cheapest) if each]
        return min(known, key=lambda some: price(map(self.cost, some)), default=None)

    def starts(self) -> Iterator[Sequence[ResidentBinding]]:
        if len(self._clusters) > 1:
            yield self._cheapest

    @cached_property
    def _cheapest(self) -> list[ResidentBinding]:
        work = (lambda one: self.cost(one).lost) if self._totals.asks else None
        return self._each_once(self._leavers.cheapest(self._totals, work))

    def cost(self, unit: ResidentBinding) -> UnitCost:
        priority = unit.facts.priority
        size = self._totals.size(unit.facts.on(unit.cluster))
        return UnitCost(0, (priority,), 1, priority, self._lost(unit.facts, size), size)

    def _lost(self, facts: BindingFacts, size: int) -> int:
        """Since when its replicas run, no binding knows: what they hold counts, or what is said of them."""
        if not self._totals.asks:
            return size
        return self._totals.lost(size, facts.created, said_in(facts.binding.metadata.annotations))

    # Does it fit?

    def ledger(self) -> "_RoomOfAll":
        return _RoomOfAll(self._search)

    def lawful(self, gone: Collection[ResidentBinding]) -> bool:  # noqa: ARG002 - rules say all there is to say
        return True

    def bundles(self) -> Iterable[Sequence[ResidentBinding]]:
        by_cluster: dict[str, list[ResidentBinding]] = {}
        for one in self.candidates:
            by_cluster.setdefault(one.cluster, []).append(one)
        return list(by_cluster.values()) if len(by_cluster) > 1 else []

    def offer(self, victims: Sequence[ResidentBinding]) -> Offer | None:
        going = least_important_first(victims)
        division = self._search.place_without(going)
        if division is None:
            return None
        view, missing = self._search.view, self._search.facts.missing
        rooms = sum(room(view.facts.request, view.soon.get(name, NOTHING)) for name in self._search.clusters)
        gap = self._search.facts.request * (missing - rooms)
        terms = BindingTerms(self._search.facts, division, going, gap)
        return offer_of(terms, sorted({one.cluster for one in going}), self._criterion)

    def model(self) -> LinearModel:
        """Places are whole numbers of replicas, and what they ask for is free in their cluster, or given."""
        model, view = LinearModel(), self._search.view
        given: dict[str, dict[int, Resources]] = {}
        for one in self.candidates:
            number = model.unit([f"{one.facts.unit}@{one.cluster}"], self.cost(one))
            given.setdefault(one.cluster, {})[number] = one.facts.on(one.cluster)
        missing, request = self._search.facts.missing, self._search.facts.request
        places = {name: model.number(missing) for name in self._search.clusters}
        for name, number in places.items():
            free = view.soon.get(name, NOTHING)
            for resource, units in request.items():
                if units > 0:
                    gains = {unit: -amounts.of(resource) for unit, amounts in given.get(name, {}).items()}
                    _where_somebody_comes(model, {number: units, **gains}, free.of(resource), number, missing)
        model.at_least(dict.fromkeys(places.values(), 1), missing)
        return model


def _where_somebody_comes(model: LinearModel, terms: Mapping[int, int], free: int, places: int, most: int) -> None:
    """A cluster that has less than nothing left is short only where somebody comes."""
    if free >= 0:
        model.at_most(terms, free)
        return
    empty = model.number(1)
    model.at_most({places: 1, empty: most}, most)
    model.at_most({**terms, empty: free}, free)


class _RoomOfAll:
    """How many replicas all clusters have room for while bindings leave and come back."""

    def __init__(self, search: ClusterSearch) -> None:
        self._missing = search.facts.missing
        self._asked = [(name, units) for name, units in search.facts.request.items() if units]
        soon = {name: search.view.soon.get(name, NOTHING) for name in search.clusters}
        self._free = {name: [free.of(resource) for resource, _ in self._asked] for name, free in soon.items()}
        self._rooms = {name: room(search.facts.request, free) for name, free in soon.items()}
        self._total = sum(self._rooms.values())

    def fits(self) -> bool:
        return self._total >= self._missing

    def remove(self, unit: ResidentBinding) -> None:
        self._change(unit, 1)

    def give_back(self, unit: ResidentBinding) -> None:
        self._change(unit, -1)

    def _change(self, unit: ResidentBinding, sign: int) -> None:
        cluster, request = unit.cluster, unit.facts.request
        free, replicas = self._free[cluster], sign * unit.facts.held.get(cluster, 0)
        places = PLENTY
        for row, (name, units) in enumerate(self._asked):
            free[row] += request.of(name) * replicas
            places = min(places, max(0, free[row]) // units)
        self._total += places - self._rooms[cluster]
        self._rooms[cluster] = places


class _Bound(NamedTuple):
    """What freeing one cluster costs at least."""

    priority: int
    """Of the most important who has to leave."""
    victims: int


def freeing(search: ClusterSearch, chosen: Offer | None, most: int | None = _MOST_CLUSTERS) -> Iterator[Freeing]:
    """Each cluster by itself, as the design has it; all together only where no single one can be freed enough.

    `most`: so many clusters are looked at beside the chosen one; None: all of them, for a proof.
    """
    if search.constrained or search.fixed:
        return
    totals = _totals(search)
    if chosen is None or len(chosen.costs) == 1:
        rooms = {name: room(search.facts.request, search.view.soon.get(name, NOTHING)) for name in search.clusters}
        # The others hold what they have room for as they are.
        rest = {name: search.facts.missing - sum(rooms.values()) + mine for name, mine in rooms.items()}
        bounds = {name: bound for name in search.clusters if (bound := _bound(search, name, rest[name])) is not None}
        yield from islice(_alone(search, chosen, bounds, totals), None if most is None else most + (chosen is not None))
        if bounds or chosen is not None:
            return
    if len(search.clusters) > 1 and _room_of_all(search) >= search.facts.missing:
        yield Freeing(search, list(search.clusters), chosen, totals, taken=chosen is not None)


def _totals(search: ClusterSearch) -> Totals:
    """What all clusters report to have: so what is lost in one compares with what is lost in another."""
    federation, amounts = search.view.federation, dict[str, int]()
    for cluster in federation.clusters.values():
        summary = cluster.status.resource_summary
        for name, units in summary.allocatable.items() if summary is not None else ():
            amounts[name] = amounts.get(name, 0) + units
    return Totals(amounts, search.view.moment, federation.settings.asks_for_lost_work)


def _alone(
    search: ClusterSearch, chosen: Offer | None, bounds: Mapping[str, _Bound], totals: Totals
) -> Iterator[Freeing]:
    """What was chosen, and the clusters that could cost less."""
    names = sorted(bounds, key=lambda name: bounds[name])
    if chosen is not None:
        mine = next(iter(chosen.costs))
        going = [other.priority for other, _ in chosen.terms.evictions]
        limit = _Bound(max(going), len(going))
        fewest = bounds[mine].victims if mine in bounds else 1
        yield Freeing(search, [mine], chosen, totals, taken=True, fewest=fewest)
        could = (name for name in names if name != mine and bounds[name] <= limit)
        names = [name for name in could if bounds[name].victims <= limit.victims]
    for name in names:
        yield Freeing(search, [name], None, totals, taken=False, fewest=bounds[name].victims)


def _bound(search: ClusterSearch, cluster: str, replicas: int) -> _Bound | None:
    """None: it cannot be freed enough. From the lowest priority up until it could be; the largest of each resource."""
    residents, gap = search.view.federation.in_cluster(cluster), search.view.gap(cluster, replicas)
    names = tuple(gap)
    ranks = np.flatnonzero(candidates(search.rules, residents))
    if not names or not len(ranks):
        return None
    needed = np.array([gap[name] for name in names], dtype=np.float64)
    shares = residents.shares(names)[ranks].astype(np.float64)
    # In floating point, so a little less is asked: what is not enough by this is not enough.
    needed *= 1 - _ROUNDING
    enough = np.flatnonzero((shares.cumsum(axis=0) >= needed).all(axis=1))
    if not len(enough):
        return None
    largest_first = np.sort(shares, axis=0)[::-1].cumsum(axis=0)
    fewest = int((largest_first < needed).sum(axis=0).max()) + 1
    return _Bound(int(residents.priorities()[ranks[enough[0]]]), fewest)


def _room_of_all(search: ClusterSearch) -> int:
    """How many replicas there is room for in all clusters without anybody who may be asked."""
    total = 0
    for name in search.clusters:
        residents, free = search.view.federation.in_cluster(name), search.view.soon.get(name, NOTHING)
        ranks = np.flatnonzero(candidates(search.rules, residents))
        names = tuple(resource for resource, units in search.facts.request.items() if units > 0)
        freed = residents.shares(names)[ranks].astype(object).sum(axis=0) if names and len(ranks) else [0] * len(names)
        more = Resources({resource: int(units) for resource, units in zip(names, freed, strict=True)})
        total += room(search.facts.request, free + more)
    return total
