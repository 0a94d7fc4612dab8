"""Whose turn it is in a quota cycle.

1. Whoever has preempted and still waits, and those of its own queue that stand before it: of higher priority, or older.
2. Who does not borrow before who does; less far up the tree; higher priority; older.
3. With fair sharing instead of 2: cohort by cohort, who would have the smaller share; but before anybody borrows, those
   have had their turn who wait within their nominal quota.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from reprieve.engine.quota_tree import QuotaNode
from reprieve.policies.quota.assignments import NO_CANDIDATES, Assignment
from reprieve.policies.quota.knock_out import KnockOuts
from reprieve.policies.quota.view import WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts, importance


class Contender(NamedTuple):
    """A workload that waits for its turn, and what it was nominated for."""

    facts: WorkloadFacts
    queue: QuotaNode
    assignment: Assignment
    view: WorkloadView | None
    """None: it is known to be inadmissible, and nothing is to be said of it."""
    head: bool
    """Whether nobody waits before it in its queue."""


Rank = tuple[object, ...]


class TurnsOfHeads:
    """One contender after the other; more may come meanwhile."""

    def __init__(self, promised: Mapping[QuotaNode, tuple[int, int]], *, fair: bool) -> None:
        """`promised` has how important the least important is that has preempted, for each queue with such."""
        self._promised = promised
        self._fair = fair
        self._first: list[tuple[Rank, Contender]] = []
        self._others: list[tuple[Rank, Contender]] = []
        self._sharing: KnockOuts[Contender] = KnockOuts()

    def add(self, one: Contender) -> None:
        rank = _classical_order(one)
        promised = self._promised.get(one.queue)
        if one.facts.hold is not None or (promised is not None and importance(one.facts) < promised):
            heappush(self._first, ((-one.facts.boosted, *rank), one))
        elif self._fair and (one.assignment.borrows or one.assignment.mode > NO_CANDIDATES):
            self._sharing.add(one)
        else:
            heappush(self._others, (rank, one))

    def pop(self) -> Contender | None:
        """Whose turn it is; under fair sharing, what those before took counts in the shares."""
        if self._first:
            return heappop(self._first)[1]
        winner = self._sharing.winner()
        if winner is None or (winner.assignment.borrows and self._others):
            return heappop(self._others)[1] if self._others else None
        self._sharing.remove(winner)
        return winner

    def moved(self, queue: QuotaNode) -> None:
        """What a queue uses has changed: somebody took or reserved some of it."""
        self._sharing.moved(queue)


def _classical_order(one: Contender) -> Rank:
    facts, assignment = one.facts, one.assignment
    return assignment.borrows, assignment.level, -facts.boosted, facts.order_time, facts.uid, facts.unit
