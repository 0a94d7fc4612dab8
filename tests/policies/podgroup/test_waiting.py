"""Groups that wait: delayed preemption, cycles, refusals, and worlds that do not add up."""

from __future__ import annotations

from typing import Any

import pytest

import reprieve
from reprieve.configuration import Settings
from reprieve.engine import preemption
from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.manifests.core import Node
from reprieve.manifests.loading import load_objects
from reprieve.manifests.pods import Pod
from reprieve.policies.podgroup.groups import Groups
from reprieve.policies.podgroup.policy import PodGroupPolicy
from reprieve.world import World
from tests.builders.pods import in_workload, node, pod, pod_group, priority_class, workload
from tests.policies.podgroup.gangs import (
    CLASSES,
    GATES,
    JOB,
    LEAVING,
    NOW,
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


def leaving(name: str = "leaving", where: str = "n1", priority: int = 10, **fields: Any) -> Dict:
    return running(name, where, priority, deleted="2026-01-01T11:59:30Z", status=LEAVING, **fields)


def nominated(*where: str, **fields: Any) -> list[Dict]:
    group, *members = gang(len(where), **fields)
    return [
        group,
        *({**member, "status": {"nominatedNodeName": name}} for member, name in zip(members, where, strict=True)),
    ]


# Delayed preemption


def test_nothing_new_is_chosen_while_victims_leave() -> None:
    decision = decide(nodes(2), leaving(), running("low", "n2"), nominated("n1"))
    assert (decision.outcome, decision.waiting_for) == ("Wait", ["Pod/default/leaving"])


def test_a_place_that_needs_no_preemption_is_taken_while_waiting() -> None:
    decision = decide(nodes(2), leaving(), nominated("n1"))
    assert (decision.outcome, places(decision)) == ("Fits", {"job-1": "n2"})


def test_a_plan_is_made_anew_when_somebody_higher_has_come() -> None:
    higher = running("higher", "n1", 1000, "2")
    decision = decide(nodes(2), leaving(cpu="2"), higher, running("low", "n2"), nominated("n1"))
    assert (decision.outcome, victims(decision), places(decision)) == ("Preempt", ["low"], {"job-1": "n2"})


def test_a_plan_is_made_anew_when_the_node_can_no_longer_be_reached() -> None:
    hosts = [node("n1", unschedulable=True), node("n2")]
    assert victims(decide(hosts, leaving(), running("low", "n2"), nominated("n1"))) == ["low"]


def test_somebody_lower_who_came_in_between_does_not_take_the_place_away() -> None:
    decision = decide(nodes(2), leaving(cpu="2"), running("late", "n1", cpu="2"), running("x", "n2"), nominated("n1"))
    assert decision.outcome == "Wait"


@pytest.mark.parametrize(
    "gone",
    [
        running("gone", "n1", deleted="2026-01-01T11:59:30Z"),  # not by preemption
        leaving("gone", priority=100),  # not lower: it was not preempted for this gang
    ],
)
def test_others_who_leave_hold_nobody_back(gone: Dict) -> None:
    assert decide(nodes(2), gone, running("low", "n2"), nominated("n1")).outcome == "Preempt"


def test_a_nomination_to_a_node_that_is_gone_means_nothing() -> None:
    assert victims(decide(nodes(1), running("low", "n1"), nominated("gone"))) == ["low"]


def test_a_plan_is_made_anew_when_the_node_of_one_pod_is_gone() -> None:
    """The victims of the others are still leaving, and all of them together are no use any more."""
    decision = decide(nodes(3), leaving(), running("a", "n2"), running("b", "n3"), nominated("n1", "gone"))
    assert decision.outcome == "Preempt"
    assert len(victims(decision)) == 2


def test_a_node_that_was_deleted_is_gone_as_one_that_never_was() -> None:
    """A pod of the group runs on one, another is nominated to it: neither says where the rest goes."""
    labels = {"zone": "b"}
    there = [node("n1", labels=labels), node("n2", labels={"zone": "a"}), running("low", "n1"), leaving()]
    first, *waiting = nominated("n1", "n2", group={"schedulingConstraints": {"topology": [{"key": "zone"}]}})
    members = [first, running("job-0", "n2", 100, "1", group="job"), *waiting]
    world = World(load_objects([*CLASSES, *there, *members]).objects)
    settings = Settings(feature_gates=GATES, validate=True)
    policy, groups = PodGroupPolicy(NodeLedger(world, settings)), Groups(world, settings)

    def answer(using: PodGroupPolicy) -> tuple[str, str]:
        ((name, pods),) = groups.gathered(world.pending()).items()
        made = preemption.decide(using, groups.group(name, pods), 0)
        return made.outcome, made.message

    answer(policy)
    world.delete(Node, "n2")
    assert answer(policy) == answer(PodGroupPolicy(NodeLedger(world, settings)))


# One cycle


def cycle(*objects: Any, **gates: bool) -> Any:
    flat = [each for item in objects for each in (item if isinstance(item, list) else [item])]
    return reprieve.plan([*CLASSES, *flat], now=NOW, config={"validate": True}, feature_gates={**GATES, **gates})


def test_later_gangs_see_victims_and_places_of_earlier_ones() -> None:
    others = [running("a", "n1"), running("b", "n2")]
    second = [pod_group("next", gang=1, priority=90), pod("next-1", group="next", priority=90, cpu="4")]
    result = cycle(nodes(2), others, gang(1), second)
    assert result.order == [JOB, "PodGroup/default/next"]
    first, then = result.decisions
    assert sorted([*victims(first), *victims(then)]) == ["a", "b"]
    assert set(first.placement.values()).isdisjoint(then.placement.values())


def test_the_place_of_a_workload_is_held_at_its_priority_not_at_that_of_its_pods() -> None:
    """The pods of `job` say 0; a pod of 50 that comes next must not take the place that was made for them."""
    late = pod("late", priority=50, cpu="4")
    first, then = cycle(nodes(1), running("a", "n1"), workload_gang(1), late).decisions
    assert (first.outcome, victims(first)) == ("Preempt", ["a"])
    assert then.outcome == "Unschedulable"


def test_a_gang_that_lost_its_running_pods_in_the_cycle_needs_all_of_them_again() -> None:
    team = [pod_group("team", gang=2, whole=True, priority=10), pod("team-2", group="team", priority=10, cpu="1")]
    result = cycle(nodes(1), running("team-1", "n1", group="team"), team, gang(1))
    first, then = result.decisions
    assert victims(first) == ["team-1"]
    assert then.outcome == "Unschedulable"
    assert "1 pod of the 2" in then.message


# Refusals


def change(pods: list[Dict], **spec: Any) -> list[Dict]:
    group, first, *rest = pods
    return [group, {**first, "spec": {**first["spec"], **spec}}, *rest]


@pytest.mark.parametrize(
    ("waiting", "want"),
    [
        (change(gang(2), priority=99), "priorities"),
        (change(gang(1), priority=99), "priorities"),  # not the group's
        (change(gang(2), schedulerName="other"), "scheduler names"),
        (change(gang(2), preemptionPolicy="Never"), "preemption policies"),
        (gang(2, least=3), "2 pods of the 3"),
    ],
)
def test_a_pod_group_that_is_not_of_one_kind_or_not_complete_is_refused(waiting: list[Dict], want: str) -> None:
    decision = decide(nodes(2), running("a", "n1"), running("b", "n2"), waiting)
    assert (decision.outcome, decision.victims) == ("Unschedulable", [])
    assert want in decision.message


def test_a_workload_that_is_easier_to_preempt_than_it_preempts_is_refused() -> None:
    waiting = workload_gang(1, preemptionPriorityClassName="low")
    decision = decide(nodes(1), running("a", "n1"), waiting, preemptor=WORKLOAD_JOB)
    assert decision.outcome == "Unschedulable"
    assert "preemption priority 10 is below its priority 100" in decision.message


@pytest.mark.parametrize("by_pods", [True, False])
def test_a_group_of_policy_never_takes_nobody(by_pods: bool) -> None:
    waiting = gang(1, policy="Never") if by_pods else gang(1, group={"preemptionPolicy": "Never"})
    assert decide(nodes(1), running("a", "n1"), waiting).outcome == "Unschedulable"
    assert decide(nodes(1), waiting).outcome == "Fits"


def test_the_policy_of_a_group_counts_only_with_its_gate() -> None:
    waiting = gang(1, group={"preemptionPolicy": "Never"})
    assert decide(nodes(1), running("a", "n1"), waiting, gates={"GenericWorkload": True}).outcome == "Preempt"


def test_a_class_of_policy_never_holds_for_a_workload() -> None:
    polite = priority_class("polite", 100, policy="Never")
    waiting = [workload("job", gang=1, priorityClassName="polite"), pod("job-1", cpu="4", spec=in_workload("job"))]
    assert decide(nodes(1), polite, running("a", "n1"), waiting, preemptor=WORKLOAD_JOB).outcome == "Unschedulable"


@pytest.mark.parametrize(("minutes", "want"), [(30, "Wait"), (90, "Preempt")])
def test_a_toleration_holds_against_groups_until_it_runs_out(minutes: int, want: str) -> None:
    tolerant = priority_class(
        "tolerant",
        10,
        annotations={
            "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": "1000",
            "preemption-toleration.scheduling.x-k8s.io/toleration-seconds": "3600",
        },
    )
    since = f"2026-01-01T{'11:30' if minutes == 30 else '10:30'}:00Z"
    status = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}]}
    shielded = pod("a", node="n1", priority_class="tolerant", cpu="4", status=status)
    assert decide(nodes(1), tolerant, shielded, gang(1)).outcome == want


