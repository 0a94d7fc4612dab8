"""Whose turn it is among pods in queues on a whole control plane, and that they leave each other in peace."""

from __future__ import annotations

from typing import Any

from reprieve.manifests.kinds import CONFIG_MAPS
from tests.builders.queues import queues, tree
from tests.planes.running import Dict, Plane, live, replica_set

CONFIGS = "yunikorn-configs"


def _configuration(*below_root: Dict, **parts: Any) -> Dict:
    return {**queues(*below_root, **parts), "metadata": {"name": CONFIGS, "namespace": "default"}}


def _in(queue: str, **parts: Any) -> Dict:
    return {"labels": {"queue": f"root.{queue}", "applicationId": queue}, **parts}


async def _two_that_wait(plane: Plane, *below_root: Dict) -> None:
    """A node that is full for ten seconds, and a pod of each queue, `plain` with the higher number."""
    await plane.node("n1", cpu="1")
    await plane.priority("low", 1)
    await plane.priority("high", 5)
    await plane.apply(_configuration(*below_root))
    await plane.pod("first", **_in("other", run=10, priority="high"))
    await plane.passes(2)
    await plane.pod("plain", **_in("plain", priority="high"))
    await plane.pod("urgent", **_in("urgent", priority="low"))


def test_an_offset_counts_when_room_appears() -> None:
    async def story(plane: Plane) -> None:
        await _two_that_wait(plane, tree("plain"), tree("urgent", priority_offset=10))
        await plane.passes(20)
        assert (await plane.where("urgent"), await plane.where("plain")) == ("n1", "")

    live(story)


def test_a_priority_fence_counts_when_room_appears() -> None:
    async def story(plane: Plane) -> None:
        await _two_that_wait(
            plane, tree("plain", priority_policy="fence"), tree("urgent", priority_policy="fence", priority_offset=1)
        )
        await plane.passes(20)
        assert (await plane.where("urgent"), await plane.where("plain")) == ("n1", "")

    live(story)


def test_an_offset_that_changes_counts_for_those_who_wait_already() -> None:
    async def story(plane: Plane) -> None:
        await _two_that_wait(plane, tree("plain"), tree("urgent"))
        await plane.passes(2)
        changed = _configuration(tree("plain"), tree("urgent", priority_offset=10))
        await plane.change(CONFIG_MAPS, CONFIGS, {"data": changed["data"]})
        await plane.passes(20)
        assert (await plane.where("urgent"), await plane.where("plain")) == ("n1", "")

    live(story)


def test_children_of_a_parent_that_guarantees_one_type_leave_each_other_alone() -> None:
    """Both ask for memory, too, which nobody guarantees: nobody is over its guarantee because of that."""

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2", memory="4Gi")
        children = [tree(name, preemption_delay="1s") for name in ("a", "b")]
        await plane.apply(_configuration(tree("parent", *children, cpu=2)))
        for name in ("a", "b"):
            made = replica_set(name, replicas=2, **_in(f"parent.{name}"))
            container: Any = made["spec"]["template"]["spec"]["containers"][0]
            container["resources"]["requests"]["memory"] = "1Gi"
            await plane.apply(made)
            await plane.passes(5)
        await plane.passes(50)
        assert await plane.events("Preempted") == []
        assert sum(1 for node in await plane.homes("a") if node) == 2

    live(story)


def test_who_comes_to_another_queue_makes_a_victim_for_who_waits_already() -> None:
    """Nobody is over its guarantee, until more pods are placed: whoever waits for that is tried at once."""

    async def story(plane: Plane) -> None:
        for name, cpu in (("n1", "2"), ("n2", "1"), ("n3", "1")):
            await plane.node(name, cpu=cpu)
        await plane.apply(_configuration(tree("prod", cpu=2, preemption_delay="1s"), tree("test", cpu=2)))
        for number, node in enumerate(("n1", "n2", "n3"), 1):
            where = {"kubernetes.io/hostname": node}
            await plane.pod(f"test-{number}", cpu="2" if node == "n1" else "1", **_in("test", nodeSelector=where))
            await plane.passes(5)
            if number == 1:
                await plane.pod("ask", cpu="2", **_in("prod"))
                await plane.passes(30)
            if number < 3:
                assert await plane.where("ask") == "", "test would be left with less than 2"
        assert await plane.where("ask") == "n1"

    live(story)


def test_queues_take_turns_by_what_they_have_when_room_appears() -> None:
    """Five places come free at once, and each queue asks for five: nobody gets all, however old its pods are."""

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="5")
        await plane.apply(_configuration(tree("a", cpu=3), tree("b", cpu=2)))
        await plane.pod("first", **_in("other", run=20, cpu="5"))
        await plane.passes(2)
        for queue in ("a", "b"):
            for number in range(5):
                await plane.pod(f"{queue}-{number}", **_in(queue))
            await plane.passes(2)
        await plane.passes(20)
        got = [queue for queue in ("a", "b") for home in await plane.homes(f"{queue}-") if home]
        assert got == ["a", "a", "a", "b", "b"]

    live(story)


def test_applications_take_turns_by_what_they_have_where_their_queue_is_fair() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="4")
        await plane.apply(_configuration(tree("a", application_sort_policy="fair"), tree("other")))
        await plane.pod("first", **_in("other", run=20, cpu="4"))
        await plane.passes(2)
        for application in ("x", "y"):
            for number in range(4):
                labels = {"queue": "root.a", "applicationId": application}
                await plane.pod(f"{application}-{number}", labels=labels)
            await plane.passes(2)
        await plane.passes(20)
        got = [app for app in ("x", "y") for home in await plane.homes(f"{app}-") if home]
        assert got == ["x", "x", "y", "y"]

    live(story)
