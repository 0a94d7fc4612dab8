"""The loop under all controllers: its queue, its caches, and what it does when things fail."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

import pytest

from reprieve.controllers.runner import BaseController, own_key
from reprieve.controllers.work_queue import BACK_OFF, WorkQueue
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.model.clock import Clock
from reprieve.stores.caches import Cache
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Conflict, Invalid
from reprieve.stores.records import Record
from reprieve.stores.writing import merge_patch_between
from tests.controllers.harness import Lagging, in_virtual_time, running


def config_map(name: str, value: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": {"value": value}}


class Reader(BaseController):
    """Remembers what it was asked to reconcile; fails as often as it is told to."""

    def __init__(self, store: Any, clock: Clock, failures: list[Exception] | None = None) -> None:
        super().__init__(store, clock)
        self.maps = self.watch(CONFIG_MAPS, own_key, {"value": lambda record: (record.data["data"]["value"],)})
        self.failures = failures or []
        self.seen: list[tuple[str, str | None]] = []
        self.moments: list[float] = []

    async def reconcile(self, key: Any) -> None:
        self.moments.append(asyncio.get_running_loop().time())
        if key[1] == "bad" and self.failures:
            raise self.failures.pop(0)
        record = self.maps.get(key[1], key[0])
        self.seen.append((key[1], record.data["data"]["value"] if record is not None else None))


def test_a_key_waits_once_and_keys_take_turns() -> None:
    queue = WorkQueue()
    for key in ("a", "b", "a"):
        queue.add(key)
    assert [queue.take(0), queue.take(0), queue.take(0)] == ["a", "b", None]


def test_of_several_moments_the_earliest_counts() -> None:
    queue = WorkQueue()
    queue.add_at("a", 5)
    queue.add_at("a", 3)
    queue.add_at("a", 4)
    assert queue.next_due() == 3
    assert (queue.take(2.9), queue.take(3), queue.take(9)) == (None, "a", None)


def test_a_key_that_is_added_does_not_wait_for_its_moment() -> None:
    queue = WorkQueue()
    queue.add_at("a", 5)
    queue.add("a")
    assert (queue.take(0), queue.take(9), queue.next_due()) == ("a", None, None)


def test_failures_wait_longer_each_time_but_not_for_ever() -> None:
    queue = WorkQueue()
    delays = []
    for _ in range(40):
        queue.failed("a", 0)
        delays.append(queue.next_due() or 0)
        queue.add("a")
        queue.take(0)
    assert delays[1] == 2 * delays[0]
    assert delays == sorted(delays)
    assert delays[-1] == BACK_OFF.longest
    queue.succeeded("a")
    queue.failed("a", 0)
    assert queue.next_due() == delays[0]


def test_a_controller_sees_what_was_there_and_what_comes() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(CONFIG_MAPS, config_map("a", "1"))
        reader = Reader(store, clock)
        async with running(reader):
            await reader.synced.wait()
            await asyncio.sleep(1)
            await store.patch(CONFIG_MAPS, "a", "default", {"data": {"value": "2"}})
            await asyncio.sleep(1)
            assert [record.name for record in reader.maps.by("value", "2")] == ["a"]
            assert reader.maps.by("value", "1") == []
            await store.delete(CONFIG_MAPS, "a", "default")
            await asyncio.sleep(1)
            assert (reader.queue.take(math.inf), reader.queue.next_due()) == (None, None)
        assert reader.seen == [("a", "1"), ("a", "2"), ("a", None)]

    in_virtual_time(main)


def test_changes_that_come_while_one_is_patient_are_worked_off_together() -> None:
    class Patient(Reader):
        def __init__(self, store: Any, clock: Clock) -> None:
            super().__init__(store, clock)
            self.maps = self.watch(CONFIG_MAPS, lambda _: [("default", "a")], patience=lambda _: 5.0)

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        reader = Patient(store, clock)
        async with running(reader):
            await store.create(CONFIG_MAPS, config_map("a"))
            for number in range(40):
                await asyncio.sleep(0.1)
                await store.patch(CONFIG_MAPS, "a", "default", {"data": {"value": str(number)}})
            await asyncio.sleep(10)
        assert reader.seen == [("a", "39")]

    in_virtual_time(main)


def test_a_change_that_is_of_no_concern_is_not_worked_off() -> None:
    class Unconcerned(Reader):
        def __init__(self, store: Any, clock: Clock) -> None:
            super().__init__(store, clock)
            self.maps = self.watch(CONFIG_MAPS, own_key, concern=lambda record: record.data["data"]["value"])

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        reader = Unconcerned(store, clock)
        async with running(reader):
            await store.create(CONFIG_MAPS, config_map("a", "1"))
            for change in ({"other": "x"}, {"value": "2"}, {"other": "y"}):
                await asyncio.sleep(1)
                await store.patch(CONFIG_MAPS, "a", "default", {"data": change})
            await asyncio.sleep(1)
            found = reader.maps.get("a", "default")
            assert found is not None
            assert found.data["data"]["other"] == "y", "it is seen all the same"
        assert reader.seen == [("a", "1"), ("a", "2")]

    in_virtual_time(main)


@pytest.mark.parametrize("failure", [Conflict("c"), Invalid("i"), ValueError("v")])
def test_one_that_fails_is_tried_again_and_stops_nobody(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        reader = Reader(store, clock, [failure] * 4)
        await store.create(CONFIG_MAPS, config_map("bad", "1"))
        await store.create(CONFIG_MAPS, config_map("good", "1"))
        async with running(reader):
            await asyncio.sleep(10)
        assert reader.seen == [("good", "1"), ("bad", "1")]
        assert len(set(reader.moments)) == 5, "not at once, but a little later each time"

    with caplog.at_level(logging.WARNING):
        in_virtual_time(main)
    assert bool(caplog.records) is not isinstance(failure, Conflict), "that somebody was faster is nothing to report"


@pytest.mark.parametrize("lag", [0.0, 0.7])
def test_a_lost_watch_loses_nothing(lag: float) -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        far_away = Lagging(store, lag, lost_after=3)
        reader = Reader(far_away, clock)
        async with running(reader):
            for number in range(60):
                await store.create(CONFIG_MAPS, config_map(f"m{number}", "1"))
                if number >= 2:
                    await store.delete(CONFIG_MAPS, f"m{number - 2}", "default")
                await asyncio.sleep(0.1)
            await asyncio.sleep(10)
            assert sorted(record.name for record in reader.maps) == ["m58", "m59"]
            assert far_away.lost > 5

    in_virtual_time(main)


def test_a_store_that_cannot_be_listed_is_asked_until_it_can() -> None:
    class Down(Lagging):
        answers = 5

        async def list(self, *arguments: Any) -> Any:
            self.answers -= 1
            if self.answers >= 0:
                raise Conflict("not now")
            return await self._store.list(*arguments)

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        reader = Reader(Down(store, 0), clock)
        await store.create(CONFIG_MAPS, config_map("a", "1"))
        async with running(reader):
            await reader.synced.wait()
            await asyncio.sleep(1)
        assert reader.seen == [("a", "1")]

    in_virtual_time(main)


def test_what_was_written_is_not_taken_back_by_a_watch_that_lags() -> None:
    async def main(store: EmbeddedStore, _: Clock) -> None:
        changes: list[str] = []
        signal = asyncio.Event()

        def changed(_: Record | None, after: Record | None) -> None:
            changes.append(after.data["data"]["value"] if after is not None else "gone")

        cache = Cache(CONFIG_MAPS, changed)
        await cache.follow(store, signal)
        first = await store.create(CONFIG_MAPS, config_map("a", "1"))
        second = await store.patch(CONFIG_MAPS, "a", "default", {"data": {"value": "2"}})
        cache.put(second)
        cache.put(first)
        await cache.follow(store, signal)
        assert changes == ["2"]
        cache.drop(await store.delete(CONFIG_MAPS, "a", "default"))
        cache.put(second)
        assert len(cache) == 0
        third = await store.create(CONFIG_MAPS, config_map("a", "3"))
        cache.put(third)
        await cache.follow(store, signal)
        assert changes == ["2", "gone", "3"]

    in_virtual_time(main)


def test_a_controller_modifies_what_has_changed_since_and_writes_nothing_that_is_equal() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        reader = Reader(store, clock)
        old = await store.create(CONFIG_MAPS, config_map("a", "1"))
        await store.patch(CONFIG_MAPS, "a", "default", {"data": {"other": "x"}})
        written = await reader.modify(old, lambda data: data["data"].update(value="2"))
        assert written.data["data"] == {"value": "2", "other": "x"}
        version = store.version
        await reader.modify(written, lambda data: data["data"].update(value="2"))
        assert store.version == version
        with pytest.raises(Conflict):
            await reader.modify(old, lambda data: data["data"].update(value="3"), tries=1)
        await store.delete(CONFIG_MAPS, "a", "default")
        await store.create(CONFIG_MAPS, config_map("a", "new"))
        with pytest.raises(Conflict, match="another one"):
            await reader.modify(old, lambda data: data["data"].update(value="3"))

    in_virtual_time(main)


def test_a_merge_patch_makes_the_one_of_the_other() -> None:
    before = {"a": 1, "b": {"c": 1, "d": [1]}, "e": {}}
    after = {"a": 1, "b": {"d": [1, 2]}, "f": {"g": 1}}
    assert merge_patch_between(before, after) == {"b": {"c": None, "d": [1, 2]}, "e": None, "f": {"g": 1}}
    assert merge_patch_between(after, after) == {}
