"""The registry of policies: for which units each decides, what is pending, and how a plan changes a world.

Commands, cases and the loop go through here and know no policy by name. A policy is registered once, with a function
that sets it up over a world; from then on it takes part in plans, explanations, tests and cycles. How the loop carries
its plans out is registered with the scheduler.

Settings may choose some of them. One that is off decides for nobody, and nobody else decides for its units: a pod of a
group is not placed without it. Only queues are a choice of their own: where they are off, there are none.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.plan import Plan
from reprieve.manifests.core import ConfigMap
from reprieve.manifests.problems import Finding, InvalidInput, Origin, did_you_mean, found, one_of
from reprieve.model.lines import Lines
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Decided, Entry, Ground, Known, NothingToDecide, Preemptor
from reprieve.policies.incumbents import Incumbent
from reprieve.texts import questions
from reprieve.world import World

Maker = Callable[[Ground], Entry]


class Registered(NamedTuple):
    """A policy, and what is known of it before it is set up."""

    make: Maker
    incumbent: Incumbent | None = None
    """Who decides by the same design in clusters already."""
    part_of: str = ""
    """The policy that it is on and off with; empty: it is a choice of its own."""


_REGISTERED: dict[str, Registered] = {}


def register(name: str, make: Maker, *, incumbent: Incumbent | None = None, part_of: str = "") -> None:
    """Add a policy; those over one ledger claim units in the order in which they were registered."""
    if name in _REGISTERED:
        raise ValueError(f"a policy {name!r} is registered already")
    _REGISTERED[name] = Registered(make, incumbent, part_of)


@contextmanager
def registered(name: str, make: Maker) -> Iterator[None]:
    """A policy for as long as it lasts: for tests and trials."""
    register(name, make)
    try:
        yield
    finally:
        del _REGISTERED[name]


def choices() -> dict[str, Incumbent | None]:
    """The policies that can be chosen, each with who else decides by its design."""
    return {name: one.incumbent for name, one in sorted(_REGISTERED.items()) if not one.part_of}


def chosen(names: Iterable[str] | None, origin: Origin | None = None, field: str = "$.policies") -> frozenset[str]:
    """The policies that are on, with all that is part of them; None: all. Raises `InvalidInput` for what is none."""
    known = choices()
    wanted = list(known if names is None else names)
    findings = [
        Finding(field and f"{field}[{place}]", found(name), one_of(known), did_you_mean(name, known))
        for place, name in enumerate(wanted)
        if name not in known
    ]
    if not wanted:
        findings = [Finding(field, questions.NO_POLICY_NAMED, one_of(known))]
    if findings:
        raise InvalidInput(finding.at(origin or Origin("configuration", 0), "", "read") for finding in findings)
    return frozenset(name for name, one in _REGISTERED.items() if (one.part_of or name) in wanted)


class Waiting:
    """Those who have not had their turn in a cycle; where they stand may change with what others have got."""

    def __init__(self, pending: Iterable[Preemptor], standing_now: Callable[[Preemptor], Preemptor]) -> None:
        self._units = {one.unit: one for one in pending}
        self._standing_now = standing_now
        self._first = deque[Preemptor]()
        self._lines = Lines(self._place, lambda unit, _: unit in self._units)
        # Who has no shares stands where it stands: all of them are one line, of which only the first is looked at.
        for number, one in enumerate(self._units.values()):
            self._lines.push(one.line, one.unit, number)

    def _place(self, unit: str) -> tuple[Any, ...]:
        one = self._units[UnitName(unit)]
        return one.order if one.line is None else self._standing_now(one).order

    def next(self) -> Preemptor | None:
        """Whose turn it is; None: everybody has had it."""
        if self._first:
            return self._first.popleft()
        found = self._lines.first()
        if found is None:
            return None
        self._lines.pop()
        return self._units.pop(UnitName(found[1].key))

    def before_all(self, units: Iterable[Preemptor]) -> None:
        self._first.extendleft(reversed(list(units)))

    def somebody_has_less(self) -> None:
        self._lines.refresh()


class Policies:
    """All registered policies over one world. Those that are off are set up as well, for what they know of units."""

    def __init__(
        self, world: World, settings: Settings, moment: int = 0, *, names: frozenset[str] | None = None
    ) -> None:
        self.world = world
        self.settings = settings
        self.nodes = NodeLedger(world, settings, names)
        self._deciding = chosen(settings.policies)
        ground = Ground(world, settings, self.nodes, moment, names, self._deciding)
        self._entries = {name: one.make(ground) for name, one in _REGISTERED.items()}

    def decides(self, name: str) -> bool:
        """Whether a policy is on."""
        return name in self._deciding

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def __iter__(self) -> Iterator[Entry]:
        """Those that are on."""
        return (entry for name, entry in self._entries.items() if name in self._deciding)

    def complete(self) -> None:
        """Add to the world what controllers would have made already."""
        for item in [item for entry in self for item in entry.missing()]:
            self.world.put(item)

    def of_kind(self, kind: str) -> list[Entry]:
        return [entry for entry in self if kind in entry.kinds]

    def find(self, asked: Asked) -> Preemptor | None:
        """The unit that waits under a name, with the first policy that claims it. Raises `NothingToDecide` where that
        one is off."""
        found = (entry.find(asked) for entry in self._entries.values() if asked.kind in entry.kinds)
        one = next((one for one in found if one is not None), None)
        if one is not None and not self.decides(one.policy):
            raise NothingToDecide(questions.nothing_to_decide(questions.policy_is_off(one.policy)))
        return one

    def known(self, asked: Asked) -> Known | None:
        found = (entry.known(asked) for entry in self._entries.values() if asked.kind in entry.kinds)
        return next((one for one in found if one is not None), None)

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        """Who makes way for a unit, at a moment in microseconds since 1970."""
        return self._entries[preemptor.policy].decide(preemptor, now)

    def has_place(self, preemptor: Preemptor, now: int) -> bool:
        """Whether a unit fits as things are, and nobody has to make way."""
        return self._entries[preemptor.policy].has_place(preemptor, now)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        self._entries[preemptor.policy].commit(preemptor, plan)

    def pending(self, ledger: str) -> list[Preemptor]:
        """All that wait for something of one ledger, in the order in which they are taken."""
        taken: set[UnitName] = set()
        claimed = [one for entry in self._entries.values() if entry.ledger == ledger for one in entry.pending(taken)]
        return sorted((one for one in claimed if self.decides(one.policy)), key=lambda one: one.order)

    def ledgers(self) -> list[str]:
        return list(dict.fromkeys(entry.ledger for entry in self))

    def cycle(self, ledger: str, pending: list[Preemptor], now: int) -> Iterator[Decided]:
        """One pass over all that wait for something of one ledger; later ones see what earlier ones were given."""
        for entry in self:
            own = entry.cycle(pending, now) if entry.ledger == ledger else None
            if own is not None:
                yield from own
                return
        yield from self._one_after_the_other(pending, now)

    def _one_after_the_other(self, pending: list[Preemptor], now: int) -> Iterator[Decided]:
        """Nobody gets a place and is evicted from it in one cycle: whoever could take it has its turn first."""
        waiting, given = Waiting(pending, self._standing_now), dict[UnitName, Preemptor]()
        turned: set[tuple[UnitName, UnitName]] = set()
        void: list[UnitName] = []
        while (one := waiting.next()) is not None:
            plan = self.decide(one, now)
            before = {given[victim.unit].unit: given[victim.unit] for victim in plan.victims if victim.unit in given}
            late = [other for other in before.values() if (one.unit, other.unit) not in turned and self._undo(other)]
            if late:
                turned.update((one.unit, other.unit) for other in late)
                void += [other.unit for other in late]
                given = {pod: owner for pod, owner in given.items() if owner.unit not in void}
                waiting.before_all([one, *sorted(late, key=lambda other: other.order)])
                continue
            yield Decided(one, plan, tuple(void))
            void = []
            self.commit(one, plan)
            if plan.victims:
                waiting.somebody_has_less()
            if plan.outcome == "Fits":
                given |= dict.fromkeys(plan.placement, one)

    def _standing_now(self, preemptor: Preemptor) -> Preemptor:
        return self._entries[preemptor.policy].standing_now(preemptor)

    def _undo(self, preemptor: Preemptor) -> bool:
        return self._entries[preemptor.policy].undo(preemptor)

    def reads(self, settings: ConfigMap) -> bool:
        """Whether a decision may depend on what these settings say."""
        read = [entry.config_maps for entry in self._entries.values()]
        return any(names is None or settings.name in names for names in read)

    def respects_budgets(self, policy: str) -> bool:
        """Whether a plan of this policy breaks no budget."""
        entry = self._entries.get(policy)
        return self.settings.pdb == "Respect" and entry is not None and entry.looks_at_budgets

    def ledger_of(self, policy: str) -> str:
        return self._entries[policy].ledger if policy in self._entries else policy
