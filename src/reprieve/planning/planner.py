"""From manifests to decisions: the one entrance that the command line, the case files and Python programs share."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any

from reprieve.configuration import Settings, configure
from reprieve.manifests.admission import admit_all
from reprieve.manifests.loaded import Loaded
from reprieve.manifests.loading import load, load_objects, load_text
from reprieve.manifests.problems import InvalidInput, in_order
from reprieve.planning.questions import PREEMPTOR, UnitAsked, Unsupported, asked_of, moment_of, no_such_unit, question
from reprieve.planning.result import Decision, Result, decision
from reprieve.planning.survey import survey
from reprieve.policies.entry import Asked, Decided, Known, NothingToDecide, Preemptor
from reprieve.policies.registry import Policies
from reprieve.texts import questions as texts
from reprieve.world import World, microseconds

_MOST_LINES = 1000
"""So many warnings are told with the line they are about; who has more does not read them."""


def plan(
    objects: str | Path | Iterable[Any],
    *,
    preemptor: UnitAsked | None = None,
    now: str | datetime | None = None,
    config: Mapping[str, Any] | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    assignment: Mapping[str, str] | None = None,
) -> Result:
    """Who has to make way?

    `objects` is a path, a text, or manifests as plain data. With `preemptor`, the decision for that unit
    (`Pod/default/a`, or a mapping with kind, namespace and name); without, one scheduling cycle over all that is
    pending. Raises `InvalidInput` with everything that is wrong.
    """
    return decide(
        read(objects), preemptor=preemptor, now=now, settings=configure(config, feature_gates), assignment=assignment
    )


def read(objects: str | Path | Iterable[Any]) -> Loaded:
    """Manifests from a path, a text, or plain data."""
    if isinstance(objects, Path):
        return load([str(objects)])
    if isinstance(objects, str):
        looks_like_text = "\n" in objects or objects.lstrip().startswith(("{", "["))
        return load_text(objects) if looks_like_text else load([objects])
    return load_objects(objects)


def decide(
    loaded: Loaded,
    *,
    settings: Settings,
    preemptor: UnitAsked | None = None,
    now: str | datetime | None = None,
    assignment: Mapping[str, str] | None = None,
    in_full: int | None = None,
) -> Result:
    """Decide over what was read. What admission would refuse is a warning here: live clusters contain it.
    `in_full`: of a cycle, so many decisions are told with all their details."""
    planner = Planner(usable(loaded), settings, moment_of(now))
    if preemptor is None:
        return planner.cycle(in_full=in_full)
    return planner.single(preemptor, assignment)


def usable(loaded: Loaded) -> Loaded:
    """What was read, or every reason why it could not be."""
    unread = [problem for problem in loaded.errors if problem.stage == "read"]
    if unread:
        raise InvalidInput(unread)
    return loaded


class Planner:
    """One question about one world."""

    def __init__(
        self, loaded: Loaded, settings: Settings, now: datetime, *, names: frozenset[str] | None = None
    ) -> None:
        """`names`: the schedulers that it decides for; None: all."""
        self.world = World(loaded.objects, now)
        self.settings = settings
        self.now = now
        self._moment = microseconds(now)
        self.policies = Policies(self.world, settings, self._moment, names=names)
        self.policies.complete()
        refused = [*loaded.errors, *admit_all(loaded.entries)]
        self.errors = sum(each.severity == "error" and each.origin.file not in loaded.stored for each in refused)
        odd = (problem.as_warning() for problem in (*refused, *survey(loaded, self.world, settings)))
        self.warnings = loaded.sources.located(in_order([*loaded.warnings, *odd]), most=_MOST_LINES)

    def single(self, unit: UnitAsked, assignment: Mapping[str, Any] | None = None) -> Result:
        """The decision for one unit; `assignment` gives a quota workload its flavors."""
        one = self.preemptor(asked_of(unit)._replace(assignment=assignment))
        entry, made = self.policies[one.policy], self.policies.decide(one, self._moment)
        resolved = entry.priorities([one])
        result = self._result([decision(made)], {unit: shown for unit, shown in resolved.items() if unit == one.unit})
        for field, values in entry.answer(Decided(one, made)).items():
            getattr(result, field).update(values)
        return result

    def preemptor(self, asked: Asked) -> Preemptor:
        """The unit of that name, if there is anything to decide for it."""
        try:
            found = self.policies.find(asked)
        except NothingToDecide as why:
            raise question(str(why), about=why.about) from None
        if found is None:
            raise self._unknown(asked)
        return found

    def known(self, unit: UnitAsked, *, about: str = PREEMPTOR) -> Known | None:
        """The unit of that name, whether it waits or not; None: it is known as one that waits only, such as a group."""
        asked = asked_of(unit, about=about)
        found = self.policies.known(asked)
        if found is None and self._waits_only(asked, about):
            return None
        if found is None:
            raise self._unknown(asked, about=about)
        return found

    def _waits_only(self, asked: Asked, about: str) -> bool:
        try:
            return about == PREEMPTOR and self.policies.find(asked) is not None
        except NothingToDecide as why:
            raise question(str(why), about=why.about) from None

    def _unknown(self, asked: Asked, *, about: str = PREEMPTOR) -> Exception:
        deciding = self.policies.of_kind(asked.kind)
        if not deciding:
            return Unsupported(texts.no_policy_for(asked.kind))
        names = [name for entry in deciding for name in entry.names()]
        return no_such_unit(asked.unit, names, about=about)

    def cycle(self, only: frozenset[str] | None = None, *, in_full: int | None = None) -> Result:
        """One pass over all that is pending, the most important first; later ones see what earlier ones were given.
        `only`: of all that is pending only these units, and the groups of these pods, have a turn. `in_full`: the main
        points are enough of all decisions but so many. All details name every unit within reach of each decision."""
        result = self._result([])
        for ledger in self.policies.ledgers():
            self._cycle_over(ledger, result, only, inf if in_full is None else in_full)
        return result

    def _cycle_over(self, ledger: str, result: Result, only: frozenset[str] | None, in_full: float) -> None:
        entries = [entry for entry in self.policies if entry.ledger == ledger]
        pending = [one for one in self.policies.pending(ledger) if only is None or not only.isdisjoint(_units(one))]
        left = [unit for entry in entries for unit in entry.waiting() if only is None or unit in only]
        taken: dict[str, None] = {}
        for entry in entries:
            own = [one for one in pending if one.policy == entry.name]
            result.priorities.update({str(unit): shown for unit, shown in entry.priorities(own).items()})
        for one in self.policies.cycle(ledger, pending, self._moment):
            self._withdraw(one.instead_of, result)
            result.decisions.append(decision(one.plan, brief=len(result.decisions) >= in_full))
            entry = self.policies[one.preemptor.policy]
            for field, values in entry.answer(one).items():
                getattr(result, field).update(values)
            if entry.places_units:
                taken[one.preemptor.unit] = None
                (result.admitted if one.plan.outcome == "Fits" else left).append(one.preemptor.unit)
        result.order.extend(taken)
        admitted = frozenset(result.admitted)
        result.left.extend(dict.fromkeys(unit for unit in left if unit not in admitted))
        said = {str(unit): sentence for entry in entries for unit, sentence in entry.without_turn().items()}
        result.pending.update({unit: said[unit] for unit in result.left if unit in said and unit not in taken})

    def _withdraw(self, units: Sequence[str], result: Result) -> None:
        """What was decided for these in this cycle is void."""
        for unit in units:
            result.decisions[:] = [made for made in result.decisions if made.preemptor != unit]
            result.admitted.remove(unit)

    def _result(self, decisions: list[Decision], priorities: dict[Any, dict[str, Any]] | None = None) -> Result:
        now = self.now.isoformat().replace("+00:00", "Z")
        return Result(now, decisions, [], [], [], priorities or {}, self.warnings, {}, {}, {}, {}, self.errors)


def _units(one: Preemptor) -> set[str]:
    """A unit that waits, and its pods."""
    return {one.unit, *(facts.unit for facts in one.pods)}
