"""Queue configurations as texts: what is accepted, and all that is said about what is not."""

from __future__ import annotations

import json

import pytest

from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.scheduler.queues.configuration import ACCEPTED, read_queues
from tests.builders.queues import queues, tree
from tests.planes.running import Dict, Plane, live

NAME = "yunikorn-configs"
GOOD = queues(tree("prod", tree("web"), cpu=2), tree("test"))["data"]["queues.yaml"]
OTHER = queues(tree("prod", cpu=1))["data"]["queues.yaml"]


def _config_map(text: str, name: str = NAME) -> Dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"queues.yaml": text}}


def _in_force(plane: Plane) -> bool:
    return plane.plane.scheduler.policies["queue"].policy is not None


def test_a_good_text_becomes_a_configuration() -> None:
    accepted, problems, _ = read_queues(GOOD)
    assert problems == []
    assert accepted is not None
    assert [queue.name for queue in accepted.partitions[0].queues[0].queues] == ["prod", "test"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "partitions"),
        ("{[", "queues.yaml"),
        ("partitions: 3", "partitions"),
        ("partitions: []", "partitions"),
        (
            "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n    - {name: a}\n    - {name: a}\n",
            "a",
        ),
        (queues(tree("a", cpu=5, most={"vcore": "2"}))["data"]["queues.yaml"], "guarantee"),
        (queues(tree("a", tree("b", cpu=5), cpu=2))["data"]["queues.yaml"], "guarantee"),
    ],
)
def test_a_bad_text_is_refused_and_says_what_is_wrong(text: str, said: str) -> None:
    accepted, problems, _ = read_queues(text)
    assert accepted is None
    assert problems
    assert any(said in problem for problem in problems)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = queues(tree("a", cpu=5, most={"vcore": "2"}), tree("b", cpu=6, most={"vcore": "2"}))["data"]["queues.yaml"]
    _, problems, _ = read_queues(text)
    assert len(problems) == 2


def test_what_is_in_force_stands_beside_the_text_and_is_told() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(_config_map(GOOD))
        await plane.passes(1)
        record = await plane.store.get(CONFIG_MAPS, NAME, "default")
        assert record.metadata["annotations"][ACCEPTED] == GOOD
        assert await plane.events("QueuesAccepted") == ["The queue configuration is in use, for default"]
        await plane.change(CONFIG_MAPS, NAME, {"data": {"queues.yaml": "{["}})
        await plane.passes(1)
        record = await plane.store.get(CONFIG_MAPS, NAME, "default")
        assert record.metadata["annotations"][ACCEPTED] == GOOD
        await plane.change(CONFIG_MAPS, NAME, {"data": {"queues.yaml": OTHER}})
        await plane.passes(1)
        record = await plane.store.get(CONFIG_MAPS, NAME, "default")
        assert record.metadata["annotations"][ACCEPTED] == OTHER
        version = plane.plane.store.version
        await plane.change(CONFIG_MAPS, NAME, {"metadata": {"labels": {"unrelated": "yes"}}})
        await plane.passes(60)
        assert plane.plane.store.version == version + 1, "only what is said about queues counts"

    live(story)


def test_a_text_that_is_taken_back_leaves_no_queues() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(_config_map(GOOD))
        await plane.passes(1)
        assert _in_force(plane)
        await plane.change(CONFIG_MAPS, NAME, {"data": {"queues.yaml": None}})
        await plane.passes(1)
        assert not _in_force(plane)

    live(story)


def test_other_config_maps_are_none_of_its_business() -> None:
    async def story(plane: Plane) -> None:
        (made,) = await plane.apply(_config_map("{[", name="something-else"))
        await plane.passes(5)
        assert (await plane.store.get(CONFIG_MAPS, "something-else", "default")).version == made.version
        assert await plane.events() == []

    live(story)


def test_a_configuration_that_was_accepted_and_is_made_anew_is_accepted_again() -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(_config_map(GOOD))
        await plane.passes(1)
        await plane.store.delete(CONFIG_MAPS, NAME, "default")
        await plane.passes(1)
        assert not _in_force(plane)
        await plane.apply(_config_map(GOOD))
        await plane.passes(1)
        assert _in_force(plane)
        record = await plane.store.get(CONFIG_MAPS, NAME, "default")
        assert record.metadata["annotations"][ACCEPTED] == GOOD

    live(story)


def _defaults(text: str, **more: str) -> Dict:
    made = _config_map(text, "yunikorn-defaults")
    return {**made, "data": {**made["data"], **more}}


def _first_queue(plane: Plane) -> str:
    policy = plane.plane.scheduler.policies["queue"].policy
    if policy is None:
        return ""
    policy.sync()
    return str(policy.tree.queues[1].name)


def test_the_defaults_hold_where_users_say_nothing_of_queues() -> None:
    other = queues(tree("mine", cpu=1))["data"]["queues.yaml"]

    async def story(plane: Plane) -> None:
        await plane.apply(_defaults(OTHER))
        await plane.passes(1)
        assert _first_queue(plane) == "root.prod"
        await plane.apply(_config_map(other))
        await plane.passes(1)
        assert _first_queue(plane) == "root.mine"
        await plane.store.delete(CONFIG_MAPS, NAME, "default")
        await plane.passes(1)
        assert _first_queue(plane) == "root.prod"
        assert await plane.events("QueuesIgnored") == []

    live(story)


def test_the_policy_group_says_which_entry_counts_in_either_config_map() -> None:
    group = {"service.policyGroup": "mine", "mine.yaml": queues(tree("x"))["data"]["queues.yaml"]}

    async def story(plane: Plane) -> None:
        await plane.apply(_defaults(OTHER, **group))
        await plane.passes(1)
        assert _first_queue(plane) == "root.x"
        await plane.apply(_config_map(OTHER))
        await plane.passes(1)
        assert _first_queue(plane) == "root.x", "it says nothing of the group that counts"
        await plane.change(CONFIG_MAPS, NAME, {"data": {"mine.yaml": queues(tree("y"))["data"]["queues.yaml"]}})
        await plane.passes(1)
        assert _first_queue(plane) == "root.y"

    live(story)


def test_of_several_partitions_the_one_that_is_used_is_told_and_the_other_has_no_effect() -> None:
    whole = json.loads(queues(tree("a"))["data"]["queues.yaml"])
    whole["partitions"].insert(0, {"name": "gpu", "queues": [{"name": "root"}]})

    async def story(plane: Plane) -> None:
        await plane.apply(_config_map(json.dumps(whole)))
        await plane.passes(1)
        assert await plane.events("QueuesAccepted") == ["The queue configuration is in use, for default"]
        (said,) = await plane.events("QueuesInPart")
        assert "partitions[0]: no effect" in said

    live(story)


def test_what_has_no_effect_is_told_when_the_rest_is_taken() -> None:
    made = queues({**tree("a"), "submitacl": "sue"}, tree("b", application_sort_policy="stateaware"))

    async def story(plane: Plane) -> None:
        await plane.apply(_config_map(made["data"]["queues.yaml"]))
        await plane.passes(1)
        (said,) = await plane.events("QueuesInPart")
        assert "queues[0].submitacl: no effect" in said
        assert "application.sort.policy" in said
        assert _in_force(plane)

    live(story)
