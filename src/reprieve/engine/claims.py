"""What a decision claims about places, queues and quota: facts with numbers, from which `texts` makes sentences.

A claim says nothing that the world does not say: each can be checked against the manifests that were decided over, and
the tests do so. Amounts are in the units of `model.resources`. A claim about nodes is about one, or about several that
are in the same position; then it gives the best of their numbers.
"""

from typing import Literal

import msgspec

from reprieve.model.names import UnitName

Unreachable = Literal[
    "Cordoned",
    "Taint",
    "OtherNode",
    "NodeAffinity",
    "VolumeAffinity",
    "VolumeLimit",
    "Gone",
    "MissingNeighbours",
    "OutsideDomain",
    "NoSuchNode",
    "Closed",
]
Feature = Literal[
    "ClaimMissing",
    "ClaimLeaving",
    "ClaimNotOwned",
    "ClaimUnbound",
    "ClaimWaitsForPod",
    "ClaimInUse",
    "VolumeMissing",
    "DiskNamed",
    "ResourceClaims",
]
"""What of a pod cannot be honoured: its claims, or devices and disks that this scheduler does not look after."""
Neighbours = Literal["HostPort", "AntiAffinity", "KeptAway", "Affinity", "TopologySpread"]


class Claim(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True, rename="camel"):
    """Something a decision says that is true or false of a world."""


class Protected(msgspec.Struct, frozen=True, rename="camel"):
    """So many pods, or workloads, may not be preempted, by one rule."""

    rule: str
    pods: int
    until: int | None = None
    """When the first of them loses that protection, in microseconds since 1970; None: time alone changes nothing."""


# Nodes


class NodeClaim(Claim, frozen=True, kw_only=True):
    """Why so many nodes cannot take a pod."""

    nodes: int = 1


class NotReached(NodeClaim, frozen=True, kw_only=True):
    """Nothing that runs there is the reason, so that no preemption helps."""

    why: Unreachable


class NotHonoured(NodeClaim, frozen=True, kw_only=True):
    """The pod has something about it that this scheduler cannot honour, or not now: it is left alone everywhere."""

    feature: Feature
    name: str
    """The claim, volume or resource claims that it is about."""
    other: str = ""
    """What stands in the way: the storage class, the volume that is missing, the pod that has the claim."""


class TooSmall(NodeClaim, frozen=True, kw_only=True):
    """The whole node has less than is needed: the largest of them, `node`, has so much."""

    node: str
    resource: str
    needed: int
    has: int


class Insufficient(NodeClaim, frozen=True, kw_only=True):
    """Less is free than is needed, even without all `candidates`, the pods there that may be preempted."""

    resource: str
    needed: int
    free: int
    """As things are, at most; what is held for nominated pods is not free."""
    candidates: int = 0
    freed: int = 0
    """What would be free at most without the candidates."""
    asked: bool = True
    """False: nobody is asked to leave, whoever runs there."""
    protected: tuple[Protected, ...] = ()
    nominated: int = 0
    """Nominated pods for which room is kept there."""
    leaving: int = 0
    """Pods that are leaving, and count as gone in all of this."""


class KeptOut(NodeClaim, frozen=True, kw_only=True):
    """There is room, but pods on the node or around it stand in the way, or are missing."""

    by: Neighbours
    candidates: int = 0
    protected: tuple[Protected, ...] = ()


class LeftAlone(NodeClaim, frozen=True, kw_only=True):
    """Pods of these priority classes run there, and nobody knows what they tolerate."""

    missing: tuple[str, ...] = ()
    """Classes that do not exist."""
    unreadable: tuple[str, ...] = ()
    """Classes that say it in something other than numbers."""
    pods: tuple[UnitName, ...] = ()
    """Who names them."""


class BudgetRespected(NodeClaim, frozen=True, kw_only=True):
    """The pods that would have to go are protected by disruption budgets, and budgets are respected."""

    pods: int = 0
    """The fewest that would go against a budget."""


class NotTogether(NodeClaim, frozen=True, kw_only=True):
    """Each pod there could go alone, but so many that there would be room may not, by a rule."""

    rule: str
    queue: str = ""


class NoNodes(Claim, frozen=True, kw_only=True):
    """There is not a single node."""


# Groups of pods


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


# Queues


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


# Quota


class QueueMissing(Claim, frozen=True, kw_only=True):
    """A queue that does not exist; without a name, none is named."""

    queue_kind: Literal["LocalQueue", "ClusterQueue"]
    queue: str


class QueueStopped(Claim, frozen=True, kw_only=True):
    """A queue that is there and admits nobody, because its stopPolicy says so."""

    queue_kind: Literal["LocalQueue", "ClusterQueue"]
    queue: str
    policy: str


class QueueTerminating(Claim, frozen=True, kw_only=True):
    """A cluster queue is being deleted, kept as long as it is in use, and admits nobody."""

    queue: str


class ChecksUnusable(Claim, frozen=True, kw_only=True):
    """A cluster queue names admission checks that do not exist, or that nobody looks after, and admits nobody."""

    queue: str
    missing: tuple[str, ...] = ()
    inactive: tuple[str, ...] = ()


class FlavorMissing(Claim, frozen=True, kw_only=True):
    """A cluster queue names flavors that do not exist, and admits nobody."""

    queue: str
    flavors: tuple[str, ...]


class NamespaceNotTaken(Claim, frozen=True, kw_only=True):
    """A cluster queue whose selector does not take workloads of a namespace."""

    queue: str
    namespace: str


class NotCovered(Claim, frozen=True, kw_only=True):
    """A queue has no quota at all for something that is asked for."""

    queue: str
    resources: tuple[str, ...]


class FlavorUnsuited(Claim, frozen=True, kw_only=True):
    """A pod set does not tolerate a flavor's taints, or does not match its labels."""

    flavor: str
    pod_set: str


class QuotaShort(Claim, frozen=True, kw_only=True):
    """Less of a flavor is left for a queue than is needed."""

    queue: str
    flavor: str
    resource: str
    needed: int
    used: int
    nominal: int
    free: int
    """What the queue could use more of it, borrowing included."""
    most: int
    """What it could use at most if nobody used anything: less than is needed, and it can never fit."""
    cohort: str = ""


class TopologyMissing(Claim, frozen=True, kw_only=True):
    """A queue admits nobody: a flavor of it names a topology that is not there."""

    queue: str
    topologies: tuple[str, ...]


class TopologyUnsuited(Claim, frozen=True, kw_only=True):
    """A flavor has not the topology, or not the level of it, that a pod set asks for; or it is only for such as ask."""

    flavor: str
    pod_set: str


class TopologyShort(Claim, frozen=True, kw_only=True):
    """The domains of a flavor have no place for all pods of a pod set."""

    flavor: str
    pod_set: str
    level: str
    """All of them have to be in one domain of this level; empty: they may be in several."""
    needed: int
    most: int
    """So many could be placed."""
    idle: bool = False
    """Also if no other workload were there."""


class WorkloadsStay(Claim, frozen=True, kw_only=True):
    """Of the workloads admitted in the same tree of cohorts, so many may be preempted; the others may not."""

    candidates: int
    protected: tuple[Protected, ...] = ()


# Member clusters

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
