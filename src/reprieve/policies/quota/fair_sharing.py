"""Fair sharing: who makes way so that shares even out.

1. The request counts as used from the start.
2. From the root down, the child with the highest share is asked, a cohort before a queue, and of two queues the one
   with the better candidate; who does not borrow drops out, except on the way to the preemptor.
3. The own queue gives its first candidate. A preemptor within its nominal quota reclaims from whoever is asked.
4. Otherwise the strategies compare the shares of the two children of the lowest common cohort: the taker's may not be
   above the target's after its loss; and, in a second round with one chance a queue, must be below the target's now.
5. Those removed are given back in reverse order while the preemptor still fits.
"""

from collections.abc import Iterator

from reprieve.engine.quota_tree import QuotaNode
from reprieve.engine.reasons import Reason, WithinQuota
from reprieve.engine.steps import fill_back
from reprieve.policies.quota.asking_order import AskingOrder, Place
from reprieve.policies.quota.assignments import FlavorDemand
from reprieve.policies.quota.candidates import eligible_in, eligible_rule
from reprieve.policies.quota.fair_rules import FINAL, INITIAL, Borrowing, FairRules, LargerShare
from reprieve.policies.quota.rules import AboveQuota
from reprieve.policies.quota.search import FAIR_SHARING, IN_QUEUE, RECLAIM, Candidate, Found, QuotaLedger, RulesSaid
from reprieve.policies.quota.view import WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts


def rules_of(view: WorkloadView, domain: FlavorDemand) -> FairRules:
    strategies = view.quota.settings.fair_sharing.preemption_strategies or (FINAL, INITIAL)
    return FairRules(
        eligible_rule(view, domain),
        AboveQuota(view.queue, domain.contested),
        Borrowing(view.queue),
        LargerShare(view.queue, strategies[0]),
        LargerShare(view.queue, INITIAL) if len(strategies) > 1 else None,
    )


def search(view: WorkloadView, domain: FlavorDemand, rules: FairRules) -> Found:
    """The workloads that make way. The tree is left as it was."""
    if not domain.contested:
        return Found(domain, rules, [], RulesSaid())
    round_ = _Round(view, domain, rules)
    view.queue.add(domain.usage)
    try:
        fits = round_.first() or round_.second()
    finally:
        view.queue.remove(domain.usage)
    victims = fill_back(round_.ledger, round_.removed) if fits else round_.removed
    for item in victims:
        round_.ledger.give_back(item)
    return Found(domain, rules, victims if fits else [], round_.asked)


class FairProtection:
    """What protects a workload as things are, before anybody has left; the request counts as used already."""

    def __init__(self, view: WorkloadView, domain: FlavorDemand, rules: FairRules) -> None:
        self._view = view
        self._domain = domain
        self._rules = rules
        self._reclaims = view.gate("FairSharingPreemptWithinNominal") and all(
            view.queue.used(flavor) + amount <= view.queue.quota(flavor).nominal
            for flavor, amount in domain.usage.items()
            if flavor in domain.contested
        )

    def __call__(self, unit: WorkloadFacts) -> Reason | None:
        queue = self._view.queue
        reason = self._rules.eligible(unit)
        if reason is not None or unit.queue is queue or unit.queue is None:
            return reason
        reason = self._rules.above_quota.of_node(unit.queue)
        if reason is not None:
            return reason
        queue.add(self._domain.usage)
        try:
            return self._by_share(unit, unit.queue)
        finally:
            queue.remove(self._domain.usage)

    def _by_share(self, unit: WorkloadFacts, queue: QuotaNode) -> Reason | None:
        for node in (queue, *queue.path()):
            within = self._rules.borrowing.of_node(node)
            if within is not None:
                return within
        if self._reclaims:
            return None
        reason = self._rules.larger_share(unit)
        again = self._rules.second_chance
        return again(unit) if reason is not None and again is not None else reason


