"""JobSets in queues: a pod set for each replicated job, admitted together; their Jobs ask for nothing themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.kinds import JOB_SETS, JOBS, QUOTA_WORKLOADS
from reprieve.stores.errors import StoreError
from tests.planes.rest import could_still_act
from tests.planes.running import Dict, Plane, condition, job_set, live
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, shared, work


def queued(name: str = "train", queue: str = "team", **jobs: Dict) -> Dict:
    return job_set(name, labels={QUEUE: queue}, **jobs)


async def suspended(plane: Plane) -> dict[str, Any]:
    """Whether its Jobs are suspended, by name, and it itself."""
    jobs = {record.name: record.data["spec"]["suspend"] for record in (await plane.store.list(JOBS)).records}
    itself = await plane.store.get(JOB_SETS, "train", "default")
    return {**jobs, "train": itself.data["spec"]["suspend"]}


def test_it_is_admitted_whole_and_its_jobs_are_suspended_until_then(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 5})
        await plane.apply(work("first", "team", run=30))
        await plane.passes(2)
        await plane.apply(queued(driver={"run": 100}, worker={"replicas": 2, "pods": 2, "run": 200}))
        await plane.passes(10)
        workload = await plane.workload("train")
        counts = {each["name"]: each["count"] for each in workload.data["spec"]["podSets"]}
        assert (counts, admitted_by(workload)) == ({"driver": 1, "worker": 4}, "")
        assert {held for name, held in (await suspended(plane)).items() if name != "first"} == {True}
        assert len((await plane.store.list(QUOTA_WORKLOADS)).records) == 2, "its Jobs ask for nothing themselves"
        await plane.restart()
        await plane.passes(40)
        assert admitted_by(await plane.workload("train")) == "team"
        assert await running(plane, "train") == 5
        pod = (await plane.starting_with("train-worker"))[0]
        assert pod.data["spec"]["nodeSelector"] == {"pool": "a"}
        await plane.passes(110)
        done = (await plane.workload("train")).data["status"]["reclaimablePods"]
        assert done == [{"name": "driver", "count": 1}]
        await plane.passes(150)
        assert condition(await plane.workload("train"), "Finished")["message"] == "The JobSet train has completed."
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story, directory=tmp_path)


def test_it_makes_way_as_a_whole_and_is_as_it_was_before() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team=shared(3))
        await plane.apply(queued(worker={"pods": 3, "priority": "low", "run": 500}))
        await plane.passes(10)
        assert await running(plane, "train") == 3
        await plane.apply(work("urgent", "team", priority="high", run=60))
        await plane.passes(10)
        workload = await plane.workload("train")
        assert (admitted_by(workload), await running(plane, "urgent")) == ("", 1)
        assert condition(workload, "Evicted")["reason"] == "Preempted"
        assert await suspended(plane) == {"train": True, "train-worker-0": True, "urgent": False}
        made = (await plane.store.get(JOB_SETS, "train", "default")).data["spec"]["replicatedJobs"][0]
        assert "nodeSelector" not in made["template"]["spec"]["template"]["spec"]
        await plane.passes(80)
        assert await running(plane, "train") == 3
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story)


def test_the_queue_of_one_that_runs_cannot_be_changed() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3}, other={"cpu": 3})
        await plane.apply(queued(worker={"run": 500}))
        await plane.passes(10)
        with pytest.raises(StoreError, match="immutable while the JobSet is not suspended"):
            await plane.change(JOB_SETS, "train", {"metadata": {"labels": {QUEUE: "other"}}})

    live(story)


def test_one_that_is_deleted_gives_its_quota_back() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        await plane.apply(queued(worker={"pods": 2, "run": 500}))
        await plane.passes(10)
        await plane.apply(work("next", "team", run=10))
        await plane.store.delete(JOB_SETS, "train", "default")
        await plane.passes(10)
        assert await running(plane, "next") == 1
        assert await plane.starting_with("train") == []

    live(story)


def test_jobs_of_one_that_is_in_no_queue_may_be_in_one_themselves() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 1})
        made = job_set("train", worker={"replicas": 2, "run": 100})
        made["spec"]["replicatedJobs"][0]["template"]["metadata"] = {"labels": {QUEUE: "team"}}
        await plane.apply(made)
        await plane.passes(10)
        assert await running(plane, "train") == 1
        assert len((await plane.store.list(QUOTA_WORKLOADS)).records) == 2

    live(story)
