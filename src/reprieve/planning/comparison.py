"""What is different after a change, in the form that other programs rely on: each kind beside its opposite."""

from typing import Any

import msgspec

from reprieve.manifests.problems import Problem


class Exposed(msgspec.Struct, frozen=True, rename="camel"):
    """A unit that may be preempted in one of the worlds, and what protects it in the other."""

    unit: str
    policy: str
    by: list[str]
    """Who may preempt it."""
    rule: str
    message: str
    """What protects it in the other world."""


class Overfull(msgspec.Struct, frozen=True, rename="camel"):
    """A unit whose place holds more than it has."""

    unit: str
    policy: str
    place: str
    resource: str
    over: str


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What is decided for a unit that waits, after the change."""

    unit: str
    policy: str
    message: str


class Preempting(msgspec.Struct, frozen=True, rename="camel"):
    """Whom a unit that waits preempts in one of the worlds, and not in the other."""

    unit: str
    policy: str
    victims: list[str]
    message: str
    """What is decided for it after the change."""


class Comparison(msgspec.Struct, frozen=True, rename="camel"):
    """All that is different."""

    now: str
    changed: dict[str, str]
    """Each object of the change: created, replaced, unchanged or deleted."""
    newly_preemptible: list[Exposed]
    newly_safe: list[Exposed]
    newly_against_budget: list[str]
    """Who may still be preempted, but only against its disruption budget."""
    no_longer_against_budget: list[str]
    no_longer_fits: list[Overfull]
    fits_again: list[Overfull]
    now_starts: list[Outcome]
    no_longer_starts: list[Outcome]
    now_preempts: list[Preempting]
    no_longer_preempts: list[Preempting]
    now_waits: list[Outcome]
    """Those for whom preemption could help, but not yet."""
    no_longer_waits: list[Outcome]
    now_unschedulable: list[Outcome]
    """Those who come with the change, and cannot be placed."""
    no_longer_unschedulable: list[Outcome]
    notes: list[str] = []
    warnings: list[Problem] = []
    errors: int = 0
    """How many errors `reprieve check` finds in what was read: an API server would refuse what they are about."""

    @property
    def difference(self) -> bool:
        return any(getattr(self, name) for name in DIFFERENCES)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data, as `-o json` prints it."""
        answer: dict[str, Any] = msgspec.to_builtins(self)
        answer["warnings"] = [str(problem) for problem in self.warnings]
        return {"now": answer.pop("now"), "difference": self.difference, **answer}


DIFFERENCES = (
    "newly_preemptible",
    "newly_safe",
    "newly_against_budget",
    "no_longer_against_budget",
    "no_longer_fits",
    "fits_again",
    "now_starts",
    "no_longer_starts",
    "now_preempts",
    "no_longer_preempts",
    "now_waits",
    "no_longer_waits",
    "now_unschedulable",
    "no_longer_unschedulable",
)
"""The kinds of differences, each beside its opposite."""