class _Round:
    def __init__(self, view: WorkloadView, domain: FlavorDemand, rules: FairRules) -> None:
        self._view = view
        self._domain = domain
        self._rules = rules
        self.ledger = QuotaLedger(view.queue, domain, borrowing=True, topology=view.quota.topology)
        self.removed: list[Candidate] = []
        self.asked = RulesSaid()
        self._refused: dict[QuotaNode, list[WorkloadFacts]] = {}
        self._borrowing = rules.borrowing.of_node
        self._offers = dict(self._all_offers())

    def _all_offers(self) -> "Iterator[tuple[QuotaNode, _Offers]]":
        """Candidates by queue, in order."""
        own = self._view.queue
        for queue in own.root.queues() if own.parent is not None else [own]:
            reason = None if queue is own else self._rules.above_quota.of_node(queue)
            if reason is not None:
                self.asked.nodes[queue] = reason
            elif offers := _Offers(eligible_in(queue, self._view, self._rules.eligible)):
                yield queue, offers

    def first(self) -> bool:
        reclaims = self._within_nominal() and self._view.gate("FairSharingPreemptWithinNominal")
        order = self._asking_order()
        while (queue := order.next()) is not None:
            if queue is self._view.queue:
                fits = self._take(self._pop(queue), IN_QUEUE)
            elif reclaims:
                fits = self._take(self._pop(queue), RECLAIM)
            else:
                fits = self._by_strategy(queue)
            if fits:
                return True
            order.changed(queue)
        return False

    def _by_strategy(self, queue: QuotaNode) -> bool:
        """Take the first candidate that the strategy allows; the refused ones may get a second chance."""
        while queue in self._offers:
            facts = self._pop(queue)
            reason = self._rules.larger_share(facts)
            if reason is None:
                return self._take(facts, FAIR_SHARING)
            self.asked.said[facts] = reason
            self._refused.setdefault(queue, []).append(facts)
        return False

    def second(self) -> bool:
        """The refused ones, under the other strategy, with one chance for each queue."""
        rule = self._rules.second_chance
        if rule is None:
            return False
        self._offers = {queue: _Offers(iter(refused)) for queue, refused in self._refused.items()}
        order = self._asking_order()
        while (queue := order.next()) is not None:
            facts = self._offers.pop(queue).first
            reason = rule(facts)
            if reason is not None:
                self.asked.said[facts] = reason
            elif self._take(facts, FAIR_SHARING):
                return True
            order.changed(queue)
        return False

    def _pop(self, queue: QuotaNode) -> WorkloadFacts:
        """Its next candidate; a queue without any is not asked again."""
        offers = self._offers[queue]
        facts = offers.pop()
        if not offers:
            del self._offers[queue]
        return facts

    def _take(self, facts: WorkloadFacts, right: str) -> bool:
        item = Candidate(facts, 0, right)
        self.ledger.remove(item)
        self.removed.append(item)
        self.asked.said[facts] = None
        self._view.queue.remove(self._domain.usage)
        fits = self.ledger.fits()
        self._view.queue.add(self._domain.usage)
        return fits

    def _within_nominal(self) -> bool:
        queue = self._view.queue
        return all(queue.used(flavor) <= queue.quota(flavor).nominal for flavor in self._domain.contested)

    def _asking_order(self) -> AskingOrder:
        return AskingOrder(self._view.queue.root, self._rank, self._borrows)

    def _rank(self, queue: QuotaNode) -> Place | None:
        """Which of two queues has the better candidate: already evicted, from another queue, then as in one queue."""
        offers = self._offers.get(queue)
        if offers is None:
            return None
        first = offers.first
        return not first.evicted, queue is self._view.queue, self._view.order(first)

    def _borrows(self, node: QuotaNode) -> bool:
        reason = self._borrowing(node)
        if reason is None:
            return True
        within = self.removed and isinstance(reason, WithinQuota)
        self.asked.nodes.setdefault(node, WithinQuota(node.name, others_gone=True) if within else reason)
        return False


class _Offers:
    """The candidates of one queue, looked at one by one."""

    def __init__(self, candidates: Iterator[WorkloadFacts]) -> None:
        self._rest = candidates
        self._first = next(candidates, None)

    def __bool__(self) -> bool:
        return self._first is not None

    @property
    def first(self) -> WorkloadFacts:
        if self._first is None:
            raise IndexError("nobody is left to offer")
        return self._first

    def pop(self) -> WorkloadFacts:
        first, self._first = self.first, next(self._rest, None)
        return first
