"""Who may not be asked to give up its quota, and why: the rules of KEP-83.

A workload is protected where
1. it uses nothing of what is contested;
2. its queue is stopped, or names a flavor that does not exist;
3. the preemption policy of the preemptor's queue does not reach it: `withinClusterQueue` in its own queue,
   `reclaimWithinCohort` in others;
4. an earlier head of the same cycle has claimed it;
5. it has run for so long that the settings protect it;
6. it is in another queue, made way for the preemptor before, and only preemption has changed anything since
   (`repetition`);
7. its queue, or a cohort of it below the one that it shares with the preemptor, is within its quota: at the moment
   when it is asked, with those gone who were asked before it;
8. the preemptor would borrow, and `borrowWithinCohort` does not let it preempt this one then.
Under fair sharing `fair_rules` take the place of 8, and of 7 for cohorts. 1 to 6 hold whoever leaves. 2 is asked once
for a whole queue; so is 7 before anybody has left, and for whole cohorts.
"""

from collections.abc import Collection, Container
from typing import NamedTuple

from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.engine.reasons import (
    Claimed,
    LongRunning,
    MadeWayBefore,
    NotContested,
    NotReached,
    NotWhileBorrowing,
    QueueClosed,
    Reason,
    WithinQuota,
)
from reprieve.manifests.kueue import Preemption
from reprieve.policies.quota.workloads import WorkloadFacts

_SECOND = 1_000_000


class Eligible:
    """1 to 6: what does not change while others leave."""

    def __init__(
        self,
        preemptor: WorkloadFacts,
        preemption: Preemption,
        contested: frozenset[FlavorResource],
        closed: Container[str],
        claimed: Collection[WorkloadFacts] = (),
        preempted: Collection[str] = (),
        long_running: "LongRunners | None" = None,
    ) -> None:
        self._preemptor = preemptor
        self._preemption = preemption
        self._contested = contested
        self._closed = closed
        self._claimed = claimed
        self._preempted = preempted
        self._long_running = long_running
        self.personal = bool(claimed or preempted or long_running)
        """Whether it matters who somebody is, and not only what it has: 4 to 6."""

    def __call__(self, unit: WorkloadFacts) -> Reason | None:
        if self._contested.isdisjoint(unit.usage):  # be it for none of it: it was given a flavor that is contested
            return NotContested()
        reason = self.of_node(unit.queue) or self._reach(unit)
        return self._personally(unit) if reason is None and self.personal else reason

    def of_node(self, node: QuotaNode | None) -> Reason | None:
        """2."""
        return QueueClosed(node.name) if node is not None and node.queue and node.name in self._closed else None

    def policy(self, queue: QuotaNode | None) -> str:
        """Whom the preemptor's queue preempts in a queue."""
        own = queue is self._preemptor.queue
        said = self._preemption.within_cluster_queue if own else self._preemption.reclaim_within_cohort
        return said or "Never"

    def _reach(self, unit: WorkloadFacts) -> Reason | None:
        """3."""
        policy = self.policy(unit.queue)
        if policy == "Any":
            return None
        above = self._preemptor.boosted
        if policy != "Never" and unit.boosted < above:
            return None
        newer = unit.boosted == above and self._preemptor.order_time < unit.order_time
        if policy == "LowerOrNewerEqualPriority" and newer:
            return None
        return NotReached(policy, unit.queue.name if unit.queue else "", unit.boosted, above)

    def _personally(self, unit: WorkloadFacts) -> Reason | None:
        """4 to 6."""
        if unit in self._claimed:
            return Claimed()
        by_age = self._long_running(unit) if self._long_running is not None else None
        return by_age or self._before(unit)

    def _before(self, unit: WorkloadFacts) -> Reason | None:
        """6. Who leaves already makes way once more, not again."""
        if unit.evicted or unit.uid not in self._preempted or unit.queue is self._preemptor.queue:
            return None
        return MadeWayBefore(self._preemptor.unit)


class LongRunners(NamedTuple):
    """5. Who leaves already makes way, whatever its age."""

    seconds: int
    now: int

    def until(self, unit: WorkloadFacts) -> int:
        """When it will have run for so long."""
        return unit.reserved_at + self.seconds * _SECOND

    def __call__(self, unit: WorkloadFacts) -> Reason | None:
        runs = (self.now - unit.reserved_at) // _SECOND
        return LongRunning(self.seconds) if runs >= self.seconds and not unit.evicted else None


class AboveQuota:
    """7."""

    def __init__(self, queue: QuotaNode, contested: frozenset[FlavorResource]) -> None:
        self._queue = queue
        self._shared: set[QuotaNode] | None = None
        self._contested = contested

    def of_node(self, node: QuotaNode) -> Reason | None:
        return WithinQuota(node.name) if node.within(self._contested) else None

    def __call__(self, unit: WorkloadFacts) -> Reason | None:
        """For one whose queue and cohorts were above quota before anybody had gone."""
        node = unit.queue
        if node is self._queue:
            return None
        if self._shared is None:
            self._shared = set(self._queue.path())
        while node is not None and node not in self._shared:
            if node.within(self._contested):
                return WithinQuota(node.name, others_gone=True)
            node = node.parent
        return None


class WhileBorrowing:
    """8. Asked about those in other queues, where the request is above what a node has of its own."""

    def __init__(self, preemptor: WorkloadFacts, preemption: Preemption) -> None:
        self._preemptor = preemptor
        self._borrow = preemption.borrow_within_cohort

    def __call__(self, unit: WorkloadFacts) -> Reason | None:
        borrow = self._borrow
        if borrow is not None and borrow.policy != "Never" and unit.boosted < self._preemptor.boosted:
            threshold = borrow.max_priority_threshold
            if threshold is None or unit.boosted <= threshold:
                return None
        queue = self._preemptor.queue
        return NotWhileBorrowing(queue.name if queue is not None else "", unit.boosted)


class ClassicalRules(NamedTuple):
    eligible: Eligible
    above_quota: AboveQuota
    while_borrowing: WhileBorrowing | None
    """None: as KEP-83 was written, whoever preempts does not borrow."""
