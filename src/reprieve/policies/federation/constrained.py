"""Replicas with a fixed place under spread constraints: which of the clusters that these allow are freed.

Every selection of clusters that satisfies the constraints is an offer of its own: each of its clusters has to hold all
replicas (Duplicated), or its share by weight. The one with the fewest victims is taken, then the one whose victims rank
lowest. Clusters that can be freed for less come first, and of few clusters every selection is looked at.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from reprieve.engine.offers import OfferList
from reprieve.engine.steps import choose
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.placement import PLENTY, duplicated, static_weights, stays, weigh
from reprieve.policies.federation.residents import ResidentBinding
from reprieve.policies.federation.search import ClusterSearch, fewest_then_lowest, offer_of, reprieved
from reprieve.policies.federation.spread import Enough, Selection
from reprieve.policies.federation.view import BindingTerms

SELECTION = "CheapestSelection"
_MOST_CHOICES = 4
"""Of many clusters, so many selections are tried before it is given up."""


class _FreedTogether(NamedTuple):
    """What the clusters of one selection have to hold, and who would leave them."""

    wanted: Division
    going: list[ResidentBinding]


def free_selection(search: ClusterSearch) -> OfferList:
    """The cheapest selection: one offer, or none."""
    found = list(_freed(search))
    possible = np.ones(len(found), dtype=np.bool_)
    criteria = fewest_then_lowest([[one.facts.priority for one in freed.going] for freed in found])
    for _ in range(len(found) if search.spread.few else _MOST_CHOICES):
        choice = choose(possible, criteria)
        if choice is None:
            break
        freed = found[choice.domain]
        # Each cluster is freed for what it has to hold; where that is much, no other place is asked for less.
        going = reprieved(search, freed.going) if search.exact(len(freed.going)) else freed.going
        division = search.place_without(going) if going is not None else None
        if going and division is not None:
            terms = BindingTerms(search.facts, division, going, search.missing_for(freed.wanted))
            return OfferList([offer_of(terms, sorted({one.cluster for one in going}), SELECTION)])
        possible[choice.domain] = False  # what cannot be found again when they have left is no plan
    return OfferList()


def _freed(search: ClusterSearch) -> Iterator[_FreedTogether]:
    for wanted in _wanted(search):
        going = search.free_for(wanted)
        if going:
            yield _FreedTogether(wanted, going)


def _wanted(search: ClusterSearch) -> Iterator[Division]:
    """What clusters would have to hold, for every selection."""
    facts = search.facts
    if facts.style == "Duplicated":
        able = _cheapness(search, {name: duplicated(facts, [name]) for name in search.clusters})
        for chosen in _selections(search, able):
            yield duplicated(facts, chosen.clusters)
        return
    weights = static_weights(facts.placement.replica_scheduling, search.clusters)
    cheapness = _cheapness(search, {name: {name: 1} for name in weights})
    able = {name: cheapness.get(name, -PLENTY) for name in weights}  # a share may also be nothing
    for chosen in _selections(search, able, lambda some: search.free_for(weigh(facts, weights, some)) is not None):
        yield weigh(facts, weights, chosen)


def _cheapness(search: ClusterSearch, wanted: Mapping[str, Division]) -> dict[str, int]:
    """The fewer have to leave a cluster for what it would hold, the larger; without those that cannot be freed."""
    found = {name: search.free_for(division) for name, division in wanted.items()}
    return {name: -len(going) for name, going in found.items() if going is not None}


def _selections(search: ClusterSearch, able: Mapping[str, int], enough: Enough = lambda _: True) -> Iterator[Selection]:
    facts = search.facts
    if stays(facts):
        yield Selection([name for name in able if name in facts.held], [])
        return
    yield from search.spread.selections(able, enough)
