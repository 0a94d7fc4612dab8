"""What stands in the way in queues with guarantees and maxima."""

from reprieve.engine.claims.base import Claim, Protected


class AtMaximum(Claim, frozen=True, kw_only=True):
    """With what is needed, a queue would use more than its maximum."""

    queue: str
    resource: str
    used: int
    """With what is promised to others."""
    maximum: int
    needed: int


class NoGuarantee(Claim, frozen=True, kw_only=True):
    """Neither the queue nor one above it guarantees anything that is asked for."""

    queue: str


class GuaranteeUsed(Claim, frozen=True, kw_only=True):
    """`asking` uses so much of what `queue`, itself or one above it, guarantees that the request is too much for it."""

    queue: str
    asking: str
    resource: str
    used: int
    guaranteed: int
    needed: int


class InReach(Claim, frozen=True, kw_only=True):
    """Of the pods on nodes, so many may be preempted by the laws of queues, and the others may not."""

    top: str
    candidates: int
    protected: tuple[Protected, ...] = ()
