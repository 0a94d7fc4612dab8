"""Pods that have done their work give their quota back, while the others of their workload go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.kinds import CLUSTER_QUEUES, JOBS, PODS, QUOTA_WORKLOADS
from tests.builders.quota import flavor, queue, workload
from tests.planes.rest import could_still_act
from tests.planes.running import Dict, Plane, condition, live, pod
from tests.scheduler.quota.companies import QUEUE, admitted_by, company, running, shared, work


async def finish(plane: Plane, name: str, number: int) -> None:
    """So many pods of a Job have done their work."""
    left = [each for each in await plane.starting_with(name) if each.data["status"]["phase"] == "Running"]
    for record in left[:number]:
        patch = {"status": {"phase": "Succeeded"}}
        await plane.store.patch(PODS, record.name, record.namespace, patch, subresource="status")


async def used(plane: Plane, queue: str = "team") -> str:
    found = await plane.store.get(CLUSTER_QUEUES, queue)
    total: str = found.data["status"]["flavorsUsage"][0]["resources"][0]["total"]
    return total


async def done(plane: Plane, job: str) -> Any:
    return (await plane.workload(job)).data["status"].get("reclaimablePods")


def test_quota_of_pods_that_have_finished_goes_to_who_waits_while_the_others_run() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3})
        await plane.apply(work("first", "team", replicas=3), work("second", "team", replicas=2))
        await plane.passes(5)
        assert admitted_by(await plane.workload("second")) == ""
        await finish(plane, "first", 1)
        await plane.passes(5)
        assert await done(plane, "first") == [{"name": "main", "count": 1}]
        assert await used(plane) == "2"
        assert admitted_by(await plane.workload("second")) == ""
        await finish(plane, "first", 1)
        await plane.passes(5)
        assert await done(plane, "first") == [{"name": "main", "count": 2}]
        assert admitted_by(await plane.workload("second")) == "team"
        assert (await running(plane, "first"), await running(plane, "second")) == (1, 2)
        assert await used(plane) == "3"
        await plane.rests()
        assert await could_still_act(plane) == []

    live(story)


def test_a_job_with_more_to_do_than_it_runs_at_a_time_gives_nothing_back() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 2})
        made = work("long", "team", replicas=2)
        made["spec"]["completions"] = 4
        await plane.apply(made)
        await plane.passes(5)
        await finish(plane, "long", 2)
        await plane.passes(5)
        assert await done(plane, "long") is None
        assert await running(plane, "long") == 2
        await finish(plane, "long", 1)
        await plane.passes(5)
        assert await done(plane, "long") == [{"name": "main", "count": 1}]
        assert await used(plane) == "1"

    live(story)


def test_a_job_that_made_way_asks_only_for_the_pods_that_it_still_needs(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team=shared(3))
        await plane.apply(work("long", "team", replicas=3, priority="low"))
        await plane.passes(5)
        await finish(plane, "long", 1)
        await plane.passes(5)
        await plane.restart()
        await plane.apply(work("urgent", "team", replicas=2, priority="high"))
        await plane.passes(20)
        assert admitted_by(await plane.workload("urgent")) == "team"
        assert admitted_by(await plane.workload("long")) == ""
        assert await done(plane, "long") == [{"name": "main", "count": 1}]
        await plane.restart()
        await finish(plane, "urgent", 1)
        await plane.passes(20)
        left = await plane.workload("long")
        assert left.data["status"]["admission"]["podSetAssignments"][0]["count"] == 2
        assert left.data["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "2"}
        assert await running(plane, "long") == 2
        assert (await plane.job("long")).data["spec"]["parallelism"] == 3  # it is as its user wrote it
        assert await used(plane) == "3"
        await finish(plane, "long", 2)
        await plane.passes(5)
        assert condition(await plane.job("long"), "Complete")["status"] == "True"

    live(story, directory=tmp_path)


def test_a_smaller_parallelism_is_no_work_that_is_done() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 3})
        made = work("long", "team", replicas=3)
        made["spec"]["completions"] = 9
        await plane.apply(made)
        await plane.passes(5)
        await plane.change(JOBS, "long", {"spec": {"parallelism": 2}})
        await plane.passes(5)
        assert await done(plane, "long") is None
        assert await used(plane) == "3"

    live(story)


def grouped(name: str, cpu: str, **parts: Any) -> Dict:
    labels = {QUEUE: "team", "kueue.x-k8s.io/pod-group-name": "group"}
    return pod(name, cpu=cpu, labels=labels, annotations={"kueue.x-k8s.io/pod-group-total-count": "3"}, **parts)


def test_pods_of_a_group_give_back_what_they_asked_for_each_by_its_shape() -> None:
    async def story(plane: Plane) -> None:
        await company(plane, team={"cpu": 4})
        await plane.apply(grouped("big", "2"), grouped("small-1", "1"), grouped("small-2", "1"))
        await plane.passes(5)
        await plane.apply(work("next", "team", cpu=2))
        await plane.passes(5)
        assert await used(plane) == "4"
        await finish(plane, "big", 1)
        await plane.passes(5)
        assert admitted_by(await plane.workload("next")) == "team"
        assert await used(plane) == "4"
        (said,) = (await plane.store.get(QUOTA_WORKLOADS, "group", "default")).data["status"]["reclaimablePods"]
        assert said["count"] == 1
        await finish(plane, "small", 2)
        await plane.passes(5)
        group = await plane.store.get(QUOTA_WORKLOADS, "group", "default")
        assert condition(group, "Finished")["status"] == "True"

    live(story)


@pytest.mark.parametrize(("free", "outcome"), [(0, "Unschedulable"), (1, "Unschedulable"), (2, "Fits")])
def test_a_plan_over_files_reads_it(free: int, outcome: str) -> None:
    import reprieve

    running = workload("running", "team", on="default", count=4, cpu=1)
    running["status"]["reclaimablePods"] = [{"name": "main", "count": free}] if free else []
    objects = [flavor(), *queue("team", {"default": {"cpu": 4}}), running, workload("next", "team", cpu=2)]
    assert reprieve.plan(objects, preemptor="Workload/default/next").decisions[0].outcome == outcome


def test_what_waits_and_has_done_a_part_asks_for_the_rest() -> None:
    import reprieve

    waiting = workload("waiting", "team", count=4, cpu=1)
    waiting["status"] = {"reclaimablePods": [{"name": "main", "count": 3}]}
    objects = [flavor(), *queue("team", {"default": {"cpu": 1}}), waiting]
    assert reprieve.plan(objects, preemptor="Workload/default/waiting").decisions[0].outcome == "Fits"
