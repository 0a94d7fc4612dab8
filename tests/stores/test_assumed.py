"""What was sent off is shown as if it had arrived, until it has or is taken back, whatever is told in between."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from reprieve.manifests.kinds import PODS
from reprieve.stores.caches import Cache
from reprieve.stores.protocol import Watch
from reprieve.stores.records import Listing, Record, WatchEvent


def pod(version: int, *, uid: str = "u1", node: str = "", nominated: str = "", **labels: str) -> Record:
    metadata = {"name": "a", "namespace": "lab", "uid": uid, "resourceVersion": str(version), "labels": labels}
    status = {"nominatedNodeName": nominated} if nominated else {}
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}, "status": status}
    data["spec"] = {"nodeName": node} if node else {}
    return Record(PODS, msgspec.json.encode(data), namespace="lab", name="a", uid=uid, version=version)


def node_of(record: Record | None) -> str:
    return str(record.data["spec"].get("nodeName", "")) if record is not None else "gone"


def has_node(record: Record) -> bool:
    return bool(record.data["spec"].get("nodeName"))


class Scene:
    """A cache with one pod in it that was sent to a node."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str]] = []
        self.cache = Cache(PODS, lambda old, new: self.changes.append((node_of(old), node_of(new))), {"node": _by_node})
        self.first = pod(5)
        self.cache.put(self.first)
        self.change = self.cache.assume(self.first, {"spec": {"nodeName": "n1"}}, has_node)

    @property
    def shown(self) -> str:
        return node_of(self.cache.get("a", "lab"))

    @property
    def told(self) -> str:
        return node_of(self.cache.told("a", "lab"))


def _by_node(record: Record) -> list[str]:
    return [str(record.data["spec"].get("nodeName", ""))]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_it_is_shown_at_once_and_told_is_what_the_store_says(scene: Scene) -> None:
    assert (scene.shown, scene.told) == ("n1", "")
    assert scene.changes == [("gone", ""), ("", "n1")]
    assert len(scene.cache.by("node", "n1")) == 1
    assert scene.cache.assumes(scene.change)


def test_what_the_store_tells_in_between_is_shown_with_it_on_top(scene: Scene) -> None:
    scene.cache.put(pod(6, colour="red"))
    assert (scene.shown, scene.told) == ("n1", "")
    found = scene.cache.get("a", "lab")
    assert found is not None
    assert found.metadata["labels"] == {"colour": "red"}
    assert found.version == 6


def test_when_the_store_tells_of_it_there_is_nothing_to_assume_any_more(scene: Scene) -> None:
    scene.cache.put(pod(6, node="n1"))
    assert not scene.cache.assumes(scene.change)
    scene.cache.withdraw(scene.change)
    assert (scene.shown, scene.told) == ("n1", "n1")


def test_an_older_event_changes_nothing(scene: Scene) -> None:
    scene.cache.put(pod(4, colour="old"))
    found = scene.cache.get("a", "lab")
    assert found is not None
    assert (found.version, scene.shown) == (5, "n1")


def test_taken_back_it_has_not_happened(scene: Scene) -> None:
    scene.cache.put(pod(6, colour="red"))
    scene.cache.withdraw(scene.change)
    assert (scene.shown, scene.told) == ("", "")
    assert scene.changes[-1] == ("n1", "")
    assert scene.cache.by("node", "n1") == []


def test_what_the_store_has_accepted_cannot_be_taken_back(scene: Scene) -> None:
    scene.cache.confirm(scene.first, has_node)
    scene.cache.withdraw(scene.change)
    assert not scene.cache.assumes(scene.change)
    assert (scene.shown, scene.told) == ("n1", "")


def test_of_two_only_the_one_that_was_not_accepted_is_taken_back(scene: Scene) -> None:
    scene.cache.confirm(scene.first, has_node)
    patch = {"metadata": {"labels": {"second": "yes"}}}
    second = scene.cache.assume(scene.first, patch, lambda record: "second" in record.metadata["labels"])
    scene.cache.withdraw(scene.change)
    assert labels(scene) == {"second": "yes"}
    scene.cache.withdraw(second)
    assert scene.shown == "n1"
    assert labels(scene) == {}


def test_of_two_that_are_on_their_way_one_is_taken_back(scene: Scene) -> None:
    """Whoever is bound, and told to leave meanwhile, is still bound when it need not leave after all."""
    leaves = scene.cache.assume(
        scene.first, {"metadata": {"labels": {"leaves": "yes"}}}, lambda record: "x" in record.name
    )
    scene.cache.confirm(scene.first, has_node)
    assert scene.cache.assumes(leaves)
    assert not scene.cache.assumes(scene.change)
    scene.cache.withdraw(leaves)
    assert (scene.shown, labels(scene)) == ("n1", {})


def labels(scene: Scene) -> dict[str, str]:
    found = scene.cache.get("a", "lab")
    assert found is not None
    return dict(found.metadata["labels"])


def test_it_is_not_about_a_later_one_of_the_same_name(scene: Scene) -> None:
    scene.cache.put(pod(9, uid="u2"))
    assert (scene.shown, scene.told) == ("", "")
    scene.cache.withdraw(scene.change)
    scene.cache.confirm(scene.first, has_node)
    assert scene.shown == ""
    scene.cache.assume(scene.first, {"spec": {"nodeName": "n1"}}, has_node)
    assert scene.shown == ""


def test_deleted_is_deleted(scene: Scene) -> None:
    scene.cache.drop(scene.first)
    assert scene.cache.get("a", "lab") is None
    assert scene.cache.told("a", "lab") is None
    scene.cache.withdraw(scene.change)
    scene.cache.confirm(scene.first, has_node)
    scene.cache.put(scene.first)
    assert scene.cache.get("a", "lab") is None


class _Lists:
    """A store that lists what it is given, and then tells some things."""

    def __init__(self, listing: Listing, *events: WatchEvent) -> None:
        self._listing = listing
        self._events = events

    async def list(self, _: Any) -> Listing:
        return self._listing

    def watch(self, *_: Any, **__: Any) -> Watch:
        watch = Watch()
        for event in self._events:
            watch.feed(event)
        return watch


def follows(scene: Scene, listing: Listing, *events: WatchEvent) -> None:
    asyncio.run(scene.cache.follow(_Lists(listing, *events), asyncio.Event()))  # type: ignore[arg-type]


def test_listed_again_it_is_still_assumed(scene: Scene) -> None:
    follows(scene, Listing([pod(7, colour="red")], 8))
    assert (scene.shown, scene.told) == ("n1", "")
    scene.cache.withdraw(scene.change)
    assert scene.shown == ""


def test_listed_again_and_not_there_it_is_gone(scene: Scene) -> None:
    follows(scene, Listing([], 8))
    assert scene.shown == "gone"
    scene.cache.withdraw(scene.change)
    assert scene.shown == "gone"


def test_a_deletion_that_is_told_ends_it_and_the_next_one_is_shown_as_it_is(scene: Scene) -> None:
    gone, another = WatchEvent("DELETED", pod(9)), WatchEvent("ADDED", pod(10, uid="u2"))
    follows(scene, Listing([pod(5)], 5), gone, another)
    assert (scene.shown, scene.told) == ("", "")


def test_somebody_else_was_faster(scene: Scene) -> None:
    """It is bound, but elsewhere: then that counts."""
    scene.cache.put(pod(6, node="n2"))
    assert (scene.shown, scene.told) == ("n2", "n2")
