"""The scheduler dies after any of its writes; the next one finishes what was begun, and nothing else."""

from __future__ import annotations

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import NODES, PODS
from tests.planes.running import pod
from tests.planes.schedulers import Schedulers, add_classes, add_gang, survives


def test_three_victims_go_once_and_the_preemptor_gets_their_place() -> None:
    async def before(world: Schedulers) -> None:
        await add_classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="3"))
        for number in range(6):
            await world.store.create(PODS, pod(f"low-{number}", priority="low", leaves=5))

    async def crash(world: Schedulers) -> None:
        await world.store.create(PODS, pod("high", cpu="3", priority="high"))

    async def after(world: Schedulers) -> None:
        places = await world.places()
        assert places["high"] in ("n1", "n2")
        assert sum(1 for name in places if name.startswith("low")) == 3
        assert "" not in places.values()

    survives(before, crash, after)


def test_a_gang_is_bound_whole() -> None:
    async def before(world: Schedulers) -> None:
        await add_classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="2"))

    async def crash(world: Schedulers) -> None:
        await add_gang(world, "train", 4, priority="middle")

    async def after(world: Schedulers) -> None:
        places = await world.places()
        assert sorted(places.values()) == ["n1", "n1", "n2", "n2"]

    survives(before, crash, after)


def test_a_half_bound_gang_gets_the_rest_before_anybody_more_important_is_served() -> None:
    async def before(world: Schedulers) -> None:
        await add_classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="2"))

    async def crash(world: Schedulers) -> None:
        await add_gang(world, "train", 4, priority="middle", whole=True)

    async def after(world: Schedulers) -> None:
        await world.store.create(PODS, pod("high", priority="high"))
        await world.schedule(60)
        places = await world.places()
        gang = [node for name, node in places.items() if name.startswith("train")]
        assert places["high"]
        assert not gang or all(gang), "a gang that goes, goes whole"

    survives(before, crash, after)


def test_a_gang_that_has_to_go_goes_whole() -> None:
    async def before(world: Schedulers) -> None:
        await add_classes(world)
        for name in ("n1", "n2"):
            await world.store.create(NODES, hollow_node(name, cpu="2"))
        await add_gang(world, "train", 4, priority="low", whole=True)

    async def crash(world: Schedulers) -> None:
        await world.store.create(PODS, pod("high", cpu="2", priority="high"))

    async def after(world: Schedulers) -> None:
        places = await world.places()
        assert places.pop("high")
        assert places == {}

    survives(before, crash, after)
