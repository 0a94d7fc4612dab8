"""Who stays, and why: everybody within reach is a victim or is named once, and what is said of it is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings

from reprieve.configuration import configure
from reprieve.engine import reasons
from reprieve.engine.plan import Plan, Spared
from reprieve.engine.preemption import decide
from reprieve.engine.quota_tree import QuotaNode
from reprieve.manifests.loading import load_objects
from reprieve.policies.quota.assignments import NO_FIT
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import PendingWorkload, Terms
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World
from tests.builders.quota import flavor, queue, workload
from tests.generators.quota import RandomQuota, random_quotas

Dict = dict[str, Any]
VALIDATED = {"validate": True}
CPU4 = {"default": {"cpu": 4}}
NO_CPU = {"default": {"cpu": 0}}


def policy_over(objects: list[Dict], config: Dict) -> QuotaPolicy:
    return QuotaPolicy(QuotaWorld(World(load_objects(objects).objects), configure({**config, **VALIDATED})))


def singles(policy: QuotaPolicy) -> Iterator[Plan]:
    """What each workload that waits is told if it is alone."""
    for waiting in policy.quota.waiting.values():
        yield from (decide(policy, PendingWorkload(facts), 0) for facts in waiting)


def admitted(policy: QuotaPolicy, made: Plan) -> dict[str, WorkloadFacts]:
    """Everybody within reach: who has quota in the same tree."""
    root = made.terms.queue.root
    queues = policy.quota.admitted.values()
    return {
        facts.unit: facts for workloads in queues for facts in workloads if facts.queue and facts.queue.root is root
    }


@given(random_quotas())
def test_everybody_in_the_tree_is_a_victim_or_is_named_once(world: RandomQuota) -> None:
    policy = policy_over(world.objects, world.config)
    for made in (*singles(policy), *cycle(policy)):
        if made.outcome != "Fits":
            named = [victim.unit for victim in made.victims] + [item.unit for item in made.details.spared]
            assert sorted(named) == sorted(admitted(policy, made))


@given(random_quotas())
def test_what_is_said_of_those_who_stay_is_true(world: RandomQuota) -> None:
    policy = policy_over(world.objects, world.config)
    nodes = {node.name: node for queue in policy.quota.queues.values() for node in (queue, *queue.path())}
    for made in singles(policy):
        everybody = admitted(policy, made)
        if made.outcome == "Unschedulable" and may_be_smaller(world, made.preemptor):
            continue  # what is said of others is about its least size; the plan is about it whole
        for item in made.details.spared:
            assert holds(made, item, everybody[item.unit], nodes, fair=bool(world.config)), item


def may_be_smaller(world: RandomQuota, unit: str) -> bool:
    item = next(
        item for item in world.objects if item["kind"] == "Workload" and unit.endswith(item["metadata"]["name"])
    )
    return any("minCount" in pod_set for pod_set in item["spec"]["podSets"])


def holds(made: Plan, item: Spared, facts: WorkloadFacts, nodes: dict[str, QuotaNode], *, fair: bool) -> bool:
    terms: Terms = made.terms
    contested = terms.assignment.demand.contested
    match item.reason:
        case reasons.NotContested():
            return not contested & facts.usage.keys()
        case reasons.NotReached(policy, _, priority, above):
            return policy == "Never" or (policy != "Any" and priority >= above)
        case reasons.WithinQuota(name, others_gone):
            within = all(nodes[name].used(key) <= nodes[name].cell(key).quota for key in contested)
            return within or others_gone if fair else within != others_gone
        case reasons.Leaving():
            return facts.evicted and item.unit in made.waiting_for
        case reasons.NoFlavor():
            return terms.assignment.mode == NO_FIT
        case reasons.NotEnough():
            return made.outcome == "Unschedulable"
        case reasons.NobodyAsked():
            return made.outcome == "Wait"
        case reasons.Reprieved():
            return made.outcome in ("Preempt", "Fits")
        case reasons.NotWhileBorrowing() | reasons.NoLargerShare():
            return facts.queue is not terms.queue
        case _:
            return False


@given(random_quotas())
@settings(max_examples=60)
def test_whoever_the_policy_does_not_reach_is_told_something_else_once_its_priority_is_low(world: RandomQuota) -> None:
    for made in list(singles(policy_over(world.objects, world.config)))[:2]:
        for item in made.details.spared[:4]:
            if isinstance(item.reason, reasons.NotReached) and item.reason.policy != "Never":
                policy = policy_over([lowered(each, item.unit) for each in world.objects], world.config)
                again = next(other for other in singles(policy) if other.preemptor == made.preemptor)
                said = [other.reason for other in again.details.spared if other.unit == item.unit]
                assert not any(isinstance(reason, reasons.NotReached) for reason in said)


def lowered(item: Dict, unit: str) -> Dict:
    if item["kind"] != "Workload" or not unit.endswith("/" + item["metadata"]["name"]):
        return item
    return {**item, "spec": {**item["spec"], "priority": -1000}}


# What rules say that depend on what had gone by then


def told(*objects: Dict, config: Dict | None = None) -> list[dict[str, reasons.Reason]]:
    policy = policy_over([flavor(), *objects], config or {})
    return [{item.unit.rpartition("/")[2]: item.reason for item in made.details.spared} for made in cycle(policy)]


def test_a_queue_that_has_given_enough_is_told_to_be_within_its_quota_then() -> None:
    (said,) = told(
        *queue("a", {"default": {"cpu": 6}}, cohort="all", reclaim="Any"),
        *queue("b", {"default": {"cpu": 2}}, cohort="all"),
        *queue("c", NO_CPU, cohort="all"),
        workload("first", "b", on="default", cpu=2, priority=-2),
        workload("second", "b", on="default", cpu=2, priority=-1),
        workload("guest", "c", on="default", cpu=4),
        workload("p", "a", cpu=4),
    )
    assert said == {"second": reasons.WithinQuota("b", others_gone=True), "first": reasons.Reprieved()}


def test_a_preemptor_that_borrows_is_told_whom_it_may_not_ask_then() -> None:
    (said,) = told(
        *queue("a", CPU4, cohort="all", reclaim="Any", within="LowerPriority"),
        *queue("b", NO_CPU, cohort="all"),
        workload("own", "a", on="default", cpu=4, priority=9),
        workload("guest", "b", on="default", cpu=1, reserved="2026-01-01T11:00:00Z"),
        workload("p", "a", cpu=2, priority=5),
    )
    assert said == {"own": reasons.NotReached("LowerPriority", "a", 9, 5), "guest": reasons.NotWhileBorrowing("a", 0)}


def test_shares_protect_whoever_would_be_left_with_the_smaller_one() -> None:
    queues = [item for name in "ab" for item in queue(name, {"default": {"cpu": 3}}, cohort="all", reclaim="Any")]
    sharing = {"enable": True, "preemptionStrategies": ["LessThanOrEqualToFinalShare"]}
    large = workload("large", "b", on="default", cpu=6)
    (said,) = told(*queues, large, workload("p", "a", cpu=5), config={"fairSharing": sharing})
    assert said == {"large": reasons.NoLargerShare("b", "a", without_it=True)}


TWO_RECLAIM = [
    *(item for name in "ab" for item in queue(name, CPU4, cohort="all", reclaim="Any")),
    *queue("c", NO_CPU, cohort="all"),
    workload("first", "a", cpu=4, priority=5),
    workload("second", "b", cpu=4, priority=4),
]


def test_whoever_makes_way_for_an_earlier_head_is_nobody_s_candidate_any_more() -> None:
    guests = [workload(f"guest-{number}", "c", on="default", cpu=4) for number in range(2)]
    first, second = told(*TWO_RECLAIM, *guests)
    assert (first, second) == ({"guest-1": reasons.Reprieved()}, {"guest-0": reasons.Claimed()})


def test_a_head_for_whom_the_victims_of_others_are_enough_asks_nobody() -> None:
    first, second = told(*TWO_RECLAIM, workload("guest", "c", on="default", cpu=8))
    assert (first, second) == ({}, {"guest": reasons.NobodyAsked("Turn")})
