"""Whom a quota workload may ask to leave, and in which order.

Three kinds, in this order, and already evicted workloads before all of them:
1. hierarchical: going up from the queue, once usage and request fit in the quota of a node, everybody outside it.
2. priority: the others, while borrowing only where `borrowWithinCohort` allows it.
3. own queue.
Inside a kind: lower priority, later reservation, uid. As KEP-83 was written, 1 and 2 are one kind: nobody borrows while
it preempts.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import chain
from typing import NamedTuple

from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.engine.reasons import Reason
from reprieve.policies.quota.assignments import FlavorDemand
from reprieve.policies.quota.rules import ClassicalRules, Eligible
from reprieve.policies.quota.search import IN_QUEUE, RECLAIM, RECLAIM_BORROWING, Candidate
from reprieve.policies.quota.view import WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts

_HIERARCHICAL, _PRIORITY, _OWN = 0, 1, 2


class Pool(NamedTuple):
    """The candidates of one queue, which are kept in order."""

    queue: QuotaNode
    kind: int


class Reach:
    """The queues that may give somebody, before anybody has left; and why others do not."""

    def __init__(self, view: WorkloadView, domain: FlavorDemand, rules: ClassicalRules) -> None:
        self._view = view
        self._domain = domain
        self._rules = rules
        self.refused: dict[QuotaNode, Reason] = {}
        """Queues and cohorts that give nobody: who is below them is not looked at."""
        self.pools = list(self._pools())

    def protection(self, unit: WorkloadFacts) -> Reason | None:
        """What protects a workload of this tree as things are; None: it may be asked."""
        reason, node = self._rules.eligible(unit), unit.queue
        while reason is None and node is not None:
            reason, node = self.refused.get(node), node.parent
        while_borrowing = self._rules.while_borrowing
        prioritised = any(pool.queue is unit.queue and pool.kind == _PRIORITY for pool in self.pools)
        return while_borrowing(unit) if reason is None and prioritised and while_borrowing is not None else reason

    def _pools(self) -> Iterator[Pool]:
        """The own queue; then up the tree, cohort by cohort: a subtree within its quota gives nobody."""
        own = self._view.queue
        yield Pool(own, _OWN)
        if self._view.spec.preemption.reclaim_within_cohort in (None, "Never"):
            return
        advantage, remaining = _fits_in(own, self._domain.usage)
        advantage = advantage or self._rules.while_borrowing is None
        below = own
        for cohort in own.path():
            kind = _HIERARCHICAL if advantage else _PRIORITY
            yield from (Pool(queue, kind) for queue in self._giving(cohort, below))
            fits, remaining = _fits_in(cohort, remaining)
            advantage = advantage or fits
            below = cohort

    def _giving(self, cohort: QuotaNode, but: QuotaNode) -> Iterator[QuotaNode]:
        """The queues below a cohort that are above their quota, with all between."""
        for child in cohort.children:
            if child is but:
                continue
            reason = self._rules.above_quota.of_node(child)
            if reason is not None:
                self.refused[child] = reason
            elif child.queue:
                yield child
            else:
                yield from self._giving(child, but)


class Candidates:
    """All candidates in a domain, told one after the other in the order in which they are asked.

    Each queue keeps its workloads in order, so that nothing is sorted and nobody is looked at before it is needed.
    """

    def __init__(self, view: WorkloadView, domain: FlavorDemand, rules: ClassicalRules) -> None:
        self._view = view
        self._rules = rules
        reach = Reach(view, domain, rules)
        self.refused = reach.refused
        kinds: set[int] = set()
        begun: list[Iterator[Candidate]] = []
        for pool in reach.pools:
            rest = self._of(pool)
            first = next(rest, None)
            if first is not None:
                kinds.add(pool.kind)
                begun.append(chain((first,), rest))
        self.elsewhere = bool(kinds - {_OWN})
        self.hierarchical = _HIERARCHICAL in kinds
        self._rest = begun[0] if len(begun) == 1 else merge(*begun, key=self._order)
        self._known: list[Candidate] = []
        """Those of whom somebody was told already."""

    def __iter__(self) -> Iterator[Candidate]:
        """From the first on; nobody is asked of twice. Whoever begins again has done with the time before."""
        yield from self._known
        for item in self._rest:
            self._known.append(item)
            yield item

    def _order(self, item: Candidate) -> tuple[object, ...]:
        return not item.facts.evicted, item.kind, self._view.order(item.facts)

    def _of(self, pool: Pool) -> Iterator[Candidate]:
        eligible = eligible_in(pool.queue, self._view, self._rules.eligible)
        if pool.kind == _PRIORITY:
            return map(self._prioritised, eligible)
        right = IN_QUEUE if pool.kind == _OWN else RECLAIM
        return (Candidate(other, pool.kind, right) for other in eligible)

    def _prioritised(self, other: WorkloadFacts) -> Candidate:
        protected = self._rules.while_borrowing(other) if self._rules.while_borrowing is not None else None
        return Candidate(other, _PRIORITY, RECLAIM_BORROWING if protected is None else RECLAIM, protected)


def eligible_rule(view: WorkloadView, domain: FlavorDemand) -> Eligible:
    claimed = frozenset(view.earlier.claimed) if view.again else ()
    preemption, closed = view.spec.preemption, view.quota.closed
    return Eligible(view.facts, preemption, domain.contested, closed, claimed, view.preempted, view.quota.long_runners)


def eligible_in(queue: QuotaNode, view: WorkloadView, rule: Eligible) -> Iterator[WorkloadFacts]:
    """Those of one queue that no lasting rule protects, in the order in which they are asked."""
    policy = rule.policy(queue)
    if policy == "Never" or rule.of_node(queue) is not None:
        return
    limit = None if policy == "Any" or not view.order.by_priority else view.facts.boosted
    promised = view.promised  # they leave anyway: nobody has to ask them
    for other in view.quota.candidates(queue.name, view.order):
        if limit is not None and not other.evicted and other.boosted > limit:
            return  # the rest ranks higher still: whoever is at the head of its queue is the lowest in it
        if rule(other) is None and other not in promised:
            yield other


def _fits_in(node: QuotaNode, usage: Amounts) -> tuple[bool, dict[FlavorResource, int]]:
    """Whether a request fits in a node's quota, and what of it has to come from above."""
    fits = not any(node.exceeds(flavor, amount) for flavor, amount in usage.items())
    return fits, {flavor: max(0, amount - node.kept_left(flavor)) for flavor, amount in usage.items()}
