"""What stands in the way of quota: queues, flavors, topologies, and what is used."""

from typing import Literal

from reprieve.engine.claims.base import Claim, Protected


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


class GroupIncomplete(Claim, frozen=True, kw_only=True):
    """A group of pods in a queue with fewer pods than it counts: it asks for quota when all of them are there."""

    there: int
    total: int


class GroupDisagrees(Claim, frozen=True, kw_only=True):
    """A group of pods in queues that do not name the same queue and the same number of pods."""


class GroupTooVaried(Claim, frozen=True, kw_only=True):
    """A group of pods in a queue with more shapes than can be queued together."""

    shapes: int
    most: int


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
