"""A namespace that is deleted is emptied first; whatever is elsewhere stays."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from reprieve.controllers.garbage import GarbageCollector
from reprieve.controllers.namespaces import NamespaceController
from reprieve.controllers.pods.jobs import JobController
from reprieve.controllers.pods.replica_sets import ReplicaSetController
from reprieve.manifests.kinds import CONFIG_MAPS, JOBS, NAMESPACES, PODS, REPLICA_SETS
from reprieve.model.clock import Clock
from reprieve.stores.embedded.store import EmbeddedStore
from tests.controllers.harness import (
    Agent,
    exists,
    in_virtual_time,
    job,
    live_through_crashes,
    pods_in,
    running,
    status_of,
    template,
    until,
)


async def fill(store: EmbeddedStore, namespace: str) -> None:
    def there(manifest: dict[str, Any]) -> dict[str, Any]:
        return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}

    await store.create(JOBS, there(job(runs=1000, parallelism=2, completions=2)))
    await store.create(
        REPLICA_SETS, there({"metadata": {"name": "r"}, "spec": {"replicas": 2, "template": template()}})
    )
    await store.create(CONFIG_MAPS, there({"metadata": {"name": "c"}}))


def controllers(store: Any, clock: Clock) -> list[Any]:
    kinds = (NamespaceController, JobController, ReplicaSetController, GarbageCollector)
    return [kind(store, clock) for kind in kinds]


async def is_gone(store: EmbeddedStore) -> bool:
    return not await exists(store, NAMESPACES, "team", "")


async def left_in(store: EmbeddedStore, namespace: str) -> int:
    return sum([len((await store.list(kind, namespace)).records) for kind in (PODS, JOBS, REPLICA_SETS, CONFIG_MAPS)])


def test_a_deleted_namespace_is_emptied_and_then_gone() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(NAMESPACES, {"metadata": {"name": "team"}})
        async with running(*controllers(store, clock), Agent(store, clock)):
            await fill(store, "team")
            await fill(store, "default")
            await asyncio.sleep(5)
            assert len(await pods_in(store, "team")) == 4
            await store.delete(NAMESPACES, "team")
            await asyncio.sleep(0.1)
            (condition,) = (await status_of(store, NAMESPACES, "team", ""))["conditions"]
            assert condition["type"] == "NamespaceContentRemaining"
            assert "4 pods" in condition["message"]
            await until(lambda: is_gone(store), 60)
            assert await left_in(store, "team") == 0
            assert await left_in(store, "default") == 7

    in_virtual_time(main)


def test_a_namespace_waits_for_what_somebody_holds() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(NAMESPACES, {"metadata": {"name": "team"}})
        metadata = {"name": "held", "namespace": "team", "finalizers": ["example.com/held"]}
        await store.create(CONFIG_MAPS, {"metadata": metadata})
        async with running(NamespaceController(store, clock)):
            await store.delete(NAMESPACES, "team")
            await asyncio.sleep(600)
            assert not await is_gone(store)
            await store.patch(CONFIG_MAPS, "held", "team", {"metadata": {"finalizers": None}})
            await until(lambda: is_gone(store), 10)

    in_virtual_time(main)


def test_an_empty_namespace_goes_at_once_and_others_are_not_touched() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(NAMESPACES, {"metadata": {"name": "team"}})
        await store.create(NAMESPACES, {"metadata": {"name": "other"}})
        async with running(NamespaceController(store, clock)):
            await store.delete(NAMESPACES, "team")
            await asyncio.sleep(0.1)
            assert await is_gone(store)
            assert await exists(store, NAMESPACES, "other", "")

    in_virtual_time(main)


@pytest.mark.parametrize("seed", range(15))
def test_a_controller_that_dies_between_any_two_writes_is_taken_over(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        await store.create(NAMESPACES, {"metadata": {"name": "team"}})
        async with running(Agent(store, clock)):
            await fill(store, "team")
            async with running(*controllers(store, clock)):
                await asyncio.sleep(5)
            await store.delete(NAMESPACES, "team")
            lives = [chance.randint(1, 6) for _ in range(20)]
            await live_through_crashes(store, lambda seen: controllers(seen, clock), lives, lambda: is_gone(store))
            assert await left_in(store, "team") == 0

    in_virtual_time(main, seed)
