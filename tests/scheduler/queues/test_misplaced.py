"""Pods that name a parent queue or an unknown one are told so; so is whoever deletes the queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprieve.manifests.kinds import CONFIG_MAPS, PODS
from reprieve.scheduler.queues.misplaced import IN_QUEUE
from tests.builders.queues import queues, tree
from tests.planes.running import Dict, Plane, condition, live

CONFIGS = "yunikorn-configs"
TEAM = tree("team", tree("prod", cpu=2), tree("test"))


def _configuration(*below_root: Dict) -> Dict:
    return {**queues(*below_root), "metadata": {"name": CONFIGS, "namespace": "default"}}


async def _told(plane: Plane, name: str) -> tuple[str, str, str]:
    found = condition(await plane.record(name), IN_QUEUE)
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


@pytest.mark.parametrize(
    ("queue", "reason", "message"),
    [
        ("root.team", "ParentQueue", "pods belong in one below it: root.team.prod and root.team.test"),
        ("root.team.prd", "UnknownQueue", "nothing is guaranteed to it; did you mean root.team.prod?"),
        ("root.elsewhere", "UnknownQueue", "nothing is guaranteed to it; there are root.team.prod and root.team.test"),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_a_pod_in_a_queue_that_is_not_for_pods_is_told(queue: str, reason: str, message: str, waits: bool) -> None:
    async def story(plane: Plane) -> None:
        if not waits:
            await plane.node("n1", cpu="4")
        await plane.apply(_configuration(TEAM))
        await plane.pod("a", labels={"queue": queue})
        await plane.passes(5)
        status, why, sentence = await _told(plane, "a")
        assert (status, why) == ("False", reason)
        assert sentence.startswith(f"{queue} is ")
        assert sentence.endswith(message)
        assert await plane.events(reason, "a") == [sentence]
        assert await plane.where("a") == ("" if waits else "n1"), "it is placed all the same"

    live(story)


@pytest.mark.parametrize("queue", ["root.team.prod", "ROOT.Team.Test", "root.made.by-name", ""])
def test_nothing_is_said_where_nothing_is_wrong(queue: str) -> None:
    async def story(plane: Plane) -> None:
        made = tree("made", template={"resources": {"guaranteed": {"vcore": "1"}}})
        await plane.apply(_configuration(TEAM, made))
        await plane.pod("a", labels={"queue": queue} if queue else {})
        await plane.pod("outside", labels={"queue": "root.team"}, schedulerName="reprieve")
        await plane.passes(5)
        assert await _told(plane, "a") == await _told(plane, "outside") == ("", "", "")

    live(story)


def test_it_is_told_once_and_no_longer_when_the_configuration_has_its_queue(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(_configuration(TEAM))
        await plane.pod("a", labels={"queue": "root.late"})
        await plane.passes(5)
        await plane.restart()
        await plane.passes(5)
        assert len(await plane.events("UnknownQueue", "a")) == 1
        await plane.change(CONFIG_MAPS, CONFIGS, {"data": _configuration(TEAM, tree("late"))["data"]})
        await plane.passes(5)
        assert await _told(plane, "a") == ("True", "Found", "nothing is wrong with its queue any more")
        await plane.change(PODS, "a", {"metadata": {"labels": {"queue": "root.team"}}})
        await plane.passes(5)
        assert (await _told(plane, "a"))[1] == "ParentQueue"

    live(story, directory=tmp_path)


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_when_queues_are_removed_an_event_says_what_that_means(how: str) -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(_configuration(TEAM))
        await plane.passes(5)
        if how == "deleted":
            await plane.store.delete(CONFIG_MAPS, CONFIGS, "default")
        else:
            await plane.change(CONFIG_MAPS, CONFIGS, {"data": {"queues.yaml": None}})
        await plane.passes(5)
        (told,) = await plane.events("QueuesRemoved", CONFIGS)
        assert told == (
            "ConfigMap/default/yunikorn-configs configures no queues any more: "
            "pods are placed, and preempt, by priority alone"
        )

    live(story)


def test_a_config_map_that_never_had_queues_says_nothing_when_it_goes() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply({**_configuration(), "data": {"other": "x"}})
        await plane.passes(5)
        await plane.store.delete(CONFIG_MAPS, CONFIGS, "default")
        await plane.passes(5)
        assert await plane.events("QueuesRemoved") == []

    live(story)
