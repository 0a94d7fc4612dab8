"""The answer: who makes way for whom, where, and why; complete, and made only as far as somebody asks."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import msgspec

from reprieve.engine.reasons import Reason
from reprieve.model.names import UnitName

Outcome = Literal["Fits", "Preempt", "Wait", "Unschedulable"]


class Victim(msgspec.Struct, frozen=True):
    """Somebody who makes way, and the rule by which it may be asked to."""

    unit: UnitName
    reason: Reason
    pdb_violation: bool = False
    group: UnitName | None = None
    """What it goes with as a whole."""
    ends: bool = False
    """It asked to be ended when preempted, instead of waiting for another turn."""


class Spared(msgspec.Struct, frozen=True):
    """A unit that stays: by which rule or step, and in which domain it was looked at."""

    unit: UnitName
    reason: Reason
    domain: str = ""


class Cost(msgspec.Struct, frozen=True):
    """What a domain would have cost."""

    victims: list[UnitName]
    pdb_violations: int = 0


class Details(msgspec.Struct, frozen=True):
    """What a plan knows beyond its victims: every domain's cost, everybody who was spared, every domain's obstacle."""

    candidates: dict[str, Cost] = {}
    spared: list[Spared] = []
    obstacles: dict[str, str] = {}


class StalePlan(RuntimeError):
    """Details were asked for after the world had moved on."""


class Plan:
    """One decision. Nothing is changed by making it; whoever commits it acts on the victims and the placement."""

    def __init__(
        self,
        preemptor: UnitName,
        policy: str,
        outcome: Outcome,
        message: str,
        *,
        domain: str = "",
        placement: dict[UnitName, str] | None = None,
        victims: list[Victim] | None = None,
        waiting_for: list[UnitName] | None = None,
        criterion: str = "",
        until: int | None = None,
        terms: Any = None,
        details: Callable[[bool], Details] = lambda brief: Details(),  # noqa: ARG005 - there are none
    ) -> None:
        self.preemptor = preemptor
        self.policy = policy
        self.outcome: Outcome = outcome
        self.message = message
        self.domain = domain
        self.placement = placement or {}
        self.victims = victims or []
        self.waiting_for = waiting_for or []
        self.criterion = criterion
        self.until = until
        """The moment, in microseconds since 1970, at which the answer changes though nothing else does."""
        self.terms = terms
        """What the effects of its policy need to know beyond all this: flavors, replicas by cluster."""
        self._details = details

    @cached_property
    def details(self) -> Details:
        """Worked out when first asked for, which must be before the world moves on."""
        return self._details(False)

    @cached_property
    def brief(self) -> Details:
        """The details about the domain that was chosen and a few others: what a record of many decisions can afford."""
        return self._details(True)

    def __repr__(self) -> str:
        return f"Plan({self.preemptor}: {self.outcome} {self.domain} {[victim.unit for victim in self.victims]})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.preemptor, self.outcome, self.domain))

    def _identity(self) -> tuple[Any, ...]:
        return (
            self.preemptor,
            self.policy,
            self.outcome,
            self.domain,
            self.placement,
            self.victims,
            self.waiting_for,
            self.criterion,
            self.message,
        )
