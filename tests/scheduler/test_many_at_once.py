"""A store far away takes its time for each write: what is decided for hundreds does not wait for them one by one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reprieve.manifests.kinds import BINDINGS, CLUSTERS, QUOTA_WORKLOADS
from reprieve.model.clock import Clock, run_virtually
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Conflict
from reprieve.stores.records import Record
from tests.builders.quota import flavor, queue
from tests.planes.far import FarStore
from tests.planes.patience import patience
from tests.planes.running import SETTINGS, Plane

Dict = dict[str, Any]
MANY = 500
ONE_WAY = 0.005
AT_ONCE = 24


class SteadyStore(FarStore):
    """Ten milliseconds for each answer; nothing is lost, but what a test refuses."""

    def __init__(self, store: EmbeddedStore) -> None:
        super().__init__(store, 0, lost=0.0)
        self.asked: Counter[str] = Counter()
        self.refuse: Callable[[str, str], bool] = lambda _verb, _name: False

    async def _takes_time(self) -> None:
        await asyncio.sleep(ONE_WAY)

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name != "patch":
            return found

        async def patch(resource: Any, called: str, *args: Any, **options: Any) -> Any:
            self.asked[called] += 1
            if self.refuse(name, called):
                await self._takes_time()
                raise Conflict(f"{called} has changed")
            return await found(resource, called, *args, **options)

        return patch


def far_away(story: Callable[[Plane, SteadyStore, Scheduler], Awaitable[Any]], at_once: int = AT_ONCE) -> Any:
    """A scheduler alone, with nobody who makes or ends anything."""

    async def main(clock: Clock) -> Any:
        near = EmbeddedStore.open(":memory:", clock, seed=7)
        far, history = SteadyStore(near), History(":memory:", clock)
        scheduler = Scheduler(far, clock, SETTINGS, history, names=ALL_NAMES, at_once=at_once)
        alive = Plane(type("Alone", (), {"store": near})(), clock)
        try:
            return await story(alive, far, scheduler)
        finally:
            history.close()
            near.close()

    with patience(120):
        return run_virtually(main)


async def seconds_until(scheduler: Scheduler, done: Callable[[], Awaitable[bool]]) -> float:
    """From its first look at the store until something is so."""
    task = asyncio.create_task(scheduler.run())
    clock = asyncio.get_running_loop().time
    while not scheduler.ready:
        await asyncio.sleep(0.01)
    began = clock()
    try:
        while not await done():
            assert clock() - began < 60, "it takes too long"
            assert not task.done(), task.exception()
            await asyncio.sleep(0.02)
        return clock() - began
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def workload(name: str, queue: str, cpu: str = "1", priority: int = 0) -> Dict:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    sets = [{"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}]
    spec = {"queueName": queue, "podSets": sets, "priority": priority}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name}, "spec": spec}


def is_admitted(record: Record) -> bool:
    return bool(record.data.get("status", {}).get("admission"))


@pytest.mark.parametrize("queues", [1, 50])
def test_hundreds_of_workloads_are_admitted_together(queues: int) -> None:
    async def story(plane: Plane, far: SteadyStore, scheduler: Scheduler) -> float:
        await plane.apply(flavor("default"))
        for number in range(queues):
            await plane.apply(*queue(f"team-{number}", {"default": {"cpu": MANY // queues}}))
        await plane.apply(*(workload(f"w-{number}", f"team-{number % queues}") for number in range(MANY)))

        async def all_admitted() -> bool:
            return all(map(is_admitted, (await plane.store.list(QUOTA_WORKLOADS)).records))

        took = await seconds_until(scheduler, all_admitted)
        assert set(far.asked.values()) <= {1, 2}, "each is admitted once; some were told before that they wait"
        return took

    one_by_one = MANY * 2 * ONE_WAY
    assert far_away(story) < one_by_one / 8


def test_those_who_wait_are_told_together() -> None:
    async def story(plane: Plane, far: SteadyStore, scheduler: Scheduler) -> float:
        await plane.apply(flavor("default"), *queue("team", {"default": {"cpu": 1}}))
        await plane.apply(*(workload(f"w-{number}", "team", cpu="2") for number in range(MANY)))

        async def all_told() -> bool:
            records = (await plane.store.list(QUOTA_WORKLOADS)).records
            return all(record.data.get("status", {}).get("conditions") for record in records)

        took = await seconds_until(scheduler, all_told)
        assert set(far.asked.values()) == {1}, "each is told once"
        return took

    assert far_away(story) < MANY * 2 * ONE_WAY / 8


def test_an_admission_that_is_refused_is_taken_back_and_holds_up_no_other_queue() -> None:
    async def story(plane: Plane, far: SteadyStore, scheduler: Scheduler) -> None:
        far.refuse = lambda _, name: name == "stubborn"
        await plane.apply(
            flavor("default"), *queue("team", {"default": {"cpu": 2}}), *queue("other", {"default": {"cpu": 1}})
        )
        await plane.apply(workload("stubborn", "team", cpu="2", priority=5), workload("calm", "other"))

        async def the_other_one() -> bool:
            return is_admitted(await plane.store.get(QUOTA_WORKLOADS, "calm", "default"))

        await seconds_until(scheduler, the_other_one)
        assert far.asked["stubborn"] >= 1
        assert not is_admitted(await plane.store.get(QUOTA_WORKLOADS, "stubborn", "default"))

    far_away(story)


def test_who_is_refused_all_the_time_is_tried_less_and_less_often() -> None:
    async def story(plane: Plane, far: SteadyStore, scheduler: Scheduler) -> int:
        far.refuse = lambda _, name: name == "stubborn"
        await plane.apply(flavor("default"), *queue("team", {"default": {"cpu": 2}}), workload("stubborn", "team"))
        clock = asyncio.get_running_loop().time
        end = clock() + 55

        async def a_while_later() -> bool:
            return clock() >= end

        await seconds_until(scheduler, a_while_later)
        return far.asked["stubborn"]

    assert 3 <= far_away(story) <= 12


def binding(name: str, cpu: str = "1", priority: int = 0) -> Dict:
    spec = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "namespace": "default"},
        "replicas": 1,
        "replicaRequirements": {"resourceRequest": {"cpu": cpu}},
        "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
        "schedulerName": "default-scheduler",
        "schedulePriority": {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"},
    }
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": f"{name}-deployment"},
        "spec": spec,
    }


def member(name: str) -> Dict:
    about = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}}
    return {**about, "spec": {"syncMode": "Push"}}


def room(cpu: int) -> Dict:
    return {
        "conditions": [{"type": "Ready", "status": "True"}],
        "resourceSummary": {"allocatable": {"cpu": str(cpu), "pods": "1000"}, "allocated": {}},
    }


def test_hundreds_of_bindings_are_placed_together_and_no_cluster_gets_too_much() -> None:
    async def story(plane: Plane, far: SteadyStore, scheduler: Scheduler) -> float:
        for number in range(5):
            await plane.apply(member(f"m{number}"))
            status = {"status": room(MANY // 5)}
            await plane.store.patch(CLUSTERS, f"m{number}", "", status, subresource="status")
        await plane.apply(*(binding(f"web-{number}") for number in range(MANY)))

        async def all_placed() -> bool:
            records = (await plane.store.list(BINDINGS)).records
            return all(record.data["spec"].get("clusters") for record in records)

        took = await seconds_until(scheduler, all_placed)
        records = (await plane.store.list(BINDINGS)).records
        used = Counter(target["name"] for record in records for target in record.data["spec"]["clusters"])
        assert set(used.values()) == {MANY // 5}
        assert set(far.asked.values()) <= {1, 2}, "the place, and what the status says"
        return took

    assert far_away(story) < MANY * 4 * ONE_WAY / 8
