"""What a user of pod groups sees: a gang is queued, nominated, bound and evicted whole, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reprieve.engine.holds import HOLD_ANNOTATION
from reprieve.manifests.kinds import POD_GROUPS, PODS
from tests.builders.pods import in_workload, pod_group, workload
from tests.planes.running import Dict, Plane, condition, job, live, pod

CLASSES = {"low": 1, "middle": 10, "high": 100}


async def _cluster(plane: Plane, *cpus: int) -> None:
    for number, cpu in enumerate(cpus, 1):
        await plane.node(f"n{number}", cpu=str(cpu), labels={"rack": f"r{(number + 1) // 2}"})
    for name, value in CLASSES.items():
        await plane.priority(name, value)


def _gang(name: str, size: int, *, priority: str = "middle", least: int | None = None, **parts: Any) -> list[Dict]:
    """A group and a Job that makes its pods."""
    whole = parts.pop("whole", True)
    group = pod_group(name, gang=least or size, whole=whole, priorityClassName=priority)
    return [group, job(name, replicas=size, priority=priority, schedulingGroup={"podGroupName": name}, **parts)]


def test_a_gang_is_bound_whole_or_waits_whole() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, 2)
        await plane.apply(*_gang("small", 3))
        await plane.passes(5)
        assert "" not in await plane.homes("small")
        await plane.apply(*_gang("large", 2))
        await plane.rests()
        assert await plane.homes("large") == ["", ""], "there is room for one, and that is not enough"
        for record in await plane.starting_with("large"):
            told = condition(record, "PodScheduled")
            assert (told["status"], told["reason"]) == ("False", "Unschedulable")
            assert "PodGroup/default/large" in told["message"]

    live(story)


def test_pods_that_name_a_group_wait_for_it_to_exist() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4)
        group, work = _gang("train", 3)
        await plane.apply(work)
        await plane.passes(30)
        assert await plane.homes("train") == ["", "", ""]
        told = {condition(record, "PodScheduled")["message"] for record in await plane.starting_with("train")}
        assert told == {"PodGroup/default/train does not exist yet: 3 pods name it and wait for it."}
        await plane.apply(group)
        await plane.passes(1)
        assert await plane.homes("train") == ["n1", "n1", "n1"]

    live(story)


def test_a_gang_waits_until_as_many_pods_are_there_as_it_needs() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4)
        await plane.apply(pod_group("train", gang=3, priorityClassName="middle"))
        for number in range(2):
            await plane.pod(f"train-{number}", priority="middle", schedulingGroup={"podGroupName": "train"})
        await plane.passes(30)
        assert await plane.homes("train") == ["", ""]
        await plane.pod("train-2", priority="middle", schedulingGroup={"podGroupName": "train"})
        await plane.passes(1)
        assert await plane.homes("train") == ["n1", "n1", "n1"]

    live(story)


def test_more_pods_than_a_gang_needs_are_placed_as_far_as_there_is_room() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        await plane.apply(*_gang("train", 5, least=2))
        await plane.passes(5)
        assert await plane.homes("train") == ["", "", "n1", "n1", "n1"]
        await plane.node("n2", cpu="2")
        await plane.passes(2)
        assert await plane.homes("train") == ["n1", "n1", "n1", "n2", "n2"]

    live(story)


def test_a_gang_preempts_and_is_nominated_whole() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, 2)
        await plane.apply(job("low", replicas=4, priority="low", leaves=6))
        await plane.passes(2)
        await plane.apply(*_gang("train", 3, priority="high"))
        await plane.passes(2)
        members = await plane.starting_with("train")
        assert all(record.data["status"].get("nominatedNodeName") for record in members)
        held = [record for record in members if HOLD_ANNOTATION in record.metadata["annotations"]]
        assert len(held) == 1, "the decision stands on one of them"
        hold = json.loads(held[0].metadata["annotations"][HOLD_ANNOTATION])
        assert set(hold["placement"]) == {record.unit for record in members}
        assert len(hold["victims"]) == 3
        assert await plane.homes("train") == ["", "", ""]
        await plane.passes(10)
        assert "" not in await plane.homes("train")
        assert len(await plane.events("Preempted")) == 3
        assert (await plane.homes("low")).count("") == 3

    live(story)


def test_a_gang_that_is_disrupted_as_one_goes_and_comes_back_whole() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, 2)
        await plane.apply(*_gang("train", 4, priority="low", leaves=3))
        await plane.passes(5)
        assert "" not in await plane.homes("train")
        await plane.pod("high", priority="high", run=30)
        await plane.passes(10)
        assert await plane.where("high")
        assert await plane.homes("train") == ["", "", "", ""], "three places are free, and it needs four"
        assert len(await plane.events("Preempted")) == 4
        await plane.passes(40)
        assert await plane.homes("train") == ["n1", "n1", "n2", "n2"]

    live(story)


def test_a_gang_that_is_disrupted_singly_loses_only_what_is_needed() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, 2)
        await plane.apply(*_gang("train", 4, priority="low", whole=False))
        await plane.passes(5)
        await plane.pod("high", priority="high", run=30)
        await plane.passes(10)
        assert (await plane.homes("train")).count("") == 1
        await plane.passes(40)
        assert await plane.homes("train") == ["n1", "n1", "n2", "n2"]

    live(story)


def test_nobody_makes_way_for_a_gang_that_cannot_be_placed() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        await plane.apply(job("low", replicas=2, priority="low"))
        await plane.passes(2)
        await plane.apply(*_gang("train", 3, priority="high"))
        await plane.rests()
        assert await plane.homes("low") == ["n1", "n1"]
        assert await plane.homes("train") == ["", "", ""]
        assert await plane.events("Preempted") == []

    live(story)


def test_two_gangs_are_not_promised_the_same_room() -> None:
    """Both find the same victim leaving; what it leaves is enough for one of them."""

    async def story(plane: Plane) -> None:
        await _cluster(plane, 4)
        await plane.apply(job("low", replicas=2, cpu="2", priority="low", leaves=10))
        await plane.passes(2)
        await plane.apply(*_gang("one", 2, priority="high"), *_gang("two", 2, priority="high"))
        await plane.passes(60)
        assert await plane.homes("one") == ["n1", "n1"]
        assert await plane.homes("two") == ["n1", "n1"]
        assert len(await plane.events("Preempted")) == 2
        assert not any(message.startswith(" ") for message in await plane.events("Preempting"))

    live(story)


def test_a_group_that_may_never_preempt_waits() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        await plane.priority("polite", 50, preemptionPolicy="Never")
        await plane.apply(job("low", replicas=2, priority="low", run=60))
        await plane.passes(2)
        await plane.apply(*_gang("train", 2, priority="polite"))
        await plane.passes(30)
        assert await plane.homes("train") == ["", ""]
        assert await plane.homes("low") == ["n1", "n1"]
        await plane.passes(40)
        assert await plane.homes("train") == ["n1", "n1"]

    live(story)


def test_a_gang_stays_in_one_rack_when_it_asks_for_that() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2, 2, 2, 2)
        group, work = _gang("train", 4)
        group["spec"]["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
        await plane.pod("other", cpu="1", nodeSelector={"rack": "r1"})
        await plane.passes(2)
        await plane.apply(group, work)
        await plane.passes(5)
        assert await plane.homes("train") == ["n3", "n3", "n4", "n4"]

    live(story)


def test_a_gang_of_a_workload_in_the_shape_of_the_proposal() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 3)
        for number in range(3):
            await plane.pod(f"train-{number}", **in_workload("train"))
        await plane.passes(5)
        assert await plane.homes("train") == ["", "", ""]
        await plane.apply(workload("train", gang=3))
        await plane.passes(2)
        assert await plane.homes("train") == ["n1", "n1", "n1"]

    live(story)


def test_a_member_that_is_deleted_while_the_gang_waits_makes_the_rest_wait_on() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 2)
        await plane.apply(pod_group("train", gang=2, whole=True, priorityClassName="high"))
        await plane.apply(job("low", replicas=2, priority="low", leaves=10))
        await plane.passes(2)
        for number in range(2):
            await plane.pod(f"train-{number}", priority="high", schedulingGroup={"podGroupName": "train"})
        await plane.passes(2)
        await plane.store.delete(PODS, "train-1", "default", grace=0)
        await plane.passes(60)
        assert await plane.homes("train") == [""], "one of two is no gang"
        assert await plane.homes("low") == ["n1", "n1"], "and whoever made way is back"

    live(story)


@pytest.mark.parametrize("change", ["priority", "scheduler"])
def test_a_gang_whose_pods_disagree_is_refused_whole(change: str) -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 4)
        await plane.apply(pod_group("train", gang=2, priorityClassName="middle"))
        odd: Dict = (
            {"priority": "high"} if change == "priority" else {"priority": "middle", "schedulerName": "yunikorn"}
        )
        await plane.pod("train-0", priority="middle", schedulingGroup={"podGroupName": "train"})
        await plane.pod("train-1", schedulingGroup={"podGroupName": "train"}, **odd)
        await plane.passes(10)
        assert await plane.homes("train") == ["", ""]
        assert all(
            condition(record, "PodScheduled")["status"] == "False" for record in await plane.starting_with("train")
        )

    live(story)


def test_a_group_that_is_deleted_makes_its_waiting_pods_wait_for_another() -> None:
    async def story(plane: Plane) -> None:
        await _cluster(plane, 1)
        await plane.apply(pod_group("train", gang=2, priorityClassName="middle"))
        for number in range(2):
            await plane.store.create(
                PODS, pod(f"train-{number}", priority="middle", schedulingGroup={"podGroupName": "train"})
            )
        await plane.passes(5)
        await plane.store.delete(POD_GROUPS, "train", "default")
        await plane.passes(5)
        told = {condition(record, "PodScheduled")["message"] for record in await plane.starting_with("train")}
        assert told == {"PodGroup/default/train does not exist yet: 2 pods name it and wait for it."}
        await plane.node("n2", cpu="4")
        await plane.passes(10)
        assert await plane.homes("train") == ["", ""]

    live(story)
