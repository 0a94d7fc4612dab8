"""Whom a quota workload may ask to leave, and in which order.

Three kinds, in this order, and already evicted workloads before all of them:
1. hierarchical: going up from the queue, once usage and request fit in the quota of a node, everybody outside it.
2. priority: the others, while borrowing only where `borrowWithinCohort` allows it.
3. own queue.
Inside a kind: lower priority, later reservation, uid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain
from typing import NamedTuple

from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.manifests.kueue import ClusterQueueSpec
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld

IN_QUEUE = "InClusterQueue"
RECLAIM = "InCohortReclamation"
RECLAIM_BORROWING = "InCohortReclaimWhileBorrowing"
FAIR_SHARING = "InCohortFairSharing"
_HIERARCHICAL, _PRIORITY, _OWN = 0, 1, 2


class Candidate(NamedTuple):
    """A workload that may be asked to leave."""

    facts: WorkloadFacts
    kind: int
    reason: str
    ancestor: QuotaNode | None = None
    """The lowest cohort that it shares with the preemptor."""
    only_without_borrowing: bool = False


class Request(NamedTuple):
    """What a workload asks for: its queue, all it needs, and which of it is contested."""

    facts: WorkloadFacts
    queue: QuotaNode
    spec: ClusterQueueSpec
    usage: Amounts
    contested: frozenset[FlavorResource]


def satisfies(policy: str | None, preemptor: WorkloadFacts, other: WorkloadFacts) -> bool:
    """Whether a policy lets one workload preempt another."""
    lower = other.boosted < preemptor.boosted
    if policy == "Any":
        return True
    if policy == "LowerOrNewerEqualPriority":
        newer = other.boosted == preemptor.boosted and preemptor.order_time < other.order_time
        return lower or newer
    return policy == "LowerPriority" and lower


def borrows_while_preempting(spec: ClusterQueueSpec) -> bool:
    borrow = spec.preemption.borrow_within_cohort
    return borrow is not None and borrow.policy != "Never"


class Pool(NamedTuple):
    """The candidates of one queue, which are kept in order."""

    queue: QuotaNode
    kind: int
    ancestor: QuotaNode | None


class Candidates:
    """All candidates of a request, told one after the other in the order in which they are asked.

    Each queue keeps its workloads in order, so that nothing is sorted and nobody is looked at before it is needed.
    """

    def __init__(self, world: QuotaWorld, request: Request) -> None:
        self._world = world
        self._request = request
        self._kept: list[Pool] = []
        self._begun: list[Iterator[Candidate]] = []
        for pool in self._pools():
            rest = self._of(pool)
            first = next(rest, None)
            if first is not None:
                self._kept.append(pool)
                self._begun.append(chain((first,), rest))
        self.elsewhere = any(pool.kind != _OWN for pool in self._kept)
        self.hierarchical = any(pool.kind == _HIERARCHICAL for pool in self._kept)

    def __iter__(self) -> Iterator[Candidate]:
        begun, self._begun = self._begun, []
        return merge(*(begun or (self._of(pool) for pool in self._kept)), key=self._order)

    def _order(self, item: Candidate) -> tuple[object, ...]:
        return not item.facts.evicted, item.kind, self._world.order(item.facts)

    def _pools(self) -> Iterator[Pool]:
        """The own queue; then up the tree, cohort by cohort: a subtree within its quota gives nobody."""
        request = self._request
        yield Pool(request.queue, _OWN, None)
        if request.spec.preemption.reclaim_within_cohort in (None, "Never"):
            return
        advantage, remaining = _fits_in(request.queue, request.usage)
        below: QuotaNode = request.queue
        for cohort in request.queue.path():
            for queue in _borrowing_queues(cohort, below, request):
                yield Pool(queue, _HIERARCHICAL if advantage else _PRIORITY, cohort)
            fits, remaining = _fits_in(cohort, remaining)
            advantage = advantage or fits
            below = cohort

    def _of(self, pool: Pool) -> Iterator[Candidate]:
        """Those of one queue that policy allows and that use what is contested."""
        request = self._request
        preemption = request.spec.preemption
        policy = preemption.within_cluster_queue if pool.kind == _OWN else preemption.reclaim_within_cohort
        if policy in (None, "Never"):
            return
        limit = None if policy == "Any" or not self._world.order.by_priority else request.facts.boosted
        for other in self._world.candidates(pool.queue.name):
            if limit is not None and not other.evicted and other.boosted > limit:
                return  # the rest ranks higher still: whoever is at the head of its queue is the lowest in it
            if satisfies(policy, request.facts, other) and uses(other, request.contested):
                yield self._classified(pool, other)

    def _classified(self, pool: Pool, other: WorkloadFacts) -> Candidate:
        if pool.kind == _OWN:
            return Candidate(other, _OWN, IN_QUEUE)
        if pool.kind == _HIERARCHICAL:
            return Candidate(other, _HIERARCHICAL, RECLAIM, pool.ancestor)
        if self._only_without_borrowing(other):
            return Candidate(other, _PRIORITY, RECLAIM, pool.ancestor, only_without_borrowing=True)
        return Candidate(other, _PRIORITY, RECLAIM_BORROWING, pool.ancestor)

    def _only_without_borrowing(self, other: WorkloadFacts) -> bool:
        borrow = self._request.spec.preemption.borrow_within_cohort
        if borrow is None or borrow.policy == "Never" or other.boosted >= self._request.facts.boosted:
            return True
        return borrow.max_priority_threshold is not None and other.boosted > borrow.max_priority_threshold


def uses(facts: WorkloadFacts, contested: Iterable[FlavorResource]) -> bool:
    """Whether it was given a contested flavor and resource, be it for none of it."""
    return any(flavor in facts.usage for flavor in contested)


def _fits_in(node: QuotaNode, usage: Amounts) -> tuple[bool, dict[FlavorResource, int]]:
    """Whether a request fits in a node's quota, and what of it has to come from above."""
    fits = not any(node.exceeds(flavor, amount) for flavor, amount in usage.items())
    return fits, {flavor: max(0, amount - node.kept_left(flavor)) for flavor, amount in usage.items()}


def _borrowing_queues(cohort: QuotaNode, but: QuotaNode, request: Request) -> Iterator[QuotaNode]:
    for child in cohort.children:
        if child is but or child.within(request.contested):
            continue
        if child.queue:
            yield child
        else:
            yield from _borrowing_queues(child, but, request)


def still_gives(item: Candidate, request: Request) -> bool:
    """Whether a candidate's queue, and its cohorts below the common one, are still above quota at this moment."""
    queue = item.facts.queue
    if queue is None or queue is request.queue:
        return True
    if queue.within(request.contested):
        return False
    for cohort in queue.path():
        if cohort is item.ancestor:
            return True
        if cohort.within(request.contested):
            return False
    return True
