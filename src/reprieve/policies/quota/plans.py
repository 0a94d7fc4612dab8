"""What the quota policy decided, as plans: victims with the right by which they go, and why everybody else stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import takewhile

from reprieve import texts
from reprieve.engine.plan import Cost, Details, Outcome, Plan, Spared, StalePlan, Victim
from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.engine.reasons import (
    NotContested,
    NotEnough,
    QueueClosed,
    QueuePolicy,
    QuotaTaken,
    Reason,
    Reprieved,
    WithinQuota,
)
from reprieve.policies.quota.annotations import ends
from reprieve.policies.quota.candidates import satisfies, uses
from reprieve.policies.quota.cycle import Verdict
from reprieve.policies.quota.flavors import FIT, NO_FIT
from reprieve.policies.quota.policy import NAME, Nominee, QuotaPolicy
from reprieve.policies.quota.preemption import Target
from reprieve.policies.quota.workloads import WorkloadFacts


def single(policy: QuotaPolicy, nominee: Nominee) -> Plan:
    """The plan for one workload, as if it were alone in its cycle."""
    if nominee.assignment.mode == FIT:
        return plan(policy, Verdict(nominee, "Fits"))
    until = policy.waits_until(nominee) if nominee.targets else None
    if until is not None:
        return plan(policy, Verdict(nominee, "Wait", texts.may_preempt_from(until)))
    if any(not target.facts.evicted for target in nominee.targets):
        return plan(policy, Verdict(nominee, "Preempt"))
    if nominee.targets:
        return plan(policy, Verdict(nominee, "Wait"))
    return plan(policy, Verdict(nominee, "Unschedulable", nominee.assignment.reason or texts.NOBODY_MAY_GO))


def plan(policy: QuotaPolicy, verdict: Verdict) -> Plan:
    """A verdict with its reasons."""
    nominee = verdict.nominee
    outcome: Outcome = verdict.outcome  # type: ignore[assignment]
    new = [target for target in nominee.targets if not target.facts.evicted] if outcome == "Preempt" else []
    leaving = [target.facts.unit for target in nominee.targets if target.facts.evicted]
    flavors = {flavor for flavor, _ in (nominee.assignment.contested or nominee.assignment.usage)}
    return Plan(
        nominee.facts.unit,
        NAME,
        outcome,
        _message(verdict, new, leaving),
        domain=",".join(sorted(flavors)),
        victims=[
            Victim(target.facts.unit, _reason(nominee, target), ends=ends(target.facts.workload)) for target in new
        ],
        waiting_for=leaving if outcome in ("Preempt", "Wait") else [],
        until=policy.waits_until(nominee) if outcome == "Wait" else None,
        details=_explain(policy, nominee, new),
    )


def whereabouts(facts: WorkloadFacts) -> str:
    """What a workload is doing, in a sentence."""
    queue = facts.queue
    if facts.pending or queue is None:
        return texts.quota_pending(facts.unit, facts.workload.spec.queue_name)
    used = [(*key, queue.used(key), queue.quota(key).nominal) for key in sorted(facts.usage)]
    return texts.quota_whereabouts(facts.unit, queue.name, used, leaving=facts.evicted)


def _reason(nominee: Nominee, target: Target) -> QuotaTaken:
    queue = target.facts.queue.name if target.facts.queue else ""
    return QuotaTaken(target.reason, queue, nominee.queue.name, target.facts.boosted, nominee.facts.boosted)


def _message(verdict: Verdict, new: list[Target], leaving: list[str]) -> str:
    nominee = verdict.nominee
    unit, queue = nominee.facts.unit, nominee.queue.name
    if verdict.outcome == "Fits":
        return texts.quota_fits(unit, queue, _flavors(nominee))
    if verdict.outcome == "Preempt":
        return texts.quota_preempts(unit, queue, [target.facts.unit for target in new], _takings(nominee, new))
    if verdict.outcome == "Wait" and not verdict.reason:
        return texts.waits_for_victims(unit, queue, leaving)
    return texts.quota_refused(unit, queue, verdict.reason)


def _flavors(nominee: Nominee) -> str:
    chosen = {
        f"{resource} on {item.flavor}"
        for group in nominee.assignment.pod_sets
        for resource, item in group.flavors.items()
    }
    return ", ".join(sorted(chosen))


def _takings(nominee: Nominee, new: Iterable[Target]) -> list[str]:
    """What is taken from each other queue of what it borrows, and what it is left with."""
    taken: dict[str, tuple[QuotaNode, dict[FlavorResource, int]]] = {}
    for target in new:
        queue = target.facts.queue
        if queue is not None and queue is not nominee.queue:
            amounts = taken.setdefault(queue.name, (queue, {}))[1]
            for key in nominee.assignment.contested:
                amounts[key] = amounts.get(key, 0) + target.facts.usage.get(key, 0)
    return [
        texts.taken_from(name, key[1], amount, queue.used(key), queue.quota(key).nominal)
        for name, (queue, amounts) in taken.items()
        for key, amount in sorted(amounts.items())
        if amount
    ]


def _explain(policy: QuotaPolicy, nominee: Nominee, new: list[Target]) -> Callable[[], Details]:
    return partial(_details, policy, nominee, new, policy.quota.world.version)


def _details(policy: QuotaPolicy, nominee: Nominee, new: list[Target], version: int) -> Details:
    if policy.quota.world.version != version:
        raise StalePlan(f"the world has moved on since the plan for {nominee.facts.unit} was made")
    if nominee.assignment.mode == NO_FIT:
        return Details()  # nobody was looked at: no flavor could ever hold it
    flavors = ",".join(sorted({flavor for flavor, _ in nominee.assignment.contested}))
    costs = {flavors: Cost([target.facts.unit for target in new])} if new else {}
    gone = {target.facts.key for target in nominee.targets}
    spared = [
        Spared(facts.unit, _why(policy, nominee, facts), facts.queue.name if facts.queue else "")
        for workloads in policy.quota.admitted.values()
        for facts in workloads
        if facts.key not in gone and facts.queue is not None and facts.queue.root is nominee.queue.root
    ]
    return Details(costs, spared, {})


def _why(policy: QuotaPolicy, nominee: Nominee, facts: WorkloadFacts) -> Reason:
    """The first rule that spares an admitted workload."""
    contested = nominee.assignment.contested
    if facts.queue is None or not uses(facts, contested):
        return NotContested()
    if facts.queue.name in policy.quota.closed:
        return QueueClosed(facts.queue.name)
    preemption = policy.quota.specs[nominee.queue.name].preemption
    own = facts.queue is nominee.queue
    rule = preemption.within_cluster_queue if own else preemption.reclaim_within_cohort
    if not satisfies(rule, nominee.facts, facts):
        return QueuePolicy(rule or "Never", facts.queue.name, facts.boosted, nominee.facts.boosted)
    shared = {id(node) for node in (nominee.queue, *nominee.queue.path())}
    for node in takewhile(lambda node: id(node) not in shared, (facts.queue, *facts.queue.path())):
        if node.within(contested):
            return WithinQuota(node.name)
    return Reprieved() if nominee.targets else NotEnough()
