"""A deleted PriorityClass takes nodes out, and people are told: in the plan, the condition and the event."""

from __future__ import annotations

from reprieve.manifests.kinds import PRIORITY_CLASSES
from tests.builders.pods import pod_group
from tests.planes.answers import planned
from tests.planes.running import Plane, condition, live

REMARK = (
    "PriorityClass batch does not exist, but Pod/default/old-1 and Pod/default/old-2 name it: nobody knows what they "
    "tolerate, so nobody is preempted on n1 and n2."
)


async def _two_full_nodes(plane: Plane) -> None:
    await plane.priority("batch", 1)
    await plane.priority("high", 100)
    for number in (1, 2):
        await plane.node(f"n{number}", cpu="2")
        await plane.pod(
            f"old-{number}", cpu="2", priority="batch", nodeSelector={"kubernetes.io/hostname": f"n{number}"}
        )
    await plane.passes(5)
    await plane.store.delete(PRIORITY_CLASSES, "batch")


def test_the_headline_the_condition_and_the_event_name_class_pods_and_nodes() -> None:
    async def story(plane: Plane) -> None:
        await _two_full_nodes(plane)
        await plane.pod("new", cpu="2", priority="high")
        await plane.passes(30)
        assert await plane.where("old-1") == "n1"  # the design's rule stays: the node is left out
        outcome, victims, message = (await planned(plane))["Pod/default/new"]
        assert (outcome, victims) == ("Unschedulable", [])
        assert REMARK in message
        assert condition(await plane.record("new"), "PodScheduled")["message"] == message
        assert await plane.events("FailedScheduling", "new") == [message]
        await plane.priority("batch", 1)  # it is created again: its pods can be asked again
        await plane.passes(60)
        assert await plane.where("new") in ("n1", "n2")

    live(story)


def test_a_gang_is_told_as_well() -> None:
    async def story(plane: Plane) -> None:
        await _two_full_nodes(plane)
        await plane.apply(pod_group("train", gang=2, priorityClassName="high"))
        for name in ("a", "b"):
            await plane.pod(name, cpu="2", priority="high", schedulingGroup={"podGroupName": "train"})
        await plane.passes(30)
        outcome, _, message = (await planned(plane))["PodGroup/default/train"]
        assert outcome == "Unschedulable"
        assert REMARK in message
        assert condition(await plane.record("a"), "PodScheduled")["message"] == message

    live(story)


def test_a_preemptor_that_has_to_go_elsewhere_says_why() -> None:
    async def story(plane: Plane) -> None:
        await _two_full_nodes(plane)
        await plane.priority("low", 1)
        await plane.node("n3", cpu="2")
        await plane.pod("other", cpu="2", priority="low")
        await plane.passes(5)
        await plane.pod("new", cpu="2", priority="high")
        await plane.passes(2)
        assert [REMARK in message for message in await plane.events("Preempting", "new")] == [True]

    live(story)
