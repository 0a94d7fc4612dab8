"""Preemption between bindings: the trigger, the gap, who makes way, in which cluster, and how it is told."""

from __future__ import annotations

import msgspec
import pytest

from reprieve.engine.plan import Plan, StalePlan
from reprieve.manifests.karmada import POLICY_ANNOTATION
from reprieve.manifests.loading import load_objects
from reprieve.planning.result import Decision, decision
from tests.builders.pods import Dict, priority_class
from tests.generators.federations import (
    DUPLICATED,
    asked,
    binding,
    cluster,
    decided,
    policy_of,
    propagation_policy,
    weighted,
)

HIGH = binding("high", priority=10, cpu="5")


def decide(*objects: Dict, name: str = "high", gates: dict[str, bool] | None = None) -> Plan:
    return decided(policy_of(*objects, gates=gates), name)


def units(made: Plan) -> list[str]:
    return [victim.unit.rpartition("/")[2] for victim in made.victims]


def on(name: str, priority: int, cpu: str, where: str = "m1", **more: object) -> Dict:
    return binding(name, priority=priority, cpu=cpu, on={where: 1}, **more)  # type: ignore[arg-type]


GATE = "PriorityBasedPreemptiveScheduling"


# The trigger


@pytest.mark.parametrize(
    ("preemptor", "gates", "want"),
    [
        (HIGH, {}, f"the feature gate {GATE} is off (--feature-gates {GATE}=true turns it on)"),
        (binding("high", priority=10, policy="Never", cpu="5"), None, "its preemption policy is Never"),
        (binding("high", priority=10, policy=None, cpu="5"), None, "its preemption policy is Never"),
    ],
)
def test_a_binding_that_may_not_preempt_stays_pending(preemptor: Dict, gates: dict[str, bool], want: str) -> None:
    made = decide(cluster(used="10"), on("low", 0, "5"), preemptor, gates=gates)
    assert (made.outcome, made.victims) == ("Unschedulable", [])
    assert want in made.message
    assert decision(made).obstacles == {"m1": "insufficient resources: it is short of 5 cpu for 1 replica"}


def of_karmada() -> list[Dict]:
    """A binding as a real Karmada has it, whose API has a field for the priority only, and the policy that made it."""
    high = binding("high", priority=10, policy=None, cpu="5")
    high["metadata"]["annotations"] = {POLICY_ANNOTATION: "urgent"}
    policy = propagation_policy("urgent", source="KubePriorityClass", class_name="urgent")
    policy["metadata"]["namespace"] = "default"
    return [high, policy]


@pytest.mark.parametrize(
    ("said", "gates", "victims"),
    [
        ("PreemptLowerPriority", None, ["low"]),
        ("Never", None, []),
        ("PreemptLowerPriority", {"PriorityBasedPreemptiveScheduling": True}, []),
    ],
)
def test_whether_it_preempts_is_looked_up_where_its_priority_alone_is_carried(
    said: str, gates: dict[str, bool] | None, victims: list[str]
) -> None:
    """Its priority stays the one that it carries."""
    urgent = {**priority_class("urgent", -5), "preemptionPolicy": said}
    world = policy_of(cluster(used="10"), on("low", 0, "5"), *of_karmada(), urgent, gates=gates)
    assert units(decided(world, "high")) == victims
    assert asked(world, "high").priority == 10


def test_a_class_that_changes_changes_whether_it_preempts() -> None:
    world = policy_of(cluster(used="10"), on("low", 0, "5"), *of_karmada())
    assert units(decided(world, "high")) == []
    (urgent,) = load_objects([priority_class("urgent", 10)]).objects
    world.world.put(urgent)
    assert units(decided(world, "high")) == ["low"]


def test_a_cluster_scoped_binding_neither_preempts_nor_makes_way() -> None:
    scoped = binding("high", kind="ClusterResourceBinding", priority=10, cpu="5")
    policy = policy_of(cluster(used="10"), on("low", 0, "5"), scoped)
    made = decided(policy, "high", "ClusterResourceBinding")
    assert made.message.endswith("cluster-scoped bindings do not preempt.")
    low = binding("low", kind="ClusterResourceBinding", priority=0, cpu="5", on={"m1": 1})
    assert decision(decide(cluster(used="10"), low, HIGH)).spared[0]["rule"] == "ClusterScoped"


def test_room_in_a_later_affinity_group_comes_before_preemption_in_an_earlier_one() -> None:
    groups = [{"affinityName": name, "clusterNames": [name]} for name in ("m1", "m2")]
    high = binding("high", priority=10, cpu="5", placement={"clusterAffinities": groups})
    full, empty = cluster("m1", used="10"), cluster("m2")
    assert decide(full, empty, on("low", 0, "5"), high).domain == "m2"
    made = decide(full, cluster("m2", used="10"), on("low", 0, "5"), on("low2", 0, "5", "m2"), high)
    assert (made.outcome, made.domain) == ("Preempt", "m1")


