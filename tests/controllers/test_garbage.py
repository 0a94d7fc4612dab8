"""Garbage collection: what belongs to something that is gone goes too, and nothing else."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from reprieve.controllers.garbage import GarbageCollector
from reprieve.manifests.kinds import CONFIG_MAPS, NODES
from reprieve.model.clock import Clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.records import Record
from tests.controllers.harness import Lagging, exists, in_virtual_time, live_through_crashes, running


async def make(store: EmbeddedStore, name: str, *owners: Record, block: bool = True, **metadata: Any) -> Record:
    references = [
        {
            "apiVersion": owner.data["apiVersion"],
            "kind": owner.resource.kind,
            "name": owner.name,
            "uid": owner.uid,
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    said = {"name": name, "namespace": "default", "ownerReferences": references, **metadata}
    return await store.create(CONFIG_MAPS, {"metadata": said})


async def names(store: EmbeddedStore) -> list[str]:
    return [record.name for record in (await store.list(CONFIG_MAPS, "default")).records]


def collecting(main: Any, lag: float | None = None) -> None:
    """Run a test beside the garbage collector."""

    async def beside(store: EmbeddedStore, clock: Clock) -> None:
        seen: Any = store if lag is None else Lagging(store, lag, lost_after=4)
        collector = GarbageCollector(seen, clock)
        async with running(collector):
            await collector.synced.wait()
            await main(store)

    in_virtual_time(beside)


LAGS = pytest.mark.parametrize("lag", [None, 0.0, 0.7])


@LAGS
def test_dependents_of_what_is_gone_go_whole_chains_of_them(lag: float | None) -> None:
    async def main(store: EmbeddedStore) -> None:
        top = await make(store, "top")
        middle = await make(store, "middle", top)
        await make(store, "leaf", middle)
        await make(store, "other")
        await asyncio.sleep(5)
        assert await names(store) == ["leaf", "middle", "other", "top"]
        await store.delete(CONFIG_MAPS, "top", "default")
        await asyncio.sleep(10)
        assert await names(store) == ["other"]

    collecting(main, lag)


@LAGS
def test_one_that_still_has_an_owner_stays_and_forgets_the_other(lag: float | None) -> None:
    async def main(store: EmbeddedStore) -> None:
        first, second = await make(store, "first"), await make(store, "second")
        await make(store, "child", first, second)
        await store.delete(CONFIG_MAPS, "first", "default")
        await asyncio.sleep(10)
        child = await store.get(CONFIG_MAPS, "child", "default")
        assert [owner["name"] for owner in child.metadata["ownerReferences"]] == ["second"]

    collecting(main, lag)


@LAGS
def test_an_owner_of_the_same_name_is_another_one(lag: float | None) -> None:
    async def main(store: EmbeddedStore) -> None:
        await make(store, "child", await make(store, "top"))
        await store.delete(CONFIG_MAPS, "top", "default")
        await make(store, "top")
        await asyncio.sleep(10)
        assert await names(store) == ["top"]

    collecting(main, lag)


def test_what_names_an_owner_that_never_was_goes_and_what_names_an_unknown_kind_stays() -> None:
    async def main(store: EmbeddedStore) -> None:
        ghost = {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "u"}
        stranger = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "u"}
        await make(store, "lost", ownerReferences=[ghost])
        await make(store, "kept", ownerReferences=[stranger])
        await asyncio.sleep(5)
        assert await names(store) == ["kept"]

    collecting(main)


def test_owners_may_be_cluster_wide() -> None:
    async def main(store: EmbeddedStore) -> None:
        node = await store.create(NODES, {"metadata": {"name": "n"}})
        await make(store, "child", node)
        await asyncio.sleep(5)
        assert await names(store) == ["child"]
        await store.delete(NODES, "n")
        await asyncio.sleep(5)
        assert await names(store) == []

    collecting(main)


def test_an_owner_that_is_not_seen_yet_is_not_taken_for_gone() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        far_away: Any = Lagging(store, 5, only=NODES)
        collector = GarbageCollector(far_away, clock)
        async with running(collector):
            await collector.synced.wait()
            await make(store, "child", await store.create(NODES, {"metadata": {"name": "n"}}))
            await asyncio.sleep(60)
            assert await names(store) == ["child"]

    in_virtual_time(main)


@LAGS
def test_orphans_stay_and_name_their_owner_no_more(lag: float | None) -> None:
    async def main(store: EmbeddedStore) -> None:
        top = await make(store, "top")
        await make(store, "a", top)
        await make(store, "b", top)
        await asyncio.sleep(5)
        await store.delete(CONFIG_MAPS, "top", "default", propagation="Orphan")
        await asyncio.sleep(10)
        assert await names(store) == ["a", "b"]
        assert all("ownerReferences" not in record.metadata for record in (await store.list(CONFIG_MAPS)).records)

    collecting(main, lag)


@LAGS
def test_in_the_foreground_the_leaves_go_first(lag: float | None) -> None:
    async def main(store: EmbeddedStore) -> None:
        top = await make(store, "top")
        middle = await make(store, "middle", top)
        await make(store, "leaf", middle, finalizers=["example.com/held"])
        await make(store, "unblocking", top, block=False, finalizers=["example.com/held"])
        await asyncio.sleep(5)
        await store.delete(CONFIG_MAPS, "top", "default", propagation="Foreground")
        await asyncio.sleep(10)
        assert await names(store) == ["leaf", "middle", "top", "unblocking"], "all wait for the leaf"
        await store.patch(CONFIG_MAPS, "leaf", "default", {"metadata": {"finalizers": None}})
        await asyncio.sleep(10)
        assert await names(store) == ["unblocking"], "nobody waits for one that does not block"

    collecting(main, lag)


def test_nothing_is_done_when_only_other_things_change() -> None:
    async def main(store: EmbeddedStore) -> None:
        top = await make(store, "top")
        await make(store, "child", top)
        await asyncio.sleep(5)
        before = store.version
        await store.patch(CONFIG_MAPS, "top", "default", {"data": {"a": "b"}})
        await asyncio.sleep(60)
        assert store.version == before + 1

    collecting(main)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_a_collector_that_dies_between_any_two_writes_is_taken_over(seed: int, propagation: Any) -> None:
    chance = random.Random(seed)  # noqa: S311

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        made = [await make(store, "m0")]
        for number in range(1, 15):
            made.append(await make(store, f"m{number}", chance.choice(made)))
        keeper = await make(store, "keeper")
        await make(store, "kept", made[0], keeper)

        async def is_done() -> bool:
            kept = await store.get(CONFIG_MAPS, "kept", "default")
            left = await names(store)
            alone = [owner["name"] for owner in kept.metadata["ownerReferences"]] == ["keeper"]
            gone = not await exists(store, CONFIG_MAPS, "m0")
            return alone and gone and (propagation == "Orphan" or left == ["keeper", "kept"])

        await store.delete(CONFIG_MAPS, "m0", "default", propagation=propagation)
        lives = [chance.randint(1, 4) for _ in range(12)]
        await live_through_crashes(store, lambda seen: [GarbageCollector(seen, clock)], lives, is_done)
        if propagation == "Orphan":
            assert len(await names(store)) == 16

    in_virtual_time(main, seed)