# Worlds that do not add up


@pytest.mark.parametrize(
    ("others", "want"),
    [
        ([], "Unschedulable"),  # no nodes at all
        ([running("a", "gone")], "Unschedulable"),
        ([node("n1"), running("a", "n1", spec=in_workload("missing"))], "Preempt"),
        ([node("n1"), running("a", "n1", group="missing")], "Preempt"),
        ([node("n1"), pod("other", priority=100, cpu="4", nominated="n1")], "Unschedulable"),
        ([node("n1"), running("done", "n1", status={"phase": "Succeeded"})], "Fits"),
    ],
)
def test_odd_worlds_are_decided_over(others: list[Dict], want: str) -> None:
    assert decide(others, gang(1)).outcome == want


def test_members_that_ask_for_nothing_only_take_their_slots() -> None:
    hosts = [node("n1", requests={"pods": "2"})]
    full = [running("a", "n1", cpu="1"), running("b", "n1", 20, cpu="1")]
    decision = decide(hosts, full, gang(1, cpu="0"))
    assert victims(decision) == ["a"]


def test_a_resource_that_nobody_has_is_a_shortage() -> None:
    group, member = gang(1, cpu="1")
    member["spec"]["containers"][0]["resources"]["requests"] = {"example.com/quantum": "1"}
    assert (
        "needs 1 example.com/quantum; the largest node, n1, has 0"
        in decide(nodes(1), running("a", "n1"), group, member).message
    )


