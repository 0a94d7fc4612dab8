"""Whom a quota workload may ask to leave, and in which order.

Three kinds, in this order, and already evicted workloads before all of them:
1. hierarchical: going up from the queue, once usage and request fit in the quota of a node, everybody outside it.
2. priority: the others, while borrowing only where `borrowWithinCohort` allows it.
3. own queue.
Inside a kind: lower priority, later reservation, uid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from reprieve.engine.quota import Amounts, FlavorResource, QuotaNode
from reprieve.objects.kueue import ClusterQueueSpec
from reprieve.policies.quota_world import QuotaWorld, WorkloadFacts

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


def candidate_order(facts: WorkloadFacts) -> tuple[bool, int, int, str, str]:
    return not facts.evicted, facts.boosted, -facts.reserved_at, facts.uid, facts.unit


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


def candidates(world: QuotaWorld, request: Request) -> list[Candidate]:
    """All candidates, in the order in which they are asked."""
    found = [*_own_queue(world, request), *_other_queues(world, request)]
    found.sort(key=lambda item: (not item.facts.evicted, item.kind, *candidate_order(item.facts)))
    return found


def _uses(facts: WorkloadFacts, request: Request) -> bool:
    return any(facts.usage.get(flavor, 0) > 0 for flavor in request.contested)


def _own_queue(world: QuotaWorld, request: Request) -> Iterator[Candidate]:
    policy = request.spec.preemption.within_cluster_queue
    for other in world.admitted[request.queue.name] if policy != "Never" else ():
        if _uses(other, request) and satisfies(policy, request.facts, other):
            yield Candidate(other, _OWN, IN_QUEUE)


def _other_queues(world: QuotaWorld, request: Request) -> Iterator[Candidate]:
    """Up the tree, cohort by cohort; a subtree within its quota gives nobody."""
    if request.spec.preemption.reclaim_within_cohort == "Never":
        return
    advantage, remaining = _fits_in(request.queue, request.usage)
    below: QuotaNode = request.queue
    for cohort in request.queue.path():
        classify = _classifier(request, cohort, advantage=advantage)
        for queue in _borrowing_queues(cohort, below, request):
            for other in world.admitted[queue.name]:
                found = classify(other)
                if found is not None:
                    yield found
        fits, remaining = _fits_in(cohort, remaining)
        advantage = advantage or fits
        below = cohort


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


def _classifier(
    request: Request, ancestor: QuotaNode, *, advantage: bool
) -> Callable[[WorkloadFacts], Candidate | None]:
    preemption = request.spec.preemption
    borrow = preemption.borrow_within_cohort
    allowed = borrows_while_preempting(request.spec)
    threshold = borrow.max_priority_threshold if borrow is not None else None

    def classify(other: WorkloadFacts) -> Candidate | None:
        if not _uses(other, request) or not satisfies(preemption.reclaim_within_cohort, request.facts, other):
            return None
        if advantage:
            return Candidate(other, _HIERARCHICAL, RECLAIM, ancestor)
        above = other.boosted >= request.facts.boosted or (threshold is not None and other.boosted > threshold)
        if not allowed or above:
            return Candidate(other, _PRIORITY, RECLAIM, ancestor, only_without_borrowing=True)
        return Candidate(other, _PRIORITY, RECLAIM_BORROWING, ancestor)

    return classify


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
