"""The least that is enough, with a proof: a mixed integer program over what the rules allowed in a search.

One criterion after the other is made as small as can be, and then held. What a solver says is proven or not, and that
is told, with how far it could still be off. Needs OR-Tools: `pip install 'reprieve[optimal]'`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from reprieve.engine.linear_model import LinearModel, Names
from reprieve.engine.plan import Plan, Victim
from reprieve.engine.price import Price, UnitCost, price
from reprieve.manifests.problems import ReprieveError
from reprieve.planning.planner import Planner
from reprieve.planning.questions import UnitAsked, asked_of
from reprieve.planning.result import Result
from reprieve.texts import optimum as texts
from reprieve.world import microseconds

OBJECTIVES: Mapping[str, tuple[str, ...]] = {
    "design": ("violations", "grade", "victims", "importance", "lost"),
    "victims": ("victims", "lost"),
    "lost-work": ("lost", "victims"),
    "resources": ("size", "victims"),
}
"""What is made as small as can be, the weightiest first."""
_TOLERANCE = 1e-6


class NoSolver(ReprieveError):
    """OR-Tools is not installed."""


class Optimum(NamedTuple):
    """What a solver found: nobody, where no allowed set is enough."""

    units: tuple[Names, ...] | None
    """Who leaves. None: no set that the rules allow is enough, or none was found."""
    price: Price
    proven: bool
    """Whether nothing better can be found in this model."""
    stopped_at: str = ""
    """The criterion at which time ran out."""
    gap: float = 0.0
    """How far that could still be off, as a part of what was found."""

    def better_than(self, other: "Optimum", objective: str) -> bool:
        if self.units is None or other.units is None:
            return other.units is None and self.units is not None
        return _measure(self, objective) < _measure(other, objective)


def _measure(found: Optimum, objective: str) -> tuple[Any, ...]:
    return _measured(found.price, objective)


def optimum(models: Iterable[LinearModel], objective: str, seconds: float, most: Price | None = None) -> Optimum | None:
    """The least over some domains; None: there is no model of them. `most`: none of these may be more than here."""
    best: Optimum | None = None
    unproven: Optimum | None = None
    until = monotonic() + seconds
    for model in models:
        found = _Solving(model, until, most).least(OBJECTIVES[objective])
        if not found.proven:
            unproven = unproven or found
        if best is None or found.better_than(best, objective):
            best = found
    if best is None or unproven is None:
        return best
    # Where another domain was not looked at to the end, it could be anything less.
    return best if not best.proven else best._replace(proven=False, stopped_at=unproven.stopped_at, gap=1.0)


def price_of(made: Plan, models: Iterable[LinearModel]) -> Price | None:
    """What the victims of a plan cost in the terms of a model; None: they are not in one."""
    gone = {name for victim in made.victims for name in _names(victim)}
    for model in models:
        costs = [cost for names, cost in model.units.values() if gone.issuperset(names)]
        known = {name for names, _ in model.units.values() for name in names}
        if gone and gone <= known:
            return price(costs)
    return None


def _names(victim: Victim) -> Iterator[str]:
    return (f"{victim.unit}@{cluster}" for cluster in victim.clusters) if victim.clusters else iter([victim.unit])


def _solver() -> Any:
    try:
        from ortools.linear_solver import pywraplp
    except ImportError as error:
        raise NoSolver(texts.NOT_INSTALLED) from error
    return pywraplp


class _Solving:
    """One model in the hands of a solver."""

    def __init__(self, model: LinearModel, until: float, most: Price | None) -> None:
        """`until`: when time is up, for all that is asked."""
        self._library = _solver()
        self._solver = self._library.Solver.CreateSolver("SCIP")
        self._until = until
        self._model = model
        self._variables = [
            self._solver.IntVar(0, most_, "") if whole else self._solver.NumVar(0, most_, "")
            for most_, whole in zip(model.most, model.whole, strict=True)
        ]
        for row in model.rows:
            self._at_most(row.terms, row.most)
        self._levels = sorted({cost.grade for _, cost in model.units.values()})
        self._top = self._add_top()
        if most is not None:
            self._hold_under(most)

    def _at_most(self, terms: Mapping[int, int], bound: float) -> None:
        constraint = self._solver.Constraint(-self._solver.infinity(), bound)
        for number, factor in terms.items():
            constraint.SetCoefficient(self._variables[number], factor)

    def _add_top(self) -> int:
        """A variable that is at least the level of everybody who leaves."""
        self._variables.append(self._solver.IntVar(0, len(self._levels), ""))
        top = len(self._variables) - 1
        for number, (_, cost) in self._model.units.items():
            if cost.victims:
                self._at_most({number: self._levels.index(cost.grade) + 1, top: -1}, 0)
        return top

    def _hold_under(self, most: Price) -> None:
        self._at_most(self._terms("violations"), most.violations)
        above = sum(level <= most.grade for level in self._levels)
        self._at_most({self._top: 1}, above)

    def _terms(self, criterion: str) -> dict[int, int]:
        if criterion == "grade":
            return {self._top: 1}
        costs = {number: cost for number, (_, cost) in self._model.units.items()}
        lowest = 0
        if criterion == "importance":  # sums of as many, so that the lowest may count as nothing
            lowest = min((cost.importance for cost in costs.values()), default=0)
        return {number: getattr(cost, criterion) - lowest * cost.victims for number, cost in costs.items()}

    def least(self, criteria: Sequence[str]) -> Optimum:
        found: Optimum = Optimum(None, price(()), proven=True)
        for criterion in criteria:
            terms = self._terms(criterion)
            if found.units is not None and not any(terms.values()):
                continue
            status, value = self._solve(terms)
            if status == self._library.Solver.INFEASIBLE:
                return found
            if status not in (self._library.Solver.OPTIMAL, self._library.Solver.FEASIBLE):
                return found._replace(proven=False, stopped_at=criterion, gap=1.0)
            found = self._read()
            if status != self._library.Solver.OPTIMAL:
                bound = max(self._solver.Objective().BestBound(), 0.0)  # nothing that counts is below that
                gap = abs(value - bound) / max(abs(value), 1.0)
                return found._replace(proven=False, stopped_at=criterion, gap=gap)
            self._at_most(terms, round(value) + _TOLERANCE)
        return found

    def _solve(self, terms: Mapping[int, int]) -> tuple[int, float]:
        goal = self._solver.Objective()
        goal.Clear()
        for number, factor in terms.items():
            goal.SetCoefficient(self._variables[number], factor)
        goal.SetMinimization()
        left = self._until - monotonic()
        if left <= 0:
            return self._library.Solver.NOT_SOLVED, 0.0
        self._solver.SetTimeLimit(max(1, int(left * 1000)))
        exactly = self._library.MPSolverParameters()
        exactly.SetDoubleParam(exactly.RELATIVE_MIP_GAP, 0.0)
        status = self._solver.Solve(exactly)
        found = status in (self._library.Solver.OPTIMAL, self._library.Solver.FEASIBLE)
        return status, goal.Value() if found else 0.0

    def _read(self) -> Optimum:
        chosen: list[tuple[Names, UnitCost]] = [
            self._model.units[number] for number in self._model.units if self._variables[number].solution_value() > 0.5
        ]
        return Optimum(tuple(unit for unit, _ in chosen), price(cost for _, cost in chosen), proven=True)


class Proof(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A plan beside the proven optimum: how far it is from the least that is enough."""

    objective: str
    victims: list[str] | None
    """Who would leave; None: no set that the rules allow is enough."""
    proven: bool
    gap: float
    costs: dict[str, Any]
    plan_costs: dict[str, Any] | None
    """What the victims of the plan cost in the same terms; None: it has none."""
    message: str


