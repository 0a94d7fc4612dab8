"""Whose turn it is in a quota cycle.

1. Whoever has preempted and still waits: higher priority, older. Those of its own queue that stand before it come just
   before it.
2. Who does not borrow before who does; less far up the tree; higher priority; older.
3. With fair sharing instead of 2: cohort by cohort, who would have the smaller share; but before anybody borrows, those
   have had their turn who wait within their nominal quota.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from reprieve.engine.quota_tree import QuotaNode
from reprieve.policies.quota.assignments import NO_CANDIDATES, Assignment
from reprieve.policies.quota.knock_out import KnockOuts
from reprieve.policies.quota.view import WorkloadView
from reprieve.policies.quota.workloads import Importance, WorkloadFacts, importance


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

    def __init__(self, promised: Mapping[QuotaNode, Sequence[Importance]], *, fair: bool) -> None:
        """`promised` has how important those are that have preempted, the most important first, by queue."""
        self._promised = promised
        self._fair = fair
        self._first: list[tuple[Rank, Contender]] = []
        self._others: list[tuple[Rank, Contender]] = []
        self._sharing: KnockOuts[Contender] = KnockOuts()

    def add(self, one: Contender) -> None:
        rank = _classical_order(one)
        first = self._first_turn(one)
        if first is not None:
            heappush(self._first, ((*first, *rank), one))
        elif self._fair and (one.assignment.borrows or one.assignment.mode > NO_CANDIDATES):
            self._sharing.add(one)
        else:
            heappush(self._others, (rank, one))

    def pop(self) -> Contender | None:
        """Whose turn it is; under fair sharing, what those before took counts in the shares."""
        if self._first:
            return heappop(self._first)[1]
        winner = self._sharing.winner() if self._fair else None
        if winner is None or (winner.assignment.borrows and self._others):
            return heappop(self._others)[1] if self._others else None
        self._sharing.remove(winner)
        return winner

    def _first_turn(self, one: Contender) -> Rank | None:
        """When it has its turn before all others: for itself, or for the next of its queue that has preempted."""
        mine = importance(one.facts)
        if one.facts.hold is not None:
            return mine, True
        behind = next((held for held in self._promised.get(one.queue, ()) if mine < held), None)
        return (behind, False) if behind is not None else None

    def moved(self, queue: QuotaNode) -> None:
        """What a queue uses has changed: somebody took or reserved some of it."""
        if self._fair:
            self._sharing.moved(queue)


def _classical_order(one: Contender) -> Rank:
    facts, assignment = one.facts, one.assignment
    return assignment.borrows, assignment.level, -facts.boosted, facts.order_time, facts.uid, facts.unit