# Who makes way


def test_one_that_covers_the_gap_goes_alone_although_lower_ones_stay() -> None:
    made = decide(cluster(used="10"), on("a", 0, "1"), on("b", 1, "2"), on("c", 2, "5"), on("d", 3, "2"), HIGH)
    assert units(made) == ["c"]
    answer = decision(made)
    rules = {item["unit"].rpartition("/")[2]: item["rule"] for item in answer.spared}
    assert rules == {"a": "Reprieved", "b": "Reprieved", "d": "Reprieved"}
    assert answer.message == (
        "ResourceBinding/default/c makes way for ResourceBinding/default/high in m1, which is short of 5 cpu."
    )


def test_they_accumulate_from_the_lowest_up_and_stop_when_it_is_enough() -> None:
    assert units(decide(cluster(used="10"), on("a", 0, "3"), on("b", 1, "2"), on("c", 2, "5"), HIGH)) == ["a", "b"]


def test_who_holds_nothing_of_what_is_missing_is_left_alone() -> None:
    idle = binding("idle", priority=-5, memory="1Gi", on={"m1": 1})
    made = decide(cluster(used="10"), idle, on("a", 0, "3"), on("b", 1, "3"), HIGH)
    assert units(made) == ["a", "b"]
    assert [item["rule"] for item in decision(made).spared] == ["NotContested"]


def test_another_schedulers_bindings_are_never_touched() -> None:
    other = on("other", 0, "5", spec={"schedulerName": "gpu-scheduler"})
    made = decide(cluster(used="10"), other, HIGH)
    assert made.outcome == "Unschedulable"
    answer = decision(made)
    assert answer.spared[0]["rule"] == "OtherScheduler"
    assert (
        answer.spared[0]["message"]
        == "gpu-scheduler has placed it, and default-scheduler does not preempt what others placed"
    )
    assert answer.obstacles == {
        "m1": "insufficient resources: it is short of 5 cpu for 1 replica, and no binding there may be preempted"
    }


def test_two_schedulers_cannot_preempt_in_circles() -> None:
    """Each is stronger than what the other has placed, and still neither moves."""
    theirs = {"schedulerName": "b"}
    ours = [cluster(used="10"), on("mine", 0, "5"), on("yours", 0, "5", spec=theirs)]
    waiting = [binding("high", priority=10, cpu="6"), binding("rival", priority=10, cpu="6", spec=theirs)]
    for name in ("high", "rival"):
        assert decide(*ours, *waiting, name=name).outcome == "Unschedulable"


def test_a_cluster_that_uses_more_than_it_has_needs_the_difference_too() -> None:
    made = decide(cluster(used="12"), on("a", 0, "5"), on("b", 1, "2"), HIGH)
    assert units(made) == ["a", "b"]


# Which cluster


def test_every_cluster_tells_what_it_would_have_cost() -> None:
    full = [cluster("m1", used="10"), cluster("m2", used="10"), cluster("m3", used="10", ready=False)]
    made = decide(*full, on("a", 0, "3"), on("b", 0, "3"), on("c", 0, "5", "m2"), on("d", 0, "5", "m3"), HIGH)
    answer = decision(made)
    assert (answer.domain, answer.criterion) == ("m2", "FewestVictims")
    assert {name: len(cost["victims"]) for name, cost in answer.candidates.items()} == {"m1": 2, "m2": 1}
    assert answer.obstacles == {"m3": "not ready"}
    assert {item["rule"] for item in answer.spared} == {"CheaperElsewhere"}


def test_the_room_of_other_clusters_counts_and_only_the_rest_is_freed() -> None:
    high = binding("high", priority=10, cpu="2", replicas=4)
    made = decide(cluster("m1", used="6"), cluster("m2", used="8"), on("a", 0, "2"), on("b", 0, "4", "m2"), high)
    assert (made.domain, units(made), made.terms.division) == ("m1", ["a"], {"m1": 3, "m2": 1})
    assert made.placement == {"ResourceBinding/default/high": "m1=3,m2=1"}


def test_where_no_cluster_alone_can_be_freed_enough_several_are() -> None:
    high = binding("high", priority=10, cpu="4", replicas=4)
    lows = [on(f"{where}-{name}", 0, "5", where) for where in ("m1", "m2") for name in "ab"]
    made = decide(cluster("m1", used="10"), cluster("m2", used="10"), *lows, high)
    assert (made.outcome, len(made.victims), made.terms.division) == ("Preempt", 4, {"m1": 2, "m2": 2})


