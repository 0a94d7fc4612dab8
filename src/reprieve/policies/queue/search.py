"""The search of the queue policy: on each node the fewest who may go, and of all nodes the one where that costs least.

1. A node that would be too small even without all candidates is out.
2. For each other node a price that it cannot fall below: who opted out or leads an application, and who is important,
   is counted only where the others are not enough, and of each resource the largest candidates go first.
3. From the lowest of these prices up, the real search: candidates leave in order until the request fits, then come
   back, the most important first, where it still does: everybody who goes is needed. It ends when nobody can be
   cheaper any more.
   Where law 2 keeps somebody only because smaller ones have gone before, it is tried before them, too.
4. Where a node has room and only a maximum is in the way, the search goes over all nodes below that maximum, once.
5. Law 4 is asked of those who have to leave, and makes nobody leave.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.view import Nodes
from reprieve.engine.offers import Offer
from reprieve.engine.plan import Victim
from reprieve.engine.reasons import QueueOver, Reason
from reprieve.engine.steps import TIE_BREAK, Criterion, remove_until_fits, reprieve_each
from reprieve.model.names import Key
from reprieve.policies.queue import laws
from reprieve.policies.queue.candidates import QueueCandidates
from reprieve.policies.queue.columns import QueueCandidate, QueueColumns
from reprieve.policies.queue.leaving import waited_for
from reprieve.policies.queue.ledger import QueueLedger
from reprieve.policies.queue.view import QueueView

_OPTED_OUT, _LEADS = 2, 1
_MOST, _EVER = 2**31, 2**62
"""More than any importance, and than any age."""
_CRITERIA = (
    "FewestReluctant",
    "LowestHighestPriority",
    "FewestVictims",
    "SmallestSumOfPriorities",
    "NearestQueues",
    "YoungestVictims",
)


class QueuePrice(NamedTuple):
    """What a set of victims costs; less is better, the first difference decides."""

    reluctant: int
    """Law 1: 2 for somebody who opted out, and 1 for somebody who leads an application."""
    importance: int
    """Of the most important of them."""
    victims: int
    together: int
    """The importance of all of them, added up."""
    distance: int
    """How many levels up the farthest queue that gives something meets the asking one."""
    age: int
    """Of the oldest: minus the moment at which it was made."""

    def alike(self, other: "QueuePrice") -> int:
        """How many of the criteria do not tell two prices apart, before one does."""
        differ = (place for place, pair in enumerate(zip(self, other, strict=True)) if pair[0] != pair[1])
        return next(differ, len(self))


class QueueSearch:
    """Victims for one claim: offers that are made from the cheapest node up, and no further than the choice needs."""

    def __init__(self, columns: QueueColumns, view: QueueView, candidates: QueueCandidates) -> None:
        self._columns = columns
        self._tree = columns.tree
        self._view = view
        self._nodes = view.nodes
        self._table = view.nodes.table
        self._candidates = candidates
        self.refused: dict[int, dict[Key, Reason]] = {}
        """By node: whom law 2 protected while the search went on."""
        self.held_by_law_4: dict[int, laws.Gone] = {}
        """Nodes that would have room enough, but its queue not enough left of its guarantee; who would have gone."""
        self._found: dict[int, list[QueueCandidate]] = {}
        """Nodes that have been searched with success, and their victims."""
        self._prices = self._from_the_cheapest_up()
        self._numbers = sorted(self._prices)

    # The offers

    @property
    def possible(self) -> Mask:
        return np.ones(len(self._numbers), dtype=np.bool_)

    def __getitem__(self, number: int) -> Offer:
        node = self._numbers[number]
        return self.offer(node, self._found[node])

    def all(self) -> Iterator[Offer]:
        """What every node would cost, each searched when it is asked for."""
        for node in np.sort(self.bounds[0]).tolist():
            victims = self._found.get(node) or self.on_node(node)
            if victims is not None:
                yield self.offer(node, victims)

    def offer(self, node: int, victims: list[QueueCandidate]) -> Offer:
        name, unit = self._table.names[node], self._view.unit
        going = [Victim(one.facts.unit, self._reason(one)) for one in victims]
        leaving = [facts.unit for facts in waited_for(self._view, self._columns, node)]
        return Offer(name, going, {unit: name}, waiting_for=leaving, reserves=True)

    def _reason(self, one: QueueCandidate) -> QueueOver:
        return QueueOver(self._tree.queues[one.queue].name, one.facts.priority, one.reluctant)

    def criteria(self) -> list[Criterion]:
        columns = np.array([self._prices[node] for node in self._numbers], dtype=np.int64).reshape(-1, len(_CRITERIA)).T
        criteria = [Criterion(name, values) for name, values in zip(_CRITERIA, columns, strict=True)]
        return [*criteria, Criterion(TIE_BREAK, self._table.tie_break()[self._numbers])]

    # On one node

    def on_node(self, node: int) -> list[QueueCandidate] | None:
        """Laws 2 and 4 on one node: no more than are needed to make it fit; elsewhere only for a maximum's sake."""
        if self._view.roomy[node]:
            return self._for_maximum
        return self._from_one_side(node, lambda: self.asked_for(node))

    @cached_property
    def _for_maximum(self) -> list[QueueCandidate] | None:
        """Who goes where there is room on a node; which node that is makes no difference."""
        node = int(np.flatnonzero(self._view.roomy)[0])
        return self._from_one_side(node, lambda: self.asked_for(node))

    def asked_for(self, node: int) -> Iterable[QueueCandidate]:
        """Who is asked for a node: those on it; where there is room, those below a maximum that is in the way."""
        if not self._view.roomy[node]:
            return self._candidates.on(node)
        queues = np.zeros(len(self._tree.queues), dtype=np.bool_)
        for queue in self._tree.queues:
            queues[queue.number] = any(blocked in queue.path for blocked in self._view.blocked)
        return self._candidates.everywhere(queues)

    def _from_one_side(self, node: int, order: Callable[[], Iterable[QueueCandidate]]) -> list[QueueCandidate] | None:
        """Law 4: from outside of the queue that is claimed; where that is not enough, from within and nowhere else."""
        within = self._candidates.standing.claimed
        outside = self._victims(node, order, ~within)
        return outside if outside is not None or not self._some_within else self._victims(node, order, within)

    @cached_property
    def _some_within(self) -> bool:
        return bool((self._candidates.mask & self._candidates.standing.claimed[self._candidates.queue]).any())

    def _victims(
        self, node: int, order: Callable[[], Iterable[QueueCandidate]], allowed: Mask
    ) -> list[QueueCandidate] | None:
        """Those of some queues; the cheapest, where it makes a difference who leaves first."""
        ledger = QueueLedger(self._columns, self._view, node)
        found = self._needed(ledger, (one for one in order() if allowed[one.queue]))
        for first in ledger.crowded_out():
            again = QueueLedger(self._columns, self._view, node)
            others = (one for one in order() if allowed[one.queue] and one.facts is not first.facts)
            other = self._needed(again, chain([first], others))
            if other is not None and (found is None or self.price(other) < self.price(found)):
                found, ledger = other, again
        self.refused.setdefault(node, {}).update(ledger.refused)
        return found

    def _needed(self, ledger: QueueLedger, order: Iterable[QueueCandidate]) -> list[QueueCandidate] | None:
        """Those who leave until the request fits, without who is not needed for that."""
        removed = [] if ledger.fits() else remove_until_fits(ledger, order, ledger.may_go)
        if removed is None:
            return None
        victims = reprieve_each(ledger, removed)
        if not victims or not ledger.under_guarantee():
            self.held_by_law_4.setdefault(ledger.node, ledger.gone)
            return None
        return sorted(victims, key=self._candidates.order)

    def price(self, victims: list[QueueCandidate]) -> QueuePrice:
        opted = any(one.opted_out for one in victims)
        leads = any(one.leads for one in victims)
        distance = max(int(self._candidates.standing.distance[one.queue]) for one in victims)
        importance = [int(self._candidates.importance[one.rank, one.node]) for one in victims]
        age = max(-one.facts.created for one in victims)
        reluctant = _OPTED_OUT * opted + _LEADS * leads
        return QueuePrice(reluctant, max(importance), len(victims), sum(importance), distance, age)

    # Over all nodes

    def _from_the_cheapest_up(self) -> dict[int, QueuePrice]:
        """The prices of nodes, until no other one can be the cheapest, nor the nearest rival that decides by what."""
        ties = self._table.tie_break()
        prices: dict[int, QueuePrice] = {}
        lowest: tuple[QueuePrice, int] | None = None
        rivals = -1  # by how many criteria the nearest other answer is like the best
        for node, bound in self.by_lowest_price():
            place = int(ties[node])
            if lowest is not None and (bound, place) > lowest and rivals >= bound.alike(lowest[0]):
                break
            victims = self.on_node(node)
            if victims is None:
                continue
            price = self.price(victims)
            if lowest is None or (price, place) < lowest:
                lowest = price, place
                rivals = max((price.alike(other) for other in prices.values()), default=-1)
            else:
                rivals = max(rivals, price.alike(lowest[0]))
            prices[node] = price
            self._found[node] = victims
        return prices

    def by_lowest_price(self) -> Iterator[tuple[int, QueuePrice]]:
        """Nodes that are not out, each with the price that it cannot fall below."""
        nodes, bounds = self.bounds
        order = np.lexsort((self._table.tie_break()[nodes], *reversed(bounds)))
        for place in order.tolist():
            yield int(nodes[place]), QueuePrice(*bounds[:, place].tolist())

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """Nodes that are not out, and the prices that they cannot fall below: criteria by nodes. Of those with room, it
        is what the search comes to."""
        view = self._nodes
        slack, gives = self._view.slack, self._gives
        mask = self._candidates.mask
        full = np.flatnonzero(view.within_reach & ~self._view.roomy & view.enough(slack + _sum(gives, mask)))
        nodes = full if len(full) < self._table.size else slice(0, self._table.size)  # nothing is copied then
        slack, gives, mask = slack[:, nodes], gives[:, :, nodes], mask[:, nodes]
        importance = self._candidates.importance[:, nodes]
        fewest = self._fewest(slack, gives, mask)
        bounds = np.stack(
            [
                self._reluctant(slack, gives, mask, nodes),
                self._least_important(slack, gives, mask, importance),
                fewest,
                fewest * np.where(mask, importance, _MOST).min(axis=0, initial=_MOST),
                self._near(nodes),
                self._youngest(mask, nodes, fewest),
            ]
        )
        roomy = np.flatnonzero(self._view.roomy)
        if not len(roomy) or self._for_maximum is None:
            return full, bounds
        price = np.array(self.price(self._for_maximum), dtype=np.int64)[:, None]
        return np.concatenate([full, roomy]), np.hstack([bounds, price.repeat(len(roomy), axis=1)])

    @property
    def _gives(self) -> Ints:
        """What each pod gives when it leaves, row by row: never less than nothing."""
        weights = self._nodes.weights(slice(0, self._table.size), self._table.depth)
        return weights if self._nodes.inter_pod is None else np.maximum(weights, 0)

    def _reluctant(self, slack: Ints, gives: Ints, mask: Mask, nodes: Nodes) -> Ints:
        """Law 1: whether those who neither opted out nor lead an application could be enough, or who else it takes."""
        opted, leads = (self._candidates.column(name)[:, nodes] > 0 for name in ("opted_out", "leads"))
        if not (mask & (opted | leads)).any():
            return np.zeros(mask.shape[1], dtype=np.int64)
        price = np.full(mask.shape[1], _OPTED_OUT + _LEADS, dtype=np.int64)
        for value, without in ((_OPTED_OUT, leads), (_LEADS, opted), (0, opted | leads)):
            price[self._nodes.enough(slack + _sum(gives, mask & ~without))] = value
        return price

    def _fewest(self, slack: Ints, gives: Ints, mask: Mask) -> Ints:
        """How many it takes at least: of each resource that is short, the largest first."""
        fewest = np.ones(slack.shape[1], dtype=np.int64)
        resources = sum(units > 0 for units in self._view.facts.requests.values())
        for row in range(resources):
            if (slack[row] < 0).any():
                largest_first = _sorted(gives[:, row] * mask)[::-1]
                fewest = np.maximum(fewest, (np.cumsum(largest_first, axis=0) < -slack[row]).sum(axis=0) + 1)
        return fewest

    def _least_important(self, slack: Ints, gives: Ints, mask: Mask, importance: Ints) -> Ints:
        """The least important of whom somebody has to go: without all who are as important, the others are too few."""
        asked = importance[mask]
        if not asked.size or asked.min() == asked.max():
            return np.full(slack.shape[1], asked.min(initial=_MOST))
        levels = np.unique(asked)
        low, high = np.zeros(slack.shape[1], dtype=np.int64), np.full(slack.shape[1], len(levels) - 1)
        while (low < high).any():
            middle = (low + high) // 2
            enough = self._nodes.enough(slack + _sum(gives, mask & (importance <= levels[middle])))
            low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
        return levels[low]

    def _youngest(self, mask: Mask, nodes: Nodes, fewest: Ints) -> Ints:
        """How old the oldest is at least: if the youngest go, and no more than it takes."""
        age = np.where(mask, -self._candidates.column("created")[:, nodes], _EVER)
        if not age.size or fewest.max() == 1:
            return np.asarray(age.min(axis=0, initial=_EVER))
        return np.asarray(np.take_along_axis(_sorted(age), fewest[None] - 1, axis=0)[0])

    def _near(self, nodes: Nodes) -> Ints:
        distance = self._candidates.standing.distance[self._candidates.queue[:, nodes]]
        far = len(self._view.queue.path)
        return np.asarray(np.where(self._candidates.mask[:, nodes], distance, far).min(axis=0, initial=far))


def _sorted(columns: Ints) -> Ints:
    """Each column from the least up: they are short, and quickly sorted where each stands by itself."""
    return np.sort(columns.T.copy(), axis=1).T


def _sum(gives: Ints, leave: Mask) -> Ints:
    """What all who leave give together, row by row."""
    return np.asarray(np.einsum("krn,kn->rn", gives, leave.astype(np.int64)))