def test_a_search_that_breaks_off_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = [*CLASSES, *nodes(2), running("a", "n1"), running("b", "n2"), *gang(2)]
    world, settings = World(load_objects(objects).objects), Settings(feature_gates=GATES)
    ledger = NodeLedger(world, settings)
    policy = PodGroupPolicy(ledger)
    groups = Groups(world, settings)
    ((name, members),) = groups.gathered(world.pending()).items()
    before = ledger.table.fingerprint()
    place, calls = GangPlacer._place_shape, 0

    def interrupted(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        place(*arguments)
        if calls == 2:  # the first looks whether it fits as it is
            raise KeyboardInterrupt

    monkeypatch.setattr(GangPlacer, "_place_shape", interrupted)
    with pytest.raises(KeyboardInterrupt):
        preemption.decide(policy, groups.group(name, members), 0)
    assert ledger.table.fingerprint() == before


def test_members_come_and_go_with_their_nodes() -> None:
    team = pod_group("team", gang=2, whole=True, priority=10)
    objects = [*CLASSES, *nodes(2), team, running("a", "n1", group="team"), running("b", "n2", group="team"), *gang(1)]
    world, settings = World(load_objects(objects).objects), Settings(feature_gates=GATES, validate=True)
    policy, groups = PodGroupPolicy(NodeLedger(world, settings)), Groups(world, settings)

    def gone() -> list[str]:
        ((name, members),) = groups.gathered(world.pending()).items()
        return sorted(victim.unit for victim in preemption.decide(policy, groups.group(name, members), 0).victims)

    both = ["Pod/default/a", "Pod/default/b"]
    assert gone() == both
    second = world.get(Node, "n2")
    world.delete(Node, "n2")
    assert gone() == both
    world.put(second)
    assert gone() == both
    world.delete(Pod, "b", "default")
    assert gone() == []  # the whole of n2 is free now