def test_duplicated_replicas_and_static_weights_need_each_of_their_clusters() -> None:
    full = [cluster("m1", used="10"), cluster("m2", used="10"), on("a", 0, "5"), on("b", 0, "5", "m2")]
    everywhere = binding("high", priority=10, cpu="5", scheduling=DUPLICATED)
    assert units(decide(*full, everywhere)) == ["a", "b"]
    parts = binding("high", priority=10, cpu="2", replicas=3, scheduling=weighted(("m1", 2), ("m2", 1)))
    made = decide(*full, parts)
    assert (units(made), made.terms.division) == (["a", "b"], {"m1": 2, "m2": 1})
    assert decide(*full[:3], everywhere).outcome == "Unschedulable"


def test_preemption_that_would_break_a_spread_constraint_helps_nobody() -> None:
    spread = [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]
    high = binding("high", priority=10, cpu="5", replicas=2, spread=spread)
    assert decide(cluster("m1", used="5"), on("low", 0, "5"), high).outcome == "Unschedulable"
    both = decide(cluster("m1", used="5"), cluster("m2", used="10"), on("low", 0, "5", "m2"), high)
    assert (units(both), both.terms.division) == (["low"], {"m1": 1, "m2": 1})


# Victims that leave


def leaving_m1(still: int, **fields: object) -> Dict:
    """A binding that was told to leave m1, where so many of its replicas still run."""
    lost = {"type": "Scheduled", "status": "False", "reason": "Preempted"}
    task = {"fromCluster": "m1", "replicas": still, "reason": "Preempted"}
    spec, status = {"gracefulEvictionTasks": [task]}, {"conditions": [lost]}
    return binding("low", priority=0, spec=spec, status=status, **fields)  # type: ignore[arg-type]


def test_a_victim_that_still_leaves_is_waited_for_and_waits_again_itself() -> None:
    low = leaving_m1(2, replicas=4, on={"m2": 2}, cpu="3")
    policy = policy_of(cluster("m1", used="10"), cluster("m2", used="6"), low, HIGH)
    made = decided(policy, "high")
    assert (made.outcome, made.waiting_for) == ("Wait", ["ResourceBinding/default/low"])
    assert [facts.binding.name for facts in policy.pending()] == ["high", "low"]


def test_a_duplicated_victim_comes_back_to_the_cluster_it_lost() -> None:
    low = leaving_m1(1, on={"m2": 1}, cpu="5", scheduling=DUPLICATED)
    policy = policy_of(cluster("m1", used="5"), cluster("m2", used="5"), low, HIGH)
    made = decided(policy, "low")
    assert (made.outcome, made.terms.division) == ("Fits", {"m1": 1})
    policy.commit(made)
    assert not asked(policy, "low").pending


# A cycle


def test_in_a_cycle_later_ones_see_what_earlier_ones_got_and_freed() -> None:
    waiting = [binding(f"w{rank}", priority=rank, cpu="4") for rank in (9, 8, 7)]
    policy = policy_of(cluster(used="6"), on("low", 0, "6"), *waiting)
    outcomes = []
    for facts in policy.pending():
        made = decided(policy, facts.binding.name)
        outcomes.append((facts.binding.name, made.outcome, units(made)))
        policy.commit(made)
    assert outcomes == [("w9", "Fits", []), ("w8", "Preempt", ["low"]), ("w7", "Unschedulable", [])]


def test_details_of_a_plan_are_stale_after_the_world_moved_on() -> None:
    policy = policy_of(cluster(used="10"), on("low", 0, "5"), HIGH)
    made = decided(policy, "high")
    policy.commit(made)
    with pytest.raises(StalePlan):
        decision(made)


def test_a_cluster_that_reports_anew_is_believed() -> None:
    policy = policy_of(cluster(), HIGH)
    policy.commit(decided(policy, "high"))
    assert policy.federation.free["m1"].of("cpu") == 5_000
    known = policy.federation.clusters["m1"]
    policy.world.put(
        msgspec.structs.replace(known, metadata=msgspec.structs.replace(known.metadata, labels={"a": "b"}))
    )
    policy.federation.refresh()
    assert policy.federation.free["m1"].of("cpu") == 5_000, "it was written anew, and says the same"
    (reported,) = load_objects([cluster(used="6")]).objects
    policy.world.put(reported)
    policy.federation.refresh()
    assert policy.federation.free["m1"].of("cpu") == 4_000


def test_decisions_say_all_they_know() -> None:
    made: Decision = decision(decide(cluster(used="10"), on("low", 0, "5"), HIGH))
    assert made.policy == "federation"
    assert made.victims[0]["reason"] == "LowerPriority"
