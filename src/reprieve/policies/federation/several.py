"""Several clusters at once: room for one more replica at a time, each in the cluster where that costs least.

Whoever turns out not to be needed is given back.
"""

from reprieve.engine.offers import OfferList
from reprieve.engine.steps import reprieve_each
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.placement import gap, place, room
from reprieve.policies.federation.residents import ResidentBinding
from reprieve.policies.federation.rules import candidates
from reprieve.policies.federation.search import (
    ClusterSearch,
    cover,
    least_important_first,
    offer_of,
)
from reprieve.policies.federation.view import BindingTerms

SEVERAL = "SeveralClusters"
_MOST_ROUNDS = 4


def free_several(search: ClusterSearch) -> OfferList:
    """One offer that spans clusters, or none."""
    if search.facts.missing < 2 or len(search.clusters) < 2:
        return OfferList()
    if search.constrained and search.place_without(search.everybody(search.clusters)) is None:
        return OfferList()
    rooms = _Rooms(search)
    removed = _Removing(search, rooms).until_it_fits()
    if removed is None:
        return OfferList()
    evictions, division = _needed(search, rooms, removed)
    if division is None:
        return OfferList()
    missing = search.facts.request * (search.facts.missing - rooms.before)
    terms = BindingTerms(search.facts, division, evictions, missing)
    return OfferList([offer_of(terms, sorted({cluster for _, cluster in evictions}), SEVERAL)])


def _needed(
    search: ClusterSearch, rooms: "_Rooms", removed: list[ResidentBinding]
) -> tuple[list[ResidentBinding], Division | None]:
    """Those of some who cannot stay, and where the replicas go. Where not everything can be tried, it is asked who can
    stay beside the places that were found, and not beside any that might be; again when there are other places now."""
    evictions = least_important_first(removed)
    if search.exact(len(removed)):
        evictions = reprieve_each(rooms, evictions)
        return evictions, search.place_without(evictions)
    division = search.place_without(evictions)
    for _ in range(_MOST_ROUNDS if division is not None else 0):
        rooms.chosen = division
        fewer = reprieve_each(rooms, evictions)
        found = search.place_without(fewer)
        if found is None or len(fewer) == len(evictions):
            break
        evictions, division = fewer, found
    return evictions, division


class _Rooms:
    """How many replicas clusters have room for while bindings leave them and come back."""

    def __init__(self, search: ClusterSearch) -> None:
        self._search = search
        self._facts = search.facts
        self._free = dict(search.view.soon)
        self._rooms = {name: room(self._facts.request, self._free.get(name, NOTHING)) for name in search.clusters}
        self._room = self.before = sum(self._rooms.values())
        self.chosen: Division | None = None
        """Where the replicas are to go, where that is settled: each of these clusters has to keep room for one."""

    def fits(self) -> bool:
        if self._room < self._facts.missing:
            return False
        if self.chosen is not None:
            rooms = [self._rooms[name] for name in self.chosen]
            return all(rooms) and sum(rooms) >= self._facts.missing
        if not self._search.constrained:
            return True
        return bool(place(self._facts, self._search.clusters, self._free, self._search.spread))

    def gap(self, cluster: str) -> Resources:
        """What is missing in a cluster for one more replica."""
        return gap(self._facts.request, self._rooms[cluster] + 1, self._free.get(cluster, NOTHING))

    def remove(self, unit: ResidentBinding) -> None:
        self._change(unit.cluster, self._free[unit.cluster] + unit.facts.on(unit.cluster))

    def give_back(self, unit: ResidentBinding) -> None:
        self._change(unit.cluster, self._free[unit.cluster] - unit.facts.on(unit.cluster))

    def _change(self, cluster: str, free: Resources) -> None:
        self._free[cluster] = free
        self._room -= self._rooms[cluster]
        self._rooms[cluster] = room(self._facts.request, free)
        self._room += self._rooms[cluster]


class _Removing:
    """Takes bindings away until the preemptor fits."""

    def __init__(self, search: ClusterSearch, rooms: _Rooms) -> None:
        self._search = search
        self._rooms = rooms
        self._residents = {name: search.view.federation.in_cluster(name) for name in search.clusters}
        self._left = {name: candidates(search.rules, found) for name, found in self._residents.items()}
        self._next: dict[str, list[int]] = {}
        self._costs: dict[str, tuple[int, int, int, str]] = {}
        """What one more replica costs in each cluster that can have one: as `fewest_then_lowest` ranks them."""
        for name in self._residents:
            self._look(name)

    def until_it_fits(self) -> list[ResidentBinding] | None:
        """Where not everything can be tried it is not asked each time: whoever is too many is given back later."""
        removed: list[ResidentBinding] = []
        ask_at = 0
        while len(removed) < ask_at or not self._rooms.fits():
            if len(removed) >= ask_at and not self._search.exact(len(removed)):
                ask_at = 2 * len(removed)
            chosen = min(self._costs, key=self._costs.__getitem__, default=None)
            if chosen is None:
                return removed if len(removed) < ask_at and self._rooms.fits() else None
            for victim in self._remove(chosen):
                self._rooms.remove(victim)
                removed.append(victim)
            self._look(chosen)
        return removed

    def _look(self, cluster: str) -> None:
        """Who would make room for one more replica in a cluster, if anybody can."""
        residents = self._residents[cluster]
        ranks = self._next[cluster] = cover(self._rooms.gap(cluster), residents, self._left[cluster]) or []
        priorities = [residents.bindings[rank].priority for rank in ranks]
        if priorities:
            self._costs[cluster] = len(priorities), max(priorities), sum(priorities), cluster
        else:
            self._costs.pop(cluster, None)

    def _remove(self, cluster: str) -> list[ResidentBinding]:
        ranks = self._next[cluster]
        self._left[cluster][ranks] = False
        return [ResidentBinding(self._residents[cluster].bindings[rank], cluster) for rank in ranks]
