"""What a decision claims about places, queues and quota: facts with numbers, from which `texts` makes sentences.

A claim says nothing that the world does not say: each can be checked against the manifests that were decided over, and
the tests do so. Amounts are in the units of `model.resources`. A claim about nodes is about one, or about several that
are in the same position; then it gives the best of their numbers.
"""

from reprieve.engine.claims.base import Claim, Protected
from reprieve.engine.claims.clusters import ClusterOut, ClusterReason, ClusterShort
from reprieve.engine.claims.groups import GangBudget, GangShort, MemberTooLarge
from reprieve.engine.claims.nodes import (
    BudgetRespected,
    ClaimOnNodes,
    Feature,
    Insufficient,
    KeptOut,
    LeftAlone,
    Neighbours,
    NoNodes,
    NotHonoured,
    NotReachable,
    NotTogether,
    TooSmall,
    Unreachable,
)
from reprieve.engine.claims.queues import AtMaximum, GuaranteeUsed, InReach, NoGuarantee
from reprieve.engine.claims.quota import (
    ChecksUnusable,
    FlavorMissing,
    FlavorUnsuited,
    GroupDisagrees,
    GroupIncomplete,
    GroupTooVaried,
    NamespaceNotTaken,
    NotCovered,
    QueueMissing,
    QueueStopped,
    QueueTerminating,
    QuotaShort,
    TopologyMissing,
    TopologyShort,
    TopologyUnsuited,
    WorkloadsStay,
)

__all__ = [
    "AtMaximum",
    "BudgetRespected",
    "ChecksUnusable",
    "Claim",
    "ClaimOnNodes",
    "ClusterOut",
    "ClusterReason",
    "ClusterShort",
    "Feature",
    "FlavorMissing",
    "FlavorUnsuited",
    "GangBudget",
    "GangShort",
    "GroupDisagrees",
    "GroupIncomplete",
    "GroupTooVaried",
    "GuaranteeUsed",
    "InReach",
    "Insufficient",
    "KeptOut",
    "LeftAlone",
    "MemberTooLarge",
    "NamespaceNotTaken",
    "Neighbours",
    "NoGuarantee",
    "NoNodes",
    "NotCovered",
    "NotHonoured",
    "NotReachable",
    "NotTogether",
    "Protected",
    "QueueMissing",
    "QueueStopped",
    "QueueTerminating",
    "QuotaShort",
    "TooSmall",
    "TopologyMissing",
    "TopologyShort",
    "TopologyUnsuited",
    "Unreachable",
    "WorkloadsStay",
]
