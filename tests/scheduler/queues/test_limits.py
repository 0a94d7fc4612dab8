"""Limits and placement rules on a whole control plane: who is held by one starts as soon as it no longer holds it."""

from __future__ import annotations

import json
from typing import Any

from reprieve.manifests.kinds import CONFIG_MAPS, NAMESPACES, PODS
from tests.builders.queues import queues, tree
from tests.planes.running import Dict, Plane, live

CONFIGS = "yunikorn-configs"
ONE_CPU = [{"users": ["sue"], "maxresources": {"vcore": "1"}}]


def _configuration(*below_root: Dict, rules: list[Dict] | None = None, **parts: Any) -> Dict:
    made = queues(*below_root, **parts)
    text = json.loads(made["data"]["queues.yaml"])
    if rules:
        text["partitions"][0]["placementrules"] = rules
    data = {"queues.yaml": json.dumps(text)}
    return {**made, "data": data, "metadata": {"name": CONFIGS, "namespace": "default"}}


def _of(user: str, app: str = "app", queue: str = "root.a", **parts: Any) -> Dict:
    info = {"yunikorn.apache.org/user.info": json.dumps({"user": user, "groups": []})}
    return {"labels": {"queue": queue, "applicationId": app}, "annotations": info, **parts}


async def _why(plane: Plane, name: str) -> str:
    conditions = (await plane.record(name)).data.get("status", {}).get("conditions", [])
    return next((str(one["message"]) for one in conditions if one["type"] == "PodScheduled"), "")


def test_a_user_gets_the_next_place_when_its_own_pod_has_ended() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(_configuration({**tree("a"), "limits": ONE_CPU}))
        await plane.pod("first", **_of("sue", run=20))
        await plane.passes(1)
        await plane.pod("second", **_of("sue"))
        await plane.passes(10)
        assert await plane.where("second") == ""
        assert "user sue uses 1 of at most 1 cpu in root.a, and it needs 1 more" in await _why(plane, "second")
        await plane.passes(15)
        assert await plane.where("second") == "n1"

    live(story)


def test_an_application_starts_when_another_has_ended() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(_configuration({**tree("a"), "maxapplications": 1}))
        await plane.pod("first", **_of("sue", "x", run=20))
        await plane.passes(1)
        await plane.pod("second", **_of("bob", "y"))
        await plane.pod("third", **_of("sue", "x", run=30))
        await plane.passes(25)
        assert (await plane.where("second"), await plane.where("third")) == ("", "n1")
        assert "root.a runs 1 of at most 1 application, and y would be another" in await _why(plane, "second")
        await plane.passes(20)
        assert await plane.where("second") == "n1"

    live(story)


def test_a_limit_that_is_raised_or_a_pod_that_becomes_anothers_lets_go() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(_configuration({**tree("a"), "limits": ONE_CPU}))
        for name in ("first", "second", "third"):
            await plane.pod(name, **_of("sue"))
            await plane.passes(1)
        assert [await plane.where(name) for name in ("second", "third")] == ["", ""]
        more = _configuration({**tree("a"), "limits": [{**ONE_CPU[0], "maxresources": {"vcore": "2"}}]})
        await plane.change(CONFIG_MAPS, CONFIGS, {"data": more["data"]})
        await plane.passes(1)
        assert [await plane.where(name) for name in ("second", "third")] == ["n1", ""]
        await plane.change(PODS, "first", {"metadata": {"annotations": _of("bob")["annotations"]}})
        await plane.passes(1)
        assert await plane.where("third") == "n1"

    live(story)


def test_a_pod_finds_its_queue_when_the_namespace_or_the_pod_says_so() -> None:
    rules: list[Dict] = [
        {
            "name": "tag",
            "value": "namespace",
            "create": True,
            "parent": {"name": "tag", "value": "namespace.parentqueue"},
        },
        {"name": "provided"},
    ]

    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="8")
        await plane.apply(_configuration(tree("a"), {**tree("team"), "parent": True}, rules=rules))
        for name in ("first", "second"):
            await plane.pod(name, **_of("sue", queue="root.none"))
        await plane.passes(2)
        assert "no placement rule gives it a queue" in await _why(plane, "first")
        await plane.change(PODS, "first", {"metadata": {"labels": {"queue": "root.a"}}})
        await plane.passes(1)
        assert (await plane.where("first"), await plane.where("second")) == ("n1", "")
        annotations = {"yunikorn.apache.org/parentqueue": "root.team"}
        await plane.store.patch(NAMESPACES, "default", "", {"metadata": {"annotations": annotations}})
        await plane.passes(1)
        assert await plane.where("second") == "n1"

    live(story)


def test_who_is_held_by_a_limit_rests_and_so_does_the_plane() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.apply(_configuration({**tree("a", cpu=2, preemption_delay="1s"), "limits": ONE_CPU}, tree("b")))
        await plane.pod("other", **_of("bob", queue="root.b"))
        for name in ("first", "second"):
            await plane.pod(name, **_of("sue"))
        await plane.rests()
        assert (await plane.where("first"), await plane.where("second")) == ("n1", "")
        assert await plane.events("Preempted") == []

    live(story)
