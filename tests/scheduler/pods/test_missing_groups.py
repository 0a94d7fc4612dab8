"""Pods of a group that does not exist yet: the loop and a plan over the same store say and do the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.pods import pod_group
from tests.planes.answers import Answer, decided, planned
from tests.planes.running import Plane, condition, live

IN_GROUP: dict[str, Any] = {"schedulingGroup": {"podGroupName": "train"}}
IN_WORKLOAD: dict[str, Any] = {"workloadRef": {"name": "train", "podGroup": "workers"}}


@pytest.mark.parametrize(
    ("names", "unit"), [(IN_GROUP, "PodGroup/default/train"), (IN_WORKLOAD, "Workload/default/train/workers")]
)
@pytest.mark.parametrize("full", [False, True])
def test_they_wait_for_it_in_the_loop_and_in_a_plan(names: dict[str, Any], unit: str, full: bool) -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.priority("low", 1)
        await plane.priority("high", 10)
        if full:
            await plane.pod("running", cpu="2", priority="low")
            await plane.passes(5)
        for name in ("a", "b"):
            await plane.pod(name, cpu="1", priority="high", **names)
        await plane.passes(30)
        want: Answer = ("Unschedulable", [], f"{unit} does not exist yet: 2 pods name it and wait for it.")
        assert (await planned(plane)) == {unit: want}
        assert {name: answer for name, answer in decided(plane).items() if name == unit} == {unit: want}
        assert [await plane.where(name) for name in ("a", "b")] == ["", ""]
        assert condition(await plane.record("a"), "PodScheduled")["message"] == want[2]
        assert not full or await plane.where("running") == "n1"  # nobody makes way for them

    live(story)


def test_they_are_placed_when_it_comes() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        for name in ("a", "b"):
            await plane.pod(name, cpu="1", **IN_GROUP)
        await plane.passes(30)
        await plane.apply(pod_group("train", gang=2))
        assert (await planned(plane))["PodGroup/default/train"][0] == "Fits"
        await plane.passes(5)
        assert [await plane.where(name) for name in ("a", "b")] == ["n1", "n1"]

    live(story)


def test_what_is_above_the_least_count_says_why_it_waits_now_and_gets_the_next_room() -> None:
    """It waited for its group before; that is not why it waits any more."""

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        for number in range(3):
            await plane.pod(f"p{number}", schedulingGroup={"podGroupName": "g"})
        await plane.passes(2)
        await plane.apply(pod_group("g", gang=1))
        await plane.passes(2)
        (waits,) = [name for name in ("p0", "p1", "p2") if not await plane.where(name)]
        told = condition(await plane.record(waits), "PodScheduled")["message"]
        assert "does not exist" not in told
        assert "has the pods it needs; 1 more pod waits for free room (0 of 1 cpu free)" in told
        await plane.node("n2", cpu="1")
        await plane.passes(1)
        assert await plane.where(waits) == "n2"

    live(story)
