"""Where the loop and a plan over a live control plane once saw two different things."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reprieve.configuration import Settings
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import CONFIG_MAPS, PODS, PRIORITY_CLASSES
from reprieve.planning.result import Decision
from tests.builders.pods import in_workload, pod_group
from tests.builders.pods import workload as group_workload
from tests.builders.queues import queues, tree
from tests.builders.quota import flavor, queue, workload
from tests.planes.agreement import Judge
from tests.planes.running import Dict, Plane, live, pod

BAD = {"queues.yaml": "partitions: [7"}


def _plans(plane: Plane) -> dict[str, Decision]:
    """One cycle over what is stored, as somebody would see it who asks now."""
    return {made.preemptor: made for made in Judge(plane)._planner().cycle().decisions}


def _decided(plane: Plane) -> list[str]:
    """Who is decided for from now on, in order."""
    found: list[str] = []
    history = plane.plane.history
    record = history.record

    def told(plan: Plan, **options: Any) -> int:
        found.append(plan.preemptor)
        number: int = record(plan, **options)
        return number

    history.record = told
    return found


def _configuration(*below: Dict, namespace: str = "default") -> Dict:
    made = queues(*below)
    return {**made, "metadata": {"name": "yunikorn-configs", "namespace": namespace}}


# Units of other schedulers


@pytest.mark.parametrize("group", [None, "g"])
def test_a_plan_leaves_alone_what_the_loop_leaves_alone(group: str | None) -> None:
    """Pods that name another scheduler take room, and are not decided for: nobody is told otherwise."""

    async def story(plane: Plane) -> None:
        named = {"schedulingGroup": {"podGroupName": group}} if group else {}
        await plane.apply(pod_group("g", gang=1))
        await plane.node("n1", cpu="2")
        await plane.pod("theirs", cpu="2", schedulerName="somebody-else", **named)
        await plane.passes(2)
        assert _plans(plane) == {}
        await plane.pod("ours", cpu="2", **named)
        assert list(_plans(plane)) == ["PodGroup/default/g" if group else "Pod/default/ours"]
        await plane.passes(2)
        assert (await plane.where("theirs"), await plane.where("ours")) == ("", "n1")
        asked = Judge(plane)._planner().single("Pod/default/theirs").decisions[0]
        assert asked.outcome == "Unschedulable", "whoever asks for it is told what this scheduler would do"

    live(story)


# Queues that are refused


def test_queues_that_were_never_accepted_decide_nothing() -> None:
    async def story(plane: Plane) -> None:
        children = tree("parent", tree("a", cpu=4), tree("b", cpu=4), cpu=1)
        await plane.apply(_configuration(children))
        for name, value in (("low", 1), ("high", 100)):
            await plane.priority(name, value)
        await plane.node("n1", cpu="2")
        await plane.pod("runs", cpu="2", priority="low")
        await plane.passes(2)
        await plane.pod("asks", cpu="2", priority="high")
        assert _plans(plane)["Pod/default/asks"].policy == "pod"
        await plane.passes(2)
        assert await plane.where("asks") == "n1"

    live(story, Settings(validate=True))


async def _two_queues(plane: Plane) -> None:
    """`b` takes back from `a` what it guarantees."""
    await plane.apply(_configuration(tree("a", cpu=1, preemption_delay="1s"), tree("b", cpu=1, preemption_delay="1s")))
    await plane.node("n1", cpu="2")
    for number in range(2):
        await plane.pod(f"a-{number}", labels={"queue": "root.a", "applicationId": "a"})
    await plane.passes(2)


def test_a_plan_goes_by_the_last_queues_that_were_accepted() -> None:
    async def story(plane: Plane) -> None:
        await _two_queues(plane)
        await plane.change(CONFIG_MAPS, "yunikorn-configs", {"data": BAD})
        await plane.pod("b-1", labels={"queue": "root.b", "applicationId": "b"})
        await plane.passes(0.5)
        assert _plans(plane)["Pod/default/b-1"].policy == "queue"
        await plane.passes(5)
        assert await plane.where("b-1") == "n1"

    live(story, Settings(validate=True))


@pytest.mark.parametrize("pause", [0, 2])
def test_what_one_configuration_had_accepted_does_not_stand_for_the_next(pause: float) -> None:
    """Whether the scheduler sees the deletion in between or not: what is in force is in the objects."""

    async def story(plane: Plane) -> None:
        await _two_queues(plane)
        await plane.store.delete(CONFIG_MAPS, "yunikorn-configs", "default")
        if pause:
            await plane.passes(pause)
        bad = {**_configuration(), "data": BAD}
        await plane.apply(bad)
        await plane.passes(2)
        await plane.pod("b-1", labels={"queue": "root.b", "applicationId": "b"})
        assert _plans(plane)["Pod/default/b-1"].policy == "pod"
        await plane.passes(5)
        assert await plane.where("b-1") == ""

    live(story, Settings(validate=True))


def test_the_older_of_two_configurations_is_the_one_in_a_plan_too() -> None:
    async def story(plane: Plane) -> None:
        await _two_queues(plane)
        other = _configuration(tree("c", cpu=2), namespace="other")
        await plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}, other)
        await plane.pod("b-1", labels={"queue": "root.b", "applicationId": "b"})
        await plane.passes(5)
        assert json.loads(other["data"]["queues.yaml"])["partitions"]
        assert await plane.where("b-1") == "n1"

    live(story, Settings(validate=True))


# Whose turn it is


def test_a_group_of_which_the_oldest_pod_got_its_place_stands_behind_an_older_pod() -> None:
    async def story(plane: Plane) -> None:
        await plane.priority("middle", 10)
        await plane.node("n1", cpu="2")
        await plane.apply(pod_group("g", gang=1, priorityClassName="middle"))
        grouped = {"priority": "middle", "schedulingGroup": {"podGroupName": "g"}}
        await plane.pod("g-0", **grouped)
        await plane.pod("keeps", priority="middle")
        await plane.passes(1)
        await plane.pod("g-1", **grouped)
        await plane.store.delete(PODS, "g-0", "default", grace=0)
        await plane.passes(1)
        assert await plane.where("g-1") == "n1"
        await plane.pod("g-2", **grouped)
        await plane.passes(1)
        await plane.pod("single", priority="middle")
        await plane.passes(1)
        await plane.pod("g-3", **grouped)
        await plane.passes(1)
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.passes(1)
        assert await plane.where("g-2") == "n1"
        await plane.store.delete(PODS, "g-1", "default", grace=0)
        await plane.passes(1)
        assert (await plane.where("single"), await plane.where("g-3")) == ("n1", "")

    live(story)


def test_a_class_that_is_deleted_takes_no_rank_from_groups_that_wait() -> None:
    """What the class gave a Workload was recorded when it was made, as it is with pods."""

    async def story(plane: Plane) -> None:
        await plane.priority("high", 100)
        await plane.priority("middle", 10)
        await plane.node("n1", cpu="1")
        await plane.apply(group_workload("w", gang=1, priorityClassName="high"))
        await plane.pod("keeps", priority="high")
        await plane.passes(1)
        await plane.pod("w-0", priority="high", **in_workload("w"))
        await plane.pod("single", priority="middle")
        await plane.passes(1)
        await plane.store.delete(PRIORITY_CLASSES, "high", "")
        await plane.passes(1)
        assert list(_plans(plane)) == ["Workload/default/w/workers", "Pod/default/single"]
        await plane.store.delete(PODS, "keeps", "default", grace=0)
        await plane.passes(1)
        assert await plane.where("w-0") == "n1"

    live(story)


def test_quota_has_its_turn_by_the_most_important_that_waits_now() -> None:
    """A workload and a less important pod that come together: the workload was not among those that waited before."""

    async def story(plane: Plane) -> None:
        await plane.apply(flavor(), *queue("team", {"default": {"cpu": 4}}))
        await plane.priority("high", 100)
        await plane.priority("middle", 10)
        await plane.node("n1", cpu="4")
        await plane.passes(2)
        decided = _decided(plane)
        await plane.apply(workload("asks", "team", cpu=1, priority=100), pod("less", priority="middle"))
        await plane.passes(2)
        assert decided == ["Workload/default/asks", "Pod/default/less"]

    live(story)
