"""Whom a change wakes: everybody it could help, at once; and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.kinds import BINDINGS, CLUSTERS, DEPLOYMENTS, NODES, PODS, VOLUME_CLAIMS, resource_of
from tests.builders.federation import POLICIES, deployment, policy
from tests.builders.pods import in_workload, manifest, metadata, pod_group, workload
from tests.planes.running import Plane, live

IN_GROUP = {"schedulingGroup": {"podGroupName": "g"}}
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
SOON = 2.0
"""Much less than the five minutes after which everybody is tried anyway."""


def near(app: str, key: str = HOST) -> dict[str, Any]:
    return {"podAffinity": terms(app, key)}


def far(app: str, key: str = HOST) -> dict[str, Any]:
    return {"podAntiAffinity": terms(app, key)}


def terms(app: str, key: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def on(node: str) -> dict[str, str]:
    return {HOST: node}


# Company


def test_a_running_pod_that_gets_a_label_is_company_for_whom_asked_for_it() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        await plane.pod("database", cpu="1")
        await plane.passes(2)
        await plane.pod("web", cpu="1", affinity=near("database"))
        await plane.passes(20)
        assert await plane.where("web") == ""
        await plane.change(PODS, "database", {"metadata": {"labels": {"app": "database"}}})
        await plane.passes(SOON)
        assert await plane.where("web") == "n1"

    live(story)


def test_a_pod_that_kept_others_away_leaves_room_everywhere() -> None:
    async def story(plane: Plane) -> None:
        for name in ("n1", "n2"):
            await plane.node(name, cpu="4", labels={ZONE: "z"})
        await plane.pod("filler", cpu="3500m", nodeSelector=on("n1"))
        await plane.passes(2)
        await plane.pod("hermit", cpu="500m", affinity=far("web", ZONE), nodeSelector=on("n1"))
        await plane.passes(2)
        await plane.pod("web", cpu="2", labels={"app": "web"})  # too large for n1, whoever leaves it
        await plane.passes(20)
        assert (await plane.where("hermit"), await plane.where("web")) == ("n1", "")
        await plane.store.delete(PODS, "hermit", "default", grace=0)
        await plane.passes(SOON)
        assert await plane.where("web") == "n2"

    live(story)


def test_a_node_that_moves_to_another_zone_takes_along_whom_it_keeps_away() -> None:
    async def story(plane: Plane) -> None:
        for name in ("n1", "n2"):
            await plane.node(name, cpu="4", labels={ZONE: "z"})
        await plane.pod("hermit", cpu="4", affinity=far("web", ZONE), nodeSelector=on("n1"))
        await plane.passes(2)
        await plane.pod("web", cpu="2", labels={"app": "web"})
        await plane.passes(20)
        assert await plane.where("web") == ""
        await plane.change(NODES, "n1", {"metadata": {"labels": {ZONE: "another"}}})
        await plane.passes(SOON)
        assert await plane.where("web") == "n2"

    live(story)


# Groups


def test_a_group_is_tried_again_when_the_pod_for_which_it_was_refused_is_deleted() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        await plane.priority("p", 10)
        await plane.priority("q", 20)
        await plane.apply(pod_group("g", gang=2, priorityClassName="p"))
        for name, priority in (("odd", "q"), ("w0", "p"), ("w1", "p")):
            await plane.pod(name, cpu="1", priority=priority, **IN_GROUP)
        await plane.passes(15)
        assert [await plane.where(name) for name in ("w0", "w1")] == ["", ""]
        await plane.store.delete(PODS, "odd", "default")
        await plane.passes(SOON)
        assert [await plane.where(name) for name in ("w0", "w1")] == ["n1", "n1"]

    live(story)


def test_room_helps_a_pod_by_the_priority_of_its_group() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        for name, value in (("mid", 50), ("high", 100), ("top", 1000)):
            await plane.priority(name, value)
        await plane.pod("leaves", cpu="1", priority="top")
        await plane.pod("stays", cpu="2", priority="top")
        await plane.pod("below", cpu="1", priority="mid")
        await plane.passes(3)
        await plane.apply(workload("w", gang=1, priorityClassName="high"))
        await plane.pod("p", cpu="2", **in_workload("w"))
        await plane.passes(20)
        assert await plane.where("p") == ""
        await plane.store.delete(PODS, "leaves", "default", grace=0)
        await plane.passes(SOON)
        assert (await plane.where("p"), await plane.where("below")) == ("n1", "gone")

    live(story)


async def decisions(plane: Plane) -> int:
    await plane.passes(1)
    return sum(item["times"] for item in plane.plane.history.decisions(limit=10_000))


async def wait_in_groups(plane: Plane, count: int) -> None:
    """Groups for which there is no room, and which have been told so."""
    await plane.node("n1", cpu="1")
    await plane.priority("p", 10)
    for number in range(count):
        await plane.apply(pod_group(f"g{number}", gang=2, priorityClassName="p"))
        for name in (f"a{number}", f"b{number}"):
            await plane.pod(name, cpu="4", priority="p", schedulingGroup={"podGroupName": f"g{number}"})
    await plane.passes(20)


def test_a_group_that_comes_or_goes_wakes_nobody_else() -> None:
    async def story(plane: Plane) -> None:
        await wait_in_groups(plane, 5)
        before = await decisions(plane)
        assert before > 0
        groups = resource_of("scheduling.k8s.io/v1beta1", "PodGroup")
        assert groups is not None
        for number in range(5):
            await plane.apply(pod_group(f"empty{number}", gang=2))
            await plane.passes(0.2)
            await plane.change(groups, f"empty{number}", {"metadata": {"labels": {"a": "b"}}})
            await plane.change(groups, f"g{number}", {"metadata": {"labels": {"a": "b"}}})
            await plane.passes(0.2)
            await plane.store.delete(groups, f"empty{number}", "default")
        assert await decisions(plane) == before

    live(story)


@pytest.mark.parametrize("composite", [False, True])
def test_a_group_that_is_made_after_its_pods_wakes_them(composite: bool) -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.priority("p", 10)
        made = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
        above: dict[str, Any] = {"priorityClassName": "p"}
        if composite:
            above = {"parentCompositePodGroupName": "top", **made}
        for name in ("a", "b"):
            await plane.pod(name, cpu="1", priority="p", **IN_GROUP)
        await plane.passes(15)
        assert await plane.where("a") == ""
        await plane.apply(pod_group("g", gang=2, version="v1alpha3", **above))
        if composite:
            await plane.passes(15)
            assert await plane.where("a") == ""  # its pods are above the group's own priority, until the other exists
            about = metadata("top", "default")
            spec = {"schedulingPolicy": {"basic": {}}, "priorityClassName": "p", **made}
            await plane.apply(manifest("scheduling.k8s.io/v1alpha3", "CompositePodGroup", about, spec=spec))
        await plane.passes(SOON)
        assert [await plane.where(name) for name in ("a", "b")] == ["n1", "n1"]

    live(story, Settings(validate=True, feature_gates={"GenericWorkload": True, "CompositePodGroup": True}))


def test_a_gang_whose_pods_come_together_is_queued_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        queue = plane.plane.scheduler.queue
        push, pushed = queue.push, []

        def counted(unit: str, *rank: Any) -> None:
            pushed.append(unit)
            push(unit, *rank)

        monkeypatch.setattr(queue, "push", counted)
        await plane.priority("p", 10)
        await plane.apply(pod_group("g", gang=100, priorityClassName="p"))
        for number in range(100):
            await plane.pod(f"w{number}", cpu="1", priority="p", **IN_GROUP)
        await plane.passes(1)
        assert [unit for unit in pushed if unit.startswith("PodGroup/")] == ["PodGroup/default/g"]

    live(story)


# Bindings


def test_a_binding_that_is_over_leaves_its_room_to_others() -> None:
    async def story(plane: Plane) -> None:
        await plane.priority("low", 1)
        await plane.store.create(CLUSTERS, {**CLUSTER, "metadata": {"name": "m1"}})
        await plane.store.patch(CLUSTERS, "m1", "", {"status": CLUSTER_STATUS}, subresource="status")
        named = {"apiVersion": POLICIES.api_version, "kind": POLICIES.kind}
        await plane.store.create(POLICIES, policy("low") | named)
        for name in ("d1", "d2"):
            made = deployment(name, cpu="2") | {"apiVersion": "apps/v1", "kind": "Deployment"}
            await plane.store.create(DEPLOYMENTS, made)
            await plane.passes(20)
        first = await plane.binding("d1")
        assert first.data["spec"]["clusters"]
        assert not (await plane.binding("d2")).data["spec"].get("clusters")
        known = first.data.get("status", {}).get("conditions") or []
        status = {"status": {"conditions": [*known, said("Finished")]}}
        await plane.store.patch(BINDINGS, first.name, "default", status, subresource="status")
        await plane.passes(SOON)
        assert (await plane.binding("d2")).data["spec"]["clusters"] == [{"name": "m1", "replicas": 1}]

    live(story)


def said(kind: str) -> dict[str, str]:
    return {
        "type": kind,
        "status": "True",
        "reason": "Said",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


CLUSTER = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "spec": {}}
"""A member cluster that no agent plays: one that reports seldom."""
CLUSTER_STATUS = {
    "conditions": [said("Ready")],
    "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]}],
    "resourceSummary": {"allocatable": {"cpu": "2", "pods": "100"}, "allocated": {}},
}


# Nominations that lead nowhere


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "full", "effect": "NoSchedule"}]}},
    ],
    ids=["cordoned", "tainted"],
)
def test_who_waits_for_a_node_that_takes_nobody_any_more_looks_elsewhere_when_its_victims_are_gone(
    change: dict[str, Any],
) -> None:
    async def story(plane: Plane) -> None:
        await plane.priority("middle", 50)
        await plane.priority("high", 100)
        await plane.node("n1", cpu="4")
        await plane.pod("lowest", cpu="4", leaves=20)
        await plane.passes(2)
        await plane.node("n2", cpu="4")
        await plane.pod("low", cpu="4", leaves=1, priority="middle")
        await plane.passes(2)
        await plane.pod("p", cpu="4", priority="high")
        await plane.passes(2)
        assert (await plane.record("p")).data["status"]["nominatedNodeName"] == "n1"
        await plane.change(NODES, "n1", change)
        await plane.passes(18 + 2 * SOON)
        assert await plane.where("p") == "n2"

    live(story)


def test_a_pod_whose_claim_is_bound_is_tried_at_once() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.pod("user", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
        await plane.passes(120)
        assert "PersistentVolumeClaim data does not exist" in (await plane.events(about="user"))[-1]
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
        await plane.apply({**claim, "spec": {"volumeName": "disk"}})
        await plane.passes(1)
        assert await plane.where("user") == ""
        bound = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
        await plane.change(VOLUME_CLAIMS, "data", bound)
        await plane.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": {}})
        await plane.passes(0.2)
        assert await plane.where("user") == "n1"

    live(story)


# Room for one that many could use


async def many_sizes(plane: Plane, count: int = 12) -> None:
    """A node that is taken, and pods that wait for it: all of different sizes, each for itself as large as the room."""
    await plane.priority("low", 1)
    await plane.priority("high", 10)
    await plane.node("n1", cpu="4")
    await plane.pod("keeps", cpu="4", priority="high")
    await plane.passes(2)
    for number in range(count):
        await plane.pod(f"waits-{number:02}", cpu=f"{3000 + number}m", priority="high")
        await plane.passes(0.2)
    await plane.passes(5)


@pytest.mark.usefixtures("no_last_resort")
def test_room_that_is_gone_again_costs_no_decision_for_who_was_woken_for_it() -> None:
    async def story(plane: Plane) -> None:
        await many_sizes(plane)
        before = await decisions(plane)
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        assert await decisions(plane) == before + 1
        assert await plane.where("waits-00") == "n1"

    live(story)


@pytest.mark.usefixtures("no_last_resort")
def test_room_for_a_part_of_a_group_costs_no_decision_and_room_for_all_of_it_one() -> None:
    async def story(plane: Plane) -> None:
        await plane.priority("high", 10)
        for number in range(2):
            await plane.node(f"n{number}", cpu="4")
            await plane.pod(f"keeps-{number}", cpu="4", priority="high")
        await plane.passes(2)
        for number in range(6):
            await plane.apply(pod_group(f"g{number}", gang=2, priorityClassName="high"))
            for name in (f"a{number}", f"b{number}"):
                group = {"podGroupName": f"g{number}"}
                await plane.pod(name, cpu=f"{3000 + number}m", priority="high", schedulingGroup=group)
        await plane.passes(10)
        before = await decisions(plane)
        await plane.store.delete(PODS, "keeps-0", "default", grace=0)
        assert await decisions(plane) == before
        await plane.store.delete(PODS, "keeps-1", "default", grace=0)
        assert await decisions(plane) == before + 1
        assert {await plane.where("a0"), await plane.where("b0")} == {"n0", "n1"}

    live(story)


@pytest.mark.usefixtures("no_last_resort")
def test_a_group_that_has_its_pods_on_nodes_needs_places_for_the_rest_only() -> None:
    """Two of three are there, and wait for the third, which another pod has overtaken."""

    async def story(plane: Plane) -> None:
        await plane.priority("high", 10)
        await plane.node("n0", cpu="6")
        await plane.pod("keeps", cpu="2", priority="high")
        await plane.apply(pod_group("g", gang=2, priorityClassName="high"))
        for name in ("a", "b", "c", "d"):
            await plane.pod(name, cpu="2", priority="high", schedulingGroup={"podGroupName": "g"})
        await plane.passes(10)
        assert sorted([await plane.where(name) for name in "abcd"]) == ["", "", "n0", "n0"]
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.passes(SOON)
        assert sorted([await plane.where(name) for name in "abcd"]) == ["", "n0", "n0", "n0"]

    live(story)


@pytest.mark.usefixtures("no_last_resort")
def test_who_was_woken_in_vain_has_the_next_room_in_its_order() -> None:
    async def story(plane: Plane) -> None:
        await many_sizes(plane)
        for leaves, comes in (("keeps", "waits-00"), ("waits-00", "waits-01"), ("waits-01", "waits-02")):
            await plane.store.delete(PODS, leaves, "default", grace=0)
            await plane.passes(1)
            assert await plane.where(comes) == "n1"

    live(story)


@pytest.mark.usefixtures("no_last_resort")
def test_room_that_a_lower_pod_has_taken_meanwhile_can_be_had_by_preempting_it() -> None:
    """The lower one is bound by somebody else before those who were woken have their turns."""

    async def story(plane: Plane) -> None:
        await many_sizes(plane, count=2)
        await plane.pod("low", cpu="4", priority="low", schedulerName="somebody-else")
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.store.bind("low", "default", "n1")
        await plane.passes(1)
        assert (await plane.where("waits-00"), await plane.where("low")) == ("n1", "gone")

    live(story)


@pytest.mark.usefixtures("no_last_resort")
def test_room_on_another_node_that_came_free_meanwhile_counts() -> None:
    async def story(plane: Plane) -> None:
        await many_sizes(plane, count=2)
        await plane.node("n2", cpu="4")
        await plane.pod("there", cpu="4", priority="high", schedulerName="somebody-else")
        await plane.store.bind("there", "default", "n2")
        await plane.passes(5)
        assert await plane.where("waits-01") == ""
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.store.delete(PODS, "there", "default", grace=0)
        await plane.passes(1)
        assert {await plane.where("waits-00"), await plane.where("waits-01")} == {"n1", "n2"}

    live(story)
