"""What of a Job, a pod or a Workload cannot be changed while it has quota, and what can."""

from __future__ import annotations

import pytest

from reprieve.manifests.kinds import JOBS, PODS, QUOTA_WORKLOADS
from reprieve.stores.errors import Invalid
from tests.builders.quota import queue
from tests.planes.running import Dict, Plane, live, pod
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, work

TIME = "kueue.x-k8s.io/max-exec-time-seconds"


def labelled(name: str, value: str | None) -> Dict:
    return {"metadata": {"labels": {name: value}}}


def test_a_running_job_stays_in_its_queue_and_one_that_waits_may_move() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2}, other={"cpu": 4})
        await plane.apply(work("work", "team"), work("large", "team", cpu=4))
        await plane.passes(5)
        for value in ("other", None):
            with pytest.raises(Invalid) as refused:
                await plane.change(JOBS, "work", labelled(QUEUE, value))
            assert "immutable while the Job is not suspended" in str(refused.value)
            assert QUEUE in str(refused.value)
        with pytest.raises(Invalid, match="max-exec-time-seconds"):
            await plane.change(JOBS, "work", labelled(TIME, "60"))
        await plane.change(JOBS, "large", labelled(QUEUE, "other"))
        await plane.passes(5)
        assert (await running(plane, "work"), await running(plane, "large")) == (1, 1)
        assert admitted_by(await plane.workload("work")) == "team"
        assert admitted_by(await plane.workload("large")) == "other"

    live(story)


def test_a_job_that_runs_without_quota_cannot_be_put_into_a_queue_before_it_is_suspended() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        free = work("free", "team")
        free["metadata"]["labels"] = {}
        await plane.apply(free)
        await plane.passes(5)
        assert await running(plane, "free") == 1
        with pytest.raises(Invalid, match="it was not set"):
            await plane.change(JOBS, "free", labelled(QUEUE, "team"))
        await plane.change(JOBS, "free", {**labelled(QUEUE, "team"), "spec": {"suspend": True}})
        await plane.passes(5)
        assert admitted_by(await plane.workload("free")) == "team"
        assert await running(plane, "free") == 1

    live(story)


def test_a_pod_that_was_let_go_stays_in_its_queue() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1}, other={"cpu": 1})
        for name in ("first", "second"):
            await plane.apply(pod(name, labels={QUEUE: "team"}))
            await plane.passes(5)
        with pytest.raises(Invalid, match="immutable while the pod is not held by a gate"):
            await plane.change(PODS, "first", labelled(QUEUE, "other"))
        await plane.change(PODS, "second", labelled(QUEUE, "other"))
        await plane.passes(5)
        assert admitted_by(await plane.workload("second")) == "other"

    live(story)


def test_a_workload_with_quota_keeps_its_queue_its_pods_and_its_longest_time() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1})
        await plane.apply(*queue("other", {"default": {"cpu": 1}}), work("work", "team"))
        await plane.passes(5)
        name = (await plane.workload("work")).name
        template = (await plane.workload("work")).data["spec"]["podSets"][0]
        fixed = {"queueName": "other", "podSets": [{**template, "count": 2}], "maximumExecutionTimeSeconds": 9}
        for field, value in fixed.items():
            with pytest.raises(Invalid, match=field):
                await plane.change(QUOTA_WORKLOADS, name, {"spec": {field: value}})
        await plane.change(QUOTA_WORKLOADS, name, {"spec": {"active": False}})
        await plane.passes(5)
        assert admitted_by(await plane.workload("work")) == ""

    live(story)


def test_pods_that_have_done_their_work_do_not_come_back() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        made = work("work", "team", replicas=2)
        await plane.apply(made)
        await plane.passes(5)
        first = (await plane.starting_with("work"))[0]
        succeeded = {"status": {"phase": "Succeeded"}}
        await plane.store.patch(PODS, first.name, "default", succeeded, subresource="status")
        await plane.passes(5)
        name = (await plane.workload("work")).name
        with pytest.raises(Invalid, match="cannot become smaller while the workload has quota: it was 1"):
            await plane.store.patch(
                QUOTA_WORKLOADS, name, "default", {"status": {"reclaimablePods": None}}, subresource="status"
            )

    live(story)
