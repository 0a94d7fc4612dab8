"""What has no creationTimestamp is only being tried out: it is the newest, wherever age decides."""

from __future__ import annotations

from typing import Any

import pytest

import reprieve
from tests.builders.gates import BINDINGS, GANGS
from tests.builders.pods import node, pod, pod_group
from tests.builders.queues import in_queue, queues, tree
from tests.builders.quota import flavor, queue, workload
from tests.generators.federations import binding, cluster

NOW = "2026-01-01T12:00:00Z"
OLD = "2026-01-01T11:00:00Z"
Dict = dict[str, Any]


def _pods(tried: str | None) -> list[Dict]:
    return [node("n1"), pod("a", created=tried), pod("z", created=OLD)]


def _groups(tried: str | None) -> list[Dict]:
    members = [pod(f"{name}-0", group=name, created=made) for name, made in (("a", tried), ("z", OLD))]
    return [node("n1"), pod_group("a", gang=1), pod_group("z", gang=1), *members]


def _queues(tried: str | None) -> list[Dict]:
    pods = [in_queue("a", "root.x"), in_queue("z", "root.x")]
    pods[0]["metadata"].pop("creationTimestamp")
    if tried:
        pods[0]["metadata"]["creationTimestamp"] = tried
    return [node("n1"), queues(tree("x", cpu=1)), *pods]


def _quota(tried: str | None) -> list[Dict]:
    made = [*queue("x", {"default": {"cpu": 8}}, cohort="c"), *queue("y", {"default": {"cpu": 8}}, cohort="c")]
    return [flavor(), *made, workload("a", "x", cpu=1, created=tried), workload("z", "y", cpu=1, created=OLD)]


def _bindings(tried: str | None) -> list[Dict]:
    return [cluster(), binding("a", cpu="1", priority=1, created=tried), binding("z", cpu="1", priority=1, created=OLD)]


@pytest.mark.parametrize("world", [_pods, _groups, _queues, _quota, _bindings])
@pytest.mark.parametrize(("tried", "first"), [(None, "z"), ("2026-01-01T10:00:00Z", "a")])
def test_it_comes_last_among_equals(world: Any, tried: str | None, first: str) -> None:
    result = reprieve.plan(world(tried), now=NOW, feature_gates={**GANGS, **BINDINGS})
    assert result.order[0].rpartition("/")[2] == first


def test_it_makes_way_before_one_that_has_been_there() -> None:
    running = [pod("a", node="n1", cpu="2", priority=1), pod("z", node="n1", cpu="2", priority=1, created=OLD)]
    asks = pod("ask", cpu="2", priority=10, created=OLD)
    made = reprieve.plan([node("n1"), *running, asks], preemptor="Pod/default/ask", now=NOW).decision
    assert [victim["unit"] for victim in made.victims] == ["Pod/default/a"]


def test_one_in_a_queue_makes_way_first() -> None:
    running = [in_queue("a", "root.x", node="n1", cpu="2"), in_queue("z", "root.x", node="n1", cpu="2")]
    running[0]["metadata"].pop("creationTimestamp")
    lead = in_queue("lead", "root.x", node="n2", minutes=600)
    nodes = [node("n1"), node("n2", cpu="1")]
    world = [*nodes, queues(tree("x", cpu=1), tree("y", cpu=4)), lead, *running, in_queue("ask", "root.y", cpu="2")]
    made = reprieve.plan(world, preemptor="Pod/default/ask", now=NOW).decision
    assert [victim["unit"] for victim in made.victims] == ["Pod/default/a"]


def test_a_binding_makes_way_first() -> None:
    low: Dict = {"cpu": "5", "priority": 1, "on": {"m1": 1}}
    running = [binding("a", **low), binding("z", created=OLD, **low)]
    world = [cluster(used="10"), *running, binding("ask", cpu="5", priority=10, created=OLD)]
    unit = "ResourceBinding/default/ask"
    made = reprieve.plan(world, preemptor=unit, now=NOW, feature_gates=BINDINGS).decision
    assert [victim["unit"] for victim in made.victims] == ["ResourceBinding/default/a"]


@pytest.mark.parametrize(("created", "want"), [(None, []), (OLD, ["Workload/default/later"])])
def test_a_quota_workload_that_is_tried_out_is_nobodys_elder(created: str | None, want: list[str]) -> None:
    """Of equal priority only newer ones make way: nobody is newer than what is only tried out."""
    world = [
        flavor(),
        *queue("x", {"default": {"cpu": 1}}, within="LowerOrNewerEqualPriority"),
        workload("later", "x", cpu=1, on="default", created="2026-01-01T11:30:00Z"),
        workload("ask", "x", cpu=1, created=created),
    ]
    made = reprieve.plan(world, preemptor=ASK, now=NOW).decision
    assert [victim["unit"] for victim in made.victims] == want


ASK = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "namespace": "default", "name": "ask"}


def test_waits_that_begin_with_the_creation_begin_now() -> None:
    world = [
        flavor(),
        *queue("x", {"default": {"cpu": 1}}, within="LowerPriority"),
        workload("low", "x", cpu=1, on="default", created=OLD),
        workload("ask", "x", cpu=1, priority=5),
    ]
    config = {"quota": {"waitBeforePreemptionSeconds": 60}}
    made = reprieve.plan(world, preemptor=ASK, now=NOW, config=config).decision
    assert made.outcome == "Wait"
    assert "2026-01-01T12:01:00Z" in made.message
