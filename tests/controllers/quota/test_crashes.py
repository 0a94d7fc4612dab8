"""The controllers end between any two of their writes, and start anew: nothing is lost, doubled, or left behind.

Whatever happens, after every single write:
1. A Job runs, and has pods that have not ended, only while its Workload holds quota.
2. Quota is given back only when the Job is suspended and is again, to the byte, what it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from reprieve.controllers.pods.templates import is_finished
from reprieve.manifests.kinds import JOBS, PODS, QUOTA_WORKLOADS
from reprieve.model.clock import Clock, run_virtually
from reprieve.model.conditions import has_condition
from tests.builders.pods import pod
from tests.controllers.quota.scenes import QUEUE_LABEL, Scene, condition, job, scene, template_bytes

Act = Callable[[Scene], Coroutine[Any, Any, None]]


class Laws:
    """What must hold after every write, and how often quota was taken and given back."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.original = b""
        self.held = False
        self.taken = self.freed = 0

    def check(self) -> None:
        workloads = self._scene.now(QUOTA_WORKLOADS)
        finished = any(has_condition(each.data, "Finished") for each in workloads)
        holds = any("admission" in each.data.get("status", {}) for each in workloads)
        for train in self._scene.now(JOBS):
            self._check_job(train, holds)
        if not holds and not finished:
            assert all(is_finished(each) or _gated(each) for each in self._scene.now(PODS)), "pods without quota"
        self.taken += holds and not self.held
        self.freed += self.held and not holds
        self.held = holds

    def _check_job(self, train: Any, holds: bool) -> None:
        assert train.data["spec"]["suspend"] or holds, "it runs without quota"
        if self.held and not holds:
            assert template_bytes(train) == self.original, "quota is free, and the template is not restored"


def _gated(record: Any) -> bool:
    return bool(record.data["spec"].get("schedulingGates"))


async def _life_of_a_job(scene: Scene) -> None:
    """Queued, admitted, evicted, admitted elsewhere, finished."""
    await scene.admit(await scene.workload(), pods=1)
    await scene.until(lambda: _running(scene, 1))
    await scene.evict(await scene.workload())
    await scene.until(lambda: _free(scene))
    await scene.admit(await scene.workload(), "spot")
    await scene.until(lambda: _running(scene, 2))
    await scene.succeed()
    await scene.until(lambda: _finished(scene))


async def _running(scene: Scene, number: int) -> bool:
    return len(await scene.running()) == number


async def _free(scene: Scene) -> bool:
    return "admission" not in (await scene.workload()).data["status"]


async def _finished(scene: Scene) -> bool:
    workload = await scene.workload()
    return condition(workload, "Finished")[0] == "True" and "finalizers" not in workload.metadata


async def _there(scene: Scene) -> bool:
    return len(await scene.all(QUOTA_WORKLOADS)) == 1


async def _revive(scene: Scene, writes: int) -> None:
    """Let the controllers run for so many writes, then start them anew, once."""
    observed = scene.start(writes)
    while not observed.crashed:
        await asyncio.sleep(0.01)
    scene.start()


def _with_a_crash_after(writes: int, act: Act) -> bool:
    """Live through it all with one crash; whether it came to a crash at all."""
    crashed = False

    async def main(clock: Clock) -> None:
        nonlocal crashed
        async with scene(clock, grace=1.0) as made:
            fate = asyncio.create_task(_revive(made, writes))
            try:
                await act(made)
                crashed = fate.done()
            finally:
                fate.cancel()

    run_virtually(main)
    return crashed


def _with_every_crash(act: Act) -> int:
    writes = 0
    while _with_a_crash_after(writes, act):
        writes += 1
        assert writes < 200, "it does not come to an end"
    return writes


def test_a_job_survives_a_crash_between_any_two_writes() -> None:
    async def act(scene: Scene) -> None:
        laws = Laws(scene)
        annotations = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        await scene.create(job(annotations=annotations, pod_spec={"nodeSelector": {"disk": "fast"}}))
        laws.original = template_bytes(await scene.get(JOBS, "train"))
        scene.check = laws.check
        await scene.until(lambda: _there(scene))
        await _life_of_a_job(scene)
        assert (laws.taken, laws.freed) == (2, 1)
        (train,) = await scene.all(JOBS)
        assert train.data["spec"]["parallelism"] == 2
        assert has_condition(train.data, "Complete")

    assert _with_every_crash(act) > 20


def test_pods_survive_a_crash_between_any_two_writes() -> None:
    async def act(scene: Scene) -> None:
        labels = {QUEUE_LABEL: "team", "kueue.x-k8s.io/pod-group-name": "crew"}
        annotations = {"kueue.x-k8s.io/pod-group-total-count": "2"}
        await scene.create(*(pod(name, cpu="1", labels=labels, annotations=annotations) for name in ("a", "b")))
        laws = Laws(scene)
        scene.check = laws.check
        await scene.until(lambda: _there(scene))
        await scene.admit(await scene.workload())
        await scene.until(lambda: _running(scene, 2))
        await scene.evict(await scene.workload())
        await scene.until(lambda: _nothing_left(scene))
        assert (laws.taken, laws.freed) == (1, 1)

    assert _with_every_crash(act) > 5


async def _nothing_left(scene: Scene) -> bool:
    return not await scene.all(PODS) and not await scene.all(QUOTA_WORKLOADS)


def test_a_job_and_its_workload_deleted_leave_nothing_behind_whenever_it_crashes() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.until(lambda: _there(scene))
        await scene.admit(await scene.workload())
        await scene.until(lambda: _running(scene, 2))
        await scene.store.delete(JOBS, "train", "default")
        for each in await scene.all(PODS):
            await scene.store.delete(PODS, each.name, "default")
        await scene.until(lambda: _nothing_left(scene))

    assert _with_every_crash(act) > 5
