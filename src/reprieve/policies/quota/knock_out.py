"""Fair sharing in a cycle: cohort by cohort, whoever would have the smaller share after admission has its turn.

What somebody takes changes shares on the way from its queue up to the root, and nowhere else. So each cohort keeps who
won below each of its children, and only those on that way compete again.
"""

from collections import deque
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.policies.quota.assignments import Assignment
from reprieve.policies.quota.workloads import WorkloadFacts

Place = tuple[Any, ...]


class Entrant(Protocol):
    """A workload that waits for its turn, and what it was nominated for."""

    @property
    def facts(self) -> WorkloadFacts: ...
    @property
    def queue(self) -> QuotaNode: ...
    @property
    def assignment(self) -> Assignment: ...


One = TypeVar("One", bound=Entrant)


class KnockOuts(Generic[One]):
    """All who wait for their turn by their share, in any number of trees."""

    def __init__(self) -> None:
        self._line: deque[int] = deque()
        """In the order in which they came; who has had its turn is passed over."""
        self._waiting: dict[int, One] = {}
        self._numbers: dict[int, int] = {}
        self._came = 0
        self._heads: dict[QuotaNode, list[tuple[Place, int]]] = {}
        """Of each queue, in order: a heap."""
        self._rounds: dict[QuotaNode, _KnockOutRound] = {}

    def add(self, one: One) -> None:
        self._came += 1
        self._line.append(self._came)
        self._waiting[self._came] = one
        self._numbers[id(one)] = self._came
        heappush(self._heads.setdefault(one.queue, []), (_place(one.queue, one), self._came))
        self._compete_again(one.queue)

    def remove(self, one: One) -> None:
        del self._waiting[self._numbers.pop(id(one))]
        self._compete_again(one.queue)

    def moved(self, queue: QuotaNode) -> None:
        """What a queue uses has changed."""
        numbers = [number for _, number in self._heads.get(queue, ()) if number in self._waiting]
        heap = self._heads[queue] = [(_place(queue, self._waiting[number]), number) for number in numbers]
        heapify(heap)
        self._compete_again(queue)

    def winner(self) -> One | None:
        """Who wins in the tree of the first that waits."""
        while self._line and self._line[0] not in self._waiting:
            self._line.popleft()
        if not self._line:
            return None
        first = self._waiting[self._line[0]]
        number = self._line[0] if first.queue.parent is None else self._winner(first.queue.root)
        return first if number is None else self._waiting[number]

    def _compete_again(self, queue: QuotaNode) -> None:
        node = queue
        while node.parent is not None:
            self._rounds.setdefault(node.parent, _KnockOutRound()).again.add(node)
            node = node.parent

    def _winner(self, node: QuotaNode) -> int | None:
        if node.queue:
            heap = self._heads.get(node, [])
            while heap and heap[0][1] not in self._waiting:
                heappop(heap)
            return heap[0][1] if heap else None
        this = self._rounds.get(node)
        if this is None:
            return None  # nobody waits below it
        for child in this.again:
            won = self._winner(child)
            this.enter(child, None if won is None else (_place(child, self._waiting[won]), won))
        this.again.clear()
        return this.winner()


class _KnockOutRound:
    """Who won below each child of a cohort: a heap in which a later entry of a child makes earlier ones void."""

    def __init__(self) -> None:
        self.again: set[QuotaNode] = set()
        self._heap: list[tuple[Place, int, int, QuotaNode]] = []
        self._last: dict[QuotaNode, int] = {}
        self._entries = 0

    def enter(self, child: QuotaNode, won: tuple[Place, int] | None) -> None:
        self._last.pop(child, None)
        if won is not None:
            self._entries += 1
            self._last[child] = self._entries
            heappush(self._heap, (*won, self._entries, child))

    def winner(self) -> int | None:
        while self._heap:
            _, number, entry, child = self._heap[0]
            if self._last.get(child) == entry:
                return number
            heappop(self._heap)
        return None


def _place(child: QuotaNode, head: Entrant) -> Place:
    """Not borrowing on the flavors it asks for, the share after admission, priority, age."""
    usage = head.assignment.usage
    borrows = any(child.exceeds(key, amount) for key, amount in _at(child, head.queue, usage).items())
    head.queue.add(usage)
    share = child.share().key
    head.queue.remove(usage)
    facts = head.facts
    return borrows, share, -facts.boosted, facts.order_time, child.queue, child.name


def _at(node: QuotaNode, queue: QuotaNode, usage: Amounts) -> dict[FlavorResource, int]:
    """What of a request reaches a node above its queue."""
    remaining = dict(usage)
    for below in (queue, *queue.path()):
        if below is node:
            break
        remaining = {key: max(0, amount - below.kept_left(key)) for key, amount in remaining.items()}
    return remaining
