"""What the earlier heads of a cycle took: their quota, their victims, and what those without candidates reserve.

All of it stands in the tree while the cycle lasts, so that later heads find what is left.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from reprieve.configuration import Settings
from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.model.names import UnitName
from reprieve.policies.quota.flavors import Assignment
from reprieve.policies.quota.search import Without
from reprieve.policies.quota.workloads import WorkloadFacts


class EarlierHeads:
    """The heads of one cycle that had their turn; at first, and for whoever is decided for alone, nobody."""

    def __init__(self, settings: Settings) -> None:
        self._fair = settings.fair_sharing.enable
        self._stops_borrowing = settings.quota.stop_borrowing_after_non_borrower
        self.claimed: dict[WorkloadFacts, None] = {}
        """Their victims so far, in order."""
        self._taken: list[tuple[QuotaNode, Amounts]] = []
        self._gone: list[WorkloadFacts] = []
        """Victims that are out of the tree already. Under fair sharing shares still count them."""
        self._moved: defaultdict[tuple[QuotaNode, FlavorResource], int] = defaultdict(int)
        self._no_borrowing: set[QuotaNode] = set()
        """Cohorts in which nobody borrows any more."""

    # What later heads find

    def may_borrow(self, queue: QuotaNode, assignment: Assignment) -> bool:
        return not self._no_borrowing or not assignment.level or queue.root not in self._no_borrowing

    def leave(self, queue: QuotaNode, usage: Amounts, gone: Mapping[UnitName, WorkloadFacts]) -> bool:
        """Whether so much is left once these, and all victims of this cycle, are gone."""
        if not self._taken:
            return True
        with Without(gone.values()):
            if queue.has(usage):
                return True
        others = [facts for facts in self.present() if facts.unit not in gone and _together(facts, queue)]
        with Without([*gone.values(), *others]):
            return bool(others) and queue.has(usage)

    def present(self) -> Iterable[WorkloadFacts]:
        """Claimed victims that still stand in the tree."""
        return self.claimed if self._fair else ()

    def used_before(self, queue: QuotaNode, key: FlavorResource) -> int:
        """What a queue used before the cycle began."""
        return queue.used(key) - self._moved[queue, key]

    # One more

    def take(self, queue: QuotaNode, usage: Amounts, gone: Mapping[UnitName, WorkloadFacts]) -> None:
        """A head has its quota, or will have it once these are gone."""
        if not self._fair:
            for facts in gone.values():
                if facts not in self.claimed:
                    self._remove(facts)
        self.claimed |= dict.fromkeys(gone.values())
        self._add(queue, usage)

    def reserve(self, queue: QuotaNode, assignment: Assignment) -> None:
        """A head without candidates holds quota: up to its nominal one, or to its borrowing limit if it borrows.

        Victims of this cycle that have not left count as used here.
        """
        gone = [] if self._fair else [facts.usage for facts in self.claimed if facts.queue is queue]
        held: dict[FlavorResource, int] = {}
        for key, amount in assignment.usage.items():
            quota = queue.quota(key)
            left = quota.nominal - queue.used(key) - sum(usage.get(key, 0) for usage in gone)
            if assignment.level == 0:
                amount = min(amount, left)
            elif quota.borrowing_limit is not None:
                amount = min(amount, left + quota.borrowing_limit)
            held[key] = max(0, amount)
        self._add(queue, held)

    def stop_borrowing(self, queue: QuotaNode) -> None:
        """Where the settings say so, as in KEP-83: a head that need not borrow ends that for those after it."""
        if self._stops_borrowing:
            self._no_borrowing.add(queue.root)

    def undo(self) -> None:
        """The cycle is over: the tree is what it was before."""
        for queue, usage in reversed(self._taken):
            queue.remove(usage)
        Without(self._gone).__exit__()

    def _add(self, queue: QuotaNode, usage: Amounts) -> None:
        queue.add(usage)
        self._taken.append((queue, usage))
        for key, amount in usage.items():
            self._moved[queue, key] += amount

    def _remove(self, facts: WorkloadFacts) -> None:
        if facts.queue is None:
            return
        facts.queue.remove(facts.usage)
        self._gone.append(facts)
        for key, amount in facts.usage.items():
            self._moved[facts.queue, key] -= amount


def _together(facts: WorkloadFacts, queue: QuotaNode) -> bool:
    return facts.queue is not None and facts.queue.root is queue.root
