"""Who may be preempted, and by whom: the rules of a policy, asked about everybody before anybody has left.

An asker is a preemptor that may come. It asks for just the place that a unit holds, so that nothing but a rule can keep
the unit from it: whether there is room elsewhere, what it would cost and who is cheaper are matters of a decision, and
no property of the unit. The answers stand in one table, askers by units, so that two worlds can be told apart at once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reprieve.engine.arrays import Mask
from reprieve.engine.reasons import Reason
from reprieve.model.names import UnitName
from reprieve.model.resources import Resources
from reprieve.world import World

Numbers = NDArray[np.int16]
ALLOWED = 0
"""No rule protects the unit from the asker."""


NO_CLASS = "no PriorityClass"
"""The name of an asker that names no class."""


class Asker(NamedTuple):
    """A preemptor that may come: a new unit of a priority class, or one of those that wait already."""

    name: str
    priority: int
    where: str = ""
    """Where it stands, when that counts: a queue."""
    named: bool = True
    """Whether it stands for all of a class, and not only for a priority at which somebody waits."""

    @property
    def label(self) -> str:
        return f"{self.name} in {self.where}" if self.where else self.name


class Exposure(NamedTuple):
    """What the rules of one policy say of everybody who has a place, for all who may ask."""

    askers: Sequence[Asker]
    units: Sequence[UnitName]
    protected: Numbers
    """Askers by units: the number of what protects the unit, or `ALLOWED`."""
    reason: Callable[[int, int], Reason]
    """What protects a unit from an asker; only where something does."""
    breaking: Mask | None = None
    """Whose leaving, alone, would go against a disruption budget; None: nobody's."""


class Overcommitted(NamedTuple):
    """A place that holds more than it has, and those who would have to leave it first until it does not."""

    place: str
    resource: str
    over: int
    units: Sequence[UnitName]

    @property
    def amount(self) -> str:
        """By how much, as Kubernetes writes it."""
        return Resources({self.resource: self.over}).to_manifest()[self.resource]


def levels(world: World, waiting: Iterable[int] = ()) -> list[Asker]:
    """New units of each class that may preempt, those that name no class, and the priorities of those who wait."""
    classes = world.classes
    named = ((name, classes.get(name)) for name in classes.names())
    found = [
        Asker(f"PriorityClass/{name}", item.value)
        for name, item in named
        if item is not None and item.preemption_policy != "Never"
    ]
    default = classes.resolve("")
    if default.preemption_policy != "Never":
        found.append(Asker(NO_CLASS, default.value))
    return found + [Asker(what_waits(priority), priority, named=False) for priority in sorted(set(waiting))]


def what_waits(priority: int) -> str:
    return f"what waits at priority {priority}"


def ask(askers: Sequence[Asker], rows: Callable[[Asker], Numbers], units: int) -> Numbers:
    """A row for each asker; those of one rank in one place are answered alike, and asked once."""
    answers: dict[Asker, Numbers] = {}
    made = []
    for asker in askers:
        alike = asker._replace(name="")
        if alike not in answers:
            answers[alike] = rows(asker)
        made.append(answers[alike])
    return np.stack(made) if made else np.zeros((0, units), dtype=np.int16)


NOBODY_ASKS = Exposure((), (), np.zeros((0, 0), dtype=np.int16), lambda asker, unit: Reason())  # noqa: ARG005
