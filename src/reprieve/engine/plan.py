"""The answer: who makes way for whom, where, and why; complete, and made only as far as somebody asks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import msgspec

from reprieve.engine.claims import Claim
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.reasons import Reason
from reprieve.model.names import UnitName

Outcome = Literal["Fits", "Preempt", "Wait", "Unschedulable"]


class Remark(msgspec.Struct, frozen=True):
    """What somebody should know about a decision beside it: a typed reason, and the sentence that says it."""

    reason: Reason
    sentence: str


class Victim(msgspec.Struct, frozen=True):
    """Somebody who makes way, and the rule by which it may be asked to."""

    unit: UnitName
    reason: Reason
    pdb_violation: bool = False
    group: UnitName | None = None
    """What it goes with as a whole."""
    clusters: tuple[str, ...] = ()
    """The member clusters that it loses; it keeps its others."""
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
    obstacles: dict[str, Claim] = {}


class StalePlan(RuntimeError):
    """Details were asked for after the world had moved on."""


def _no_equals() -> frozenset[str]:
    return frozenset()


def _no_details(brief: bool) -> Details:  # noqa: ARG001 - there are none, in brief or at length
    return Details()


@dataclass
class Plan:
    """One decision. Nothing is changed by making it; whoever commits it acts on the victims and the placement."""

    preemptor: UnitName
    policy: str
    outcome: Outcome
    message: str
    domain: str = ""
    placement: dict[UnitName, str] = field(default_factory=dict)
    victims: list[Victim] = field(default_factory=list)
    waiting_for: list[UnitName] = field(default_factory=list)
    criterion: str = ""
    remarks: tuple[Remark, ...] = ()
    """What else had a say in it, such as a feature gate that is off; their sentences end the message."""
    until: int | None = field(default=None, compare=False)
    """The moment, in microseconds since 1970, at which the answer changes though nothing else does."""
    claims: tuple[Claim, ...] = field(default=(), compare=False)
    """What the message of a refusal was made from."""
    terms: Any = field(default=None, compare=False)
    """What the effects of its policy need to know beyond all this: flavors, replicas by cluster."""
    reserves: bool = field(default=False, compare=False)
    """Its place is held against everybody while victims leave it, not only against those who rank below."""
    closes: bool = field(default=False, compare=False)
    """Until then nobody else is placed there at all, but who was promised a place before."""
    equals: Callable[[], frozenset[str]] = field(default=_no_equals, compare=False, repr=False)
    """The domains that cost as much as the chosen one; to be asked before the world moves on."""
    models: Callable[[], Iterable[LinearModel]] = field(default=tuple, compare=False, repr=False)
    """What was searched, for whoever proves what the least is; to be asked before the world moves on."""
    explain: Callable[[bool], Details] = field(default=_no_details, compare=False, repr=False)

    @cached_property
    def details(self) -> Details:
        """Worked out when first asked for, which must be before the world moves on."""
        return self.explain(False)

    @cached_property
    def brief(self) -> Details:
        """The details about the domain that was chosen and a few others: what a record of many decisions can afford."""
        return self.explain(True)
