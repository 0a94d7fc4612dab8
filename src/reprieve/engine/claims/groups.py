"""Why a group of pods has no place."""

from reprieve.engine.claims.base import Claim, Protected
from reprieve.model.names import UnitName


class GangShort(Claim, frozen=True, kw_only=True):
    """Places were found for so many of the pods that a group needs, also if all went that may be preempted."""

    placed: int
    required: int
    asked: bool = True
    """False: nobody is asked to leave."""
    resource: str = ""
    """Of this there would be too little on all nodes together."""
    needed: int = 0
    free: int = 0
    protected: tuple[Protected, ...] = ()


class GangBudget(Claim, frozen=True, kw_only=True):
    """A group could be placed, but only by going against a disruption budget, and budgets are respected."""

    placed: int
    required: int


class MemberTooLarge(Claim, frozen=True, kw_only=True):
    """One pod of a group needs more than the largest node has."""

    pod: UnitName
    node: str
    resource: str
    needed: int
    has: int
