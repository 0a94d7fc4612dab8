"""What every queue is to one claim, for all queues at once: columns by the queues' numbers.

Queues stand level by level below root, so that what holds for a queue is worked out from what holds for its parent.
"""

from collections.abc import Callable, Iterable

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.model.resources import NOTHING
from reprieve.policies.queue.laws import priorities, spare_of
from reprieve.policies.queue.tree import QueueNode, QueueTree
from reprieve.policies.queue.view import QueueView

ABSENT = 2**60
"""A guarantee that is not there; larger than any amount, so that the least of several is one that is."""
OPEN = 2**62
"""Behind a priority fence that lets a request in, priorities inside do not matter."""
CLOSED = -OPEN
"""Behind a priority fence that keeps a request out, nobody makes way."""
QUEUE_LAWS = ("OwnQueue", "OutsideFence", "PreemptionDisabled", "WithinGuarantee", "PriorityFence")
"""Why nobody in a queue is asked, in the order in which it is looked at."""


class QueueAmounts:
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


class QueueStanding:
    """What every queue is to one claim."""

    def __init__(self, figures: QueueAmounts, view: QueueView) -> None:
        figures.refresh()
        self._figures = figures
        self._view = view
        self._start = [node.number for node in view.queue.path]
        self.inside = self._inside()
        self.claimed = self._below(view.claimed)
        """Law 4: what is below the queue that is claimed."""
        self.bound = self._bounds()
        """Law 6: the highest priority that may be asked."""
        self.spare = {name: self._spare(name) for name in figures.guaranteed_types}
        """Law 2: what may leave each queue, for each type that anybody guarantees."""
        self.distance = self._distance()
        """How many levels up from the asking queue the common one is."""
        self.why = self._why()

    def _why(self) -> Ints:
        """The number of the first of the laws, from 1, by which nobody in a queue is asked; 0: there is none."""
        own = np.zeros(self._figures.size, dtype=np.bool_)
        own[self._view.queue.number] = True
        masks = (own, ~self.inside, self._figures.disabled, ~self._over_guarantee(), self.bound == CLOSED)
        why = np.zeros(self._figures.size, dtype=np.int64)
        for number, mask in reversed(list(enumerate(masks, 1))):
            why[mask] = number
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
        return self._below(self._view.top)

    def _below(self, top: QueueNode | None) -> Mask:
        """A queue on the way up from the asking one, and all below it; None: no queue."""
        start = {node.number: int(top in node.path) for node in self._view.queue.path}
        return self._down(start, lambda _, parents: parents) > 0

    def _over_guarantee(self) -> Mask:
        """Law 5: it guarantees nothing, or is over in some type, as is each queue above it that guarantees anything;
        and it may lose some of what is asked for."""
        above = {name: self._least(name, dict.fromkeys(self._start, ABSENT)) for name in self._figures.guaranteed_types}
        nothing = np.ones(self._figures.size, dtype=np.bool_)
        some = np.zeros(self._figures.size, dtype=np.bool_)
        for spare in above.values():
            nothing &= spare == ABSENT
            some |= (spare > 0) & (spare != ABSENT)
        gives = np.zeros(self._figures.size, dtype=np.bool_)
        for name in self._view.request:
            gives |= (self._figures.kept(name) > 0) & (above.get(name, ABSENT) > 0)
        return np.asarray((nothing | (some & self._each_is_over())) & gives)

    def _each_is_over(self) -> Mask:
        """Every queue up to the common one that guarantees anything uses more than that of some type."""
        named = np.zeros(self._figures.size, dtype=np.bool_)
        over = np.zeros(self._figures.size, dtype=np.bool_)
        for name in self._figures.guaranteed_types:
            guaranteed = self._figures.guaranteed(name)
            named |= guaranteed != ABSENT
            over |= self._figures.kept(name) > guaranteed
        fine = (over | ~named).astype(np.int64)
        start = dict.fromkeys(self._start, 1)
        return self._down(start, lambda numbers, parents: fine[numbers] & parents) > 0

    def _spare(self, name: str) -> Ints:
        """Law 2: what may leave a queue, so that neither it nor one above it has less of its guarantee than before."""
        start, comes, least = {}, self._view.comes(name), ABSENT
        for node in reversed(self._view.queue.path):
            if name in (node.guaranteed or NOTHING):
                least = min(least, spare_of(node, name, comes))
            start[node.number] = least
        return self._least(name, start)

    def _least(self, name: str, start: dict[int, int]) -> Ints:
        """What each queue uses above its guarantee of a type, or one above it does, whichever is least."""
        guaranteed = self._figures.guaranteed(name)
        own = np.where(guaranteed == ABSENT, ABSENT, self._figures.kept(name) - guaranteed)
        return self._down(start, lambda numbers, parents: np.minimum(own[numbers], parents))

    def shares_guarantee(self, name: str) -> Mask:
        """Queues below the one that is claimed that have no guarantee of a type below the common one, their own or that
        of a queue above them: for a pod that holds it."""
        named = self._figures.guaranteed(name) != ABSENT
        start = dict.fromkeys(self._start, 0)
        return np.asarray(self.claimed & (self._down(start, lambda numbers, parents: named[numbers] | parents) == 0))

    def _bounds(self) -> Ints:
        """Law 6. Going up, each queue adds its offset to the priority, or replaces it at a priority fence; going down,
        each takes its offset away, and behind a fence all may be asked or nobody."""
        seen = priorities(self._view.facts.priority, self._view.queue)
        return self._down(dict(zip(self._start, seen, strict=True)), self._priority_step)

    def _priority_step(self, numbers: Ints, above: Ints) -> Ints:
        offset = self._figures.offset[numbers]
        fenced = np.where(offset <= above, OPEN, CLOSED)
        here = np.where(self._figures.priority_fence[numbers], fenced, above - offset)
        return np.where(np.abs(above) == OPEN, above, here)

    def _distance(self) -> Ints:
        start = {node.number: level for level, node in enumerate(self._view.queue.path)}
        return self._down(start, lambda _, parents: parents)
