"""Who makes way for a quota workload on the flavors it was given: KEP-83, as it has grown since.

1. Candidates are collected by policy and put in order (`candidates`).
2. Up to two attempts: with borrowing, which skips those who may only go if the preemptor does not borrow afterwards;
   and without, which requires that the preemptor stays within its nominal quota.
3. In each, candidates are removed in order until the preemptor fits; before each removal its queue, and its cohorts
   below the common one, must still be above quota.
4. Those removed are given back in reverse order while the preemptor still fits.
"""

from __future__ import annotations

from typing import NamedTuple

from reprieve.engine.steps import fill_back, remove_until_fits
from reprieve.policies.quota.candidates import Candidate, Candidates, Request, borrows_while_preempting, still_gives
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld


class Target(NamedTuple):
    """A workload that makes way, and by which right."""

    facts: WorkloadFacts
    reason: str


class QuotaLedger:
    """Does the request fit while workloads leave and come back?"""

    def __init__(self, request: Request, *, borrowing: bool) -> None:
        self._request = request
        self._borrowing = borrowing

    def fits(self) -> bool:
        queue = self._request.queue
        return all(
            amount <= max(0, queue.available(flavor)) and (self._borrowing or not queue.exceeds(flavor, amount))
            for flavor, amount in self._request.usage.items()
        )

    def remove(self, unit: Candidate) -> None:
        if unit.facts.queue is not None:
            unit.facts.queue.remove(unit.facts.usage)

    def give_back(self, unit: Candidate) -> None:
        if unit.facts.queue is not None:
            unit.facts.queue.add(unit.facts.usage)


def preempt(world: QuotaWorld, request: Request) -> list[Target]:
    """The workloads that make way; empty when no allowed set of them is enough. The tree is left as it was."""
    if not request.contested:
        return []
    found = Candidates(world, request)
    for borrowing in _attempts(request, found):
        ledger = QuotaLedger(request, borrowing=borrowing)
        asked = (item for item in found if not (borrowing and item.only_without_borrowing))
        removed = remove_until_fits(ledger, asked, lambda item: still_gives(item, request))
        if removed is not None:
            victims = fill_back(ledger, removed)
            for item in victims:
                ledger.give_back(item)
            return [Target(item.facts, item.reason) for item in victims]
    return []


def _attempts(request: Request, found: Candidates) -> tuple[bool, ...]:
    """With borrowing (True) or without, in which order."""
    forbidden = not borrows_while_preempting(request.spec)
    under = all(request.queue.used(flavor) < request.queue.quota(flavor).nominal for flavor in request.contested)
    if not found.elsewhere or (forbidden and not under):
        return (True,)
    return (False, True) if forbidden and not found.hierarchical else (True, False)
