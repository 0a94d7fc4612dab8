"""A cycle of the quota policy: one head of each queue.

1. Order: who borrows less far, higher priority, older. With fair sharing: cohort by cohort, who would have the smaller
   share after admission (`turn_order`).
2. Each head is checked against what the heads before it took, with all victims of this cycle counted as gone.
3. Victims that were already claimed: the head is nominated again on the same flavors without them.
4. A head that needs victims but has none reserves its quota, unless its queue can always reclaim it.
5. Where the settings say so, as in KEP-83, nobody in a cohort borrows any more after a workload that need not.
6. Whoever has preempted and still waits comes before all others, but those of its own queue that are more important:
   else whoever made way for it could slip back, and be preempted again, without end. For the same reason it is
   admitted with no more pods than it has preempted for.
When the cycle is over the tree is what it was before.
"""

from collections.abc import Container

from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.policies.quota.earlier_heads import EarlierHeads
from reprieve.policies.quota.flavors import NO_FIT
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.turn_order import NOBODY, Held, in_order
from reprieve.policies.quota.view import PendingWorkload, Terms, WorkloadView


def cycle(policy: QuotaPolicy, parked: Container[str] = (), held: Held = NOBODY) -> list[Plan]:
    """One head of each queue: the oldest of the highest priority; `parked` and `held` as in `QuotaWorld.heads`."""
    policy.quota.sync()
    earlier = EarlierHeads(policy.settings)
    heads = [
        _nominated(policy, PendingWorkload(facts, most=held.get(facts.unit), earlier=earlier))
        for facts in policy.quota.heads(parked, held)
    ]
    try:
        fair = policy.settings.fair_sharing.enable
        return [_turn(policy, head, earlier) for head in in_order(heads, held, fair=fair)]
    finally:
        earlier.undo()


def _nominated(policy: QuotaPolicy, head: PendingWorkload) -> WorkloadView:
    view = policy.view(head, policy.quota.now)
    view.nominate(policy.nominate(view))
    return view


def _turn(policy: QuotaPolicy, head: WorkloadView, earlier: EarlierHeads) -> Plan:
    nominated = head.assignment  # it may be nominated once more
    plan = decide(policy, head, policy.quota.now)
    terms: Terms = plan.terms
    if terms.takes:
        earlier.take(head.queue, terms.assignment.usage, terms.gone)
    elif plan.outcome == "Unschedulable" and head.spec.preemption.reclaim_within_cohort != "Any":
        earlier.reserve(head.queue, nominated)
    if nominated.mode != NO_FIT and nominated.level == 0:
        earlier.stop_borrowing(head.queue)
    return plan