def prove(planner: Planner, unit: UnitAsked, objective: str, seconds: float) -> tuple[Result, Proof | None]:
    """The decision for one unit, and the optimum beside it; None: it is not said in inequalities."""
    made = planner.policies.decide(planner.preemptor(asked_of(unit)), microseconds(planner.now))
    models = list(made.models())
    found = optimum(models, objective, seconds)
    result = planner.single(unit)
    if found is None:
        return result, None
    ours = price_of(made, models)
    names = None if found.units is None else sorted(name for names in found.units for name in names)
    compared = texts.Compared(
        found.price.victims,
        sum(max(1, len(victim.clusters)) for victim in made.victims),
        known=ours is not None,
        differs=None if ours is None else _first_difference(found.price, ours, objective),
        better=ours is not None and _measured(ours, objective) < _measure(found, objective),
    )
    message = texts.compared(
        objective, names, compared, proven=found.proven, stopped_at=found.stopped_at, gap=found.gap
    )
    costs = found.price._asdict()
    return result, Proof(
        objective, names, found.proven, found.gap, costs, None if ours is None else ours._asdict(), message
    )


def _first_difference(optimum: Price, ours: Price, objective: str) -> str | None:
    """By which criterion they are not the same; the weightiest counts."""
    names = OBJECTIVES[objective]
    return next((name for name in names if getattr(optimum, name) != getattr(ours, name)), None)


def _measured(ours: Price, objective: str) -> tuple[Any, ...]:
    return tuple(getattr(ours, name, 0) for name in OBJECTIVES[objective])
