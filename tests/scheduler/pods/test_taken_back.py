"""What is left when a decision is taken back, or cannot be carried out: no marks, no promises, and nobody who left."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.configuration import Settings
from reprieve.manifests.kinds import NODES, POD_GROUPS, PODS
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Unavailable
from reprieve.stores.protocol import Store
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.builders.pods import pod_group
from tests.planes.laws import Eye
from tests.planes.rest import what_is_wrong
from tests.planes.running import SETTINGS, Plane, condition, pod
from tests.planes.schedulers import Schedulers, add_classes, add_gang, alone
from tests.scheduler.pods.test_needless import SlowStore, bound, end, told_to_go, two_full_nodes
from tests.scheduler.test_far_store import live_far_away

SPREAD = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "x"}},
}


async def node_with(plane: Plane, near: EmbeddedStore, name: str, size: str, *pods: str, **parts: str) -> None:
    await near.create(NODES, hollow_node(name, cpu=size))
    for each in pods:
        await plane.pod(each, **parts)
        await plane.until(partial(bound, plane, each))


async def marked(plane: Plane, name: str) -> bool:
    return told_to_go(await plane.record(name))


def test_one_that_fits_only_because_its_victim_leaves_still_needs_it_to_leave() -> None:
    """Who leaves does not count where pods are spread, long before it is gone."""

    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        await plane.priority("high", 1000)
        await plane.priority("middle", 500)
        await node_with(plane, near, "a", "2", "on-a", cpu="2", priority="high")
        await near.create(NODES, hollow_node("b", cpu="4"))
        await plane.pod("v", cpu="1", labels={"app": "x"})
        await plane.until(partial(bound, plane, "v"))
        await plane.pod("wants", cpu="1", priority="middle", labels={"app": "x"}, topologySpreadConstraints=[SPREAD])
        await plane.passes(5)
        assert (await plane.where("wants"), far.marks) == ("b", 1)

    live_far_away(story, far_away=SlowStore)


def test_a_later_pod_of_the_same_name_takes_nothing_over() -> None:
    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        await plane.priority("high", 1000)
        await plane.priority("middle", 500)
        await node_with(plane, near, "b", "2", "v1", "v2", cpu="1", priority="middle")
        far.deletes = False
        await plane.pod("web-0", cpu="2", priority="high")
        await plane.until(partial(marked, plane, "v2"), step=0.05)
        await near.delete(PODS, "web-0", "default", grace=0)
        far.deletes = True
        await plane.passes(20)
        assert not await marked(plane, "v2")
        await near.delete(PODS, "v1", "default", grace=0)
        await plane.pod("web-0", cpu="2")
        await plane.passes(60)
        assert (await plane.where("v2"), await plane.where("web-0")) == ("b", "")

    live_far_away(story, far_away=SlowStore)


def test_what_has_arrived_counts_also_while_the_loop_waits_for_others() -> None:
    """So many decisions are on their way that nobody takes in what the watch tells."""

    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        await two_full_nodes(plane, near)
        await near.create(NODES, hollow_node("c", cpu="1", labels={"pool": "c"}))

        async def the_other_ends() -> None:
            far.binds_within = 2.0
            for number in range(40):
                await near.create(PODS, pod(f"small-{number}", cpu="10m", nodeSelector={"pool": "c"}))
            await asyncio.sleep(0.5)
            await near.delete(PODS, "on-a", "default", grace=0)
            await asyncio.sleep(1)

        far.before_marking = the_other_ends
        await plane.pod("wants", cpu="2", priority="middle")
        await plane.until(partial(bound, plane, "wants"))
        stays = await plane.record("on-b")
        assert "deletionTimestamp" not in stays.metadata
        assert await plane.where("wants") == "a"

    live_far_away(story, far_away=SlowStore)


def test_who_leaves_by_itself_is_no_reason_for_others_to_leave() -> None:
    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        await plane.priority("high", 1000)
        await plane.priority("middle", 500)
        await node_with(plane, near, "a", "2", "on-a", cpu="2", priority="high")
        await node_with(plane, near, "b", "2", "v1", "v2", cpu="1")

        async def two_end() -> None:
            await near.delete(PODS, "on-a", "default", grace=0)
            await near.delete(PODS, "v1", "default", grace=0)
            await asyncio.sleep(1)

        far.before_marking = two_end
        await plane.pod("wants", cpu="2", priority="middle")
        await plane.until(partial(bound, plane, "wants"))
        assert "deletionTimestamp" not in (await plane.record("v2")).metadata

    live_far_away(story, far_away=SlowStore)


@pytest.mark.parametrize("pdb", ["BestEffort", "Respect"])
@pytest.mark.parametrize("breaks", [True, False])
def test_a_group_whose_pods_stay_does_not_say_that_it_leaves(pdb: str, breaks: bool) -> None:
    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        await plane.priority("high", 1000)
        await plane.priority("middle", 500)
        await node_with(plane, near, "a", "2", "on-a", cpu="2", priority="high")
        await near.create(POD_GROUPS, pod_group("g", gang=1, whole=True))
        await near.create(NODES, hollow_node("b", cpu="2"))
        await near.create(PODS, pod("g-0", cpu="2", schedulingGroup={"podGroupName": "g"}))
        await plane.until(partial(bound, plane, "g-0"))

        async def the_other_ends() -> None:
            if breaks:
                asyncio.get_running_loop().call_later(0.5, end, near, "on-a")
                raise Unavailable("the line broke")
            await near.delete(PODS, "on-a", "default", grace=0)
            await asyncio.sleep(1)

        far.before_marking = the_other_ends
        await plane.pod("wants", cpu="2", priority="middle")
        await plane.passes(60)
        if await plane.where("g-0") == "b":
            group = await near.get(POD_GROUPS, "g", "default")
            assert condition(group, "DisruptionTarget").get("status") != "True"
        assert await plane.where("wants")

    live_far_away(story, msgspec.structs.replace(SETTINGS, pdb=pdb), far_away=SlowStore)


# After a restart


async def a_gang_preempts(world: Schedulers, writes: int) -> bool:
    """Whether the scheduler died, after so many writes of its own."""
    await add_classes(world)
    for name in ("n1", "n2"):
        await world.store.create(NODES, hollow_node(name, cpu="1"))
    for name in ("v1", "v2"):
        await world.store.create(PODS, pod(name, cpu="1", priority="low", leaves=5))
    await world.schedule(30)
    await add_gang(world, "train", 2, priority="high")
    return await world.schedule(60, writes=writes)


@pytest.mark.parametrize("writes", range(1, 13))
def test_nobody_stays_marked_for_a_gang_that_finds_room_after_a_restart(writes: int) -> None:
    async def life(clock: Clock) -> list[str]:
        async with alone(clock) as world:
            await a_gang_preempts(world, writes)
            await world.store.create(NODES, hollow_node("n3", cpu="4"))
            await world.schedule(120)
            records = (await world.store.list(PODS)).records
            return [each.name for each in records if told_to_go(each) and "deletionTimestamp" not in each.metadata]

    assert run_virtually(life) == []


@pytest.mark.parametrize("writes", range(1, 12))
def test_a_policy_that_is_off_after_a_restart_evicts_nobody_and_blocks_no_node(writes: int) -> None:
    settings = Settings(validate=True, feature_gates=GANGS_AND_BINDINGS, policies=("pod",))

    async def life(clock: Clock) -> None:
        async with alone(clock) as world:
            await a_gang_preempts(world, writes)
            records = (await world.store.list(PODS)).records
            stay = {each.name for each in records if each.name[0] == "v" and "deletionTimestamp" not in each.metadata}

            def only_pods(store: Store) -> Scheduler:
                return Scheduler(store, clock, settings, world.history, names=ALL_NAMES)

            world._scheduler = only_pods  # type: ignore[method-assign]
            await world.store.create(PODS, pod("low", cpu="1", priority="low"))
            await world.schedule(400)
            places = await world.places()
            assert {name for name in stay if places.get(name)} == stay
            free = {"n1", "n2"} - {node for name, node in places.items() if name != "low"}
            assert bool(places["low"]) == bool(free), places

    run_virtually(life)


def test_one_whose_binding_is_on_its_way_stays_bound_when_it_need_not_leave() -> None:
    """It was chosen to leave before it was there, and room came free elsewhere: what it has is not given away."""

    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        eye = Eye(near)
        await plane.priority("high", 1000)
        await near.create(NODES, hollow_node("a", cpu="2"))
        far.binds_within = 3.0
        await plane.pod("early", cpu="2")
        await plane.passes(0.1)
        far.binds_within = 0.0
        await plane.pod("late", cpu="2", priority="high")
        await plane.passes(60)
        assert await what_is_wrong(plane, eye) == []
        assert await plane.where("late") == "a"

    live_far_away(story, far_away=SlowStore)


def test_a_binding_that_arrives_after_all_finds_that_it_is_void() -> None:
    """Its answer was lost, the place went to somebody else, and then it comes."""

    async def story(plane: Plane, near: EmbeddedStore, far: SlowStore) -> None:
        eye = Eye(near)
        await plane.priority("high", 1000)
        await near.create(NODES, hollow_node("a", cpu="2"))
        far.binds_late = 30.0
        await plane.pod("early", cpu="2")
        await plane.passes(1.3)
        far.binds_late = 0.0
        await plane.pod("late", cpu="2", priority="high")
        await plane.until(partial(bound, plane, "late"))
        await plane.passes(60)
        assert await what_is_wrong(plane, eye) == []
        assert (await plane.where("late"), await plane.where("early")) == ("a", "")

    live_far_away(story, far_away=SlowStore)
