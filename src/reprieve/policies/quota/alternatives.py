"""Who else could make way for a quota workload, on the flavors it was given: with borrowing, or without.

It is asked whenever a search was made, also for flavors that are only rated by it: what is found then is what the plan
says. Under fair sharing everything goes by who was asked before, so that nobody looks on there.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice

from reprieve.engine.alternatives import BaseAlternatives
from reprieve.engine.improvement import Improved, improve
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.lost_work import NOTHING_SAID, Totals
from reprieve.engine.price import UnitCost
from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.manifests.lost_work import Said, said_in
from reprieve.policies.quota.assignments import FlavorDemand
from reprieve.policies.quota.candidates import Candidates
from reprieve.policies.quota.classical import attempts
from reprieve.policies.quota.rules import ClassicalRules
from reprieve.policies.quota.search import Candidate, Found, QuotaLedger, RulesSaid, Without
from reprieve.policies.quota.view import WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts

_MOST_CANDIDATES = 200
"""So many at most are looked at once more, in the order in which they are asked."""
_PLENTY = 2**40


class BorrowingAttempt(BaseAlternatives):
    """The candidates that may go with borrowing, or without it."""

    taken = True

    def __init__(
        self, view: WorkloadView, found: Found, rules: ClassicalRules, *, borrowing: bool, may_borrow: bool = True
    ) -> None:
        """`may_borrow`: whether it may borrow where the attempt would let it."""
        self._view = view
        self._found = found
        self._rules = rules
        self._domain: FlavorDemand = found.domain
        self._borrowing = borrowing
        self._may_borrow = borrowing and may_borrow
        self._asks = view.quota.settings.asks_for_lost_work
        self._totals: Totals | None = None
        self._sizes: dict[tuple[tuple[FlavorResource, int], ...], int] = {}
        self.candidates: Sequence[Candidate] = ()
        self.chosen: Sequence[Candidate] | None = None

    def choose_from(self, candidates: Iterable[Candidate], *, only: bool) -> None:
        """`only`: no other attempt was made, so that what was found is the answer of this one."""
        asked = [item for item in candidates if not self._borrowing or item.while_borrowing is None]
        gone = {item.facts.unit for item in self._found.victims}
        ours = [item for item in asked if item.facts.unit in gone]
        self.candidates = asked
        # What was found in the other attempt is no answer in this one.
        self.chosen = ours if gone and len(ours) == len(gone) and (only or self._allows(ours)) else None

    def _allows(self, items: Sequence[Candidate]) -> bool:
        books = self.ledger()
        for item in items:
            books.remove(item)
        allowed = books.fits() and self.lawful(items)
        for item in reversed(items):
            books.give_back(item)
        return allowed

    def cost(self, unit: Candidate) -> UnitCost:
        facts = unit.facts
        if facts.evicted:
            return UnitCost(0, (), 0)
        totals = self._all_there_is()
        used = tuple(facts.usage.items())
        size = self._sizes.get(used)
        if size is None:
            size = self._sizes[used] = totals.size({_name(key): amount for key, amount in used})
        lost = totals.lost(size, facts.reserved_at, self._said_by(facts) if self._asks else NOTHING_SAID)
        return UnitCost(0, (unit.kind, facts.boosted), 1, facts.boosted, lost, size)

    def _said_by(self, facts: WorkloadFacts) -> Said:
        """Its costs may be said by its fields, or its queue, too."""
        return said_in(facts.workload.metadata.annotations)._replace(milestones=facts.milestones)

    @cached_property
    def fewest(self) -> int:  # type: ignore[override]
        """Whoever leaves makes no more room than it uses: of each resource, the largest first."""
        most = 1
        for key, amount in self._domain.usage.items():
            short = amount - self._view.queue.available(key)
            largest_first = sorted((item.facts.usage.get(key, 0) for item in self.candidates), reverse=True)
            together = list(accumulate(largest_first))
            most = max(most, bisect_left(together, short) + 1) if short > 0 else most
        return most

    def _all_there_is(self) -> Totals:
        if self._totals is None:
            root = self._view.queue.root
            keys = {key for item in self.candidates for key in item.facts.usage}
            self._totals = Totals({_name(key): root.most(key) for key in keys}, self._view.now)
        return self._totals

    # Does it fit, and may they go?

    def ledger(self) -> QuotaLedger:
        return QuotaLedger(
            self._view.queue, self._domain, borrowing=self._may_borrow, topology=self._view.quota.topology
        )

    def lawful(self, gone: Collection[Candidate]) -> bool:
        """Whether there is an order in which each may go: its queue is above its quota when it does."""
        others = [item for item in gone if item.facts.queue is not self._view.queue]
        if not others:
            return True
        contested = self._domain.contested
        smallest_first = sorted(others, key=lambda item: sum(item.facts.usage.get(key, 0) for key in contested))
        return self._in_order(smallest_first) or self._in_order(others)

    def _in_order(self, items: Sequence[Candidate]) -> bool:
        for item in items:
            item.facts.come_back()
        allowed = True
        for item in items:
            allowed = allowed and self._rules.above_quota(item.facts) is None
            item.facts.leave()
        return allowed

    def offer(self, victims: Sequence[Candidate]) -> Found:
        """What was said of those who were asked in another order no longer counts."""
        return self._found._replace(victims=list(victims), asked=RulesSaid(self._found.asked.nodes))

    # In inequalities

    def model(self) -> LinearModel | None:
        """None: a topology, or more in use than there is beside quota that is kept, is not said in inequalities."""
        root = self._view.queue.root
        if self._domain.places or any(root.exceeds(key) for key in self._domain.usage):
            return None
        model = LinearModel()
        units = {model.unit([item.facts.unit], self.cost(item)): item for item in self.candidates}
        for key, amount in self._domain.usage.items():
            _Flow(model, units, key, self._view.queue).reserve(amount, borrowing=self._may_borrow)
        self._keep_above_quota(model, units)
        return model

    def _keep_above_quota(self, model: LinearModel, units: dict[int, Candidate]) -> None:
        """Of every queue and cohort that gives somebody, all but one who is the last may be gone by then."""
        shared = {self._view.queue, *self._view.queue.path()}
        last: dict[QuotaNode, dict[int, int]] = {}
        below: dict[QuotaNode, dict[int, Candidate]] = {}
        for number, item in units.items():
            node = item.facts.queue
            while node is not None and node not in shared:
                below.setdefault(node, {})[number] = item
                node = node.parent
        for node, items in sorted(below.items(), key=lambda pair: pair[0].height):
            lasts = last[node] = {number: model.number(1) for number in items}
            model.at_most(dict.fromkeys(lasts.values(), 1), 1)
            for number, mine in lasts.items():
                model.at_most({mine: 1, number: -1}, 0)
                child = next((last[other][number] for other in node.children if number in last.get(other, {})), None)
                if child is not None:
                    model.at_most({mine: 1, child: -1}, 0)
            self._some_is_exceeded(model, node, items, lasts)

    def _some_is_exceeded(
        self, model: LinearModel, node: QuotaNode, items: dict[int, Candidate], lasts: dict[int, int]
    ) -> None:
        exceeded: list[int] = []
        for key in self._domain.contested:
            above = node.used(key) - node.cell(key).quota
            if above <= 0:
                continue
            chosen = model.number(1)
            exceeded.append(chosen)
            terms: dict[int, int] = {}
            for number, item in items.items():
                amount = item.facts.usage.get(key, 0)
                terms[number] = amount
                terms[lasts[number]] = -amount
            most = sum(item.facts.usage.get(key, 0) for item in items.values())
            model.at_most({**terms, chosen: most}, above - 1 + most)
        for number in items:  # whoever goes, goes while something is exceeded
            model.at_most({number: 1, **dict.fromkeys(exceeded, -1)}, 0)


class _Flow:
    """What is used of one flavor and resource in every node: with the request, and without those who leave."""

    def __init__(self, model: LinearModel, units: dict[int, Candidate], key: FlavorResource, queue: QuotaNode) -> None:
        self._model = model
        self._key = key
        self._queue = queue
        self._leaving: dict[QuotaNode, dict[int, int]] = {}
        for number, item in units.items():
            amount = item.facts.usage.get(key, 0)
            if amount and item.facts.queue is not None:
                self._leaving.setdefault(item.facts.queue, {})[number] = amount
        self._path = [queue, *queue.path()]
        self._changing = {node for each in (queue, *self._leaving) for node in (each, *each.path())}

    def reserve(self, amount: int, *, borrowing: bool) -> None:
        """There is room for so much, and within the own quota where nothing may be borrowed."""
        self._used(self._path[-1], amount, borrowing=borrowing)

    def _used(self, node: QuotaNode, amount: int, *, borrowing: bool) -> tuple[dict[int, int], int]:
        """Terms and a constant: what is used in it, above what its children keep for themselves."""
        cell = node.cell(self._key)
        terms = {number: -amount for number, amount in self._leaving.get(node, {}).items()}
        constant = cell.usage + (amount if node is self._queue else 0)
        for child in node.children:
            if child in self._changing:
                below = child.cell(self._key)
                constant -= max(0, below.usage - below.kept)
                more, used = self._used(child, amount, borrowing=borrowing)
                above = self._model.number(_PLENTY, whole=False)
                # At least what is above what it keeps, and the least is best.
                self._model.at_most({**more, above: -1}, below.kept - used)
                terms[above] = 1
        if node in self._path:
            limits = [cell.quota] if cell.above is None or (node is self._queue and not borrowing) else []
            limits += [cell.quota + cell.limit] if cell.above is not None and cell.limit is not None else []
            for most in limits:
                self._model.at_most(terms, most - constant)
        return terms, constant


def _name(key: FlavorResource) -> str:
    return "/".join(key)


def better(view: WorkloadView, found: Found, rules: ClassicalRules, candidates: Candidates, steps: int) -> Found:
    """What costs less than was found, by the same rules; what was found, where that is the least."""
    leaving = [item.facts.boosted for item in found.victims if not item.facts.evicted]
    if found.victims and (not leaving or (len(leaving) == 1 and not view.quota.settings.asks_for_lost_work)):
        return found
    items = list(islice(candidates, _MOST_CANDIDATES))
    if not found.victims and any(item.facts.evicted for item in items):
        return found  # quota comes free for somebody already: once it is there, it is looked on
    if leaving:  # whoever is more important than all of them goes in nobody's place
        top = max(leaving)
        items = [item for item in items if item.facts.boosted <= top or item.facts.evicted]
    if len(found.victims) > len(items) or _first_are_least(view, found, items):
        return found
    made = improve(_attempts(view, found, rules, candidates, items), steps)
    if made is None:
        return found
    improved: Found = made.offer
    return improved._replace(improved=Improved(None, made.before, made.after))


def _first_are_least(view: WorkloadView, found: Found, items: Sequence[Candidate]) -> bool:
    """Whether no others could cost less: all hold the same, so many have to leave, and the cheapest are asked first.

    So it is with jobs of one shape; it spares what it costs to compare each of them.
    """
    victims = found.victims
    if not 0 < len(victims) <= len(items) or not view.order.cheapest_first or view.quota.settings.asks_for_lost_work:
        return False
    first, last = items[0], items[len(victims) - 1]
    held = first.facts.usage
    shorts = ((key, amount - view.queue.available(key)) for key, amount in found.domain.usage.items())
    return (
        first.kind == last.kind
        and len(victims) <= max(-(-short // held[key]) if held.get(key) else 1 for key, short in shorts)
        and {id(item.facts) for item in victims} == {id(item.facts) for item in items[: len(victims)]}
        and all(item.facts.usage == held and not item.facts.evicted for item in items)
    )


def _attempts(
    view: WorkloadView, found: Found, rules: ClassicalRules, candidates: Candidates, items: Sequence[Candidate]
) -> Iterator[BorrowingAttempt]:
    made = attempts(view, found.domain, candidates, rules)
    may_borrow = not found.victims or _borrows(view, found)
    for borrowing in made:
        attempt = BorrowingAttempt(view, found, rules, borrowing=borrowing, may_borrow=may_borrow)
        attempt.choose_from(items, only=len(made) == 1)
        yield attempt


def _borrows(view: WorkloadView, found: Found) -> bool:
    """Whether it borrows with those gone whom the design asks: by that it has its turn, and so it stays."""
    with Without(item.facts for item in found.victims):
        return any(view.queue.exceeds(key, amount) for key, amount in found.domain.usage.items())


def models(view: WorkloadView, found: Found, rules: ClassicalRules) -> Iterator[LinearModel]:
    """Of all candidates, one for each attempt."""
    candidates = Candidates(view, found.domain, rules)
    items = list(candidates)
    made = attempts(view, found.domain, candidates, rules)
    for borrowing in made:
        attempt = BorrowingAttempt(view, found, rules, borrowing=borrowing)
        attempt.choose_from(items, only=len(made) == 1)
        model = attempt.model()
        if model is not None:
            yield model
