"""Which queue fair sharing asks next: from the root down, the child with the highest share.

A share changes only on the way from a queue that gave somebody up to the root. So each cohort keeps its children in
order, and looks again at those alone on whose way anything has changed: asking every queue in turn costs no more than
putting them in order.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from reprieve.engine.quota_tree import QuotaNode

Place = tuple[Any, ...]
_COHORT, _QUEUE = 0, 1


class AskingOrder:
    """Cohorts come before queues of the same share; of two queues the one with the better candidate."""

    def __init__(
        self, root: QuotaNode, rank: Callable[[QuotaNode], Place | None], borrows: Callable[[QuotaNode], bool]
    ) -> None:
        """`rank` of a queue is None where it has nobody to offer. Who does not borrow is not asked."""
        self._root = root
        self._rank = rank
        self._borrows = borrows
        self._children: dict[QuotaNode, _Children] = {}

    def next(self) -> QuotaNode | None:
        """The queue to ask; None: nobody is left who could be asked."""
        if self._root.queue:
            return self._root if self._rank(self._root) is not None else None
        return self._highest(self._root)

    def changed(self, queue: QuotaNode) -> None:
        """A queue was asked, and may have given somebody."""
        node = queue
        while node.parent is not None:
            if node.parent in self._children:
                self._children[node.parent].to_look_at.add(node)
            node = node.parent

    def _highest(self, cohort: QuotaNode) -> QuotaNode | None:
        children = self._children.get(cohort)
        if children is None:
            children = self._children[cohort] = _Children(cohort)
        for one in children.to_look_at:
            children.put(one, self._place(one, children))
        children.to_look_at.clear()
        while (child := children.first()) is not None:
            found = child if child.queue else self._highest(child)
            if found is not None:
                return found
            children.drop(child)  # nobody below it has anything left to offer
        return None

    def _place(self, child: QuotaNode, children: "_Children") -> Place | None:
        rank = self._rank(child) if child.queue else (children.by_name[child],)
        if rank is None or child in children.dropped or not self._borrows(child):
            return None
        weight, share = child.share().key
        return -weight, -share, _QUEUE if child.queue else _COHORT, *rank


class _Children:
    """The children of a cohort in their order: a heap in which a later entry of a child makes earlier ones void."""

    def __init__(self, cohort: QuotaNode) -> None:
        self.to_look_at = set(cohort.children)
        self.dropped: set[QuotaNode] = set()
        cohorts = sorted((child for child in cohort.children if not child.queue), key=_name, reverse=True)
        self.by_name = {child: number for number, child in enumerate(cohorts)}
        """Of cohorts with the same share the last by name is asked first."""
        self._heap: list[tuple[Place, int, QuotaNode]] = []
        self._last: dict[QuotaNode, int] = {}
        self._entries = 0

    def put(self, child: QuotaNode, place: Place | None) -> None:
        """None: it is not asked any more."""
        self._last.pop(child, None)
        if place is not None:
            self._entries += 1
            self._last[child] = self._entries
            heappush(self._heap, (place, self._entries, child))

    def first(self) -> QuotaNode | None:
        while self._heap:
            _, entry, child = self._heap[0]
            if self._last.get(child) == entry:
                return child
            heappop(self._heap)
        return None

    def drop(self, child: QuotaNode) -> None:
        self.dropped.add(child)
        self.put(child, None)


def _name(node: QuotaNode) -> str:
    return node.name
