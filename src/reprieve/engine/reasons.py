"""Why: typed reasons, from which `texts` makes every sentence a person reads."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class LowerPriority(msgspec.Struct, frozen=True):
    """Eligible: it ranks below the preemptor."""

    priority: int
    preemptor_priority: int
    rule: ClassVar[str] = "LowerPriority"


class NotLower(msgspec.Struct, frozen=True):
    """Protected: it does not rank below the preemptor."""

    priority: int
    preemptor_priority: int
    rule: ClassVar[str] = "Priority"


class Tolerates(msgspec.Struct, frozen=True):
    """Protected: its priority class tolerates preemption by those below a minimum, for a time or for ever."""

    class_name: str
    minimum: int
    preemptor_priority: int
    until: int | None
    """Microseconds since 1970; None: for ever, or until it is known when it was scheduled."""
    rule: ClassVar[str] = "Toleration"


class UnknownClass(msgspec.Struct, frozen=True):
    """Protected, with its whole node: its priority class cannot be looked up."""

    class_name: str
    rule: ClassVar[str] = "UnknownPriorityClass"


class Reprieved(msgspec.Struct, frozen=True):
    """Spared: the preemptor fits beside it."""

    rule: ClassVar[str] = "Reprieved"


class SparedByBudget(msgspec.Struct, frozen=True):
    """Spared: its disruption budget would have broken, and others could go."""

    rule: ClassVar[str] = "DisruptionBudget"


class AboveMinimum(msgspec.Struct, frozen=True):
    """Spared: units of lower priority are enough."""

    priority: int
    minimum: int
    rule: ClassVar[str] = "MinimalPriority"


class CheaperElsewhere(msgspec.Struct, frozen=True):
    """Spared: another domain was chosen."""

    domain: str
    criterion: str
    rule: ClassVar[str] = "CheaperElsewhere"


Reason = (
    LowerPriority | NotLower | Tolerates | UnknownClass | Reprieved | SparedByBudget | AboveMinimum | CheaperElsewhere
)
