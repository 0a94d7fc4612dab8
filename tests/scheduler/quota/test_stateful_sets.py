"""StatefulSets in queues: one Workload for all their pods, which are made one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from reprieve.configuration import configure
from reprieve.manifests.kinds import QUOTA_WORKLOADS, STATEFUL_SETS
from reprieve.stores.errors import StoreError
from tests.planes.rest import could_still_act
from tests.planes.running import SETTINGS, Dict, Plane, condition, live, stateful_set
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, shared, work


def queued(name: str = "db", queue: str = "team", **parts: Any) -> Dict:
    return stateful_set(name, labels={QUEUE: queue, **parts.pop("labels", {})}, **parts)


def test_it_is_admitted_whole_or_not_at_all(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3})
        await plane.apply(queued(replicas=4))
        await plane.passes(10)
        workload = await plane.workload("db")
        assert (workload.data["spec"]["podSets"][0]["count"], admitted_by(workload)) == (4, "")
        assert [pod.name for pod in await plane.starting_with("db")] == ["db-0"], "it waits behind its gate"
        assert (await plane.record("db-0")).labels["kueue.x-k8s.io/pod-group-name"] == workload.name
        await plane.restart()
        await plane.store.delete(STATEFUL_SETS, "db", "default")
        await plane.passes(10)
        assert (await plane.store.list(QUOTA_WORKLOADS)).records == []
        await plane.apply(queued(replicas=3))
        await plane.passes(10)
        assert admitted_by(await plane.workload("db")) == "team"
        assert await running(plane, "db") == 3
        pod = (await plane.record("db-2")).data
        assert pod["spec"]["nodeSelector"] == {"pool": "a"}
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story, directory=tmp_path)


def test_a_pod_that_goes_is_let_go_again_without_asking_anew() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(queued(replicas=2))
        await plane.passes(10)
        before = (await plane.workload("db")).uid
        pod = await plane.record("db-0")
        await plane.store.delete(pod.resource, pod.name, "default")
        await plane.passes(10)
        assert await running(plane, "db") == 2
        assert (await plane.workload("db")).uid == before

    live(story)


def test_it_makes_way_as_a_whole_and_comes_back_in_order() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team=shared(3))
        await plane.apply(queued(replicas=3, priority="low"))
        await plane.passes(10)
        assert await running(plane, "db") == 3
        await plane.apply(work("urgent", "team", priority="high", run=60))
        await plane.passes(10)
        workload = await plane.workload("db")
        assert (admitted_by(workload), await running(plane, "urgent")) == ("", 1)
        assert condition(workload, "Evicted")["reason"] == "Preempted"
        assert [pod.name for pod in await plane.starting_with("db")] == ["db-0"]
        await plane.passes(80)
        assert await running(plane, "db") == 3
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story)


def test_it_has_the_size_that_it_asked_quota_for() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3})
        await plane.apply(queued(replicas=2))
        await plane.passes(10)
        with pytest.raises(StoreError, match="it can be scaled to 0, and from 0 to any size: it was 2"):
            await plane.change(STATEFUL_SETS, "db", {"spec": {"replicas": 3}})
        with pytest.raises(StoreError, match="immutable while pods of the StatefulSet are ready"):
            await plane.change(STATEFUL_SETS, "db", {"metadata": {"labels": {QUEUE: "other"}}})
        await plane.change(STATEFUL_SETS, "db", {"spec": {"replicas": 0}})
        with pytest.raises(StoreError, match="when 2 pods of before are gone"):
            await plane.change(STATEFUL_SETS, "db", {"spec": {"replicas": 3}})
        await plane.passes(10)
        assert (await plane.store.list(QUOTA_WORKLOADS)).records == []
        await plane.change(STATEFUL_SETS, "db", {"spec": {"replicas": 3}})
        await plane.passes(10)
        assert await running(plane, "db") == 3

    live(story)


def test_one_that_asks_for_something_else_has_to_ask_again() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3})
        made = queued(replicas=2)
        await plane.apply(made)
        await plane.passes(10)
        for cpu, runs in (("2", 0), ("1500m", 2)):
            container = {**made["spec"]["template"]["spec"]["containers"][0], "resources": {"requests": {"cpu": cpu}}}
            await plane.change(STATEFUL_SETS, "db", {"spec": {"template": {"spec": {"containers": [container]}}}})
            await plane.passes(20)
            assert await running(plane, "db") == runs
        labels = {"metadata": {"labels": {"version": "2"}}}
        await plane.change(STATEFUL_SETS, "db", {"spec": {"template": labels}})
        uid = (await plane.workload("db")).uid
        await plane.passes(20)
        assert {pod.labels["version"] for pod in await plane.starting_with("db")} == {"2"}
        assert (await plane.workload("db")).uid == uid, "what it asks for is the same"

    live(story)


def test_its_class_is_that_of_its_workload_and_what_it_says_of_preemption_goes_along() -> None:
    async def story(plane: Plane) -> None:
        made: Dict = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 7}
        await plane.apply({**made, "metadata": {"name": "serving"}})
        await company(plane, team={"cpu": 2})
        await plane.apply(queued(labels={"kueue.x-k8s.io/priority-class": "serving"}))
        await plane.passes(5)
        assert (await plane.workload("db")).data["spec"]["priority"] == 7

    live(story)


def test_one_whose_pods_are_not_ready_in_time_gives_its_quota_back() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 24})
        await plane.apply(queued(replicas=3, cpu="8"))  # there are nodes for two of these
        await plane.passes(30)
        assert await running(plane, "db") == 2
        assert condition(await plane.workload("db"), "PodsReady")["status"] == "False"
        await plane.passes(60)
        workload = await plane.workload("db")
        assert (admitted_by(workload), condition(workload, "Evicted")["reason"]) == ("", "PodsReadyTimeout")
        await plane.node("n3", cpu="8", labels={"pool": "a"})
        await plane.passes(120)
        assert condition(await plane.workload("db"), "PodsReady")["status"] == "True"

    read = configure({"waitForPodsReady": {"enable": True, "timeout": "60s"}})
    live(story, msgspec.structs.replace(SETTINGS, wait_for_pods_ready=read.wait_for_pods_ready))
