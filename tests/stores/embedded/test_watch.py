"""Watches: everything after a version, in order and once, over restarts too; and when it is too long ago."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprieve.manifests.kinds import CONFIG_MAPS, NODES, PODS
from reprieve.stores.errors import Expired, Invalid
from reprieve.stores.protocol import Watch
from tests.stores.embedded.scene import Scene, node, pod


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Scene(tmp_path / "data.db", keep=100) as made:
        yield made


def _seen(watch: Watch) -> list[tuple[str, str]]:
    return [(event.type, event.record.name) for event in watch.take()]


def test_a_watch_tells_what_happens_after_a_version(scene: Scene) -> None:
    scene.create(PODS, pod("before"))
    watch = scene.store.watch(PODS, scene.store.version)
    scene.create(NODES, node())
    scene.create(PODS, pod("a"))
    scene.bind("a")
    scene.delete(PODS, "a", grace=0)
    events = watch.take()
    assert [(event.type, event.record.name) for event in events] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
    ]
    versions = [event.record.version for event in events]
    assert versions == sorted(versions)
    assert versions[-1] == scene.store.version
    # A deleted object is given as it last was.
    assert events[-1].record.data["spec"]["nodeName"] == "n"


def test_a_watch_begins_with_what_it_missed(scene: Scene) -> None:
    since = scene.store.version
    scene.create(PODS, pod("a"))
    scene.create(CONFIG_MAPS, {"metadata": {"name": "m"}})
    scene.delete(PODS, "a")
    watch = scene.store.watch(PODS, since)
    scene.create(PODS, pod("b"))
    assert _seen(watch) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]


def test_a_watch_goes_on_after_a_restart(scene: Scene) -> None:
    scene.create(PODS, pod("a"))
    since = scene.store.version
    scene.create(PODS, pod("b", labels={"x": "y"}))
    scene.delete(PODS, "a")
    told = scene.store.watch(PODS, since).take()
    scene.restart()
    again = scene.store.watch(PODS, since).take()
    assert [(event.type, event.record.version, event.record.raw, event.record.uid) for event in again] == [
        (event.type, event.record.version, event.record.raw, event.record.uid) for event in told
    ]
    assert again[0].record.manifest.metadata.labels == {"x": "y"}


def test_a_watch_in_one_namespace(scene: Scene) -> None:
    scene.namespace("other")
    since = scene.store.version
    scene.create(PODS, pod("a", namespace="other"))
    watch = scene.store.watch(PODS, since, "other")
    scene.create(PODS, pod("b"))
    scene.create(PODS, pod("c", namespace="other"))
    assert _seen(watch) == [("ADDED", "a"), ("ADDED", "c")]


def test_what_is_refused_is_told_to_nobody(scene: Scene) -> None:
    watch = scene.store.watch(PODS, scene.store.version)
    with pytest.raises(Invalid):
        scene.create(PODS, {"metadata": {"name": "a"}})
    assert watch.take() == []


@pytest.mark.parametrize("restart", [False, True])
def test_what_is_too_long_ago_is_expired(scene: Scene, restart: bool) -> None:
    since = scene.store.version
    for number in range(150):
        scene.create(PODS, pod(f"a{number}"))
        if number % 2:
            scene.delete(PODS, f"a{number}")
    if restart:
        scene.restart()
    with pytest.raises(Expired, match="too old"):
        scene.store.watch(PODS, since)
    recent = scene.store.version - 100
    assert len(scene.store.watch(PODS, recent).take()) == 100
    assert len(scene.names(PODS)) == 75


def test_a_version_of_another_store_is_expired(scene: Scene) -> None:
    with pytest.raises(Expired):
        scene.store.watch(PODS, scene.store.version + 1)


def test_a_watch_that_nobody_reads_ends(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprieve.stores.embedded.commits.LONGEST_BACKLOG", 10)
    slow = scene.store.watch(PODS, scene.store.version)
    quick = scene.store.watch(PODS, scene.store.version)
    for number in range(12):
        scene.create(PODS, pod(f"a{number:02}"))
        assert len(quick.take()) == 1
    assert len(slow.take()) == 10
    with pytest.raises(Expired, match="list again"):
        slow.take()


def test_a_closed_watch_hears_nothing_more(scene: Scene) -> None:
    watch = scene.store.watch(PODS, scene.store.version)
    watch.close()
    scene.create(PODS, pod("a"))
    assert len(watch) == 0
    with pytest.raises(Expired):
        watch.take()


def test_several_watches_share_one_signal(scene: Scene) -> None:
    async def main() -> list[str]:
        signal = asyncio.Event()
        watches = [scene.store.watch(kind, scene.store.version, signal=signal) for kind in (PODS, CONFIG_MAPS)]
        waiting = asyncio.create_task(signal.wait())
        await scene.store.create(CONFIG_MAPS, {"metadata": {"name": "m"}})
        await asyncio.wait_for(waiting, 5)
        return [event.record.name for watch in watches for event in watch.take()]

    assert asyncio.run(main()) == ["m"]


def test_waiting_for_one_event_after_the_other(scene: Scene) -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def follow() -> None:
            async for event in scene.store.watch(PODS, scene.store.version):
                seen.append(event.record.name)
                if len(seen) == 2:
                    return

        following = asyncio.create_task(follow())
        await asyncio.sleep(0)
        for name in ("a", "b"):
            await scene.store.create(PODS, pod(name))
            await asyncio.sleep(0)
        await asyncio.wait_for(following, 5)
        return seen

    assert asyncio.run(main()) == ["a", "b"]
