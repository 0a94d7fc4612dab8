"""Whoever waits is tried again soon after something that could help, and not for what could not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import pytest

from reprieve.manifests.kinds import JOBS, NAMESPACES, NODES, PODS, PRIORITY_CLASSES, REPLICA_SETS
from reprieve.scheduler import refresh
from tests.builders.pods import pod_group
from tests.planes.running import Dict, Plane, job, live, pod, replica_set

SOON = 12.0
"""The longest back-off, and a moment."""
Step = Callable[[Plane], Awaitable[Any]]
HOST = "kubernetes.io/hostname"


def _near(label: str) -> Dict:
    term = {"labelSelector": {"matchLabels": {"app": label}}, "topologyKey": HOST}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _apart(label: str) -> Dict:
    term = {"labelSelector": {"matchLabels": {"app": label}}, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


async def _label_node(plane: Plane) -> None:
    await plane.store.patch(NODES, "n1", "", {"metadata": {"labels": {"disk": "ssd"}}})


async def _taint(plane: Plane) -> None:
    taint = {"key": "closed", "effect": "NoSchedule"}
    await plane.store.patch(NODES, "n1", "", {"spec": {"taints": [taint]}})


async def _untaint(plane: Plane) -> None:
    await plane.store.patch(NODES, "n1", "", {"spec": {"taints": None}})


async def _grow(plane: Plane) -> None:
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    await plane.store.patch(NODES, "n1", "", {"status": {"allocatable": amounts}}, subresource="status")


async def _label_namespace(plane: Plane) -> None:
    await plane.store.patch(NAMESPACES, "default", "", {"metadata": {"labels": {"team": "a"}}})


def _in_namespaces_of(team: str) -> Dict:
    term = {
        "labelSelector": {"matchLabels": {"app": "friend"}},
        "namespaceSelector": {"matchLabels": {"team": team}},
        "topologyKey": HOST,
    }
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _arrives(*manifests: Dict) -> Step:
    return lambda plane: plane.apply(*manifests)


async def _nothing(_: Plane) -> None:
    return


HELP: dict[str, tuple[Step, Dict, Step]] = {
    "a node that comes": (_nothing, {"cpu": "3"}, lambda plane: plane.node("n2", cpu="4")),
    "a node that grows": (_nothing, {"cpu": "3"}, _grow),
    "a label on a node": (_nothing, {"nodeSelector": {"disk": "ssd"}}, _label_node),
    "a taint that goes": (_taint, {}, _untaint),
    "a pod that ends": (_arrives(pod("other", cpu="2", run=30)), {"cpu": "2"}, lambda plane: plane.passes(20)),
    "a pod that is deleted": (
        _arrives(pod("other", cpu="2")),
        {"cpu": "2"},
        lambda plane: plane.store.delete(PODS, "other", "default", grace=0),
    ),
    "a Job that is deleted": (
        _arrives(job("other", cpu="2")),
        {"cpu": "2"},
        lambda plane: plane.store.delete(JOBS, "other", "default"),
    ),
    "a set that is scaled down": (
        _arrives(replica_set("other", replicas=2)),
        {},
        lambda plane: plane.change(REPLICA_SETS, "other", {"spec": {"replicas": 0}}),
    ),
    "a friend that comes": (
        _nothing,
        {"affinity": _near("friend")},
        _arrives(pod("friend", labels={"app": "friend"})),
    ),
    "a foe that goes": (
        _arrives(pod("foe", labels={"app": "foe"})),
        {"affinity": _apart("foe")},
        lambda plane: plane.store.delete(PODS, "foe", "default", grace=0),
    ),
    "a label on a namespace": (
        _arrives(pod("friend", labels={"app": "friend"})),
        {"affinity": _in_namespaces_of("a")},
        _label_namespace,
    ),
    "a gate that goes": (
        _nothing,
        {"schedulingGates": [{"name": "example.com/wait"}]},
        lambda plane: plane.change(PODS, "waits", {"spec": {"schedulingGates": None}}),
    ),
    "a group that comes": (
        _nothing,
        {"schedulingGroup": {"podGroupName": "gang"}},
        _arrives(pod_group("gang", gang=1)),
    ),
}


@pytest.mark.parametrize("event", HELP)
def test_whoever_could_be_helped_is_placed_soon(event: str) -> None:
    before, asks, helps = HELP[event]

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await before(plane)
        await plane.passes(2)
        await plane.pod("waits", **asks)
        await plane.passes(15)
        assert await plane.where("waits") == ""
        await helps(plane)
        await plane.passes(SOON)
        assert await plane.where("waits")

    live(story)


def test_a_class_that_lets_others_go_wakes_whoever_waits_for_them() -> None:
    """A toleration for ever that is taken back."""

    async def story(plane: Plane) -> None:
        prefix = "preemption-toleration.scheduling.x-k8s.io"
        said = {f"{prefix}/minimum-preemptable-priority": "1000", f"{prefix}/toleration-seconds": "-1"}
        await plane.node("n1", cpu="1")
        await plane.priority("low", 1, annotations=said)
        await plane.priority("high", 100)
        await plane.pod("low", priority="low")
        await plane.passes(2)
        await plane.pod("high", priority="high")
        await plane.passes(30)
        assert await plane.where("high") == ""
        await plane.store.patch(PRIORITY_CLASSES, "low", "", {"metadata": {"annotations": dict.fromkeys(said)}})
        await plane.passes(SOON)
        assert await plane.where("high") == "n1"

    live(story)


def test_whoever_is_nominated_gets_its_place_at_once() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="1")
        await plane.priority("low", 1)
        await plane.priority("high", 100)
        await plane.pod("low", priority="low", leaves=10)
        await plane.passes(2)
        await plane.pod("high", priority="high")
        await plane.passes(10.2)
        assert await plane.where("high") == "n1", "no back-off stands in its way"

    live(story)


def test_a_nominated_pod_whose_node_is_gone_looks_elsewhere_at_once() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="1")
        await plane.priority("low", 1)
        await plane.priority("high", 100)
        await plane.pod("low", priority="low", leaves=25)
        await plane.passes(2)
        await plane.pod("high", priority="high")
        await plane.passes(2)
        assert (await plane.record("high")).data["status"]["nominatedNodeName"] == "n1"
        await plane.node("n2", cpu="1")
        await plane.store.delete(NODES, "n1", "")
        await plane.passes(2)
        assert await plane.where("high") == "n2"

    live(story)


def test_what_cannot_help_wakes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "QUIET_SECONDS", inf)  # nobody is told how things are meanwhile

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        await plane.node("n2", cpu="1")
        await plane.apply(replica_set("small", replicas=5, priority=""))
        await plane.passes(5)
        await plane.pod("waits", cpu="8")
        await plane.passes(5)
        tried = _times(plane)
        for record in (await plane.starting_with("small"))[:3]:
            await plane.store.delete(PODS, record.name, "default", grace=0)
            await plane.passes(15)
        assert _times(plane) == tried, "no node could ever hold it"
        await plane.passes(301)
        assert _times(plane) == tried + 1, "once in five minutes it is tried all the same"

    live(story)


def _times(plane: Plane) -> int:
    (decided,) = plane.plane.history.decisions("Pod/default/waits")
    times: int = decided["times"]
    return times


def test_a_burst_of_events_wakes_many_a_few_times_only() -> None:
    """Two hundred wait while two hundred small pods end one after the other: not everybody is tried each time."""

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="20", pods=400)
        await plane.apply(job("short", replicas=200, cpu="100m", run=10))
        await plane.passes(2)
        await plane.apply(job("long", replicas=200, cpu="100m"))
        await plane.passes(60)
        assert len(await plane.homes("long")) == 200
        assert all(await plane.homes("long"))
        tried = sum(item["times"] for item in plane.plane.history.decisions(limit=5000))
        assert tried < 200 + 200 * 4

    live(story)
