"""One world after the other: what `Design` and `Best` come to, and what a proven optimum would."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.quality.worlds import GATES, NOON, Question
from reprieve.configuration import configure
from reprieve.engine.plan import Plan
from reprieve.planning.optimum import optimum, price_of
from reprieve.planning.planner import Planner, read, usable
from reprieve.planning.questions import asked_of
from reprieve.world import microseconds

_SECONDS = 20.0


class Measured(NamedTuple):
    """One question: how many make way by each search, and how many are enough."""

    seed: int
    victims: dict[str, int | None]
    """By search; None: no plan."""
    enough: dict[str, int | None]
    """At no more broken budgets and no higher top priority than that plan; None: no set is enough."""
    proven: bool

    def ratio(self, search: str) -> float | None:
        victims, enough = self.victims[search], self.enough[search]
        return None if not victims or not enough else victims / enough

    @property
    def asks(self) -> bool:
        """Whether anybody has to make way, or could."""
        return any(self.victims.values()) or any(self.enough.values())


def measure(question: Question, seed: int, searches: Iterable[str]) -> Measured | None:
    """None: it fits, or waits, or there is no model."""
    victims: dict[str, int | None] = {}
    enough: dict[str, int | None] = {}
    proven = True
    for search in searches:
        made = _decide(question, search)
        if made.outcome not in ("Preempt", "Unschedulable"):
            return None
        models = list(made.models())
        found = optimum(models, "victims", _SECONDS, price_of(made, models))
        if found is None:
            return None
        proven = proven and found.proven
        victims[search] = _count(made) if made.outcome == "Preempt" else None
        enough[search] = None if found.units is None else found.price.victims
    return Measured(seed, victims, enough, proven)


def _count(made: Plan) -> int:
    """A binding that leaves several clusters is counted in each."""
    return sum(max(1, len(victim.clusters)) for victim in made.victims)


def _decide(question: Question, search: str) -> Plan:
    settings = configure({"search": search}, GATES)
    planner = Planner(usable(read(question.objects)), settings, NOON)
    return planner.policies.decide(planner.preemptor(asked_of(question.preemptor)), microseconds(NOON))


class Summary(NamedTuple):
    """What many questions come to, for one search."""

    worlds: int
    equal: float
    """The share of plans with as few victims as are enough."""
    mean: float
    """Victims of all plans, over those that are enough."""
    p95: float
    worst: float
    missed: int
    """Called Unschedulable, although a set is enough."""
    possible: int
    """Worlds in which a set is enough."""
    unproven: int


def summary(measured: Iterable[Measured], search: str) -> Summary:
    found = [one for one in measured if one.asks]
    ratios = sorted(ratio for one in found if (ratio := one.ratio(search)) is not None)
    possible = [one for one in found if one.enough[search]]
    missed = [one for one in possible if not one.victims[search]]
    planned = [one for one in possible if one.victims[search]]
    total = sum(one.victims[search] or 0 for one in planned) / max(1, sum(one.enough[search] or 0 for one in planned))
    return Summary(
        len(found),
        sum(ratio <= 1 for ratio in ratios) / max(1, len(ratios)),
        total,
        ratios[int(len(ratios) * 0.95)] if ratios else 1.0,
        max(ratios, default=1.0),
        len(missed),
        len(possible),
        sum(not one.proven for one in found),
    )
