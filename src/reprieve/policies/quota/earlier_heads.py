"""What the earlier heads of a cycle took: their quota, their victims, and what those reserve who cannot have it yet.

All of it stands in the tree while the cycle lasts, so that later heads find what is left. Two other states of the tree
are kept beside it, as what they use of each cell that the cycle has touched: to look at one of them these are swapped,
however many heads there were, and nothing is worked out again.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from reprieve.configuration import Settings
from reprieve.engine.quota_tree import Amounts, Cell, FlavorResource, QuotaNode
from reprieve.engine.reasons import Reason, WithinQuota
from reprieve.model.names import UnitName
from reprieve.policies.quota.assignments import Assignment
from reprieve.policies.quota.search import Without
from reprieve.policies.quota.topology_turns import EarlierPlaces
from reprieve.policies.quota.workloads import WorkloadFacts

_NOTHING = nullcontext()


class EarlierHeads:
    """The heads of one cycle that had their turn; at first, and for whoever is decided for alone, nobody."""

    def __init__(self, settings: Settings) -> None:
        self._fair = settings.fair_sharing.enable
        self._as_written = settings.quota.as_written
        self._stops_borrowing = settings.quota.stop_borrowing_after_non_borrower or self._as_written
        self.places = EarlierPlaces()
        self.claimed: dict[WorkloadFacts, None] = {}
        """Their victims so far, in order."""
        self._gone: dict[QuotaNode, list[Amounts]] = {}
        """What those of them used that are out of the tree, by queue."""
        self._takers = 0
        self._admitted = 0
        """How many of those who took something have it already."""
        self._waiting: dict[QuotaNode, list[Assignment]] = {}
        """For whom a queue reserves."""
        self._reserved: dict[QuotaNode, Amounts] = {}
        self._before: dict[Cell, int] = {}
        """What was used when the cycle began."""
        self._as_admitted: dict[Cell, int] = {}
        """What is used when those are counted who were admitted, while all who make way are still there, and nothing
        is reserved."""
        self._no_borrowing: set[QuotaNode] = set()
        """Cohorts in which nobody borrows any more."""

    # What later heads find

    @property
    def admitted_any(self) -> bool:
        return self._admitted > 0

    def may_borrow(self, facts: WorkloadFacts, queue: QuotaNode, assignment: Assignment) -> bool:
        """Whoever has preempted may, but in KEP-83: others have left for that, and would come back to what it does not
        get."""
        stopped = assignment.borrows and queue.root in self._no_borrowing
        return not stopped or (facts.hold is not None and not self._as_written)

    def leave(self, queue: QuotaNode, usage: Amounts, gone: Mapping[UnitName, WorkloadFacts]) -> bool:
        """Whether so much is left once these, and all victims of this cycle, are gone."""
        if not self._takers and not self._reserved:
            return True
        with Without(gone.values()):
            if queue.has(usage):
                return True
        others = [facts for facts in self.present() if facts.unit not in gone and _together(facts, queue)]
        with Without([*gone.values(), *others]):
            return bool(others) and queue.has(usage)

    def leave_now(self, queue: QuotaNode, usage: Amounts) -> bool:
        """Whether so much is left while all who make way are still there, beside those who were admitted."""
        if not self._admitted:
            return True  # it is as it was when the cycle began
        with _swapped(self._as_admitted, _way(queue, usage)):
            return queue.has(usage)

    def before(self) -> AbstractContextManager[None]:
        """The tree as it was when the cycle began: over that everybody is nominated, whenever its turn comes."""
        return _swapped(self._before) if self._before else _NOTHING

    def reserving(self, queue: QuotaNode, usage: Amounts, gone: Mapping[UnitName, WorkloadFacts]) -> list[str]:
        """The queues whose reservations stand in the way, where it is nothing else."""
        queues = [other for other in self._reserved if other is not queue and other.root is queue.root]
        for other in queues:
            self._move(other, self._reserved[other], -1)
        try:
            return sorted(other.name for other in queues) if self.leave(queue, usage, gone) else []
        finally:
            for other in queues:
                self._move(other, self._reserved[other], 1)

    def present(self) -> Iterable[WorkloadFacts]:
        """Claimed victims that still stand in the tree."""
        return self.claimed if self._fair else ()

    def used_before(self, queue: QuotaNode, key: FlavorResource) -> int:
        """What a queue used before the cycle began."""
        cell = queue.cell(key)
        return self._before.get(cell, cell.usage)

    def reason(self, unit: WorkloadFacts, reason: Reason | None, contested: Iterable[FlavorResource]) -> Reason | None:
        """What protects a workload, as a later head has to say it: a queue may be within its quota only without those
        whom earlier heads make leave, and they are still there."""
        if not self.claimed or unit.queue is None or not isinstance(reason, WithinQuota):
            return reason
        node = next(node for node in (unit.queue, *unit.queue.path()) if node.name == reason.queue)
        was_over = any(self.used_before(node, key) > node.cell(key).quota for key in contested)
        return WithinQuota(node.name, others_gone=True) if was_over else reason

    # One more

    def turn_of(self, queue: QuotaNode) -> AbstractContextManager[None]:
        """What a queue reserves is held against others, not against its own."""
        return self._unreserved(queue) if queue in self._reserved else _NOTHING

    @contextmanager
    def _unreserved(self, queue: QuotaNode) -> Iterator[None]:
        reserved, taken = self._reserved.pop(queue), self._takers
        self._move(queue, reserved, -1)
        try:
            yield
        finally:
            if self._takers == taken:
                self._move(queue, reserved, 1)
                self._reserved[queue] = reserved
            else:  # what was taken of the nominal quota is no longer to be reserved
                for assignment in self._waiting.pop(queue, ()):
                    self.reserve(queue, assignment)

    def take(self, queue: QuotaNode, usage: Amounts, gone: Mapping[UnitName, WorkloadFacts], *, admitted: bool) -> None:
        """A head has its quota, or will have it once these are gone. Under fair sharing shares still count them."""
        for facts in gone.values():
            if not self._fair and facts.queue is not None and facts not in self.claimed:
                self._move(facts.queue, facts.usage, -1)
                self._gone.setdefault(facts.queue, []).append(facts.usage)
            self.claimed[facts] = None
        self._move(queue, usage, 1)
        self._takers += 1
        if admitted:
            self._admitted += 1
            with _swapped(self._as_admitted, _way(queue, usage)):
                queue.add(usage)

    def reserve(self, queue: QuotaNode, assignment: Assignment) -> bool:
        """One that cannot have it yet has its queue hold quota: up to the nominal one, or to the borrowing limit if it
        borrows. Victims of this cycle that have not left count as used here. Whether there was anything to hold."""
        gone = self._gone.get(queue, ())
        more: dict[FlavorResource, int] = {}
        for key, amount in assignment.usage.items():
            quota = queue.quota(key)
            left = quota.nominal - queue.used(key) - sum(usage.get(key, 0) for usage in gone)
            if not assignment.borrows:
                amount = min(amount, left)
            elif quota.borrowing_limit is not None:
                amount = min(amount, left + quota.borrowing_limit)
            if amount > 0:
                more[key] = amount
        if more:
            self._waiting.setdefault(queue, []).append(assignment)
            held = self._reserved.get(queue, {})
            self._reserved[queue] = {key: held.get(key, 0) + more.get(key, 0) for key in {**held, **more}}
            self._move(queue, more, 1)
        return bool(more)

    def stop_borrowing(self, queue: QuotaNode) -> None:
        """Where the settings say so, as in KEP-83: a head that need not borrow ends that for those after it."""
        if self._stops_borrowing:
            self._no_borrowing.add(queue.root)

    def undo(self) -> None:
        """The cycle is over: the tree is what it was before."""
        for cell, usage in self._before.items():
            cell.set_usage(usage)

    def _move(self, queue: QuotaNode, usage: Amounts, sign: int) -> None:
        for key in usage:
            for cell in queue.cell(key).upwards():
                if cell in self._before:
                    break  # and so are those above it
                self._before[cell] = self._as_admitted[cell] = cell.usage
        (queue.add if sign > 0 else queue.remove)(usage)


@contextmanager
def _swapped(usages: dict[Cell, int], cells: Iterable[Cell] | None = None) -> Iterator[None]:
    """The tree in another state, or what is looked at of it. What is changed meanwhile is changed in that state."""
    now = {cell: cell.usage for cell in (usages if cells is None else cells) if cell in usages}
    for cell in now:
        cell.set_usage(usages[cell])
    try:
        yield
    finally:
        for cell, usage in now.items():
            usages[cell] = cell.usage
            cell.set_usage(usage)


def _way(queue: QuotaNode, usage: Amounts) -> Iterator[Cell]:
    """The cells that what a queue uses is counted in: no other one matters to whether it has so much left."""
    return (cell for key in usage for cell in queue.cell(key).upwards())


def _together(facts: WorkloadFacts, queue: QuotaNode) -> bool:
    return facts.queue is not None and facts.queue.root is queue.root
