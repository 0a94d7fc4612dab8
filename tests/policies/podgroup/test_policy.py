"""KEP-5710 point by point: units, priorities and the algorithm, each in the smallest cluster that shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reprieve.engine.nodes import second_thoughts
from reprieve.engine.nodes.second_thoughts import SecondThoughts
from tests.builders.pods import budget, in_workload, node, pod, pod_group, priority_class, workload
from tests.generators.groups import avoiding
from tests.policies.podgroup.gangs import (
    JOB,
    WORKLOAD_JOB,
    decide,
    gang,
    nodes,
    places,
    running,
    victims,
    workload_gang,
)

Dict = dict[str, Any]
PIN = "kubernetes.io/hostname"


# Units


@pytest.mark.parametrize(("mode", "want"), [("PodGroup", ["a", "b"]), ("Pod", ["a"]), (None, ["a"])])
def test_a_workload_says_whether_its_pods_go_together(mode: str | None, want: list[str]) -> None:
    team = workload("team", gang=2, mode=mode, priorityClassName="low")
    pods = [running("a", "n1", spec=in_workload("team")), running("b", "n2", spec=in_workload("team"))]
    pin = {"nodeSelector": {PIN: "n1"}}
    assert victims(decide(nodes(2), team, pods, gang(1, spec=pin))) == want


@pytest.mark.parametrize(("whole", "want"), [(True, ["a", "b"]), (False, ["a"])])
def test_a_pod_group_says_whether_its_pods_go_together(whole: bool, want: list[str]) -> None:
    team = pod_group("team", gang=2, whole=whole, priority=10)
    pods = [running("a", "n1", group="team"), running("b", "n2", group="team")]
    assert victims(decide(nodes(2), team, pods, gang(1, spec={"nodeSelector": {PIN: "n1"}}))) == want


def test_only_the_replica_in_the_way_goes_but_all_of_it() -> None:
    team = workload("team", gang=2, mode="PodGroup", priorityClassName="low")
    pods = [
        running(f"{replica}-{where}", where, cpu="2", spec=in_workload("team", replica))
        for replica, where in (("r0", "n1"), ("r0", "n2"), ("r1", "n3"), ("r1", "n4"))
    ]
    single = pod("p", priority=100, cpu="4", spec={"nodeSelector": {PIN: "n1"}})
    assert victims(decide(nodes(4), team, pods, single, preemptor="Pod/default/p")) == ["r0-n1", "r0-n2"]


def test_a_member_on_an_unknown_node_goes_with_its_group() -> None:
    team = pod_group("team", gang=2, whole=True, priority=10)
    pods = [running("a", "n1", group="team"), running("lost", "nowhere", group="team")]
    assert victims(decide(nodes(1), team, pods, gang(1))) == ["a", "lost"]


def test_the_topmost_group_that_goes_as_a_whole_is_the_unit() -> None:
    tree = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "tree", "namespace": "default"},
        "spec": {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}, "priority": 20},
    }
    teams = [pod_group(name, priority=10, parentCompositePodGroupName="tree") for name in ("left", "right")]
    pods = [running("a", "n1", group="left"), running("b", "n2", group="right")]
    decision = decide(nodes(2), tree, teams, pods, gang(1))
    assert victims(decision) == ["a", "b"]
    assert {victim["group"] for victim in decision.victims} == {"CompositePodGroup/default/tree"}
    without = decide(nodes(2), tree, teams, pods, gang(1), gates={"GenericWorkload": True})
    assert len(without.victims) == 1


def test_without_the_gate_pods_stand_for_themselves() -> None:
    team = pod_group("team", gang=2, whole=True, priority=1000)
    pods = [running("a", "n1", group="team"), running("b", "n2", group="team")]
    preemptor = pod("p", priority=100, cpu="4", spec={"nodeSelector": {PIN: "n1"}})
    assert victims(decide(nodes(2), team, pods, preemptor, preemptor="Pod/default/p", gates={})) == ["a"]


# Priorities


@pytest.mark.parametrize(
    ("priority_class", "preemption_class", "own", "want"),
    [
        ("low", None, 1000, "Preempt"),  # what the pods say does not count
        ("high", None, 0, "Unschedulable"),  # equal is not lower
        ("low", "high", 0, "Unschedulable"),  # protected by its preemption priority
        ("low", "middle", 0, "Preempt"),
        ("middle", "low", 0, "Preempt"),  # never easier to preempt than its own priority
        (None, None, 1000, "Preempt"),  # neither: 0
    ],
)
def test_the_workload_says_what_it_takes_to_preempt_it(
    priority_class: str | None, preemption_class: str | None, own: int, want: str
) -> None:
    classes = {"priorityClassName": priority_class, "preemptionPriorityClassName": preemption_class}
    team = workload("team", gang=1, **{key: name for key, name in classes.items() if name})
    assert decide(nodes(1), team, running("a", "n1", own, spec=in_workload("team")), gang(1)).outcome == want


def test_a_workload_without_a_class_has_the_global_default() -> None:
    default = priority_class("default", 500, default=True)
    waiting = [workload("job", gang=1), pod("job-1", cpu="4", spec=in_workload("job"))]
    assert decide(nodes(1), default, running("a", "n1", 499), waiting, preemptor=WORKLOAD_JOB).outcome == "Preempt"
    team = [workload("team", gang=1), running("a", "n1", 0, spec=in_workload("team"))]
    assert decide(nodes(1), default, team, gang(1)).outcome == "Unschedulable"


# The algorithm


def test_a_group_of_either_shape_takes_pods_and_groups() -> None:
    team = pod_group("team", gang=2, whole=True, priority=10)
    others = [running("a", "n1", group="team"), running("b", "n2", group="team"), running("c", "n3")]
    for waiting, name in ((gang(3), JOB), (workload_gang(3), WORKLOAD_JOB)):
        decision = decide(nodes(3), team, others, waiting, preemptor=name)
        assert victims(decision) == ["a", "b", "c"]
        assert sorted(places(decision).values()) == ["n1", "n2", "n3"]


def test_nobody_makes_way_for_a_part_of_a_gang() -> None:
    others = [running("a", "n1"), running("b", "n2"), running("c", "n3", 1000)]
    decision = decide(nodes(3), others, gang(3))
    assert (decision.outcome, decision.victims) == ("Unschedulable", [])
    assert "2 of the 3 pods it needs would fit" in decision.message
    assert "8 of the 12 cpu needed" in decision.message


def test_a_shortage_counts_what_only_some_members_ask_for() -> None:
    group, *members = gang(2, cpu="1")
    members[1]["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "2"
    hosts = [node("n1", requests={"example.com/gpu": "1"})]
    decision = decide(hosts, running("a", "n1", cpu="3"), group, members)
    assert "Pod/default/job-2 needs 2 example.com/gpu; the largest node, n1, has 1: it can never" in decision.message

    hosts = [node("n1", requests={"example.com/gpu": "2"})]
    holder = running("a", "n1", 1000, cpu="1")
    holder["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
    assert "1 of the 2 example.com/gpu needed" in decide(hosts, holder, group, members).message


def test_less_than_the_whole_gang_is_enough_and_the_rest_comes_where_it_lawfully_can() -> None:
    others = [running("a", "n1"), running("b", "n2"), running("c", "n3", 1000)]
    decision = decide(nodes(3), others, gang(3, least=1))
    assert victims(decision) == ["a", "b"]
    assert len(decision.placement) == 2


def test_pods_above_min_count_cost_nobody_of_higher_priority_than_those_below_it() -> None:
    others = [running("a", "n1"), running("b", "n2", 50), running("c", "n3")]
    decision = decide(nodes(3), others, gang(3, least=1))
    assert victims(decision) == ["a", "c"]


def test_pods_above_min_count_break_no_budget() -> None:
    others = [running("a", "n1"), running("b", "n2", labels={"app": "web"})]
    decision = decide(nodes(2), others, gang(2, least=1), [budget("web", {"app": "web"}, allowed=0)])
    assert victims(decision) == ["a"]
    assert victims(decide(nodes(2), others, gang(2, least=2), [budget("web", {"app": "web"}, allowed=0)])) == ["a", "b"]


def test_without_a_gang_no_pod_is_optional() -> None:
    others = [running("a", "n1"), running("b", "n2", 50)]
    each = gang(2)
    each[0]["spec"]["schedulingPolicy"] = {"basic": {}}
    assert victims(decide(nodes(2), others, each)) == ["a", "b"]


def test_pods_that_come_later_cost_no_more_than_if_all_had_come_at_once() -> None:
    """The hold on a pod that has its place remembers who made way; without one, nobody did."""
    others = [running("b", "n2"), running("c", "n3", 50)]
    group, first, second = gang(2, least=1)
    first["spec"]["nodeName"] = "n1"
    assert decide(nodes(3), others, group, first, second).outcome == "Unschedulable"
    hold = {"preemptor": JOB, "limit": 10}
    first["metadata"]["annotations"] = {"reprieve.scheduling/hold": json.dumps(hold)}
    assert victims(decide(nodes(3), others, group, first, second)) == ["b"]
    decision = decide(nodes(3), others[1:], running("d", "n2", 50), group, first, second)
    assert (decision.outcome, victims(decision)) == ("Unschedulable", [])
    assert "1 more pod waits for free room" in decision.message
    kept = [running("b", "n2", labels={"app": "web"}), budget("web", {"app": "web"}, allowed=0)]
    assert decide(nodes(2), kept, group, first, second).outcome == "Unschedulable"


def test_a_gang_that_reaches_min_count_without_victims_takes_none() -> None:
    decision = decide(nodes(3), [running("a", "n1"), running("b", "n2")], gang(3, least=1))
    assert (decision.outcome, places(decision)) == ("Fits", {"job-1": "n3"})


def test_low_units_go_first_wherever_they_run() -> None:
    others = [running("a", "n1", 50), running("b", "n2", 10), running("c", "n3", 20), running("d", "n4", 90)]
    assert victims(decide(nodes(4), others, gang(2))) == ["b", "c"]


def test_a_pod_that_could_go_anywhere_does_not_push_another_up_to_higher_victims() -> None:
    """Placed one after the other by cost alone, `job-1` would take n1 and leave only n3 to `job-2`."""
    hosts = [node("n1", labels={"one": "", "two": ""}), node("n2", labels={"one": ""}), node("n3", labels={"two": ""})]
    others = [running("a", "n1"), running("b", "n2"), running("c", "n3", 90)]
    group, *members = gang(2)
    for member, pool in zip(members, ("one", "two"), strict=True):
        member["spec"]["nodeSelector"] = {pool: ""}
    assert victims(decide(hosts, others, group, members)) == ["a", "b"]


def test_as_many_units_go_as_one_pod_takes() -> None:
    others = [running(name, "n1", priority, "1") for name, priority in zip("abcd", (40, 30, 20, 10), strict=True)]
    assert victims(decide(nodes(1), others, gang(1, cpu="3"))) == ["b", "c", "d"]


def test_budgets_come_before_priorities() -> None:
    covered = running("a", "n1", 10, labels={"app": "web"})
    others = [covered, running("b", "n2", 50), budget("web", {"app": "web"}, allowed=0)]
    decision = decide(nodes(2), others, gang(1))
    assert victims(decision) == ["b"]
    assert {item["unit"]: item["rule"] for item in decision.spared} == {"Pod/default/a": "DisruptionBudget"}


def test_a_budget_is_broken_where_there_is_no_other_way_unless_it_is_respected() -> None:
    others = [running("a", "n1", labels={"app": "web"}), budget("web", {"app": "web"}, allowed=0)]
    decision = decide(nodes(1), others, gang(1))
    assert [(victim["unit"], victim["pdbViolation"]) for victim in decision.victims] == [("Pod/default/a", True)]
    assert decide(nodes(1), others, gang(1), pdb="Respect").outcome == "Unschedulable"


def test_respecting_budgets_means_looking_elsewhere() -> None:
    web: Dict = {"labels": {"app": "web"}}
    others = [
        running("a", "n1", 10, **web),
        running("b", "n2", 20, **web),
        running("c", "n3", 50),
        budget("web", {"app": "web"}, allowed=1),
    ]
    assert victims(decide(nodes(3), others, gang(2), pdb="Respect")) == ["b", "c"]


def test_at_equal_priority_the_single_pod_goes_before_the_group_by_the_order_of_the_design() -> None:
    team = pod_group("team", gang=1, whole=True, priority=10)
    others = [running("a", "n1", group="team"), running("b", "n2", started="2026-01-01T01:00:00Z")]
    assert victims(decide(nodes(2), team, others, gang(1), search="Design")) == ["b"]
    assert victims(decide(nodes(2), team, others, gang(1))) == ["a"]  # which loses less work


def test_members_elsewhere_make_a_node_the_dearer_choice_for_a_pod() -> None:
    team = pod_group("team", gang=2, whole=True, priority=10)
    others = [running("a", "n1", group="team"), running("b", "n3", group="team"), running("c", "n2", 10)]
    single = pod("p", priority=100, cpu="4", spec={"nodeSelector": {"pool": "x"}})
    hosts = [node(name, labels={"pool": "x"}) for name in ("n1", "n2")] + [node("n3")]
    decision = decide(hosts, team, others, single, preemptor="Pod/default/p")
    assert victims(decision) == ["c"]
    assert decision.candidates["n1"]["victims"] == ["Pod/default/a", "Pod/default/b"]


def test_who_returns_is_decided_once_all_pods_of_a_node_are_there() -> None:
    """One by one the first pod would spare `l` and the second would then ask `g` and `h` to leave."""
    others = [running("g", "n1", 50, "5"), running("h", "n1", 40, "4"), running("l", "n1", 30, "1")]
    assert victims(decide(nodes(1, requests={"cpu": "10"}), others, gang(2, cpu="3"))) == ["g", "l"]


def test_pods_of_different_shapes_find_room_together() -> None:
    sizes = {"job-1": "1", "job-2": "1", "job-3": "3", "job-4": "3"}
    members = [pod(name, group="job", priority=100, cpu=cpu) for name, cpu in sizes.items()]
    others = [running("a", "n1", cpu="2"), running("b", "n2", cpu="2")]
    decision = decide(nodes(2), others, pod_group("job", gang=4, whole=True, priority=100), members)
    assert victims(decision) == ["a", "b"]
    assert len(decision.placement) == 4


def test_pinned_members_go_where_they_must() -> None:
    group, *members = gang(2)
    members[0]["spec"]["nodeSelector"] = {PIN: "n1"}
    decision = decide(nodes(3), running("a", "n1", 90), running("b", "n2"), running("c", "n3"), group, members)
    assert places(decision)["job-1"] == "n1"
    assert "a" in victims(decision)


def test_members_that_avoid_each_other_take_a_node_each() -> None:
    spec = {"affinity": avoiding({"job": "job"}, PIN)}
    others = [running("a", "n1", cpu="3"), running("b", "n2", cpu="3")]
    decision = decide(nodes(2), others, gang(2, cpu="2", labels={"job": "job"}, spec=spec))
    assert sorted(places(decision).values()) == ["n1", "n2"]
    alone = decide(nodes(1), gang(2, cpu="1", labels={"job": "job"}, spec=spec))
    assert alone.outcome == "Unschedulable"


def test_members_that_hold_the_same_port_take_a_node_each() -> None:
    group, *members = gang(2, cpu="1")
    for member in members:
        member["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    decision = decide(nodes(2), running("a", "n1"), running("b", "n2"), group, members)
    assert victims(decision) == ["a", "b"]
    assert decide(nodes(1), running("a", "n1"), group, members).outcome == "Unschedulable"


def test_somebody_on_another_node_of_the_rack_can_be_what_keeps_a_gang_away() -> None:
    hosts = [node(name, labels={"rack": "a"}) for name in ("n1", "n2")]
    loud = running("loud", "n2", cpu="1", spec={"affinity": avoiding({"job": "job"}, "rack")})
    decision = decide(hosts, loud, gang(1, labels={"job": "job"}))
    assert victims(decision) == ["loud"]


def test_of_a_group_of_more_than_a_thousand_pods_a_few_may_need_a_place() -> None:
    """All others go without: that is gone through one after the other, and not into ever deeper calls."""
    made = decide(nodes(2), gang(1100, least=3, cpu="2600m"))
    assert made.outcome == "Unschedulable"
    assert "2 of the 3 pods it needs would fit" in made.message


def test_a_group_of_many_pods_that_can_hardly_be_packed_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each place that was tried, all that may go without would be looked at again."""
    looks = 0
    look = SecondThoughts._nodes

    def counted(self: SecondThoughts, shape: int, facts: Any) -> Any:
        nonlocal looks
        looks += 1
        return look(self, shape, facts)

    monkeypatch.setattr(SecondThoughts, "_nodes", counted)
    monkeypatch.setattr(second_thoughts, "_LOOKS", 200)
    group, *pods = gang(90, least=12, cpu="2600m")
    for number, item in enumerate(pods):
        item["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{2600 + 37 * number % 500}m"
    assert decide(nodes(11), group, pods).outcome == "Unschedulable"
    assert 0 < looks <= 4 * 200  # it is asked with and without others, for all and for the least
