"""Why nodes cannot take a pod."""

from typing import Literal

from reprieve.engine.claims.base import Claim, Protected
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


class ClaimOnNodes(Claim, frozen=True, kw_only=True):
    """Why so many nodes cannot take a pod."""

    nodes: int = 1


class NotReachable(ClaimOnNodes, frozen=True, kw_only=True, tag="NotReached"):
    """Nothing that runs there is the reason, so that no preemption helps."""

    why: Unreachable


class NotHonoured(ClaimOnNodes, frozen=True, kw_only=True):
    """The pod has something about it that this scheduler cannot honour, or not now: it is left alone everywhere."""

    feature: Feature
    name: str
    """The claim, volume or resource claims that it is about."""
    other: str = ""
    """What stands in the way: the storage class, the volume that is missing, the pod that has the claim."""


class TooSmall(ClaimOnNodes, frozen=True, kw_only=True):
    """The whole node has less than is needed: the largest of them, `node`, has so much."""

    node: str
    resource: str
    needed: int
    has: int


class Insufficient(ClaimOnNodes, frozen=True, kw_only=True):
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


class KeptOut(ClaimOnNodes, frozen=True, kw_only=True):
    """There is room, but pods on the node or around it stand in the way, or are missing."""

    by: Neighbours
    candidates: int = 0
    protected: tuple[Protected, ...] = ()


class LeftAlone(ClaimOnNodes, frozen=True, kw_only=True):
    """Pods of these priority classes run there, and nobody knows what they tolerate."""

    missing: tuple[str, ...] = ()
    """Classes that do not exist."""
    unreadable: tuple[str, ...] = ()
    """Classes that say it in something other than numbers."""
    pods: tuple[UnitName, ...] = ()
    """Who names them."""


class BudgetRespected(ClaimOnNodes, frozen=True, kw_only=True):
    """The pods that would have to go are protected by disruption budgets, and budgets are respected."""

    pods: int = 0
    """The fewest that would go against a budget."""


class NotTogether(ClaimOnNodes, frozen=True, kw_only=True):
    """Pods there may be preempted, but not so many, or not such, that there would be room, by a rule."""

    rule: str
    queue: str = ""


class NoNodes(Claim, frozen=True, kw_only=True):
    """There is not a single node."""
