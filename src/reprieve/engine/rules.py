"""Rules: who may not be asked to leave, and why. They are the only source of protection and of its explanation.

A rule looks at one unit and answers with the reason that protects it, or with None: it may be asked. Where many units
are looked at, a rule answers for a whole pool of them at once (`PoolRule`), and gives its reason only for those that
somebody asks about. What a search has removed and given back, or never came to, is no rule's business: the steps tell.
"""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from reprieve.engine.arrays import Mask
from reprieve.engine.reasons import Reason

Unit = TypeVar("Unit")
UnitIn = TypeVar("UnitIn", contravariant=True)
PoolIn = TypeVar("PoolIn", contravariant=True)


class Rule(Protocol[UnitIn]):
    """Looks at one unit."""

    def __call__(self, unit: UnitIn, /) -> Reason | None:
        """What protects it; None: this rule does not."""


class PoolRule(Protocol[PoolIn, UnitIn]):
    """Looks at all units of a pool at once."""

    def protects(self, pool: PoolIn) -> Mask | None:
        """Where the unit is protected; None: nowhere."""

    def reason(self, unit: UnitIn) -> Reason:
        """Why, for one that it protects."""


def protection(rules: Iterable[Rule[Unit]], unit: Unit) -> Reason | None:
    """What the first rule says that protects a unit; None: it may be asked to leave."""
    return next((reason for rule in rules if (reason := rule(unit)) is not None), None)
