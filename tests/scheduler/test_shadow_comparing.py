"""A shadow beside a scheduler that acts: what the other one did is told beside what it would have done itself."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import HollowAgent
from reprieve.manifests.kinds import PODS
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.scheduler.metrics import Metrics
from reprieve.stores.embedded.store import EmbeddedStore
from tests.builders.pods import pod_group
from tests.controllers.harness import running
from tests.planes.running import SETTINGS, Plane, pod

Story = Callable[[Plane], Awaitable[None]]
PREEMPTION = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


class _Bare:
    def __init__(self, store: Any) -> None:
        self.store = store


def beside(story: Story, *, acting: bool = True) -> dict[str, Any]:
    """What a shadow tells after a story, with a scheduler that acts beside it or with none."""
    told: dict[str, Any] = {}

    async def main(clock: Clock) -> None:
        store = EmbeddedStore.open(":memory:", clock, seed=1)
        histories = [History(":memory:", clock) for _ in range(2)]
        metrics = Metrics()
        watching = Scheduler(
            store, clock, SETTINGS, histories[0], metrics=metrics, names=("default-scheduler",), shadow=True
        )
        other = [Scheduler(store, clock, SETTINGS, histories[1], names=ALL_NAMES)] if acting else []
        try:
            async with running(watching, HollowAgent(store, clock), *other):
                await story(Plane(_Bare(store), clock))
            told.update(histories[0].agreement(1000))
            for each in told["agreement"]:
                labels = {"policy": each["policy"], "result": each["result"]}
                counted = metrics.registry.get_sample_value("reprieve_shadow_agreement_total", labels)
                assert counted == each["count"]
        finally:
            for history in histories:
                history.close()
            store.close()

    run_virtually(main)
    return told


def results(told: dict[str, Any]) -> Counter[str]:
    return Counter({each["result"]: each["count"] for each in told["agreement"]})


async def classes(plane: Plane) -> None:
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await plane.priority(name, value)


@pytest.mark.parametrize("seed", range(6))
def test_two_of_a_kind_always_agree(seed: int) -> None:
    """The same search over the same world: whatever order the effects of the other one arrive in."""

    async def story(plane: Plane) -> None:
        chance = random.Random(seed)  # noqa: S311
        await classes(plane)
        for number in range(4):
            await plane.node(f"n{number}", cpu=str(chance.choice((2, 3, 4))))
        for number in range(24):
            name = chance.choice(("low", "middle", "high"))
            await plane.pod(f"p{number}", cpu=chance.choice(("500m", "1", "2")), priority=name)
            await plane.passes(chance.choice((0.1, 5.0, 60.0)))
        await plane.passes(60)

    found = results(beside(story))
    assert found["agreed"] > 0
    assert set(found) <= {"agreed", "placed", "unclear"}, found
    assert found["unclear"] <= 1


def test_a_gang_is_compared_as_one() -> None:
    async def story(plane: Plane) -> None:
        await classes(plane)
        for name in ("n1", "n2"):
            await plane.node(name, cpu="2")
            await plane.pod(f"low-{name}", cpu="2", priority="low")
        await plane.passes(10)
        await plane.apply(pod_group("gang", gang=2, priorityClassName="high"))
        for number in range(2):
            await plane.pod(f"gang-{number}", cpu="2", priority="high", schedulingGroup={"podGroupName": "gang"})
        await plane.passes(120)

    told = beside(story)
    gangs = [each for each in told["agreement"] if each["policy"] == "podgroup"]
    assert gangs == [{"policy": "podgroup", "result": "agreed", "count": 1}]


async def full(plane: Plane) -> None:
    """Two nodes, each with one pod; that on `n1` is the less important one."""
    await classes(plane)
    for node, priority in (("n1", "low"), ("n2", "middle")):
        await plane.node(node, cpu="2")
        await plane.pod(f"on-{node}", cpu="2", priority=priority)
        await plane.store.bind(f"on-{node}", "default", node)
    await plane.passes(5)
    await plane.pod("wanted", cpu="2", priority="high")
    await plane.passes(1)


async def status(plane: Plane, name: str, **fields: Any) -> None:
    await plane.store.patch(PODS, name, "default", {"status": fields}, "strategic", subresource="status")


async def mark(plane: Plane, name: str) -> None:
    await status(plane, name, conditions=[PREEMPTION])
    await plane.store.delete(PODS, name, "default", grace=0)


@pytest.mark.parametrize("victim_first", [False, True])
@pytest.mark.parametrize(("node", "result"), [("n1", "agreed"), ("n2", "other_node")])
def test_the_order_in_which_effects_arrive_does_not_matter(victim_first: bool, node: str, result: str) -> None:
    """The victim may be gone before the preemptor is nominated: it is decided over a world in which it was there."""

    async def story(plane: Plane) -> None:
        await full(plane)
        steps = [mark(plane, f"on-{node}"), status(plane, "wanted", nominatedNodeName=node)]
        for step in steps if victim_first else reversed(steps):
            await step
            await plane.passes(0.2)
        await plane.passes(10)

    told = beside(story, acting=False)
    assert results(told)[result] == 1
    for each in told["disagreements"]:
        assert (each["own"]["victims"], each["own"]["nodes"]) == (["Pod/default/on-n1"], {"Pod/default/wanted": "n1"})
        assert (each["other"]["victims"], each["other"]["nodes"]) == (
            ["Pod/default/on-n2"],
            {"Pod/default/wanted": "n2"},
        )
        assert "on-n1 makes way for Pod/default/wanted on n1" in each["own"]["message"]


def test_whom_nobody_would_have_preempted_is_told() -> None:
    async def story(plane: Plane) -> None:
        await full(plane)
        await plane.node("n3", cpu="2")
        await plane.passes(1)
        await status(plane, "wanted", nominatedNodeName="n1")
        await mark(plane, "on-n1")
        await plane.passes(10)

    assert results(beside(story, acting=False))["not_preempted"] == 1


def test_a_pod_of_another_scheduler_is_not_looked_at() -> None:
    async def story(plane: Plane) -> None:
        await full(plane)
        await plane.store.create(PODS, {**pod("foreign"), "spec": {**pod("foreign")["spec"], "schedulerName": "x"}})
        await status(plane, "foreign", nominatedNodeName="n1")
        await plane.passes(10)

    told = beside(story, acting=False)
    assert results(told)["placed"] + results(told)["not_placed"] + results(told)["preempted"] == 0


def test_whose_victims_are_whose_is_not_guessed_when_two_wait_on_one_node() -> None:
    """Both were nominated at nearly the same time, and only one victim is not who would have gone here."""

    async def story(plane: Plane) -> None:
        await classes(plane)
        await plane.node("n1", cpu="2")
        for name in ("a", "b"):
            await plane.pod(f"on-{name}", cpu="1", priority="low")
            await plane.store.bind(f"on-{name}", "default", "n1")
        await plane.passes(5)
        for name in ("one", "two"):
            await plane.pod(name, cpu="1", priority="high")
            await plane.passes(0.5)
            await status(plane, name, nominatedNodeName="n1")
        await mark(plane, "on-a")
        await mark(plane, "on-b")
        await plane.passes(10)

    assert results(beside(story, acting=False))["unclear"] > 0
