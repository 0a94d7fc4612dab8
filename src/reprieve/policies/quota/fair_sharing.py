"""Fair sharing: who makes way so that shares even out.

1. The request counts as used from the start.
2. From the root down, the child with the highest share is asked, a cohort before a queue, and of two queues the one
   with the better candidate; who does not borrow drops out, except on the way to the preemptor.
3. The own queue gives its first candidate. A preemptor within its nominal quota reclaims from whoever is asked.
4. Otherwise the strategies compare the shares of the two children of the lowest common cohort: the taker's may not be
   above the target's after its loss; and, in a second round with one chance a queue, must be below the target's now.
5. Those removed are given back in reverse order while the preemptor still fits.
"""

from __future__ import annotations

from collections.abc import Iterator

from reprieve.engine.quota_tree import QuotaNode
from reprieve.engine.steps import fill_back
from reprieve.policies.quota.candidates import FAIR_SHARING, IN_QUEUE, RECLAIM, Candidate, Request, satisfies, uses
from reprieve.policies.quota.preemption import QuotaLedger, Target
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld

FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


def preempt_fairly(world: QuotaWorld, request: Request) -> list[Target]:
    """The workloads that make way; empty when no allowed set of them is enough. The tree is left as it was."""
    if not request.contested:
        return []
    round_ = _Round(world, request)
    request.queue.add(request.usage)
    strategies = world.settings.fair_sharing.preemption_strategies or (FINAL, INITIAL)
    fits = round_.first(strategies[0]) or (len(strategies) > 1 and round_.second())
    request.queue.remove(request.usage)
    victims = fill_back(round_.ledger, round_.targets) if fits else round_.targets
    for item in victims:
        round_.ledger.give_back(item)
    return [Target(item.facts, item.reason) for item in victims] if fits else []


class _Round:
    def __init__(self, world: QuotaWorld, request: Request) -> None:
        self._request = request
        self._within_gate = world.settings.gate("FairSharingPreemptWithinNominal")
        self.ledger = QuotaLedger(request, borrowing=True)
        self.targets: list[Candidate] = []
        self._order = world.order
        self._way = {id(node) for node in (request.queue, *request.queue.path())}
        self._empty: set[int] = set()
        self._refused: dict[str, list[WorkloadFacts]] = {}
        self._offers = _offers(world, request)

    def first(self, strategy: str) -> bool:
        reclaims = self._within_gate and self._within_nominal()
        while (queue := self._next()) is not None:
            offers = self._offers[queue.name]
            if queue is self._request.queue:
                if self._take(offers.pop(), IN_QUEUE):
                    return True
            elif reclaims:
                if self._take(offers.pop(), RECLAIM):
                    return True
            elif self._by_strategy(queue, offers, strategy):
                return True
        return False

    def _by_strategy(self, queue: QuotaNode, offers: _Offers, strategy: str) -> bool:
        """Take the first candidate that the strategy allows; the refused ones may get a second chance."""
        taker, target = self._children(queue)
        before = target.share()
        mine = taker.share()
        while offers:
            facts = offers.pop()
            queue.remove(facts.usage)
            after = target.share()
            queue.add(facts.usage)
            allowed = mine.key <= after.key if strategy == FINAL else mine.key < before.key
            if allowed:
                return self._take(facts, FAIR_SHARING)
            self._refused.setdefault(queue.name, []).append(facts)
        return False

    def second(self) -> bool:
        """The refused ones, under the other strategy, with one chance for each queue."""
        self._offers = {name: _Offers(iter(refused)) for name, refused in self._refused.items()}
        self._empty.clear()
        while (queue := self._next()) is not None:
            taker, target = self._children(queue)
            if taker.share().key < target.share().key and self._take(self._offers[queue.name].pop(), FAIR_SHARING):
                return True
            self._offers.pop(queue.name)
        return False

    def _take(self, facts: WorkloadFacts, reason: str) -> bool:
        item = Candidate(facts, 0, reason)
        self.ledger.remove(item)
        self.targets.append(item)
        self._request.queue.remove(self._request.usage)
        fits = self.ledger.fits()
        self._request.queue.add(self._request.usage)
        return fits

    def _within_nominal(self) -> bool:
        queue = self._request.queue
        return all(queue.used(flavor) <= queue.quota(flavor).nominal for flavor in self._request.contested)

    def _children(self, queue: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        """The children of the lowest common cohort on the way to the taker and to the target."""
        taker = [self._request.queue, *self._request.queue.path()]
        target = [queue, *queue.path()]
        common = next(node for node in taker if node in target)
        return taker[taker.index(common) - 1], target[target.index(common) - 1]

    def _next(self) -> QuotaNode | None:
        """The queue to ask next."""
        queue = self._request.queue
        if queue.parent is None:
            return queue if self._offers.get(queue.name) else None
        return self._highest(queue.root)

    def _highest(self, cohort: QuotaNode) -> QuotaNode | None:
        """The queue with the highest share below a cohort that still has somebody to offer."""
        queues = [(child.share().key, child) for child in cohort.children if child.queue and self._asked(child)]
        top = max((share for share, _ in queues), default=None)
        cohorts = [(child.share().key, child) for child in cohort.children if not child.queue and self._open(child)]
        for share, child in sorted(cohorts, key=lambda item: (item[0], item[1].name), reverse=True):
            if top is not None and share < top:
                break
            found = self._highest(child)
            if found is not None:
                return found
            self._empty.add(id(child))
        if top is None:
            return None
        tied = [child for share, child in queues if share == top]
        return min(tied, key=self._rank)

    def _rank(self, queue: QuotaNode) -> tuple[object, ...]:
        """Which of two queues has the better candidate: already evicted, from another queue, then as in one queue."""
        first = self._offers[queue.name].first
        return not first.evicted, queue is self._request.queue, self._order(first)

    def _asked(self, queue: QuotaNode) -> bool:
        """Whether a queue has somebody to offer, and borrows or is the preemptor's own."""
        offers = self._offers.get(queue.name)
        return bool(offers) and (queue.share().borrowing or id(queue) in self._way)

    def _open(self, cohort: QuotaNode) -> bool:
        return id(cohort) not in self._empty and (cohort.share().borrowing or id(cohort) in self._way)


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


def _offers(world: QuotaWorld, request: Request) -> dict[str, _Offers]:
    """Candidates by queue, in order."""
    preemption = request.spec.preemption
    offers: dict[str, _Offers] = {}
    queues = request.queue.root.queues() if request.queue.parent is not None else [request.queue]
    for queue in queues:
        own = queue is request.queue
        policy = preemption.within_cluster_queue if own else preemption.reclaim_within_cohort
        if policy not in (None, "Never") and (own or not queue.within(request.contested)):
            offers[queue.name] = _Offers(_of_queue(world, request, queue.name, policy))
    return offers


def _of_queue(world: QuotaWorld, request: Request, queue: str, policy: str | None) -> Iterator[WorkloadFacts]:
    for facts in world.candidates(queue):
        if uses(facts, request.contested) and satisfies(policy, request.facts, facts):
            yield facts
