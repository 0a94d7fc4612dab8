"""A nomination yields to whoever may preempt it; who loses it is planned anew at once, and nothing stays blocked."""

from __future__ import annotations

from reprieve.configuration import Settings
from reprieve.manifests.kinds import NODES, PODS
from tests.builders.pods import pod_group
from tests.planes.laws import Eye
from tests.planes.running import Plane, condition, live

GANGS = Settings(validate=True, feature_gates={"GenericWorkload": True})
A_MOMENT = 0.5
LONG = 200
"""Seconds that some victims take to leave."""


async def _classes(plane: Plane) -> None:
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await plane.priority(name, value)


async def _nomination(plane: Plane, name: str) -> str:
    found: str = (await plane.record(name)).data["status"].get("nominatedNodeName", "")
    return found


def test_whose_place_is_taken_by_a_higher_pod_that_fits_looks_elsewhere_at_once() -> None:
    """The first of two victims is gone, the other takes long; a higher pod fits into what the first has left."""

    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="2")
        await plane.pod("quick", cpu="1", priority="low", leaves=1)
        await plane.pod("slow", cpu="1", priority="low", leaves=LONG)
        await plane.passes(1)
        await plane.pod("middle", cpu="2", priority="middle")
        await plane.passes(3)
        assert await _nomination(plane, "middle") == "n1"
        await plane.pod("high", cpu="1", priority="high")
        await plane.passes(A_MOMENT)
        assert await plane.where("high") == "n1"
        assert await _nomination(plane, "middle") == "", "it cannot be placed there any more"
        await plane.pod("little", cpu="500m", priority="low")
        await plane.node("n2", cpu="2")
        await plane.passes(A_MOMENT)
        assert await plane.where("middle") == "n2"

    live(story)


def test_the_idle_rest_of_a_node_is_not_kept_for_whoever_cannot_get_it() -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="4")
        await plane.pod("quick", cpu="3", priority="low", leaves=1)
        await plane.pod("slow", cpu="1", priority="low", leaves=LONG)
        await plane.passes(1)
        await plane.pod("middle", cpu="4", priority="middle")
        await plane.passes(3)
        await plane.pod("high", cpu="1", priority="high")
        await plane.pod("little", cpu="1", priority="low")
        await plane.passes(2)
        assert await plane.where("high") == "n1"
        assert await plane.where("little") == "n1", "2 of 4 cpu are idle, and nobody can be placed there who waits"
        said = condition(await plane.record("middle"), "PodScheduled")["message"]
        assert "slow" not in said, said

    live(story)


def test_who_is_preempted_out_of_its_nomination_is_planned_anew_at_once() -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="2")
        await plane.node("n2", cpu="2")
        await plane.pod("a", cpu="2", priority="low", leaves=LONG, nodeSelector={"kubernetes.io/hostname": "n1"})
        await plane.pod("b", cpu="2", priority="low", leaves=1, nodeSelector={"kubernetes.io/hostname": "n2"})
        await plane.passes(1)
        await plane.store.patch(NODES, "n2", "", {"spec": {"unschedulable": True}})
        await plane.pod("middle", cpu="2", priority="middle")
        await plane.passes(A_MOMENT)
        assert await _nomination(plane, "middle") == "n1"
        await plane.store.patch(NODES, "n2", "", {"spec": {"unschedulable": None}})
        await plane.pod("high", cpu="2", priority="high", nodeSelector={"kubernetes.io/hostname": "n1"})
        await plane.passes(5)
        assert await _nomination(plane, "high") == "n1"
        assert await plane.where("middle") == "n2"

    live(story)


def test_a_gang_that_loses_one_place_is_planned_anew_as_a_whole() -> None:
    async def story(plane: Plane) -> None:
        eye = Eye(plane.plane.store)
        await _classes(plane)
        for number in (1, 2, 3):
            await plane.node(f"n{number}", cpu="1")
        for number in (1, 2):
            where = {"kubernetes.io/hostname": f"n{number}"}
            await plane.pod(f"old-{number}", priority="low", leaves=LONG, nodeSelector=where)
        await plane.pod("old-3", priority="low", leaves=1, nodeSelector={"kubernetes.io/hostname": "n3"})
        await plane.passes(1)
        await plane.apply(pod_group("gang", gang=2, priorityClassName="middle"))
        for number in (1, 2):
            await plane.pod(f"g{number}", priority="middle", schedulingGroup={"podGroupName": "gang"})
        await plane.passes(A_MOMENT)
        nominated = {name: await _nomination(plane, name) for name in ("g1", "g2")}
        taken = next(node for node in nominated.values() if node != "n3")
        await plane.pod("high", priority="high", nodeSelector={"kubernetes.io/hostname": taken})
        await plane.passes(LONG + 20)
        assert await plane.where("high") == taken
        assert sorted([await plane.where("g1"), await plane.where("g2")]) == sorted({"n1", "n2", "n3"} - {taken})
        assert eye.evictions.total() == 3, "each of the three that had to leave, once"

    live(story, GANGS)


def test_what_is_above_the_least_of_a_gang_says_why_it_waits_and_gets_the_next_room() -> None:
    async def story(plane: Plane) -> None:
        await _classes(plane)
        await plane.node("n1", cpu="3")
        await plane.pod("other", cpu="1", priority="high")
        for number in range(4):
            await plane.pod(f"g{number}", cpu="1", priority="middle", schedulingGroup={"podGroupName": "gang"})
        await plane.passes(2)
        assert "does not exist" in condition(await plane.record("g0"), "PodScheduled")["message"]
        await plane.apply(pod_group("gang", gang=2, priorityClassName="middle"))
        await plane.passes(2)
        homes = {name: await plane.where(name) for name in ("g0", "g1", "g2", "g3")}
        assert sorted(homes.values()) == ["", "", "n1", "n1"]
        for name in (name for name, node in homes.items() if not node):
            said = condition(await plane.record(name), "PodScheduled")["message"]
            assert "does not exist" not in said, said
            assert "cpu" in said, said
        await plane.store.delete(PODS, "other", "default", grace=0)
        await plane.passes(A_MOMENT)
        assert len([node for node in [await plane.where(name) for name in homes] if node]) == 3
        await plane.node("n2", cpu="1")
        await plane.passes(A_MOMENT)
        assert len([node for node in [await plane.where(name) for name in homes] if node]) == 4

    live(story, GANGS)
