"""What becomes of bindings: placed, preempted, rescheduled, through crashes after any write, and never too many."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.agents.hollow.clusters import HollowClusters
from reprieve.configuration import OWN_SCHEDULER
from reprieve.controllers.federation.detector import Detector
from reprieve.engine.holds import HOLD_ANNOTATION, hold_of
from reprieve.engine.preemption import decide
from reprieve.manifests.kinds import BINDINGS, CLUSTERS, DEPLOYMENTS
from reprieve.model.clock import Clock
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.scheduler.assuming import AssumedObjects
from reprieve.scheduler.context import Context
from reprieve.scheduler.decision_log import DecisionLog
from reprieve.scheduler.events import Recorder
from reprieve.scheduler.federation.effects import prepare
from reprieve.scheduler.federation.resume import resume
from reprieve.scheduler.metrics import Metrics
from reprieve.scheduler.mirror import Mirror
from reprieve.scheduler.writes import Writes
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Conflict
from reprieve.world import World
from tests.builders.federation import DIVIDED, DUPLICATED, SETTINGS, Dict, Plane, deployment
from tests.controllers.harness import Crash, Mortal, in_virtual_time, live_through_crashes, running, told, until

Story = Callable[[Plane], Awaitable[None]]


def live(story: Story, clusters: dict[str, str], *, scheduling: Dict = DIVIDED, scheduler: bool = True) -> None:
    """A federation in virtual time; whatever happens in it, no cluster is ever given more than it has."""

    async def main(store: EmbeddedStore, clock: Clock) -> None:
        plane = Plane(store, clock)
        try:
            await plane.begin(clusters, scheduling=scheduling)
            async with running(*plane.controllers(), *([plane.scheduler()] if scheduler else [])):
                await story(plane)
            assert plane.witness.faults == []
        finally:
            plane.history.close()

    in_virtual_time(main)


# Places that are free


def test_a_binding_gets_its_clusters_and_says_so() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("web", replicas=5))
        await until(plane.placed(web={"m1": 4, "m2": 1}), 60)
        record = await plane.binding("web")
        condition = await plane.condition("web")
        assert (condition["status"], condition["reason"]) == ("True", "Success")
        assert condition["message"] == "is scheduled to m1 (4 replicas) and m2 (1 replica)"
        assert record.data["status"]["schedulerObservedGeneration"] == record.metadata["generation"]
        assert "Scheduled" in await told(plane.store)

    live(story, {"m1": "4", "m2": "4"})


def test_replicas_follow_their_template_up_and_down() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("web", replicas=6))
        await until(plane.placed(web={"m1": 4, "m2": 2}), 60)
        await plane.scale("web", 3)
        await until(plane.placed(web={"m1": 2, "m2": 1}), 60)
        await plane.add(deployment("other", replicas=5))
        await until(plane.placed(other={"m1": 2, "m2": 3}), 60)
        await plane.scale("web", 4)
        await asyncio.sleep(60)
        assert (await plane.places())["web"] == {"m1": 2, "m2": 1}
        assert (await plane.condition("web"))["reason"] == "Unschedulable"
        await plane.store.delete(DEPLOYMENTS, "other", "default")
        await until(plane.placed(web={"m1": 2, "m2": 2}), 60)  # where there is most room

    live(story, {"m1": "4", "m2": "4"})


def test_what_is_everywhere_grows_only_where_there_is_room() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("web", replicas=1))
        await until(plane.placed(web={"m1": 1, "m2": 1}), 60)
        await plane.add(deployment("big", cpu="3", tier="middle"))
        await until(plane.placed(big={"m1": 1}), 60)
        await plane.scale("web", 2)
        await asyncio.sleep(30)
        assert (await plane.places())["web"] == {"m1": 1, "m2": 1}
        await plane.store.delete(DEPLOYMENTS, "big", "default")
        await until(plane.placed(web={"m1": 2, "m2": 2}), 60)

    live(story, {"m1": "4", "m2": "4"}, scheduling=DUPLICATED)


# Places that others have to leave


def test_a_victim_leaves_gracefully_and_the_preemptor_takes_its_place() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("low", replicas=4))
        await until(plane.placed(low={"m1": 4}), 60)
        await plane.add(deployment("high", cpu="3", tier="high"))
        await until(plane.placed(low={}), 60)
        (task,) = (await plane.binding("low")).data["spec"]["gracefulEvictionTasks"]
        assert (task["fromCluster"], task["replicas"], task["reason"]) == ("m1", 4, "Preempted")
        assert "makes way in m1 for ResourceBinding/default/high-deployment: priority 1 is below 100" in task["message"]
        assert (await plane.condition("low"))["reason"] == "Preempted"
        await asyncio.sleep(15)
        assert (await plane.places())["high"] == {}
        assert "waits for m1" in (await plane.condition("high"))["message"]
        await until(plane.placed(high={"m1": 1}), 10)
        assert await plane.held() == []
        assert plane.witness.told == ["low-deployment"]
        assert {"Preempting", "Preempted"} <= set(await told(plane.store))

    live(story, {"m1": "4"})


def test_a_victim_comes_back_when_there_is_room_again() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("low", replicas=4))
        await until(plane.placed(low={"m1": 4}), 60)
        await plane.add(deployment("high", cpu="3", tier="high"))
        await until(plane.placed(high={"m1": 1}), 60)
        await plane.store.delete(DEPLOYMENTS, "high", "default")
        await until(plane.placed(low={"m1": 4}), 60)
        assert (await plane.condition("low"))["status"] == "True"
        assert plane.witness.told == ["low-deployment"]

    live(story, {"m1": "4"})


def test_a_victim_that_is_everywhere_loses_one_cluster_and_gets_it_back() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("low", cpu="2"))
        await until(plane.placed(low={"m1": 1, "m2": 1}), 60)
        await plane.add(deployment("high", cpu="3", tier="high"))
        await until(plane.placed(high={"m1": 1}, low={"m2": 1}), 60)
        await plane.store.delete(DEPLOYMENTS, "high", "default")
        await until(plane.placed(low={"m2": 1, "m1": 1}), 60)
        assert (await plane.condition("low"))["status"] == "True"

    live(story, {"m1": "4", "m2": "4"}, scheduling=DUPLICATED)


def test_nobody_of_equal_or_lower_priority_takes_a_place_that_is_waited_for() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("first", replicas=2), deployment("second", replicas=2))
        await until(plane.placed(first={"m1": 2}, second={"m1": 2}), 60)
        await plane.add(deployment("high", cpu="4", tier="high"))
        await until(plane.placed(first={}, second={}), 60)
        await plane.store.delete(DEPLOYMENTS, "first", "default")  # half of the room is free at once
        await plane.add(deployment("equal", cpu="2", tier="high"), deployment("lower", cpu="1", tier="middle"))
        await asyncio.sleep(10)
        places = await plane.places()
        assert (places["equal"], places["lower"]) == ({}, {})
        await until(plane.placed(high={"m1": 1}), 60)
        await asyncio.sleep(60)
        places = await plane.places()
        assert (places["equal"], places["lower"], places["second"]) == ({}, {}, {})

    live(story, {"m1": "4"})


def test_who_ranks_higher_takes_the_place_and_the_one_who_waited_looks_again() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("a", cpu="4"))
        await until(plane.placed(a={"m1": 1}), 60)
        await plane.add(deployment("b", cpu="4", tier="middle"))
        await until(plane.placed(a={}), 60)
        await plane.add(deployment("high", cpu="4", tier="high"))
        await until(plane.placed(high={"m1": 1}), 60)
        await asyncio.sleep(30)
        assert (await plane.places())["b"] == {}
        assert await plane.held() == []
        assert plane.witness.told == ["a-deployment"], "the room that was on its way was enough for one"

    live(story, {"m1": "4"})


def test_two_that_wait_in_one_cluster_have_victims_of_their_own() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("a", cpu="2"), deployment("b", cpu="2"))
        await until(plane.placed(a={"m1": 1}, b={"m1": 1}), 60)
        await plane.add(deployment("h1", cpu="2", tier="high"))
        await asyncio.sleep(5)
        await plane.add(deployment("h2", cpu="2", tier="high"))
        await until(plane.placed(h1={"m1": 1}, h2={"m1": 1}), 60)
        assert sorted(plane.witness.told) == ["a-deployment", "b-deployment"]

    live(story, {"m1": "4"})


def test_what_is_leaving_already_is_not_asked_for_again() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(*(deployment(name, cpu="2") for name in "abc"))
        await until(plane.placed(a={"m1": 1}, b={"m1": 1}, c={"m1": 1}), 60)
        await plane.add(deployment("high", cpu="2", tier="high"))
        await asyncio.sleep(5)
        await plane.scale("high", 2)
        await until(plane.placed(high={"m1": 2}), 60)
        assert len(plane.witness.told) == 2

    live(story, {"m1": "6"})


def test_a_preemptor_that_goes_gives_up_its_place() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("low", cpu="4"))
        await until(plane.placed(low={"m1": 1}), 60)
        await plane.add(deployment("high", cpu="4", tier="high"))
        await until(plane.placed(low={}), 60)
        await plane.store.delete(DEPLOYMENTS, "high", "default")
        await until(plane.placed(low={"m1": 1}), 60)

    live(story, {"m1": "4"})


# Decisions that the store refuses, and what is found after a restart


async def context_of(plane: Plane) -> tuple[Context, FederationPolicy]:
    world = World()
    mirror = Mirror(plane.store, world)
    await mirror.follow()
    log = DecisionLog(plane.history, Metrics(), mirror.world, plane.clock)
    return Context(
        plane.store, plane.clock, mirror, Recorder(plane.store, plane.clock), log, Writes()
    ), FederationPolicy(world, SETTINGS)


def test_a_decision_over_an_older_version_is_refused_and_changes_nothing() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("low", cpu="4"))
        await until(lambda: _exists(plane, "low"), 60)
        context, policy = await context_of(plane)
        (facts,) = policy.pending()
        plan = decide(policy, facts, now=0)
        assert plan.outcome == "Fits"
        await plane.scale("low", 2)
        await until(lambda: _has_replicas(plane, "low", 2), 60)
        with pytest.raises(Conflict):
            await prepare(context, plan, 0, AssumedObjects(context))()
        assert (await plane.places())["low"] == {}
        context.mirror.close()

    live(story, {"m1": "4"}, scheduler=False)


async def _exists(plane: Plane, name: str) -> bool:
    summary = (await plane.store.list(BINDINGS)).records
    clusters = await plane.store.get(CLUSTERS, "m1")
    return any(record.name == f"{name}-deployment" for record in summary) and "status" in clusters.data


async def _has_replicas(plane: Plane, name: str, replicas: int) -> bool:
    return bool((await plane.binding(name)).data["spec"]["replicas"] == replicas)


def test_holds_that_are_over_or_unreadable_are_dropped() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("web"), deployment("big", cpu="9"))
        async with running(plane.scheduler()):
            await until(plane.placed(web={"m1": 1}, big={}), 60)
        for name, text in (("web", '{"clusters": {"m1": 3}}'), ("big", '{"victims": [{"unit": "x"}]}')):
            await hold(plane, name, text)
        async with running(plane.scheduler()):
            await asyncio.sleep(5)
        assert await plane.held() == []

    live(story, {"m1": "4"}, scheduler=False)


async def hold(plane: Plane, name: str, text: str) -> None:
    said = {"metadata": {"annotations": {HOLD_ANNOTATION: text}}}
    await plane.store.patch(BINDINGS, f"{name}-deployment", "default", said)


def test_a_victim_that_came_back_is_not_told_again_for_a_hold_that_outlived_its_turn() -> None:
    async def story(plane: Plane) -> None:
        await plane.add(deployment("low", cpu="2"))
        async with running(plane.scheduler()):
            await until(plane.placed(low={"m1": 1}), 60)
            await plane.add(deployment("high", cpu="4", tier="high"))
            await until(plane.placed(low={}), 60)
            written = (await plane.binding("high")).metadata["annotations"][HOLD_ANNOTATION]
            await until(plane.placed(high={"m1": 1}), 60)
            more = {"metadata": {"annotations": {"reprieve.scheduling/allocatable": '{"cpu": "6"}'}}}
            await plane.store.patch(CLUSTERS, "m1", "", more)
            await until(plane.placed(low={"m1": 1}), 60)
        await plane.scale("high", 2)  # it waits again, for more than there is
        await until(lambda: _has_replicas(plane, "high", 2), 60)
        await hold(plane, "high", written)
        context, _ = await context_of(plane)
        await resume(context, {OWN_SCHEDULER})
        context.mirror.close()
        assert plane.witness.told == ["low-deployment"]
        assert (await plane.places())["low"] == {"m1": 1}

    live(story, {"m1": "4"}, scheduler=False)


# Crashes


def survives(before: Story, change: Story, after: Story, clusters: dict[str, str], scheduling: Dict = DIVIDED) -> None:
    """`before` settles in peace; then something changes, and the scheduler dies after its 1st, 2nd, ... write."""
    for writes in range(1, 60):
        if not _dies(writes, before, change, after, clusters, scheduling):
            assert writes > 3, "nothing was written"
            return
    pytest.fail("it never came to an end")


def _dies(writes: int, before: Story, change: Story, after: Story, clusters: dict[str, str], scheduling: Dict) -> bool:
    died: list[bool] = []

    async def story(plane: Plane) -> None:
        async with running(plane.scheduler()):
            await before(plane)
        mortal = asyncio.create_task(plane.scheduler(Mortal(plane.store, writes)).run())
        await change(plane)
        await asyncio.wait([mortal], timeout=90)
        died.append(mortal.done())
        mortal.cancel()
        ends = await asyncio.gather(mortal, return_exceptions=True)
        assert isinstance(ends[0], (Crash, asyncio.CancelledError)), ends
        async with running(plane.scheduler()):
            await after(plane)
        assert await plane.held() == []

    live(story, clusters, scheduling=scheduling, scheduler=False)
    return died[0]


def test_victims_in_two_clusters_are_told_once_whenever_the_scheduler_dies() -> None:
    async def before(plane: Plane) -> None:
        await plane.add(deployment("a", cpu="2"), deployment("b", cpu="2"), deployment("c", cpu="3"))
        await until(plane.placed(a={"m1": 1}, b={"m1": 1}, c={"m2": 1}), 60)

    async def change(plane: Plane) -> None:
        await plane.add(deployment("high", cpu="3", replicas=2, tier="high"))

    async def after(plane: Plane) -> None:
        await until(plane.placed(high={"m1": 1, "m2": 1}), 120)
        await asyncio.sleep(30)
        assert sorted(plane.witness.told) == ["a-deployment", "b-deployment", "c-deployment"]
        assert (await plane.condition("high"))["status"] == "True"
        for name in "abc":
            assert (await plane.condition(name))["reason"] == "Preempted"

    survives(before, change, after, {"m1": "4", "m2": "3"})


def test_a_victim_that_is_everywhere_knows_what_it_lost_whenever_the_scheduler_dies() -> None:
    async def before(plane: Plane) -> None:
        await plane.add(deployment("low", cpu="2"))
        await until(plane.placed(low={"m1": 1, "m2": 1}), 60)

    async def change(plane: Plane) -> None:
        await plane.add(deployment("high", cpu="3", tier="high"))

    async def after(plane: Plane) -> None:
        await until(plane.placed(high={"m1": 1}, low={"m2": 1}), 120)
        await plane.store.delete(DEPLOYMENTS, "high", "default")
        await until(plane.placed(low={"m2": 1, "m1": 1}), 120)
        await until(lambda: _says(plane, "low", "True"), 60)
        assert plane.witness.told == ["low-deployment"]

    survives(before, change, after, {"m1": "4", "m2": "4"}, DUPLICATED)


async def _says(plane: Plane, name: str, status: str) -> bool:
    return (await plane.condition(name)).get("status") == status


def test_a_first_result_is_never_doubled_whenever_the_scheduler_dies() -> None:
    async def before(plane: Plane) -> None:
        await plane.add(deployment("other"))
        await until(plane.placed(other={"m1": 1}), 60)

    async def change(plane: Plane) -> None:
        await plane.add(*(deployment(f"web{number}", replicas=2) for number in range(3)))

    async def after(plane: Plane) -> None:
        await asyncio.sleep(30)
        places = await plane.places()
        assert sum(sum(where.values()) for where in places.values()) == 7
        for name in places:
            assert (await plane.condition(name))["status"] == "True"

    survives(before, change, after, {"m1": "5", "m2": "4"})


def test_the_whole_control_plane_dies_again_and_again_and_the_preemption_comes_to_its_end() -> None:
    async def main(store: EmbeddedStore, clock: Clock) -> None:
        plane = Plane(store, clock)
        await plane.begin({"m1": "4", "m2": "3"})
        await plane.add(deployment("a", cpu="2"), deployment("b", cpu="2"), deployment("c", cpu="3"))
        async with running(*plane.controllers(), plane.scheduler()):
            await until(plane.placed(a={"m1": 1}, b={"m1": 1}, c={"m2": 1}), 60)
        await plane.add(deployment("high", cpu="3", replicas=2, tier="high"))

        def start(mortal: Any) -> list[Any]:
            parts = [Detector(mortal, clock, SETTINGS), HollowClusters(mortal, clock)]
            return [*parts, plane.scheduler(mortal)]

        await live_through_crashes(store, start, [1, 2, 3] * 10, plane.placed(high={"m1": 1, "m2": 1}))
        assert sorted(plane.witness.told) == ["a-deployment", "b-deployment", "c-deployment"]
        assert plane.witness.faults == []
        plane.history.close()

    in_virtual_time(main)


@pytest.mark.parametrize("scheduling", [DIVIDED, DUPLICATED], ids=["divided", "duplicated"])
@pytest.mark.parametrize("seed", range(3))
def test_random_lives_with_crashes_come_to_rest_within_capacity(seed: int, scheduling: Dict) -> None:
    """Templates come, change and go, schedulers die at random; in the end all is quiet."""
    chance = random.Random(seed)  # noqa: S311

    async def story(plane: Plane) -> None:
        for number in range(25):
            await _something(plane, chance, number)
            mortal = Mortal(plane.store, chance.randint(1, 12))
            task = asyncio.create_task(plane.scheduler(mortal).run())
            await asyncio.wait([task], timeout=chance.choice([0.1, 5, 40]))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        async with running(plane.scheduler()):
            await asyncio.sleep(400)
            version = [record.version for record in (await plane.store.list(BINDINGS)).records]
            await asyncio.sleep(200)
            assert [record.version for record in (await plane.store.list(BINDINGS)).records] == version
        assert await plane.held() == []
        for record in (await plane.store.list(BINDINGS)).records:
            spec = record.data["spec"]
            if scheduling is DIVIDED:
                assert sum(target["replicas"] for target in spec.get("clusters", ())) <= spec["replicas"]
            assert not spec.get("gracefulEvictionTasks")
            assert hold_of(record.metadata["annotations"]) is None

    live(story, {"m1": "6", "m2": "5", "m3": "4"}, scheduling=scheduling, scheduler=False)


async def _something(plane: Plane, chance: random.Random, number: int) -> None:
    templates = (await plane.store.list(DEPLOYMENTS)).records
    action = chance.random()
    if action < 0.6 or not templates:
        tier = chance.choice(["low", "low", "middle", "high"])
        cpu, replicas = str(chance.randint(1, 3)), chance.randint(1, 3)
        await plane.add(deployment(f"t{number}", cpu=cpu, replicas=replicas, tier=tier))
    elif action < 0.8:
        await plane.scale(chance.choice(templates).name, chance.randint(1, 4))
    else:
        await plane.store.delete(DEPLOYMENTS, chance.choice(templates).name, "default")
