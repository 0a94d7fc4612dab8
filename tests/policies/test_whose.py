"""Whose pods make way: with `victims: Own` only those of this scheduler; what mirrors a static pod never does."""

from __future__ import annotations

from typing import Any

import pytest

import reprieve
from tests.builders.pods import Dict, node, pod
from tests.builders.queues import in_queue, queues, tree

OWN = {"victims": "Own"}
MIRROR = {"kubernetes.io/config.mirror": "7c1f"}


def decision(objects: list[Any], **config: Any) -> Any:
    return reprieve.plan(objects, preemptor="Pod/default/p", config=config).decisions[0]


def running(name: str, scheduler: str, **more: Any) -> Any:
    return pod(name, node="n1", spec={"schedulerName": scheduler}, **more)


def preemptor(scheduler: str = "reprieve", cpu: str = "4") -> Any:
    return pod("p", cpu=cpu, priority=10, spec={"schedulerName": scheduler})


def test_with_any_victims_all_schedulers_pods_make_way() -> None:
    made = decision([node(cpu="4"), running("a", "default-scheduler", cpu="4"), preemptor()])
    assert [victim["unit"] for victim in made.victims] == ["Pod/default/a"]


def test_with_own_victims_another_schedulers_pod_stays_and_the_rule_says_so() -> None:
    made = decision([node(cpu="4"), running("a", "default-scheduler", cpu="4"), preemptor()], **OWN)
    assert made.outcome == "Unschedulable"
    assert [(spared["unit"], spared["rule"]) for spared in made.spared] == [("Pod/default/a", "OtherScheduler")]
    assert "1 is another scheduler's" in made.message


def test_with_own_victims_own_pods_make_way() -> None:
    objects = [
        node("n1", cpu="4"),
        running("a", "default-scheduler", cpu="2"),
        running("b", "reprieve", cpu="2"),
        preemptor(cpu="2"),
    ]
    assert [victim["unit"] for victim in decision(objects, **OWN).victims] == ["Pod/default/b"]


def test_where_all_schedulers_are_played_each_keeps_to_its_own() -> None:
    objects = [node(cpu="4"), running("a", "default-scheduler", cpu="4"), preemptor("default-scheduler")]
    assert decision(objects, **OWN).outcome == "Preempt"


@pytest.mark.parametrize("config", [{}, OWN])
def test_what_mirrors_a_static_pod_never_makes_way(config: dict[str, Any]) -> None:
    mirror = running("a", "reprieve", cpu="4", annotations=MIRROR)
    made = decision([node(cpu="4"), mirror, preemptor()], **config)
    assert made.outcome == "Unschedulable"
    assert made.spared[0]["rule"] == "MirrorPod"


def test_a_pod_that_nobody_may_ask_takes_no_node_out_by_its_unknown_class() -> None:
    objects = [
        node(cpu="4"),
        running("a", "default-scheduler", cpu="1", priority_class="gone"),
        running("b", "reprieve", cpu="3"),
        preemptor(cpu="3"),
    ]
    assert [victim["unit"] for victim in decision(objects, **OWN).victims] == ["Pod/default/b"]


def test_a_gang_asks_only_own_pods() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 10},
    }
    members = [
        pod(name, cpu="2", priority=10, spec={"schedulerName": "reprieve", "schedulingGroup": {"podGroupName": "g"}})
        for name in ("p1", "p2")
    ]
    objects = [node(cpu="4"), running("a", "default-scheduler", cpu="1"), group, *members]
    gates = {"featureGates": {"GenericWorkload": True}}
    made = reprieve.plan(objects, preemptor="PodGroup/default/g", config={**OWN, **gates}).decisions[0]
    assert (made.outcome, made.spared[0]["rule"]) == ("Unschedulable", "OtherScheduler")
    made = reprieve.plan(objects, preemptor="PodGroup/default/g", config=gates).decisions[0]
    assert made.outcome == "Preempt"


@pytest.mark.parametrize("daemon_on", [None, "n1"])
def test_pods_in_queues_ask_only_own_pods(daemon_on: str | None) -> None:
    config = queues(tree("prod", cpu=4), tree("test"))
    ours: Dict = {"spec": {"schedulerName": "yunikorn"}}
    theirs: Dict = {"spec": {"schedulerName": "default-scheduler"}}
    first = in_queue("first", "root.test", node="n1", cpu="1", minutes=90, **ours)
    objects = [config, node(cpu="4"), first, in_queue("a", "root.test", node="n1", cpu="2", **theirs)]
    objects.append(in_queue("p", "root.prod", cpu="3", daemon_on=daemon_on, **ours))
    made = decision(objects, **OWN)
    assert made.outcome == "Unschedulable"
    assert {spared["unit"]: spared["rule"] for spared in made.spared}["Pod/default/a"] == "OtherScheduler"
    assert "another scheduler's" in made.message
    assert [victim["unit"] for victim in decision(objects).victims] == ["Pod/default/a"]
