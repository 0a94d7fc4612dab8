"""What a workload was promised: the quota of those who leave because it has preempted, until the last of them is gone.

Victims give their quota back at different moments. The first to go may bring its queue down to its nominal quota, or
even out the shares, so that no rule would let the others be asked now; but they leave all the same, and have left in
vain if somebody else gets what the first one gave back. So they are counted on whatever the rules say by now, and
others are asked only where they are not enough: somebody more important has come, or the quota is another one.

Nor do they leave for nothing because another flavor is rated better by then: as long as nobody else has to leave on the
flavors on which it has preempted, it stays with these, unless there is room for it at once.
"""

from collections.abc import Callable

from reprieve.engine.steps import fill_back, remove_until_fits
from reprieve.policies.quota.assignments import FIT, FlavorDemand, Forced
from reprieve.policies.quota.nomination import Nominator
from reprieve.policies.quota.search import IN_QUEUE, RECLAIM, Candidate, Found, QuotaLedger, Rules, RulesSaid, Without
from reprieve.policies.quota.view import Nomination, WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts

Search = Callable[[WorkloadView, FlavorDemand], Found]


def beside_promised(view: WorkloadView, domain: FlavorDemand, rules: Rules, search: Search) -> Found:
    """Those of the promised who are needed; else all of them, and whoever else has to make way beside them."""
    promised = [_candidate(view, facts) for facts in view.promised]
    ledger = QuotaLedger(view.queue, domain, borrowing=not view.as_written, topology=view.quota.topology)
    removed = remove_until_fits(ledger, promised, lambda _: True)
    if removed is not None:
        needed = fill_back(ledger, removed)
        for item in needed:
            ledger.give_back(item)
        return Found(domain, rules, needed, RulesSaid())
    with Without(item.facts for item in promised):
        found = search(view, domain)
    return found._replace(victims=[*promised, *found.victims] if found.victims else [])


def on_its_flavors(view: WorkloadView, design: Nomination, search: Search) -> Nomination | None:
    """Where it has preempted, while that is enough; None: it has not, or has room as things are."""
    hold = view.facts.hold
    if hold is None or not hold.flavors or view.forced is not None or _enough(view, design):
        return None
    flavors = {(name, resource): flavor for name, group in hold.flavors.items() for resource, flavor in group.items()}
    made = Nominator(view, search, Forced(flavors)).nominate()
    return made if _enough(view, made) else None


def _enough(view: WorkloadView, made: Nomination) -> bool:
    """Whether there is room, or will be once those have left whom it was promised."""
    victims = made.found.victims if made.found is not None else []
    promised = view.promised
    return made.assignment.mode == FIT or (bool(victims) and all(item.facts in promised for item in victims))


def _candidate(view: WorkloadView, facts: WorkloadFacts) -> Candidate:
    return Candidate(facts, 0, IN_QUEUE if facts.queue is view.queue else RECLAIM)
