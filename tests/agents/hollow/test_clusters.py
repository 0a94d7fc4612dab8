"""Hollow member clusters: what they report, when replicas have left, and when Jobs are over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.agents.hollow.clusters import HollowClusters
from reprieve.manifests.kinds import BINDINGS, CLUSTERS, JOBS
from reprieve.model.clock import START, Clock, timestamp
from reprieve.stores.embedded.store import EmbeddedStore
from tests.builders.federation import POLICIES, Plane, hollow_cluster, job, policy
from tests.builders.pods import Dict
from tests.controllers.harness import in_virtual_time, running, told, until
from tests.generators.federations import binding

Story = Callable[[EmbeddedStore], Awaitable[None]]


def live(story: Story) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        async with running(HollowClusters(store, clock)):
            await story(store)

    in_virtual_time(main)


async def summary(store: EmbeddedStore, name: str = "m1") -> Dict:
    """What a cluster reports, a moment later: time is virtual, and passes only when nobody has anything to do."""
    await asyncio.sleep(0.2)
    found: Dict = (await store.get(CLUSTERS, name)).data.get("status", {}).get("resourceSummary", {})
    return found


async def tasks(store: EmbeddedStore, name: str = "a") -> list[Dict]:
    found: list[Dict] = (await store.get(BINDINGS, name, "default")).data["spec"].get("gracefulEvictionTasks", [])
    return found


def leaving(cluster: str = "m1", **more: Any) -> Dict:
    began = timestamp(START)
    return {"gracefulEvictionTasks": [{"fromCluster": cluster, "replicas": 2, "creationTimestamp": began, **more}]}


# Reports


def test_a_hollow_cluster_is_ready_serves_the_common_kinds_and_has_what_it_says() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(CLUSTERS, hollow_cluster("m1", {"cpu": "8", "memory": "4Gi"}))
        assert await summary(store) == {
            "allocatable": {"cpu": "8", "memory": "4Gi"},
            "allocated": {"cpu": "0", "memory": "0"},
        }
        status = (await store.get(CLUSTERS, "m1")).data["status"]
        assert [(item["type"], item["status"]) for item in status["conditions"]] == [("Ready", "True")]
        kinds = {kind["kind"] for version in status["apiEnablements"] for kind in version["resources"]}
        assert {"Deployment", "StatefulSet", "Job"} <= kinds

    live(story)


def test_what_bindings_use_is_reported_with_what_leaves_and_only_when_it_changes() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(CLUSTERS, hollow_cluster("m1", {"cpu": "8"}))
        await store.create(BINDINGS, binding("a", cpu="1", replicas=5, on={"m1": 3}, spec=leaving()))
        assert (await summary(store))["allocated"] == {"cpu": "5"}
        version = (await store.get(CLUSTERS, "m1")).version
        await store.patch(BINDINGS, "a", "default", {"metadata": {"labels": {"some": "label"}}})
        await asyncio.sleep(1)
        assert (await store.get(CLUSTERS, "m1")).version == version
        await store.delete(BINDINGS, "a", "default")
        assert (await summary(store))["allocated"] == {"cpu": "0"}

    live(story)


def test_a_bad_annotation_is_told_once_and_what_was_known_stays() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(CLUSTERS, hollow_cluster("m1", {"cpu": "8"}))
        await summary(store)
        for text in ('{"cpu": "much"}', "[]", "{", '{"cpu": "-1"}'):
            said = {"metadata": {"annotations": {"reprieve.scheduling/allocatable": text}}}
            await store.patch(CLUSTERS, "m1", "", said)
            assert (await summary(store))["allocatable"] == {"cpu": "8"}
        await store.create(BINDINGS, binding("a", cpu="1", on={"m1": 1}))
        assert (await summary(store))["allocated"] == {"cpu": "1"}
        assert (await told(store)).count("BadAnnotation") == 4

    live(story)


def test_a_cluster_that_is_not_hollow_is_left_alone() -> None:
    async def story(store: EmbeddedStore) -> None:
        real = hollow_cluster("m1", {"cpu": "8"})
        del real["metadata"]["annotations"]["reprieve.scheduling/hollow"]
        await store.create(CLUSTERS, real)
        await store.create(BINDINGS, binding("a", cpu="1", on={"m2": 1}, spec=leaving()))
        assert await summary(store) == {}
        await asyncio.sleep(3600)
        assert len(await tasks(store)) == 1

    live(story)


# Replicas that leave


@pytest.mark.parametrize(
    ("cluster_says", "task_says", "want"),
    [
        (None, {}, 30),
        (12, {}, 12),
        (12, {"gracePeriodSeconds": 5}, 5),
        (12, {"gracePeriodSeconds": 0}, 0),
    ],
)
def test_replicas_leave_when_their_grace_period_is_over(cluster_says: int | None, task_says: Dict, want: int) -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(CLUSTERS, hollow_cluster("m1", {"cpu": "8"}, grace=cluster_says))
        await store.create(BINDINGS, binding("a", cpu="1", replicas=2, spec=leaving(**task_says)))
        if want:
            await asyncio.sleep(want - 0.5)
            assert (await summary(store))["allocated"] == {"cpu": "2"}
        await asyncio.sleep(1)
        assert await tasks(store) == []
        assert (await summary(store))["allocated"] == {"cpu": "0"}

    live(story)


def test_who_leaves_later_stays_until_then_and_a_suppressed_deletion_for_good() -> None:
    async def story(store: EmbeddedStore) -> None:
        for name in ("m1", "m2", "m3"):
            await store.create(CLUSTERS, hollow_cluster(name, {"cpu": "8"}))
        parts = [leaving(), leaving("m2", gracePeriodSeconds=90), leaving("m3", suppressDeletion=True)]
        both = {"gracefulEvictionTasks": [task for part in parts for task in part["gracefulEvictionTasks"]]}
        await store.create(BINDINGS, binding("a", cpu="1", replicas=2, spec=both))
        await asyncio.sleep(60)
        assert [task["fromCluster"] for task in await tasks(store)] == ["m2", "m3"]
        await asyncio.sleep(3600)
        assert [task["fromCluster"] for task in await tasks(store)] == ["m3"]

    live(story)


def test_nobody_leaves_a_cluster_that_is_gone_slowly() -> None:
    async def story(store: EmbeddedStore) -> None:
        await store.create(CLUSTERS, hollow_cluster("m1", {"cpu": "8"}, grace=3600))
        await store.create(BINDINGS, binding("a", cpu="1", replicas=2, spec=leaving()))
        await asyncio.sleep(5)
        assert len(await tasks(store)) == 1
        await store.delete(CLUSTERS, "m1")
        await asyncio.sleep(1)
        assert await tasks(store) == []

    live(story)


def test_a_restart_does_not_begin_the_grace_period_anew() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(CLUSTERS, hollow_cluster("m1", {"cpu": "8"}))
        await store.create(BINDINGS, binding("a", cpu="1", replicas=2, spec=leaving()))
        for _ in range(4):
            async with running(HollowClusters(store, clock)):
                await asyncio.sleep(8)
        assert await tasks(store) == []

    in_virtual_time(main)


# Jobs


def test_a_job_runs_for_its_time_and_then_its_room_is_free_for_others() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        plane = Plane(store, clock)
        await plane.begin({"m1": "2"})
        await plane.store.create(POLICIES, policy("low", kind="Job"))
        async with running(*plane.controllers(), plane.scheduler()):
            await plane.add(job("first", seconds=50, cpu="2"), resource=JOBS)
            await until(plane.placed(first={"m1": 1}), 10)
            await plane.add(job("second", seconds=None, cpu="2"), resource=JOBS)
            await asyncio.sleep(40)
            assert (await plane.places())["second"] == {}
            await until(plane.placed(second={"m1": 1}), 20)
            status = (await store.get(JOBS, "first", "default")).data["status"]
            assert status["succeeded"] == 1
            assert [item["type"] for item in status["conditions"]] == ["Complete"]
            await asyncio.sleep(3600)
            assert "status" not in (await store.get(JOBS, "second", "default")).data
            assert (await summary(store))["allocated"] == {"cpu": "2"}
        assert plane.witness.faults == []
        plane.history.close()

    in_virtual_time(main)


def test_a_job_that_made_way_begins_anew() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        plane = Plane(store, clock)
        await plane.begin({"m1": "2"}, grace=10)
        for tier in ("low", "high"):
            await plane.store.create(POLICIES, policy(tier, kind="Job"))
        async with running(*plane.controllers(), plane.scheduler()):
            await plane.add(job("low", seconds=100, cpu="2"), resource=JOBS)
            await asyncio.sleep(50)
            await plane.add(job("high", seconds=20, cpu="2", tier="high"), resource=JOBS)
            await asyncio.sleep(60)  # 10 to leave, 20 to run, and half a minute since
            assert (await plane.places())["low"] == {"m1": 1}
            assert "status" not in (await store.get(JOBS, "low", "default")).data
            await until(lambda: _complete(store, "low"), 90)
        assert plane.witness.told == ["low-job"]
        plane.history.close()

    in_virtual_time(main)


async def _complete(store: EmbeddedStore, name: str) -> bool:
    return "completionTime" in (await store.get(JOBS, name, "default")).data.get("status", {})
