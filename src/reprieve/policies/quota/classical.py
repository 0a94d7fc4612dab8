"""Who makes way for a quota workload on the flavors it was given: KEP-83, as it has grown since.

1. Candidates are collected by the rules and put in order (`candidates`).
2. Up to two attempts: with borrowing, which skips those who may only go if the preemptor does not borrow afterwards;
   and without, which requires that the preemptor stays within its nominal quota.
3. In each, candidates are removed in order until the preemptor fits; before each removal its queue, and its cohorts
   below the common one, must still be above quota.
4. Those removed are given back in reverse order while the preemptor still fits.
"""

from functools import partial

from reprieve.engine.steps import fill_back, remove_until_fits
from reprieve.policies.quota.assignments import FlavorDemand
from reprieve.policies.quota.candidates import Candidates, eligible_rule
from reprieve.policies.quota.flavors import borrows_while_preempting
from reprieve.policies.quota.rules import AboveQuota, ClassicalRules, WhileBorrowing
from reprieve.policies.quota.search import Candidate, Found, QuotaLedger, RulesSaid
from reprieve.policies.quota.view import WorkloadView


def rules_of(view: WorkloadView, domain: FlavorDemand) -> ClassicalRules:
    return ClassicalRules(
        eligible_rule(view, domain),
        AboveQuota(view.queue, domain.contested),
        None if view.as_written else WhileBorrowing(view.facts, view.spec.preemption),
    )


def search(view: WorkloadView, domain: FlavorDemand, rules: ClassicalRules, candidates: Candidates) -> Found:
    """The workloads that make way. The tree is left as it was."""
    failed: dict[bool, RulesSaid] = {}
    for borrowing in attempts(view, domain, candidates, rules):
        asked = RulesSaid(candidates.refused)
        ledger = QuotaLedger(view.queue, domain, borrowing=borrowing, topology=view.quota.topology)
        removed = remove_until_fits(ledger, candidates, partial(_may_go, rules, asked, borrowing))
        if removed is not None:
            victims = fill_back(ledger, removed)
            for item in victims:
                ledger.give_back(item)
            return Found(domain, rules, victims, asked)
        if not ledger.room_to_borrow or rules.while_borrowing is None:
            failed[borrowing] = asked
    # Without borrowing more may go: what was said then counts, unless all that was missing is to borrow.
    return Found(domain, rules, [], failed.get(False) or failed[True])


def _may_go(rules: ClassicalRules, asked: RulesSaid, borrowing: bool, item: Candidate) -> bool:
    reason = (item.while_borrowing if borrowing else None) or rules.above_quota(item.facts)
    asked.said[item.facts] = reason
    return reason is None


def attempts(
    view: WorkloadView, domain: FlavorDemand, candidates: Candidates, rules: ClassicalRules
) -> tuple[bool, ...]:
    """With borrowing (True) or without, in which order."""
    if rules.while_borrowing is None:
        return (False,)
    queue, forbidden = view.queue, not borrows_while_preempting(view.spec)
    if not candidates.elsewhere:
        return (True,)
    if forbidden and any(queue.used(flavor) >= queue.quota(flavor).nominal for flavor in domain.contested):
        return (True,)
    return (False, True) if forbidden and not candidates.hierarchical else (True, False)
