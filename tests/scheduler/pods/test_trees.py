"""Trees of groups, and Jobs that ask for a group, on a control plane that runs."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.manifests.kinds import JOBS, POD_GROUPS, PODS, WORKLOADS
from tests.builders.pods import manifest, metadata, pod_group
from tests.planes.running import Plane, live

ON = ("GenericWorkload", "CompositePodGroup", "WorkloadWithJob")
SETTINGS = Settings(validate=True, feature_gates=dict.fromkeys(ON, True))
MADE: dict[str, Any] = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
SOON = 5.0


def tree(least: int, priority: str = "p", *, whole: bool = False, name: str = "top") -> dict[str, Any]:
    mode: dict[str, Any] = {"all": {}} if whole else {"single": {}}
    policy = {"gang": {"minGroupCount": least}}
    spec = {"schedulingPolicy": policy, "priorityClassName": priority, "disruptionMode": mode, **MADE}
    return manifest("scheduling.k8s.io/v1alpha3", "CompositePodGroup", metadata(name, "default"), spec=spec)


async def group(plane: Plane, name: str, size: int, above: str = "top", priority: str = "p") -> None:
    made = pod_group(name, gang=size, priorityClassName=priority, parentCompositePodGroupName=above, **MADE)
    await plane.apply(made)
    for number in range(size):
        in_group = {"schedulingGroup": {"podGroupName": name}}
        await plane.pod(f"{name}-{number}", cpu="1", priority=priority, **in_group)


async def placed(plane: Plane, *names: str) -> list[bool]:
    return [bool(await plane.where(name)) for name in names]


def test_nobody_of_a_tree_is_bound_before_all_that_it_needs_are_there() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        await plane.priority("p", 10)
        await group(plane, "a", 2)
        await plane.passes(SOON)
        assert await placed(plane, "a-0", "a-1") == [False, False]  # the group above them does not exist
        await plane.apply(tree(2))
        await plane.passes(SOON)
        assert await placed(plane, "a-0", "a-1") == [False, False]  # one of two groups
        await group(plane, "b", 2)
        await plane.passes(SOON)
        assert await placed(plane, "a-0", "a-1", "b-0", "b-1") == [True] * 4

    live(story, SETTINGS)


def test_a_tree_preempts_a_tree_whole() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.node("n2", cpu="2")
        await plane.priority("low", 1)
        await plane.priority("p", 10)
        await plane.apply(tree(2, "low", whole=True, name="before"))
        await group(plane, "x", 1, "before", "low")
        await group(plane, "y", 1, "before", "low")
        await plane.passes(SOON)
        assert await placed(plane, "x-0", "y-0") == [True, True]
        await plane.apply(tree(2))
        await group(plane, "a", 2)
        await group(plane, "b", 1)
        await plane.passes(60)
        assert await placed(plane, "a-0", "a-1", "b-0") == [True] * 3
        left = [record.name for record in (await plane.store.list(PODS)).records]
        assert not {"x-0", "y-0"} & set(left)

    live(story, SETTINGS)


def job(least: int | None = None) -> dict[str, Any]:
    gang = {} if least is None else {"minCount": least}
    scheduling = {"schedulingPolicy": {"gang": gang}, "disruptionMode": {"all": {}}}
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "priorityClassName": "p", "restartPolicy": "Never"}}
    spec = {"parallelism": 3, "completions": 3, "scheduling": scheduling, "template": template}
    return manifest("batch/v1", "Job", metadata("train", "default"), spec=spec)


@pytest.mark.parametrize("wait", [0, 60], ids=["all at once", "one by one"])
@pytest.mark.parametrize("free", [False, True], ids=["somebody makes way", "there is room for what it needs"])
def test_groups_that_a_tree_can_do_without_cost_nobody_above_those_who_made_way(free: bool, wait: int) -> None:
    async def story(plane: Plane) -> None:
        for name, value in (("low", 1), ("middle", 5), ("p", 10)):
            await plane.priority(name, value)
        for number, priority in enumerate(("low", "low", "middle")):
            await plane.node(f"n{number}", cpu="1")
            await plane.pod(f"there-{number}", cpu="1", priority=priority)
            await plane.passes(SOON)
        if free:
            await plane.node("n3", cpu="1")
        await plane.apply(tree(1))
        for name in "abc":
            await group(plane, name, 1)
            await plane.passes(wait)
        await plane.passes(60)
        assert sum(await placed(plane, "a-0", "b-0", "c-0")) == (1 if free else 2)
        left = sorted(record.name for record in (await plane.store.list(PODS)).records if "there" in record.name)
        assert left == (["there-0", "there-1", "there-2"] if free else ["there-2"])

    live(story, SETTINGS)


def test_a_job_that_says_so_is_a_gang() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.priority("p", 10)
        await plane.apply(job())
        await plane.passes(SOON)
        (made,) = (await plane.store.list(POD_GROUPS)).records
        (workload,) = (await plane.store.list(WORKLOADS)).records
        pods = (await plane.store.list(PODS)).records
        assert made.data["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
        assert made.data["spec"]["priority"] == 10
        assert made.data["spec"]["workloadRef"]["workloadName"] == workload.name
        assert {pod.data["spec"]["schedulingGroup"]["podGroupName"] for pod in pods} == {made.name}
        assert not any(pod.data["spec"].get("nodeName") for pod in pods)
        await plane.node("n2", cpu="1")
        await plane.passes(SOON)
        assert all(pod.data["spec"].get("nodeName") for pod in (await plane.store.list(PODS)).records)

    live(story, SETTINGS)


def test_a_gang_that_needs_fewer_follows_its_job_and_goes_with_it() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.priority("p", 10)
        await plane.apply(job())
        await plane.passes(SOON)
        await plane.change(JOBS, "train", {"spec": {"scheduling": {"schedulingPolicy": {"gang": {"minCount": 2}}}}})
        await plane.passes(SOON)
        bound = [pod for pod in (await plane.store.list(PODS)).records if pod.data["spec"].get("nodeName")]
        assert len(bound) == 2
        await plane.store.delete(JOBS, "train", "default")
        await plane.passes(60)
        assert (await plane.store.list(POD_GROUPS)).records == []
        assert (await plane.store.list(WORKLOADS)).records == []

    live(story, SETTINGS)
