"""Who may not be asked under fair sharing, beyond what `rules` say: shares are compared at the moment.

9. A queue or cohort that does not borrow gives nobody, except on the way to the preemptor.
10. The strategies compare the shares of the two children of the lowest common cohort: the taker's may not be above the
   target's after its loss; or it must be below the target's now.
"""

from typing import NamedTuple

from reprieve.engine.quota_tree import QuotaNode
from reprieve.engine.reasons import NoLargerShare, Reason, WithinQuota
from reprieve.policies.quota.rules import AboveQuota, Eligible
from reprieve.policies.quota.workloads import WorkloadFacts

FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


class Borrowing:
    """9."""

    def __init__(self, queue: QuotaNode) -> None:
        self._taker = queue
        self._way = {queue, *queue.path()}

    def of_node(self, node: QuotaNode) -> Reason | None:
        if node.share().borrowing or node in self._way:
            return None
        if node.over_quota():  # of something that its cohort has none to lend of, which counts in no share
            return NoLargerShare(node.name, self._taker.name, without_it=False)
        return WithinQuota(node.name)


class LargerShare:
    """10. One of the strategies."""

    def __init__(self, queue: QuotaNode, strategy: str) -> None:
        self._taker = [queue, *queue.path()]
        self._strategy = strategy
        self._children: dict[QuotaNode, tuple[QuotaNode, QuotaNode]] = {}

    def __call__(self, unit: WorkloadFacts) -> Reason | None:
        if unit.queue is None:
            return None
        taker, target = self._compared(unit.queue)
        if self._strategy != FINAL:
            larger = taker.share().key < target.share().key
        else:
            unit.queue.remove(unit.usage)
            larger = taker.share().key <= target.share().key
            unit.queue.add(unit.usage)
        return None if larger else NoLargerShare(target.name, taker.name, without_it=self._strategy == FINAL)

    def _compared(self, queue: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        """The children of the lowest common cohort on the way to the taker and to the target."""
        if queue not in self._children:
            target = [queue, *queue.path()]
            common = next(node for node in self._taker if node in target)
            self._children[queue] = self._taker[self._taker.index(common) - 1], target[target.index(common) - 1]
        return self._children[queue]


class FairRules(NamedTuple):
    eligible: Eligible
    above_quota: AboveQuota
    """Asked about queues only: what a cohort gives is a matter of shares."""
    borrowing: Borrowing
    larger_share: LargerShare
    second_chance: LargerShare | None
