"""Why a member cluster has no part in it."""

from typing import Literal

from reprieve.engine.claims.base import Claim

ClusterReason = Literal[
    "NotReady",
    "WithoutApi",
    "Taint",
    "NotMeant",
    "NoReport",
    "BreaksSpread",
    "NotNeeded",
    "Enough",
    "WithoutPart",
    "LaterGroup",
]


class ClusterShort(Claim, frozen=True, kw_only=True):
    """A cluster lacks so much for the replicas it would have to hold; all candidates there do not cover that."""

    cluster: str
    replicas: int
    missing: dict[str, int]
    candidates: int | None = None
    """Bindings there that may be preempted; None: nobody is asked."""


class ClusterOut(Claim, frozen=True, kw_only=True):
    """Why a cluster has no part in it, for another reason than room."""

    cluster: str
    why: ClusterReason
