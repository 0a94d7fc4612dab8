"""A store with a hollow agent, in which one scheduler lives after the other: each may die after any of its writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import HollowAgent
from reprieve.configuration import Settings
from reprieve.manifests.kinds import POD_GROUPS, PODS, PRIORITY_CLASSES
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.scheduler.metrics import Metrics
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.protocol import Store
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.builders.pods import pod_group
from tests.planes.crashing import Crash, CrashingStore
from tests.planes.running import Dict, pod

_ENOUGH = 60


class Schedulers:
    """A store with a hollow agent, and schedulers that come and go."""

    def __init__(self, store: EmbeddedStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.history = History(":memory:", clock)
        self.metrics = Metrics()
        """What the last scheduler has counted."""

    def _scheduler(self, store: Store) -> Scheduler:
        self.metrics = Metrics()
        settings = Settings(validate=True, feature_gates=GANGS_AND_BINDINGS)
        return Scheduler(store, self.clock, settings, self.history, metrics=self.metrics, names=ALL_NAMES)

    def counted(self, name: str, **labels: str) -> float:
        """A number of the last scheduler; nothing counted is none."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    async def schedule(self, seconds: float, *, writes: int | None = None) -> bool:
        """Let a scheduler live for so long, or until it has written so often; whether it died."""
        store: Store = self.store if writes is None else CrashingStore(self.store, writes)
        task = asyncio.create_task(self._scheduler(store).run())
        await asyncio.wait([task], timeout=seconds)
        died = task.done()
        task.cancel()
        try:
            await task
        except (Crash, asyncio.CancelledError):
            return died
        return died

    async def places(self) -> dict[str, str]:
        return {
            record.name: record.data["spec"].get("nodeName", "") for record in (await self.store.list(PODS)).records
        }


Check = Callable[[Schedulers], Awaitable[None]]


def survives(before: Check, crash: Check, after: Check) -> None:
    """`before` is settled in peace; then `crash` happens and the scheduler dies after its 1st, 2nd, ... write."""
    for writes in range(1, _ENOUGH):
        died = run_virtually(lambda clock, writes=writes: _live(clock, writes, before, crash, after))  # type: ignore[misc]
        if not died:
            assert writes > 3, "nothing was written"
            return
    pytest.fail("it never came to an end")


async def _live(clock: Clock, writes: int, before: Check, crash: Check, after: Check) -> bool:
    async with alone(clock) as world:
        await before(world)
        await world.schedule(30)
        await crash(world)
        died = await world.schedule(60, writes=writes)
        await world.schedule(120)
        await after(world)
        return died


@asynccontextmanager
async def alone(clock: Clock) -> AsyncIterator[Schedulers]:
    """A store of its own, with nodes that are hollow."""
    store = EmbeddedStore.open(":memory:", clock, seed=3)
    agent = asyncio.create_task(HollowAgent(store, clock).run())
    world = Schedulers(store, clock)
    try:
        yield world
    finally:
        agent.cancel()
        await asyncio.gather(agent, return_exceptions=True)
        world.history.close()
        store.close()


async def add_classes(world: Schedulers) -> None:
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await world.store.create(PRIORITY_CLASSES, {**manifest, "value": value})


async def add_gang(
    world: Schedulers, name: str, count: int, *, whole: bool = False, spec: Dict | None = None, **parts: Any
) -> None:
    """A gang of so many such pods."""
    named = {"priorityClassName": parts["priority"]} if "priority" in parts else {}
    await world.store.create(POD_GROUPS, pod_group(name, gang=count, whole=whole, **named, **(spec or {})))
    for number in range(count):
        member = pod(f"{name}-{number}", leaves=5, schedulingGroup={"podGroupName": name}, **parts)
        await world.store.create(PODS, member)
