"""A quota workload that waits, what can be seen for it, and what its plan is carried out by."""

from collections.abc import Mapping
from typing import NamedTuple

from reprieve.engine.claims import Claim
from reprieve.engine.offers import HeldBack
from reprieve.engine.quota_tree import QuotaNode
from reprieve.engine.reasons import GateOff
from reprieve.manifests.kueue import ClusterQueueSpec
from reprieve.model.names import UnitName
from reprieve.policies.quota.annotations import wait_of
from reprieve.policies.quota.assignments import Assignment, Forced
from reprieve.policies.quota.earlier_heads import EarlierHeads
from reprieve.policies.quota.repetition import Preempted, preempted_by
from reprieve.policies.quota.search import Found
from reprieve.policies.quota.topology import PlacedPods
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld

Sizes = Mapping[str, int]
"""So many pods of each pod set."""
_SECOND = 1_000_000


class Nomination(NamedTuple):
    """The flavors a workload would get, and what was found when somebody was asked to make way for it on them."""

    assignment: Assignment
    found: Found | None = None
    """None: it fits, or no flavor could hold it, so nobody was looked at."""


class PendingWorkload(NamedTuple):
    """The preemptor: a workload that waits for quota."""

    facts: WorkloadFacts
    forced: Forced | None = None
    """Flavors it has to take."""
    earlier: EarlierHeads | None = None
    """In a cycle: what the heads before it took."""

    @property
    def queue(self) -> QuotaNode:
        if self.facts.queue is None:
            raise LookupError(self.facts.unit)
        return self.facts.queue


class Terms(NamedTuple):
    """What effects need of a plan: the queue, the flavors with their sizes, and whose quota is counted on."""

    queue: QuotaNode
    assignment: Assignment
    gone: Mapping[UnitName, WorkloadFacts] = {}
    """The victims, and those who leave already."""
    takes: bool = False
    """Whether it has its quota, or will have it once they are gone: later heads of its cycle do not get it."""
    placed: Mapping[str, PlacedPods] = {}
    """Where the pods of each pod set go, if it is admitted on a topology."""
    claimed: tuple[WorkloadFacts, ...] = ()
    """Victims of earlier heads, where it counts on more than these need."""
    preempted: Preempted = Preempted()
    """Whom it has then preempted in other queues."""
    counts_from_now: bool = False
    """Whether its first attempt is to be written down: how long it waits before it preempts is counted from that."""
    gates: tuple[str, ...] = ()
    """The closed gates that keep it from preempting, where it would."""


class WorkloadView:
    """One workload, its queue and what earlier heads took; then, step by step, what it was nominated for."""

    def __init__(self, quota: QuotaWorld, preemptor: PendingWorkload, now: int) -> None:
        self.quota = quota
        self.facts = preemptor.facts
        self.queue = preemptor.queue
        self.spec: ClusterQueueSpec = quota.specs[self.queue.name]
        self.as_written = quota.settings.quota.as_written
        """KEP-83, and not what Kueue has made of it since."""
        self.order = quota.order_of(self.queue.name)
        """In which order those are asked who could make way."""
        self.forced = preemptor.forced
        hold = preemptor.facts.hold
        self.most: Sizes = hold.counts if hold is not None else {}
        """It has preempted for so many pods of each set. It gets no more: else whoever made way for a small one would
        have made way for a large one."""
        self.earlier = preemptor.earlier or EarlierHeads(quota.settings)
        self._wait = wait_of(self.facts.workload, self.spec, quota.settings.quota.wait_before_preemption_seconds)
        self.now = now
        self.again = False
        """Its victims were claimed, and it was nominated once more, without them."""
        self.refusal: HeldBack | None = None
        self.off: dict[str, GateOff] = {}
        """What it did not get because a feature gate is off, by gate."""
        self.nominated = False
        self.placed: Mapping[str, PlacedPods] = {}
        self.short: list[Claim] = []
        """What it lacks, where nobody could make way."""
        self.found: Found | None = None

    def gate(self, name: str, what: str = "") -> bool:
        """Whether a feature that it could use is on; if not, that is worth a word."""
        if self.quota.settings.gate(name):
            return True
        self.off[name] = GateOff(name, what)
        return False

    def nominate(self, nomination: Nomination) -> None:
        """The flavors it would get, and who would make way."""
        self.nominated = True
        self.assignment, self.found = nomination
        victims = self.found.victims if self.found is not None else ()
        self.gone = {item.facts.unit: item.facts for item in victims}
        """Those it counts on, its victims and those who leave already."""
        self.leaving = tuple([unit for unit, facts in self.gone.items() if facts.evicted])

    @property
    def unit(self) -> UnitName:
        return self.facts.unit

    @property
    def claimed_before(self) -> bool:
        """Whether an earlier head has claimed somebody it counts on."""
        return not self.earlier.claimed.keys().isdisjoint(self.gone.values())

    def terms(self, *, takes: bool = False) -> Terms:
        return Terms(
            self.queue,
            self.assignment,
            self.gone,
            takes,
            self.placed,
            tuple(self.earlier.claimed) if self.again else (),
            self._with_victims(),
            counts_from_now=self._wait.from_attempt,
        )

    @property
    def promised(self) -> tuple[WorkloadFacts, ...]:
        """Those who leave because it has preempted, but for whom an earlier head has claimed."""
        if self.facts.hold is None:
            return ()
        claimed = self.earlier.claimed if self.again else ()
        return tuple(facts for facts in self.quota.leaving_for(self.facts) if facts not in claimed)

    @property
    def preempted(self) -> frozenset[str]:
        """Whom it has preempted in other queues, in the world as it is."""
        known = preempted_by(self.facts.workload)
        return known.in_world(self.quota.outside(self.queue)) if known.victims else frozenset()

    def _with_victims(self) -> Preempted:
        others = [facts.uid for facts in self.gone.values() if facts.queue is not self.queue and not facts.evicted]
        if not others:
            return Preempted()
        return preempted_by(self.facts.workload).and_also(others, self.quota.outside(self.queue))

    @property
    def waits_until(self) -> int | None:
        """When it may preempt, if it has to wait for that; in microseconds since 1970."""
        seconds, from_attempt = self._wait
        attempted = self.facts.attempted_at if self.facts.attempted_at is not None else self.now
        until = (attempted if from_attempt else self.facts.created) + seconds * _SECOND
        return until if seconds and until > self.now else None
