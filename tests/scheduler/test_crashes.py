"""The scheduler dies after any of its writes; the next one finishes what was begun, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from reprieve.agents.hollow.nodes import HollowAgent, hollow_node
from reprieve.configuration import Settings, own_plane
from reprieve.manifests.kinds import NODES, PODS, PRIORITY_CLASSES, resource_of
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.protocol import Store
from tests.planes.crashing import Crash, CrashingStore
from tests.planes.running import Dict, pod

_ENOUGH = 60


class World:
    """A store with a hollow agent, and schedulers that come and go."""

    def __init__(self, store: EmbeddedStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.history = History(":memory:", clock)

    def _scheduler(self, store: Store) -> Scheduler:
        return Scheduler(store, self.clock, own_plane(Settings(validate=True)), self.history, names=ALL_NAMES)

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


Check = Callable[[World], Awaitable[None]]


def survives(before: Check, crash: Check, after: Check) -> None:
    """`before` is settled in peace; then `crash` happens and the scheduler dies after its 1st, 2nd, ... write."""
    for writes in range(1, _ENOUGH):
        died = run_virtually(lambda clock, writes=writes: _live(clock, writes, before, crash, after))  # type: ignore[misc]
        if not died:
            assert writes > 3, "nothing was written"
            return
    pytest.fail("it never came to an end")


async def _live(clock: Clock, writes: int, before: Check, crash: Check, after: Check) -> bool:
    store = EmbeddedStore.open(":memory:", clock, seed=3)
    agent = asyncio.create_task(HollowAgent(store, clock).run())
    world = World(store, clock)
    try:
        await before(world)
        await world.schedule(30)
        await crash(world)
        died = await world.schedule(60, writes=writes)
        await world.schedule(120)
        await after(world)
        return died
    finally:
        agent.cancel()
        await asyncio.gather(agent, return_exceptions=True)
        world.history.close()
        store.close()


async def _classes(world: World) -> None:
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await world.store.create(PRIORITY_CLASSES, {**manifest, "value": value})


def test_three_victims_go_once_and_the_preemptor_gets_their_place() -> None:
    async def before(world: World) -> None:
        await _classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="3"))
        for number in range(6):
            await world.store.create(PODS, pod(f"low-{number}", priority="low", leaves=5))

    async def crash(world: World) -> None:
        await world.store.create(PODS, pod("high", cpu="3", priority="high"))

    async def after(world: World) -> None:
        places = await world.places()
        assert places["high"] in ("n1", "n2")
        assert sum(1 for name in places if name.startswith("low")) == 3
        assert "" not in places.values()

    survives(before, crash, after)


def _group(name: str, count: int, *, whole: bool = False, priority: str = "") -> Dict:
    spec: Dict = {"schedulingPolicy": {"gang": {"minCount": count}}}
    if whole:
        spec["disruptionMode"] = {"all": {}}
    if priority:
        spec["priorityClassName"] = priority
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


async def _gang(world: World, name: str, count: int, *, priority: str, whole: bool = False) -> None:
    groups = resource_of("scheduling.k8s.io/v1beta1", "PodGroup")
    assert groups is not None
    await world.store.create(groups, _group(name, count, whole=whole, priority=priority))
    for number in range(count):
        member = pod(f"{name}-{number}", priority=priority, leaves=5, schedulingGroup={"podGroupName": name})
        await world.store.create(PODS, member)


def test_a_gang_is_bound_whole() -> None:
    async def before(world: World) -> None:
        await _classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="2"))

    async def crash(world: World) -> None:
        await _gang(world, "train", 4, priority="middle")

    async def after(world: World) -> None:
        places = await world.places()
        assert sorted(places.values()) == ["n1", "n1", "n2", "n2"]

    survives(before, crash, after)


def test_a_half_bound_gang_gets_the_rest_before_anybody_more_important_is_served() -> None:
    async def before(world: World) -> None:
        await _classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="2"))

    async def crash(world: World) -> None:
        await _gang(world, "train", 4, priority="middle", whole=True)

    async def after(world: World) -> None:
        await world.store.create(PODS, pod("high", priority="high"))
        await world.schedule(60)
        places = await world.places()
        gang = [node for name, node in places.items() if name.startswith("train")]
        assert places["high"]
        assert not gang or all(gang), "a gang that goes, goes whole"

    survives(before, crash, after)


def test_a_gang_that_has_to_go_goes_whole() -> None:
    async def before(world: World) -> None:
        await _classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="2"))
        await _gang(world, "train", 4, priority="low", whole=True)

    async def crash(world: World) -> None:
        await world.store.create(PODS, pod("high", cpu="2", priority="high"))

    async def after(world: World) -> None:
        places = await world.places()
        assert places.pop("high")
        assert places == {}

    survives(before, crash, after)
