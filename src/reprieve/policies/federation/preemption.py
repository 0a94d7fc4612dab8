"""Whose leaving makes room for a binding, in the clusters of one affinity group.

1. The gap of a cluster is what its share of the binding asks for above what is free there. Replicas that go by room
   use the room of all clusters, and what is left over has to be freed in one. What others are leaving already is as
   good as free: nobody is asked for it a second time.
2. In a cluster, from the lowest priority up: one that covers the gap alone, else those who cover it together.
3. Replicas with a fixed place (Duplicated, static weights) need every one of their clusters.
4. Where no single cluster can be freed enough, several are: room for one more replica at a time, where that costs
   least; whoever turns out not to be needed is given back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reprieve.engine.accumulate import one_or_together
from reprieve.engine.steps import Choice, Criterion, choose, fill_back
from reprieve.manifests.karmada import Cluster
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.bindings import BindingFacts, BindingKey
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.placement import fixed, place, room
from reprieve.policies.federation.world import Federation

Seat = tuple[BindingFacts, str]
"""A binding in one of its clusters: what is given up when it makes way there."""
ALL_NEEDED = "EveryClusterNeeded"
SEVERAL = "SeveralClusters"


class Answer(NamedTuple):
    """What makes way and what is gained by it."""

    domain: str
    division: Division
    evictions: list[Seat]
    costs: dict[str, list[BindingFacts]]
    gap: Resources
    criterion: str


class PreemptionSearch:
    """The search for one binding over one group of clusters, with what these have left for it. It changes nothing."""

    def __init__(
        self,
        federation: Federation,
        facts: BindingFacts,
        clusters: Mapping[str, Cluster],
        free: Mapping[str, Resources],
    ) -> None:
        self._federation = federation
        self._free = free
        self._facts = facts
        self._clusters = clusters
        self._scheduler = facts.binding.spec.scheduler_name
        self._constrained = bool(facts.placement.spread_constraints)
        self._rooms = {name: room(facts.request, free.get(name, NOTHING)) for name in clusters}
        self._room = sum(self._rooms.values())

    def run(self) -> Answer | None:
        if self._facts.style in ("Duplicated", "Static"):
            return self._fixed()
        return self._in_one() or self._in_several()

    def gap(self, cluster: str, replicas: int) -> Resources:
        """What is missing in a cluster for so many replicas."""
        return _gap(self._facts.request, replicas, self._free.get(cluster, NOTHING))

    def victims(self, cluster: str, gap: Resources, gone: Collection[BindingKey] = ()) -> list[BindingFacts] | None:
        """Who covers the gap of a cluster, beside those who are gone; None: nobody does."""
        residents = self._federation.residents.get(cluster)
        if residents is None or not gap:
            return None
        ranks = residents.lower(self._facts.priority)
        if not ranks:
            return None
        names = list(gap)
        allowed = residents.may_go(self._scheduler, ranks)
        if gone:
            allowed = allowed & [other.key not in gone for other in residents.bindings[:ranks]]
        found = one_or_together([gap[name] for name in names], residents.shares(names, ranks), allowed)
        return None if found is None else [residents.bindings[rank] for rank in found]

    # Replicas that go by room

    def _in_one(self) -> Answer | None:
        offers = {name: found for name in self._clusters if (found := self._offer(name)) is not None}
        choice = self._choose(sorted(offers), {name: victims for name, (victims, _) in offers.items()})
        if choice is None:
            return None
        chosen = sorted(offers)[choice.domain]
        victims, gap = offers[chosen]
        evictions = [(other, chosen) for other in victims]
        division = self._place_without(evictions) or {}
        costs = {name: offer for name, (offer, _) in offers.items()}
        return Answer(chosen, division, evictions, costs, gap, choice.criterion)

    def _offer(self, cluster: str) -> tuple[list[BindingFacts], Resources] | None:
        """Who would leave a cluster, and the gap that this covers."""
        for replicas in self._shares(cluster):
            gap = self.gap(cluster, replicas)
            victims = self.victims(cluster, gap)
            if victims is None:
                continue
            if not self._constrained or self._place_without([(other, cluster) for other in victims]) is not None:
                return victims, gap
        return None

    def _shares(self, cluster: str) -> Sequence[int]:
        """How many replicas it would have to hold: what has no room elsewhere; under constraints perhaps all."""
        whole = self._facts.missing
        rest = whole - (self._room - self._rooms[cluster])
        return (rest, whole) if self._constrained and rest < whole else (rest,)

    def _choose(self, names: list[str], answers: Mapping[str, list[BindingFacts]]) -> Choice | None:
        """Fewest victims, then those who rank lowest."""
        ranks = [[other.priority for other in answers[name]] for name in names]
        criteria = [
            Criterion("FewestVictims", np.array([len(found) for found in ranks], dtype=np.int64)),
            Criterion("LowestHighestPriority", np.array([max(found) for found in ranks], dtype=np.int64)),
            Criterion("SmallestSumOfPriorities", np.array([sum(found) for found in ranks], dtype=np.int64)),
            Criterion("FirstByName", np.arange(len(names))),
        ]
        return choose(np.ones(len(names), dtype=np.bool_), criteria)

    def _place_without(self, evictions: list[Seat]) -> Division | None:
        free = dict(self._free)
        for other, cluster in evictions:
            free[cluster] += other.on(cluster)
        return place(self._facts, self._clusters, free)

    # Replicas with a fixed place

    def _fixed(self) -> Answer | None:
        wanted = None if self._constrained else fixed(self._facts, self._clusters, self._free)
        costs: dict[str, list[BindingFacts]] = {}
        missing = NOTHING
        for name, replicas in (wanted or {}).items():
            gap = self.gap(name, replicas) if replicas > 0 else NOTHING
            victims = self.victims(name, gap) if gap else []
            if victims is None:
                return None
            costs[name] = victims
            missing += gap
        evictions = [(other, name) for name, victims in costs.items() for other in victims]
        if not evictions or not wanted:
            return None
        return Answer(",".join(wanted), wanted, evictions, costs, missing, ALL_NEEDED)

    # Several clusters at once

    def _in_several(self) -> Answer | None:
        """Room for one more replica at a time, each in the cluster where that costs least."""
        if self._facts.missing < 2 or len(self._clusters) < 2:
            return None
        ledger = _Rooms(self._facts, self._clusters, self._free)
        removed: list[Seat] = []
        offers = {name: self._one_more(name, ledger, removed) for name in self._clusters}
        while not ledger.fits():
            answers = {name: victims for name, victims in offers.items() if victims}
            choice = self._choose(sorted(answers), answers)
            if choice is None:
                return None
            chosen = sorted(answers)[choice.domain]
            for other in answers[chosen]:
                ledger.remove((other, chosen))
                removed.append((other, chosen))
            offers[chosen] = self._one_more(chosen, ledger, removed)
        return self._together(fill_back(ledger, _least_important_first(removed)))

    def _one_more(self, cluster: str, ledger: _Rooms, removed: list[Seat]) -> list[BindingFacts]:
        gap = ledger.gap(cluster)
        return self.victims(cluster, gap, {other.key for other, name in removed if name == cluster}) or []

    def _together(self, evictions: list[Seat]) -> Answer | None:
        evictions = _least_important_first(evictions)
        division = self._place_without(evictions)
        if division is None:
            return None
        costs: dict[str, list[BindingFacts]] = {}
        for other, name in evictions:
            costs.setdefault(name, []).append(other)
        gap = self._facts.request * (self._facts.missing - self._room)
        return Answer(",".join(sorted(costs)), division, evictions, costs, gap, SEVERAL)


def _gap(request: Resources, replicas: int, free: Resources) -> Resources:
    return Resources({name: units * replicas - free.of(name) for name, units in request.items()}).positive()


def _least_important_first(seats: list[Seat]) -> list[Seat]:
    return sorted(seats, key=lambda seat: (seat[0].order, seat[1]))


class _Rooms:
    """How many replicas clusters have room for while bindings leave them and come back."""

    def __init__(self, facts: BindingFacts, clusters: Mapping[str, Cluster], free: Mapping[str, Resources]) -> None:
        self._facts = facts
        self._clusters = clusters
        self._free = dict(free)
        self._rooms = {name: room(facts.request, self._free.get(name, NOTHING)) for name in clusters}
        self._room = sum(self._rooms.values())

    def fits(self) -> bool:
        if self._room < self._facts.missing:
            return False
        return not self._facts.placement.spread_constraints or bool(place(self._facts, self._clusters, self._free))

    def gap(self, cluster: str) -> Resources:
        """What is missing in a cluster for one more replica."""
        return _gap(self._facts.request, self._rooms[cluster] + 1, self._free.get(cluster, NOTHING))

    def remove(self, unit: Seat) -> None:
        self._change(unit[1], self._free[unit[1]] + unit[0].on(unit[1]))

    def give_back(self, unit: Seat) -> None:
        self._change(unit[1], self._free[unit[1]] - unit[0].on(unit[1]))

    def _change(self, cluster: str, free: Resources) -> None:
        self._free[cluster] = free
        self._room -= self._rooms[cluster]
        self._rooms[cluster] = room(self._facts.request, free)
        self._room += self._rooms[cluster]
