"""Whose leaving makes room for a binding, in the clusters of one affinity group.

1. The gap of a cluster is what its share of the binding asks for above what is free there. Replicas that go by room
   use the room of all clusters, and what is left over has to be freed in one. What others are leaving already is as
   good as free: nobody is asked for it a second time.
2. In a cluster, from the lowest priority up: one that covers the gap alone, else those who cover it together.
3. Replicas with a fixed place (Duplicated, static weights) need every one of their clusters; under spread constraints
   every one of some that these allow (`constrained`).
4. Where no single cluster can be freed enough, several are (`several`).
5. Whoever turns out not to be needed stays.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.offers import Offer, OfferList
from reprieve.engine.plan import Cost, Victim
from reprieve.engine.reasons import LowerPriority
from reprieve.engine.steps import Criterion, one_or_together, reprieve_each
from reprieve.manifests.karmada import Cluster
from reprieve.model.names import UnitName
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.placement import fixed, place, room, spread_of
from reprieve.policies.federation.residents import ResidentBinding, Residents
from reprieve.policies.federation.rules import BindingRule, candidates
from reprieve.policies.federation.spread import Spread
from reprieve.policies.federation.view import BindingTerms, BindingView

ALL_NEEDED = "EveryClusterNeeded"
_MOST_VICTIMS = 16
"""Of so many, and among few clusters, each is asked whether any other placement could do without it."""
_MOST_SEARCHES = 16
"""Of many clusters under constraints, so many are looked at one by one."""


class ClusterSearch:
    """What searches in the clusters of one affinity group share. It changes nothing."""

    def __init__(self, view: BindingView, clusters: Mapping[str, Cluster], rules: Sequence[BindingRule]) -> None:
        self.view = view
        self.facts = view.facts
        self.clusters = clusters
        self.constrained = bool(view.facts.placement.spread_constraints)
        self.fixed = view.facts.fixed
        self.rules = rules
        self._known: dict[tuple[str, int], list[ResidentBinding] | None] = {}

    @cached_property
    def spread(self) -> Spread:
        return spread_of(self.facts, self.clusters)

    def victims(self, cluster: str, gap: Resources) -> list[BindingFacts] | None:
        """Who covers the gap of a cluster; None: nobody does."""
        residents = self.view.federation.in_cluster(cluster)
        ranks = cover(gap, residents, candidates(self.rules, residents))
        return None if ranks is None else [residents.bindings[rank] for rank in ranks]

    def everybody(self, clusters: Iterable[str]) -> Iterator[ResidentBinding]:
        """All whom no rule protects, in some clusters."""
        for name in clusters:
            residents = self.view.federation.in_cluster(name)
            for rank in candidates(self.rules, residents).nonzero()[0].tolist():
                yield ResidentBinding(residents.bindings[rank], name)

    def exact(self, victims: int) -> bool:
        """Whether everything can be tried for so many victims; else constraints are looked at for one placement."""
        return not self.constrained or (self.spread.few and victims <= _MOST_VICTIMS)

    def free_for(self, wanted: Division) -> list[ResidentBinding] | None:
        """Who leaves so that each cluster can hold what it has to; None: one of them cannot be freed enough."""
        going: list[ResidentBinding] = []
        for name, replicas in wanted.items():
            found = self._freeing(name, replicas)
            if found is None:
                return None
            going += found
        return going

    def _freeing(self, cluster: str, replicas: int) -> list[ResidentBinding] | None:
        """Who leaves one cluster so that it can hold so many: the same in all selections."""
        key = cluster, replicas
        if key not in self._known:
            gap = self.view.gap(cluster, replicas) if replicas > 0 else NOTHING
            victims = self.victims(cluster, gap) if gap else []
            self._known[key] = None if victims is None else leaving(cluster, victims)
        return self._known[key]

    def missing_for(self, wanted: Division) -> Resources:
        """What clusters lack together of what they have to hold."""
        return sum((self.view.gap(name, replicas) for name, replicas in wanted.items() if replicas > 0), start=NOTHING)

    def place_without(self, evictions: Iterable[ResidentBinding]) -> Division | None:
        """Where the replicas go when some have left."""
        free = dict(self.view.soon)
        for other, cluster in evictions:
            free[cluster] += other.on(cluster)
        return place(self.facts, self.clusters, free, self.spread)


def cover(gap: Resources, residents: Residents, allowed: Mask) -> list[int] | None:
    """The ranks of those who cover a gap; None: nobody does, or there is none."""
    names = tuple(gap)
    return one_or_together([gap[name] for name in names], residents.shares(names), allowed) if names else None


def leaving(cluster: str, bindings: Iterable[BindingFacts]) -> list[ResidentBinding]:
    return [ResidentBinding(facts, cluster) for facts in bindings]


def offer_of(terms: BindingTerms, clusters: Iterable[str], criterion: str = "") -> Offer:
    """What it costs to free some clusters; who leaves one of them stays in its others."""
    above = terms.facts.priority
    costs: dict[str, Cost] = {name: Cost([]) for name in clusters}
    units: dict[UnitName, BindingFacts] = {}
    lost: dict[UnitName, list[str]] = {}
    for other, where in terms.evictions:
        costs[where].victims.append(other.unit)
        units[other.unit] = other
        lost.setdefault(other.unit, []).append(where)
    victims = [
        Victim(unit, LowerPriority(other.priority, above), clusters=tuple(lost[unit])) for unit, other in units.items()
    ]
    return Offer(",".join(costs), victims, terms.placement, terms=terms, parts=costs, criterion=criterion)


def fewest_then_lowest(priorities: Sequence[Sequence[int]]) -> list[Criterion]:
    """Fewest victims, then those who rank lowest; given are their priorities, cluster by cluster in order of name."""
    return [
        Criterion("FewestVictims", np.array([len(found) for found in priorities], dtype=np.int64)),
        Criterion("LowestHighestPriority", np.array([max(found) for found in priorities], dtype=np.int64)),
        Criterion("SmallestSumOfPriorities", np.array([sum(found) for found in priorities], dtype=np.int64)),
        Criterion("FirstByName", np.arange(len(priorities))),
    ]


# Replicas with a fixed place


def free_every(search: ClusterSearch) -> OfferList:
    """Room in each cluster that the binding has to be in: one offer, or none."""
    wanted = fixed(search.facts, search.clusters)
    going = search.free_for(wanted)
    if not going:
        return OfferList()
    terms = BindingTerms(search.facts, wanted, going, search.missing_for(wanted))
    return OfferList([offer_of(terms, wanted, ALL_NEEDED)])


# Replicas that go by room


class _Freed(NamedTuple):
    """Who would leave a cluster, and the gap that this covers."""

    cluster: str
    victims: list[BindingFacts]
    gap: Resources

    @property
    def evictions(self) -> list[ResidentBinding]:
        return leaving(self.cluster, self.victims)


def free_one(search: ClusterSearch) -> "ClusterOffers":
    """What each single cluster would cost."""
    rooms = {name: room(search.facts.request, search.view.soon.get(name, NOTHING)) for name in search.clusters}
    total, whole = sum(rooms.values()), search.facts.missing
    rests = {name: whole - (total - rooms[name]) for name in search.clusters}
    found = []
    for name, rest in _cheapest(search, rests).items():
        # Under constraints, a cluster may have to hold more than what has no room elsewhere.
        shares = (rest, whole) if search.constrained and rest < whole else (rest,)
        freed = next((freed for share in shares if (freed := _freed(search, name, share)) is not None), None)
        if freed is not None:
            found.append(freed)
    return ClusterOffers(search, found)


def _cheapest(search: ClusterSearch, rests: dict[str, int]) -> dict[str, int]:
    """The clusters that are worth looking at, and for how many replicas. Constraints make each look dear: of many
    clusters only those are asked that few would have to leave."""
    if not search.constrained or search.spread.few:
        return rests
    costs = {name: search.free_for({name: rest}) for name, rest in rests.items()}
    cheap = sorted((len(going), name) for name, going in costs.items() if going is not None)
    return {name: rests[name] for name in sorted(name for _, name in cheap[:_MOST_SEARCHES])}


def _freed(search: ClusterSearch, cluster: str, replicas: int) -> _Freed | None:
    view = search.view
    gap = view.missing(cluster) if replicas == search.facts.missing else view.gap(cluster, replicas)
    victims = search.victims(cluster, gap)
    if victims is None:
        return None
    if not search.constrained:
        return _Freed(cluster, victims, gap)
    needed = reprieved(search, leaving(cluster, victims))
    return None if needed is None else _Freed(cluster, [one.facts for one in needed], gap)


# Under spread constraints, room in a cluster is not all that counts


class Placing:
    """Whether the binding has a place, its constraints kept, while others leave and come back."""

    def __init__(self, search: ClusterSearch, gone: Iterable[ResidentBinding]) -> None:
        self._search = search
        self._gone = list(gone)

    def fits(self) -> bool:
        return self._search.place_without(self._gone) is not None

    def remove(self, unit: ResidentBinding) -> None:
        self._gone.append(unit)

    def give_back(self, unit: ResidentBinding) -> None:
        self._gone.remove(unit)


def reprieved(search: ClusterSearch, going: list[ResidentBinding]) -> list[ResidentBinding] | None:
    """Those of some who cannot stay; None: it has no place even without all of them."""
    ledger = Placing(search, going)
    return reprieve_each(ledger, least_important_first(going)) if ledger.fits() else None


def least_important_first(residents: Iterable[ResidentBinding]) -> list[ResidentBinding]:
    return sorted(residents, key=lambda item: (item.facts.order, item.cluster))


class ClusterOffers:
    """What each single cluster would cost. Where the replicas go is worked out only for the one that is chosen."""

    def __init__(self, search: ClusterSearch, found: list[_Freed]) -> None:
        self.possible: Mask = np.ones(len(found), dtype=np.bool_)
        self._search = search
        self._found = found

    @property
    def priorities(self) -> list[list[int]]:
        return [[victim.priority for victim in freed.victims] for freed in self._found]

    def __getitem__(self, number: int) -> Offer:
        freed = self._found[number]
        return self._offer(freed, self._search.place_without(freed.evictions) or {})

    def all(self) -> Iterator[Offer]:
        return (self._offer(freed, {}) for freed in self._found)

    def _offer(self, freed: _Freed, division: Division) -> Offer:
        return offer_of(BindingTerms(self._search.facts, division, freed.evictions, freed.gap), [freed.cluster])
