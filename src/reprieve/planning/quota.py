"""The quota policy's part of a question: forced flavors in, a cycle's verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reprieve.planning.questions import question
from reprieve.planning.result import Decision, decision
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.flavors import Forced
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.workloads import WorkloadFacts


class QuotaCycle(NamedTuple):
    """What one cycle over the heads of all queues decided."""

    decisions: list[Decision]
    admitted: list[str]
    left: list[str]
    order: list[str]
    priorities: dict[str, dict[str, Any]]
    flavors: dict[str, dict[str, dict[str, str]]]
    counts: dict[str, dict[str, int]]


def quota_cycle(policy: QuotaPolicy) -> QuotaCycle:
    waiting = [facts for queue in policy.quota.waiting.values() for facts in queue]
    everyone = [*waiting, *policy.quota.stranded]
    plans = cycle(policy)
    placed = [plan for plan in plans if plan.outcome == "Fits"]
    admitted = [plan.preemptor for plan in placed]
    return QuotaCycle(
        decisions=[decision(plan) for plan in plans],
        admitted=[*admitted],
        left=sorted({facts.unit for facts in everyone} - set(admitted)),
        order=[plan.preemptor for plan in plans],
        priorities=quota_priorities(waiting),
        flavors={plan.preemptor: plan.terms.assignment.chosen() for plan in placed},
        counts={plan.preemptor: plan.terms.assignment.sizes for plan in placed},
    )


def quota_priorities(workloads: Iterable[WorkloadFacts]) -> dict[str, dict[str, Any]]:
    return {facts.unit: {"priority": facts.boosted, "preemptionPolicy": "PreemptLowerPriority"} for facts in workloads}


def forced_flavors(assignment: Mapping[str, Any] | None) -> Forced | None:
    """`{cpu: spot}`, or by pod set `{main: {cpu: {flavor: spot, mode: Preempt}}}`."""
    if not assignment:
        return None
    flavors: dict[tuple[str, str], str] = {}
    preempt = False
    for name, value in assignment.items():
        if isinstance(value, str):
            flavors["", name] = value
            continue
        for resource, item in value.items() if isinstance(value, Mapping) else ():
            chosen = item.get("flavor") if isinstance(item, Mapping) else item
            if not isinstance(chosen, str):
                raise question(f"{resource} of {name} names no flavor", about="assignment")
            flavors[name, resource] = chosen
            preempt = preempt or (isinstance(item, Mapping) and item.get("mode") == "Preempt")
    return Forced(flavors, preempt)
