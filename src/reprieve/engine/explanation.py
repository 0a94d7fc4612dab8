"""Why everybody else stays: made from what the rules and steps of one search said, when somebody asks.

Each unit within reach is a victim, or it is named once in each domain where it was looked at:

1. by the first rule that protects it;
2. by the steps, where no rule does: it is leaving already and is waited for; its domain has no offer, so its leaving
   would not help; nobody is asked at all; another domain was chosen; or the preemptor fits beside it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from reprieve.engine.claims import Claim
from reprieve.engine.offers import Offer, Offers
from reprieve.engine.plan import Cost, Details, Outcome, Spared
from reprieve.engine.reasons import CheaperElsewhere, Leaving, NoHelp, NotEnough, Reason, Reprieved
from reprieve.model.names import UnitName
from reprieve.model.patience import go_on

_OTHERS = 5
"""What so many other domains would have cost is told in brief, too."""


class Judged(NamedTuple):
    """A unit within reach, where it stands, and the reason of the first rule that protects it; None: no rule does."""

    unit: UnitName
    where: str
    reason: Reason | None
    domain: str | None = None
    """The domain it was looked at in, where that is another name than `where` it stands."""
    leaves: bool = True
    """Where it is waited for: whether this is a domain that it leaves."""

    @property
    def in_domain(self) -> str:
        return self.where if self.domain is None else self.domain


class Told(NamedTuple):
    """What a decision came to, as far as explanations need it."""

    outcome: Outcome
    offers: Offers | None = None
    """None: nothing was searched."""
    chosen: Offer | None = None
    criterion: str = ""
    waiting_for: Sequence[UnitName] = ()
    because: Reason | None = None
    """Why nobody was asked."""
    brief: bool = False
    """Only the main points are wanted: the chosen domain, and the cost of some others."""


View = TypeVar("View", contravariant=True)


class Explained(Protocol[View]):
    """What a policy tells of a view, only when somebody wants an explanation."""

    def judged(self, view: View, told: Told) -> Iterable[Judged]:
        """Everybody within reach, with what the rules of this view say; in brief, those of the chosen domain."""

    def obstacles(self, view: View, told: Told) -> dict[str, Claim]:
        """For each domain that has no offer, why."""

    def unasked(self, view: View) -> Offers:
        """What domains would have cost though nobody is asked; nothing, where that is not worth a search."""


def explain(policy: Explained[View], view: View, told: Told) -> Details:
    """Every domain's cost, everybody who was spared, every domain's obstacle."""
    if told.brief and told.chosen is None:
        return Details()
    offers = told.offers if told.offers is not None else policy.unasked(view)
    costs = _costs(offers, told)
    obstacles = {} if told.brief else _without_chosen(policy.obstacles(view, told), told.chosen)
    return Details(costs, list(_spared(policy.judged(view, told), told, costs, obstacles)), obstacles)


def _without_chosen(obstacles: dict[str, Claim], chosen: Offer | None) -> dict[str, Claim]:
    """A policy tells of every domain of which its search made nothing: of those one may be found, looking for less."""
    return {domain: claim for domain, claim in obstacles.items() if chosen is None or domain not in chosen.costs}


def _costs(offers: Offers, told: Told) -> dict[str, Cost]:
    shown = islice(offers.all(), _OTHERS) if told.brief else offers.all()
    costs = {domain: cost for offer in shown for domain, cost in offer.costs.items()}
    if told.chosen is None:
        return costs
    chosen = told.chosen.costs  # it may cost less than what the search of its domain came to
    return {**chosen, **costs, **chosen} if told.brief else {**costs, **chosen}


def _spared(
    judged: Iterable[Judged], told: Told, costs: Mapping[str, Cost], obstacles: Mapping[str, Claim]
) -> Iterator[Spared]:
    gone = {victim.unit for victim in told.chosen.victims} if told.chosen is not None else set()
    step = cache(partial(_step, told=told, costs=costs, obstacles=obstacles))
    for one in judged:
        go_on()
        if one.unit not in gone or not _leaves(one, told.chosen):
            yield Spared(one.unit, _reason(one, told, step), one.where)


def _leaves(one: Judged, chosen: Offer | None) -> bool:
    """Whether a victim goes from here: an offer that spans several domains says for each of them who goes."""
    return chosen is None or not chosen.parts or one.unit in _victims(chosen.parts, one.in_domain)


def _reason(one: Judged, told: Told, step: Callable[[str], Reason]) -> Reason:
    if one.leaves and one.unit in told.waiting_for:
        return Leaving()
    return one.reason or step(one.in_domain)


def _step(domain: str, told: Told, costs: Mapping[str, Cost], obstacles: Mapping[str, Claim]) -> Reason:
    """Why a unit stays that no rule protects."""
    if told.outcome == "Fits":
        return Reprieved()
    if domain in obstacles and domain not in costs:
        return NoHelp(domain, obstacles[domain])
    if told.chosen is not None:
        near = domain in told.chosen.costs
        return Reprieved() if near else CheaperElsewhere(told.chosen.domain, told.criterion)
    return told.because or NotEnough()


def _victims(costs: Mapping[str, Cost], domain: str) -> list[UnitName]:
    return costs[domain].victims if domain in costs else []
