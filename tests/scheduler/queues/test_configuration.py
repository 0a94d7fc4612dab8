"""Queue configurations as texts: what is accepted, and all that is said about what is not."""

from __future__ import annotations

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
    accepted, problems = read_queues(GOOD)
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
    accepted, problems = read_queues(text)
    assert accepted is None
    assert problems
    assert any(said in problem for problem in problems)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = queues(tree("a", cpu=5, most={"vcore": "2"}), tree("b", cpu=6, most={"vcore": "2"}))["data"]["queues.yaml"]
    _, problems = read_queues(text)
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
