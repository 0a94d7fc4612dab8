"""A shadow beside a scheduler that acts: what the other one did is told beside what it would have done itself."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import HollowAgent
from reprieve.manifests.kinds import EVENTS, PODS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.scheduler.metrics import Metrics
from reprieve.scheduler.shadow import told as telling
from reprieve.scheduler.shadow.told import ToldVictims
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Forbidden
from reprieve.stores.records import Listing, Record
from tests.builders.pods import pod_group
from tests.controllers.harness import running
from tests.planes.running import SETTINGS, Plane, pod

Story = Callable[[Plane], Awaitable[None]]
PREEMPTION = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


class _Bare:
    def __init__(self, store: Any) -> None:
        self.store = store


class _EventsForbidden:
    """A store that lets nobody read events."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def list(self, resource: Resource, *more: Any, **named: Any) -> Listing:
        if resource == EVENTS:
            raise Forbidden("events is forbidden")
        return await self._store.list(resource, *more, **named)


def beside(story: Story, *, acting: bool = True, reads_events: bool = True) -> dict[str, Any]:
    """What a shadow tells after a story, with a scheduler that acts beside it or with none."""
    told: dict[str, Any] = {}

    async def main(clock: Clock) -> None:
        store = EmbeddedStore.open(":memory:", clock, seed=1)
        histories = [History(":memory:", clock) for _ in range(2)]
        metrics = Metrics()
        seen: Any = store if reads_events else _EventsForbidden(store)
        watching = Scheduler(
            seen, clock, SETTINGS, histories[0], metrics=metrics, names=("default-scheduler",), shadow=True
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


# For whom victims have to go


async def said(plane: Plane, preemptor: str, victim: Record, *, related: bool = True) -> None:
    """As kube-scheduler says it: an event on the victim that is related to its preemptor, or names its uid."""
    uid = (await plane.record(preemptor)).uid
    about = {"kind": "Pod", "namespace": "default", "name": victim.name, "uid": victim.uid}
    event = {
        "metadata": {"name": f"{victim.name}.{preemptor}", "namespace": "default"},
        "involvedObject": about,
        "reason": "Preempted",
        "message": f"Preempted by pod {uid} on node n1",
        **({"related": {"kind": "Pod", "uid": uid}} if related else {}),
    }
    await plane.store.create(EVENTS, event)


async def crowded(plane: Plane, *priorities: str) -> dict[str, Record]:
    """One node that is full of pods of one cpu, the oldest first: `a`, `b`, and so on."""
    await classes(plane)
    await plane.node("n1", cpu=str(len(priorities)))
    for name, priority in zip("abcd", priorities, strict=False):
        await plane.pod(name, cpu="1", priority=priority)
        await plane.store.bind(name, "default", "n1")
        await plane.passes(2)
    return {name: await plane.record(name) for name in "abcd"[: len(priorities)]}


def preemptions(told: dict[str, Any]) -> Counter[str]:
    """Without those who got a place for nothing."""
    return Counter({result: count for result, count in results(told).items() if not result.startswith("placed")})


async def nominated(plane: Plane, name: str, cpu: str = "1") -> None:
    await plane.pod(name, cpu=cpu, priority="high")
    await plane.passes(0.2)
    await status(plane, name, nominatedNodeName="n1")


def two_at_once(whose: dict[str, list[str]], *, related: bool = True) -> Story:
    """Two are nominated to one node; `whose`: the victims of each, as events say."""

    async def story(plane: Plane) -> None:
        there = await crowded(plane, "low", "low")
        for name in ("one", "two"):
            await nominated(plane, name)
        for victim in "ba":
            await mark(plane, victim)
        for name, victims in whose.items():
            for victim in victims:
                await said(plane, name, there[victim], related=related)
        await plane.passes(10)

    return story


@pytest.mark.parametrize("related", [True, False])
def test_whose_victims_are_whose_is_taken_from_events(related: bool) -> None:
    """`b`, the younger one, goes for the one who came first. The nearest moment alone would give both to `two`."""
    told = beside(two_at_once({"one": ["b"], "two": ["a"]}, related=related), acting=False)
    assert preemptions(told) == {"agreed": 2}


def test_other_victims_are_told_as_such_when_events_say_whose_they_are() -> None:
    told = beside(two_at_once({"one": ["a"], "two": ["b"]}), acting=False)
    assert preemptions(told) == {"other_victims": 1, "agreed": 1}
    (other,) = told["disagreements"]
    assert other["unit"] == "Pod/default/one"
    assert (other["other"]["victims"], other["own"]["victims"]) == (["Pod/default/a"], ["Pod/default/b"])


@pytest.mark.parametrize("reads_events", [True, False])
def test_without_events_it_is_unclear_whose_victims_are_whose(reads_events: bool) -> None:
    """There are none, or nobody may read them: both are as good as each other, and all else goes on."""
    whose = {} if reads_events else {"one": ["b"], "two": ["a"]}
    assert results(beside(two_at_once(whose), acting=False, reads_events=reads_events))["unclear"] > 0


def test_one_victim_may_have_to_go_for_two() -> None:
    """Who decides while a victim's end is on its way may count on the same one; then both name it."""

    async def story(plane: Plane) -> None:
        there = await crowded(plane, "low", "low", "low")
        await nominated(plane, "one")
        await mark(plane, "c")
        await said(plane, "one", there["c"])
        await nominated(plane, "two", cpu="2")
        for victim in "abc":
            if victim != "c":
                await mark(plane, victim)
            await said(plane, "two", there[victim])
        await plane.passes(10)

    assert preemptions(beside(story, acting=False)) == {"agreed": 2}


def test_who_leaves_for_somebody_else_makes_no_difference() -> None:
    """`two` needs `b` and `c` to go; of `c` nothing is said, because that one was gone for `one` when its turn came."""

    async def story(plane: Plane) -> None:
        there = await crowded(plane, "low", "low", "low")
        await nominated(plane, "two", cpu="2")
        await nominated(plane, "one")
        for victim, preemptor in (("c", "one"), ("b", "two"), ("a", "one")):
            await mark(plane, victim)
            await said(plane, preemptor, there[victim])
        await plane.passes(10)

    assert preemptions(beside(story, acting=False)) == {"agreed": 2}


def test_who_leaves_for_somebody_who_comes_later_makes_a_difference() -> None:
    """`two` takes one less than it should; that the other goes for `one`, who comes a second later, says nothing."""

    async def story(plane: Plane) -> None:
        there = await crowded(plane, "low", "low", "low")
        await nominated(plane, "two", cpu="2")
        await mark(plane, "b")
        await said(plane, "two", there["b"])
        await plane.passes(1)
        await nominated(plane, "one")
        await mark(plane, "c")
        await said(plane, "one", there["c"])
        await plane.passes(10)

    told = beside(story, acting=False)
    assert "Pod/default/two" in {each["unit"] for each in told["disagreements"]}


@pytest.mark.parametrize("sign", ["nominated anew", "other words"])
def test_a_second_decision_on_the_same_node_is_one_of_its_own(sign: str) -> None:
    """Somebody takes the place that `one` had made for itself; it is tried again, and one more has to go."""

    async def story(plane: Plane) -> None:
        there = await crowded(plane, "low", "middle")
        await nominated(plane, "one")
        await mark(plane, "a")
        await said(plane, "one", there["a"])
        await plane.passes(0.2)
        await plane.pod("thief", cpu="1", priority="high")
        await plane.store.bind("thief", "default", "n1")
        await plane.passes(0.2)
        if sign == "nominated anew":
            await status(plane, "one", nominatedNodeName=None)
            await plane.passes(0.1)
            await status(plane, "one", nominatedNodeName="n1")
        else:
            waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "1 more must go"}
            await status(plane, "one", conditions=[waits])
        await mark(plane, "b")
        await said(plane, "one", there["b"])
        await plane.passes(10)

    assert preemptions(beside(story, acting=False))["agreed"] == 2


def test_a_victim_that_came_later_is_that_of_a_later_decision() -> None:
    async def story(plane: Plane) -> None:
        there = await crowded(plane, "low")
        await nominated(plane, "one")
        await mark(plane, "a")
        await said(plane, "one", there["a"])
        await plane.passes(0.2)
        await plane.pod("thief", cpu="1", priority="middle")
        await plane.store.bind("thief", "default", "n1")
        await plane.passes(0.2)
        thief = await plane.record("thief")
        await mark(plane, "thief")
        await said(plane, "one", thief)
        await plane.passes(10)

    assert results(beside(story, acting=False))["agreed"] == 2


def test_only_the_last_victims_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_MOST", 3)
    known: list[bool] = []

    async def story(plane: Plane) -> None:
        victims = [await plane.pod(f"v{number}") for number in range(5)]
        await plane.pod("one")
        told, signal = ToldVictims(), asyncio.Event()
        await told.follow(plane.store, signal)
        for victim in victims:
            await said(plane, "one", victim)
        await told.follow(plane.store, signal)
        known.extend(bool(told.preemptors(victim)) for victim in victims)
        told.close()

    beside(story, acting=False)
    assert known == [False, False, True, True, True]


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
