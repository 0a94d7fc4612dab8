"""Before and after: the same questions over a world and over that world with a change, and where the answers differ.

1. Who may be preempted, by whom: what the rules of each policy say for everybody who may ask (`Entry.exposure`).
2. What no longer fits where it is: places that hold more than they have (`Entry.overcommitted`).
3. What one cycle decides for those who wait: who starts, who waits for a stated end, who preempts whom.

Only units that are in both worlds are newly preemptible or newly safe: who comes has never been anything else, and who
goes has nothing left to lose. Every answer depends on its own world alone; so a change that is taken back gives the
same differences the other way round, and no change gives none.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from reprieve.configuration import Settings
from reprieve.engine.exposure import Overcommitted
from reprieve.engine.plan import Plan
from reprieve.model.names import UnitName
from reprieve.planning.comparison import Comparison, Outcome, Overfull, Preempting
from reprieve.planning.exposed import against_budget_only_in, exposed_only_in
from reprieve.policies.registry import Policies
from reprieve.world import World


class Picture:
    """What is asked of one world: first its rules, then what is decided for those who wait, which uses it up."""

    def __init__(self, world: World, settings: Settings, now: int, *, names: frozenset[str] | None = None) -> None:
        """`names`: the schedulers that are decided for; None: all."""
        self.policies = Policies(world, settings, now, names=names)
        self._now = now

        self.plans: dict[UnitName, Plan] = {}
        self.starts: dict[UnitName, str] = {}
        self.waits: dict[UnitName, str] = {}
        self.unschedulable: dict[UnitName, str] = {}
        self.pending: set[UnitName] = set()

    def ask(self) -> None:
        """Who may be preempted, and what does not fit. Reasons are made when they are wanted: before anything is
        decided."""
        self.exposures = {entry.name: entry.exposure(self._now) for entry in self.policies}
        places = {entry.name: list(entry.overcommitted()) for entry in self.policies}
        self.overfull = {key: over for name, found in places.items() for key, over in _by_unit(name, found)}

    def decide(self) -> None:
        """One cycle over all that wait."""
        for ledger in self.policies.ledgers():
            pending = self.policies.pending(ledger)
            self.pending |= {one.unit for one in pending}
            for one in self.policies.cycle(ledger, pending, self._now):
                for unit in one.instead_of:  # what was decided for these in this cycle is void
                    del self.plans[unit], self.starts[unit]
                self._note(one.preemptor.unit, one.preemptor.policy, one.plan)

    def _note(self, unit: UnitName, policy: str, plan: Plan) -> None:
        self.plans[unit] = plan
        if plan.outcome == "Fits" and self.policies[policy].places_units:
            self.starts[unit] = policy
        elif plan.outcome == "Wait":
            self.waits[unit] = policy
        elif plan.outcome == "Unschedulable":
            self.unschedulable[unit] = policy

    def message(self, unit: UnitName) -> str:
        return self.plans[unit].message if unit in self.plans else ""

    def victims(self, unit: UnitName) -> list[UnitName]:
        return [victim.unit for victim in self.plans[unit].victims] if unit in self.plans else []


class _Key(NamedTuple):
    unit: UnitName
    policy: str
    place: str
    resource: str


def _by_unit(policy: str, places: Iterable[Overcommitted]) -> Iterator[tuple[_Key, Overcommitted]]:
    for place in places:
        for unit in place.units:
            yield _Key(unit, policy, place.place, place.resource), place


def compare(before: Picture, after: Picture, **told: Any) -> Comparison:
    """All differences between two pictures; `told` is what else the answer says."""
    before.ask()
    after.ask()
    rules: dict[str, Any] = {
        "newly_preemptible": list(exposed_only_in(after.exposures, before.exposures)),
        "newly_safe": list(exposed_only_in(before.exposures, after.exposures)),
        "newly_against_budget": against_budget_only_in(after.exposures, before.exposures),
        "no_longer_against_budget": against_budget_only_in(before.exposures, after.exposures),
        "no_longer_fits": _more_over(before, after),
        "fits_again": _more_over(after, before),
    }
    before.decide()
    after.decide()
    return Comparison(
        **rules,
        now_starts=_outcomes(before.starts, after.starts, after),
        no_longer_starts=_outcomes(after.starts, before.starts, after),
        now_preempts=_preempting(before, after, after),
        no_longer_preempts=_preempting(after, before, after),
        now_waits=_outcomes(before.waits, after.waits, after),
        no_longer_waits=_outcomes(after.waits, before.waits, after),
        now_unschedulable=_outcomes(before.pending, after.unschedulable, after),
        no_longer_unschedulable=_outcomes(after.pending, before.unschedulable, after),
        **told,
    )


# What no longer fits


def _more_over(before: Picture, after: Picture) -> list[Overfull]:
    """Units whose place holds more above what it has than in the other picture."""
    found = []
    for key, place in after.overfull.items():
        known = before.overfull.get(key)
        if known is None or known.over < place.over:
            found.append(Overfull(str(key.unit), key.policy, key.place, key.resource, place.amount))
    return found


# What is decided for those who wait


def _outcomes(known: Container[UnitName], found: dict[UnitName, str], after: Picture) -> list[Outcome]:
    return [Outcome(str(unit), policy, after.message(unit)) for unit, policy in found.items() if unit not in known]


def _preempting(other: Picture, one: Picture, after: Picture) -> list[Preempting]:
    """Whom each preempts in one picture, beyond whom it preempts in the other."""
    found = []
    for unit, plan in one.plans.items():
        known = set(other.victims(unit))
        victims = [str(victim.unit) for victim in plan.victims if victim.unit not in known]
        if victims:
            found.append(Preempting(str(unit), plan.policy, victims, after.message(unit)))
    return found
