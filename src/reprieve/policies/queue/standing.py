"""The laws for all queues at once: what each means to one request, in columns by the queues' numbers.

Queues stand level by level below root, so that what holds for a queue is worked out from what holds for its parent. The
same laws for one queue are in `laws`; both give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.model.resources import NOTHING
from reprieve.policies.queue.laws import CLOSED, OPEN, Ask, priority_towards
from reprieve.policies.queue.tree import QueueNode, QueueTree

ABSENT = 2**60
"""A guarantee that is not there; larger than any amount, so that the least of several is one that is."""

# Why nobody in a queue is asked, in the order in which it is looked at. 0: nothing is in the way.
OUTSIDE_FENCE, OWN_QUEUE, DISABLED, WITHIN_GUARANTEE, PRIORITY_FENCE = range(1, 6)


class QueueFigures:
    """Guarantees and use of all queues, a column for each resource; brought up to date where queues have changed."""

    def __init__(self, tree: QueueTree) -> None:
        self.tree = tree
        self._arrange()

    def _arrange(self) -> None:
        queues = self.tree.queues
        self.size = len(queues)
        by_level: dict[int, list[QueueNode]] = {}
        for queue in queues:
            by_level.setdefault(len(queue.path), []).append(queue)
        self.levels = [
            (_column(queue.number for queue in level), _column(queue.parent.number for queue in level if queue.parent))
            for depth, level in sorted(by_level.items())
            if depth > 1
        ]
        self.offset = _column(queue.offset for queue in queues)
        self.priority_fence = _column(queue.priority_fence for queue in queues) > 0
        self.disabled = _column(queue.disabled for queue in queues) > 0
        self.guaranteed_types = sorted({name for queue in queues for name in queue.guaranteed or ()})
        self._guaranteed: dict[str, Ints] = {}
        self._kept: dict[str, Ints] = {}
        self.tree.changed.clear()

    def refresh(self) -> None:
        """Catch up with the tree."""
        if self.size != len(self.tree.queues):
            return self._arrange()
        for name, kept in self._kept.items():
            for number in self.tree.changed:
                kept[number] = min(self.tree.queues[number].kept.get(name, 0), ABSENT)
        self.tree.changed.clear()
        return None

    def guaranteed(self, name: str) -> Ints:
        known = self._guaranteed.get(name)
        if known is None:
            amounts = (queue.guaranteed or NOTHING for queue in self.tree.queues)
            known = self._guaranteed[name] = _column(
                min(item[name], ABSENT - 1) if name in item else ABSENT for item in amounts
            )
        return known

    def kept(self, name: str) -> Ints:
        known = self._kept.get(name)
        if known is None:
            known = self._kept[name] = _column(min(queue.kept.get(name, 0), ABSENT) for queue in self.tree.queues)
        return known


def _column(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


class Standing:
    """What every queue is to one request."""

    def __init__(self, figures: QueueFigures, ask: Ask) -> None:
        figures.refresh()
        self._figures = figures
        self._ask = ask
        self.inside = self._inside()
        self.bound = self._bounds()
        """Law 6: the highest priority that may be asked."""
        self.spare = {name: self._spare(name) for name in figures.guaranteed_types}
        """Law 2: what may leave each queue, for each type that anybody guarantees."""
        self.distance = self._distance()
        """How many levels up from the asking queue the common one is."""
        self.why = self._why()

    def _why(self) -> Ints:
        why = np.zeros(self._figures.size, dtype=np.int64)
        for code, meant in (
            (PRIORITY_FENCE, self.bound == CLOSED),
            (WITHIN_GUARANTEE, ~self._over_guarantee()),
            (DISABLED, self._figures.disabled),
            (OUTSIDE_FENCE, ~self.inside),
        ):
            why[meant] = code
        why[self._ask.queue.number] = OWN_QUEUE
        return why

    def _down(self, start: dict[int, int], step: Callable[[Ints, Ints], Ints]) -> Ints:
        """From root down, each level from its parents; `start` is given for the queues from the asking one up."""
        values = np.zeros(self._figures.size, dtype=np.int64)
        for numbers, parents in ((None, None), *self._figures.levels):
            if numbers is not None and parents is not None:
                values[numbers] = step(numbers, values[parents])
            for number, value in start.items():
                values[number] = value
        return values

    def _inside(self) -> Mask:
        """Law 7."""
        top = self._ask.top
        start = {node.number: int(top in node.path) for node in self._ask.queue.path}
        return self._down(start, lambda _, parents: parents) > 0

    def _over_guarantee(self) -> Mask:
        """Law 5."""
        over = np.zeros(self._figures.size, dtype=np.bool_)
        for name in self._ask.request:
            left = self._left(name)
            over |= np.where(left == ABSENT, -self._figures.kept(name), left) < 0
        return over

    def _left(self, name: str) -> Ints:
        guaranteed = self._figures.guaranteed(name)
        own = np.where(guaranteed == ABSENT, ABSENT, guaranteed - self._figures.kept(name))
        start: dict[int, int] = {}
        for node in self._ask.queue.path:
            claims = any(name in (below.guaranteed or NOTHING) for below in self._ask.below(node))
            start[node.number] = ABSENT if claims else int(own[[above.number for above in node.path]].min())
        return self._down(start, lambda numbers, parents: np.minimum(own[numbers], parents))

    def _spare(self, name: str) -> Ints:
        guaranteed = self._figures.guaranteed(name)
        own = np.where(guaranteed == ABSENT, ABSENT, self._figures.kept(name) - guaranteed)
        start = {node.number: ABSENT for node in self._ask.queue.path}
        return self._down(start, lambda numbers, parents: np.minimum(own[numbers], parents))

    def _bounds(self) -> Ints:
        start = {node.number: priority_towards(self._ask, node) for node in self._ask.queue.path}
        return self._down(start, self._priority_step)

    def _priority_step(self, numbers: Ints, above: Ints) -> Ints:
        offset = self._figures.offset[numbers]
        fenced = np.where(offset <= above, OPEN, CLOSED)
        here = np.where(self._figures.priority_fence[numbers], fenced, above - offset)
        return np.where(np.abs(above) == OPEN, above, here)

    def _distance(self) -> Ints:
        start = {node.number: level for level, node in enumerate(self._ask.queue.path)}
        return self._down(start, lambda _, parents: parents)
