"""DaemonSets where queues are: their pods must run on their nodes, and nothing else is placed there meanwhile.

With the variable DAEMON_LIVES there are so many random lives; DAEMON_FIRST_LIFE is the number of the first.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import DAEMON_SETS, PODS
from tests.builders.pods import pod_group, priority_class
from tests.builders.queues import queues, tree
from tests.generators.lives import Life, Step, arrives
from tests.planes.agreement import judged
from tests.planes.laws import Eye
from tests.planes.rest import could_still_act
from tests.planes.running import SETTINGS, Dict, Plane, condition, daemon_set, job, live, replica_set
from tests.reference.closed_nodes import ClosedNodes

LIVES = int(os.environ.get("DAEMON_LIVES", "24"))
FIRST = int(os.environ.get("DAEMON_FIRST_LIFE", "0"))
pytestmark = pytest.mark.usefixtures("no_last_resort")


def _in(queue: str, **parts: Any) -> Dict:
    return {"labels": {"queue": f"root.{queue}", "applicationId": queue}, **parts}


def _configuration(*below_root: Dict) -> Dict:
    return {**queues(*below_root), "metadata": {"name": "yunikorn-configs", "namespace": "default"}}


def _memory(manifest: Dict, gigabytes: int) -> Dict:
    """The same for pods that ask for memory, too."""
    template = manifest["spec"].get("template", manifest)
    template["spec"]["containers"][0]["resources"]["requests"]["memory"] = f"{gigabytes}Gi"
    return manifest


async def _full(plane: Plane, *, leaves: float = 20) -> ClosedNodes:
    """Two nodes whose CPUs are taken; there is memory left."""
    seen = ClosedNodes(plane.plane.store)
    for name in ("n1", "n2"):
        await plane.node(name, cpu="2", memory="8Gi")
    await plane.priority("high", 100)
    await plane.apply(_configuration(tree("batch", cpu=4), tree("system")))
    await plane.apply(replica_set("work", replicas=4, **_in("batch", leaves=leaves)))
    await plane.passes(5)
    return seen


async def _leaving(plane: Plane) -> list[str]:
    return sorted(
        record.data["spec"]["nodeName"]
        for record in (await plane.store.list(PODS)).records
        if "deletionTimestamp" in record.metadata
    )


def test_one_pod_on_each_node_makes_way_for_a_daemon_set_whatever_guarantees_say() -> None:
    async def story(plane: Plane) -> None:
        await _full(plane)
        await plane.apply(daemon_set("logs", **_in("system")))
        await plane.passes(5)
        assert await _leaving(plane) == ["n1", "n2"]
        await plane.rests()
        assert await plane.homes("logs") == ["n1", "n2"]
        status = (await plane.store.get(DAEMON_SETS, "logs", "default")).data["status"]
        assert (status["desiredNumberScheduled"], status["numberReady"]) == (2, 2)

    live(story)


@pytest.mark.parametrize("restarts", [False, True])
def test_nothing_else_is_placed_there_while_its_victims_leave(restarts: bool, tmp_path: Path) -> None:
    """Not what needs no CPU, nor what ranks above, nor what stays out of the queues."""

    async def story(plane: Plane) -> None:
        seen = await _full(plane)
        await plane.apply(daemon_set("logs", **_in("system")))
        await plane.passes(2)
        await plane.pod("small", **_in("batch", cpu="0"))
        await plane.pod("higher", **_in("system", cpu="0", priority="high"))
        await plane.pod("outside", cpu="0", priority="high", schedulerName="reprieve")
        await plane.passes(2)
        others = ("small", "higher", "outside")
        for name in others:
            assert "closed until a pod of a DaemonSet" in condition(await plane.record(name), "PodScheduled")["message"]
        if restarts:
            await plane.restart()
            seen.attach(plane.plane.store)
            await plane.passes(5)
        assert [await plane.where(name) for name in others] == ["", "", ""]
        await plane.rests()
        assert await plane.homes("logs") == ["n1", "n2"]
        assert all([await plane.where(name) in ("n1", "n2") for name in others]), "then they are placed"
        assert (seen.faults, seen.closed) == ([], 2)

    live(story, directory=tmp_path)


@pytest.mark.parametrize("restarts", [False, True])
def test_the_room_that_others_leave_is_not_taken_from_under_it(restarts: bool, tmp_path: Path) -> None:
    """Who is leaving already makes enough room: nobody else has to go, and the node is closed all the same."""

    async def story(plane: Plane) -> None:
        seen = await _full(plane)
        for record in await plane.starting_with("work"):
            if record.data["spec"]["nodeName"] == "n1":
                await plane.store.delete(PODS, record.name, "default", grace=20)
        await plane.passes(1)
        await plane.apply(daemon_set("logs", nodeSelector={"kubernetes.io/hostname": "n1"}, **_in("system")))
        await plane.passes(1)
        if restarts:
            await plane.restart()
            seen.attach(plane.plane.store)
        await plane.pod("higher", **_in("system", priority="high"))
        await plane.passes(5)
        (waits,) = await plane.starting_with("logs")
        assert waits.data["status"]["nominatedNodeName"] == "n1"
        await plane.passes(60)
        assert await plane.homes("logs") == ["n1"]
        assert await plane.where("higher") == "n1"
        assert await plane.events("Preempted") == []
        assert (seen.faults, seen.closed) == ([], 1)

    live(story, directory=tmp_path)


def test_the_node_is_open_again_when_the_daemon_set_is_gone() -> None:
    async def story(plane: Plane) -> None:
        await _full(plane)
        await plane.apply(daemon_set("logs", **_in("system")))
        await plane.passes(2)
        await plane.pod("small", **_in("batch", cpu="0"))
        await plane.passes(2)
        assert await plane.where("small") == ""
        await plane.store.delete(DAEMON_SETS, "logs", "default")
        await plane.passes(2)
        assert await plane.homes("logs") == []
        assert await plane.where("small") in ("n1", "n2")

    live(story)


def test_of_two_daemon_sets_the_second_waits_for_the_first() -> None:
    async def story(plane: Plane) -> None:
        seen = await _full(plane)
        await plane.apply(daemon_set("logs", **_in("system")))
        await plane.passes(2)
        await plane.apply(daemon_set("metrics", **_in("system")))
        await plane.passes(10)
        assert await plane.homes("metrics") == ["", ""]
        await plane.rests()
        assert await plane.homes("logs") == await plane.homes("metrics") == ["n1", "n2"]
        assert await plane.homes("work") == ["", "", "", ""]
        assert seen.faults == []

    live(story)


def test_who_was_promised_a_place_there_before_gets_it() -> None:
    async def story(plane: Plane) -> None:
        seen = ClosedNodes(plane.plane.store)
        await plane.node("n1", cpu="2")
        await plane.apply(_configuration(tree("prod", cpu=1, preemption_delay="1s"), tree("batch"), tree("system")))
        await plane.apply(replica_set("work", replicas=2, **_in("batch", leaves=20)))
        await plane.passes(5)
        await plane.pod("ask", **_in("prod"))
        await plane.passes(5)
        assert (await plane.record("ask")).data["status"]["nominatedNodeName"] == "n1"
        await plane.apply(daemon_set("logs", **_in("system")))
        await plane.rests()
        assert (await plane.where("ask"), await plane.homes("logs")) == ("n1", ["n1"])
        assert seen.faults == []

    live(story)


# Random lives


def _life(random: Random) -> Life:
    nodes = [hollow_node(f"n{each}", cpu="3", memory="4Gi") for each in range(random.choice([1, 2, 3]))]
    classes = [priority_class(f"p{value}", value) for value in range(3)]
    trees = [tree("prod", cpu=2, preemption_delay="2s"), tree("batch", cpu=random.choice([0, 2])), tree("system")]
    things = [_thing(random, f"t{number}") for number in range(random.randint(4, 8))]
    later: list[tuple[float, Step]] = [(random.choice([0.0, 3.0, 6.0, 9.0, 14.0]), arrives(*each)) for each in things]
    return Life(SETTINGS, [*nodes, *classes, _configuration(*trees)], later)


def _thing(random: Random, name: str) -> list[Dict]:
    queue, leaves = random.choice(["prod", "batch", "system"]), random.choice([0, 4, 9])
    parts = _in(queue, cpu=str(random.choice([0, 1, 1, 2])), priority=f"p{random.randrange(3)}", leaves=leaves)
    match random.randrange(5):
        case 0 | 1:
            return [_memory(daemon_set(name, **parts), random.randrange(2))]
        case 2:
            outside = {key: value for key, value in parts.items() if key != "labels"}
            return [_memory(replica_set(name, schedulerName="reprieve", **outside), random.randrange(3))]
        case 3:
            group = {"schedulingGroup": {"podGroupName": name}}
            pods = {key: value for key, value in parts.items() if key != "labels"}
            return [
                pod_group(name, gang=2, priorityClassName=parts["priority"]),
                job(name, replicas=2, pod_labels=parts["labels"], **pods, **group),
            ]
    return [_memory(replica_set(name, replicas=random.randint(1, 3), **parts), random.randrange(3))]


def _lived(seed: int, directory: Path | None = None) -> int:
    """One life; how often a node was closed."""
    random = Random(seed)  # noqa: S311 - not a secret
    life = _life(random)

    async def story(plane: Plane) -> tuple[list[str], int]:
        eye, seen = Eye(plane.plane.store), ClosedNodes(plane.plane.store)
        restarts = [random.uniform(1, 25) for _ in range(3 if directory else 0)]
        judge = await judged(plane, life, restarts, lambda: seen.attach(plane.plane.store))
        faults = [*judge.faults, *seen.faults, *await could_still_act(plane), *(eye.faults if not directory else ())]
        return faults, seen.closed

    faults, closed = live(story, life.settings, directory=directory, longest=60)
    assert faults == [], seed
    return int(closed)


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, 24))
def test_in_random_lives_closed_nodes_stay_closed(batch: int) -> None:
    closed = [_lived(seed) for seed in range(batch, min(batch + 24, FIRST + LIVES))]
    assert sum(closed) > 0, "lives in which no node is closed prove nothing"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(6, LIVES // 10)))
def test_so_they_do_when_everything_ends_and_starts_anew(seed: int, tmp_path: Path) -> None:
    _lived(seed, tmp_path)
