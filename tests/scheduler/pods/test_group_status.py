"""What Workloads and PodGroups say of themselves in a running control plane: priorities, mismatches, conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve.manifests.kinds import JOBS, POD_GROUPS, PODS, PRIORITY_CLASSES, WORKLOADS
from reprieve.stores.errors import Invalid
from tests.builders.pods import in_workload, pod_group, workload
from tests.planes.running import Dict, Plane, condition, job, live

SCHEDULED, TARGET, NOT_MATCHING = "PodGroupInitiallyScheduled", "DisruptionTarget", "PodsNotMatchingPriority"


async def _classes(plane: Plane, **values: int) -> None:
    for name, value in (values or {"low": 1, "middle": 10, "high": 100}).items():
        await plane.priority(name, value)


async def _workload(plane: Plane, name: str = "team") -> Any:
    return await plane.store.get(WORKLOADS, name, "default")


async def _group(plane: Plane, name: str) -> Any:
    return await plane.store.get(POD_GROUPS, name, "default")


# Priorities are recorded


def test_the_priorities_of_a_workload_are_recorded_once() -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        classes = {"priorityClassName": "middle", "preemptionPriorityClassName": "high"}
        await plane.apply(workload("team", gang=1, **classes))
        want = {"priority": 10, "preemptionPriority": 100, "preemptionPolicy": "PreemptLowerPriority"}
        assert (await _workload(plane)).data["status"] == want
        await plane.store.delete(PRIORITY_CLASSES, "middle", "")
        await plane.priority("middle", 5000, preemptionPolicy="Never")
        await plane.passes(5)
        assert (await _workload(plane)).data["status"] == want

    live(story)


def test_a_workload_defaults_as_a_pod_does() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(workload("plain", gang=1))
        await plane.priority("usual", 7, globalDefault=True, preemptionPolicy="Never")
        await plane.apply(workload("team", gang=1))
        found = await _workload(plane)
        assert found.data["spec"]["priorityClassName"] == "usual"
        want = {"priority": 7, "preemptionPriority": 7, "preemptionPolicy": "Never"}
        assert found.data["status"] == want
        assert (await _workload(plane, "plain")).data["status"]["priority"] == 0

    live(story)


def test_what_was_recorded_decides_though_its_class_is_another_now() -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="1")
        await plane.apply(workload("team", gang=1, mode="PodGroup", priorityClassName="middle"))
        await plane.pod("running", priority="middle", **in_workload("team"))
        await plane.passes(5)
        assert await plane.where("running") == "n1"
        await plane.store.delete(PRIORITY_CLASSES, "middle", "")
        await plane.priority("middle", 1000)
        await plane.pod("web", priority="high")
        await plane.passes(30)
        assert await plane.where("web") == "n1", "100 is above the 10 that the workload was made with"

    live(story)


@pytest.mark.parametrize("field", ["priorityClassName", "preemptionPriorityClassName"])
def test_the_classes_of_a_workload_cannot_be_changed(field: str) -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.apply(workload("team", gang=1, priorityClassName="low", preemptionPriorityClassName="middle"))
        with pytest.raises(Invalid, match=f"spec.{field}.*cannot be changed"):
            await plane.change(WORKLOADS, "team", {"spec": {field: "high"}})
        await plane.change(WORKLOADS, "team", {"metadata": {"labels": {"a": "b"}}})

    live(story)


def test_nobody_changes_what_was_recorded() -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.apply(workload("team", gang=1, priorityClassName="middle"))
        patch: Dict = {"status": {"priority": 99, "conditions": []}}
        await plane.store.patch(WORKLOADS, "team", "default", patch, subresource="status")
        record = await _workload(plane)
        await plane.store.replace(WORKLOADS, {**record.data, "status": {}}, subresource="status")
        assert (await _workload(plane)).data["status"]["priority"] == 10

    live(story)


# Pods that say another priority


def test_a_workload_says_which_of_its_pods_have_another_priority() -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="4")
        await plane.apply(workload("team", gang=1, priorityClassName="middle"))
        await plane.pod("same", priority="middle", **in_workload("team"))
        await plane.passes(2)
        assert condition(await _workload(plane), NOT_MATCHING) == {}
        await plane.pod("other", priority="high", **in_workload("team"))
        await plane.passes(2)
        said = condition(await _workload(plane), NOT_MATCHING)
        want = "other has priority 100; 10, the Workload's, is what counts for them"
        assert (said["status"], said["reason"], said["message"]) == ("True", "PriorityDiffers", want)
        await plane.store.delete(PODS, "other", "default")
        await plane.passes(5)
        assert condition(await _workload(plane), NOT_MATCHING)["status"] == "False"

    live(story)


# Conditions of groups


def _gang(name: str, size: int, priority: str) -> list[Dict]:
    group = pod_group(name, gang=size, whole=True, priorityClassName=priority)
    return [group, job(name, replicas=size, priority=priority, schedulingGroup={"podGroupName": name})]


def test_a_group_says_whether_it_was_scheduled_and_that_it_is_preempted(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="2")
        await plane.apply(*_gang("first", 2, "low"))
        await plane.passes(5)
        said = condition(await _group(plane, "first"), SCHEDULED)
        assert (said["status"], said["reason"]) == ("True", "Scheduled")
        await plane.apply(*_gang("large", 3, "high"))
        await plane.passes(5)
        said = condition(await _group(plane, "large"), SCHEDULED)
        assert (said["status"], said["reason"]) == ("False", "Unschedulable")
        assert "of the 3 pods it needs" in said["message"]
        assert condition(await _group(plane, "first"), TARGET) == {}
        await plane.apply(*_gang("second", 2, "middle"))
        await plane.passes(30)
        assert await plane.homes("second") == ["n1", "n1"]
        first = await _group(plane, "first")
        said = condition(first, TARGET)
        assert (said["status"], said["reason"]) == ("True", "PreemptionByScheduler")
        assert condition(first, SCHEDULED)["status"] == "True", "it stays so, whatever becomes of its pods"
        await plane.store.delete(JOBS, "large", "default", propagation="Background")
        await plane.passes(5)
        await plane.restart()
        await plane.node("n2", cpu="2")
        await plane.passes(30)
        assert await plane.homes("first") == ["n2", "n2"]
        assert condition(await _group(plane, "first"), TARGET)["status"] == "False"

    live(story, directory=tmp_path)
