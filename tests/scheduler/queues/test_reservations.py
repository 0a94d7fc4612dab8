"""The node that is held for a queue's preemptor, on a whole control plane: nobody else gets it, whoever comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprieve.engine.holds import hold_of
from reprieve.engine.nodes.reservations import reservations
from reprieve.manifests.kinds import NODES, PODS
from reprieve.manifests.loading import load_objects
from reprieve.world import World
from tests.builders.queues import queues, tree
from tests.planes.laws import Eye
from tests.planes.rest import everything
from tests.planes.running import Dict, Plane, live


def _in(queue: str, **parts: Any) -> Dict:
    return {"labels": {"queue": f"root.{queue}", "applicationId": queue}, **parts}


async def _held(plane: Plane) -> dict[str, int]:
    """The cpu that is held against everybody, by node, as the store has it."""
    world = World(load_objects(await everything(plane)).objects)
    return {name: amounts.of("cpu") // 1000 for name, amounts in reservations(world.pods.values()).items()}


async def _preempting(plane: Plane, *, leaves: int = 20) -> None:
    """Two full nodes of test's pods; prod has asked one of them to make way, and that takes its time."""
    await plane.node("n1", cpu="1")
    await plane.node("n2", cpu="1")
    await plane.priority("high", 1000)
    await plane.priority("gentle", 1000, preemptionPolicy="Never")
    made = queues(tree("prod", cpu=1, preemption_delay="1s"), tree("test"))
    await plane.apply({**made, "metadata": {"name": "yunikorn-configs", "namespace": "default"}})
    for number in range(2):
        await plane.pod(f"test-{number}", **_in("test", leaves=leaves))
    await plane.passes(5)
    await plane.pod("ask", **_in("prod"))
    await plane.passes(5)
    nominated = (await plane.record("ask")).data["status"]["nominatedNodeName"]
    assert await _held(plane) == {nominated: 1}


@pytest.mark.parametrize("restarts", [False, True])
def test_pods_outside_the_queues_do_not_take_the_held_node(restarts: bool, tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        eye = Eye(plane.plane.store)
        await _preempting(plane)
        for number in range(5):
            await plane.pod(f"out-{number}", schedulerName="reprieve", priority="gentle")
            await plane.passes(1)
        if restarts:
            await plane.restart()
        held = await _held(plane)
        assert len(held) == 1
        await plane.passes(30)
        assert await plane.where("ask") == next(iter(held)), "whose victim has left is there"
        assert eye.evictions.total() == 1
        assert await _held(plane) == {}, "what is bound holds nothing"

    live(story, directory=tmp_path)


def test_who_preempts_elsewhere_leaves_the_held_node_alone() -> None:
    async def story(plane: Plane) -> None:
        await _preempting(plane)
        (held,) = await _held(plane)
        await plane.pod("out", schedulerName="reprieve", priority="high")
        await plane.passes(60)
        assert await plane.where("ask") == held
        assert await plane.where("out") not in ("", held)

    live(story)


def test_other_pods_of_the_queues_do_not_take_the_held_node() -> None:
    async def story(plane: Plane) -> None:
        await _preempting(plane)
        (held,) = await _held(plane)
        await plane.pod("other", **_in("prod", priority="high"))
        await plane.passes(60)
        assert (await plane.where("ask"), await plane.where("other")) == (held, "")

    live(story)


def test_the_node_is_free_again_when_the_preemptor_is_deleted() -> None:
    async def story(plane: Plane) -> None:
        await _preempting(plane)
        (held,) = await _held(plane)
        await plane.store.delete(PODS, "ask", "default")
        assert await _held(plane) == {}
        await plane.pod("out", schedulerName="reprieve", priority="gentle")
        await plane.passes(30)
        assert await plane.where("out") == held

    live(story)


def test_a_preemptor_that_is_planned_anew_holds_its_new_place_and_no_other() -> None:
    async def story(plane: Plane) -> None:
        await _preempting(plane, leaves=60)
        (held,) = await _held(plane)
        await plane.change(NODES, held, {"spec": {"unschedulable": True}})
        await plane.passes(10)
        (other,) = {"n1", "n2"} - {held}
        assert await _held(plane) == {other: 1}
        hold = hold_of((await plane.record("ask")).metadata["annotations"])
        assert hold is not None
        assert len(hold.victims) == 1
        await plane.passes(120)
        assert await plane.where("ask") == other

    live(story)
