"""Others write at the worst moment: just before the controllers do, with what these have read behind them."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.controllers.garbage import GarbageCollector
from reprieve.controllers.pods.templates import is_finished
from reprieve.manifests.kinds import JOBS, PODS, QUOTA_WORKLOADS
from reprieve.stores.protocol import Propagation
from tests.controllers.quota.scenes import Scene, condition, job, play, started, template_bytes


def test_evicted_at_the_moment_it_starts_it_holds_its_quota_until_it_has_stopped() -> None:
    async def act(scene: Scene) -> None:
        evicted: list[str] = []

        async def before(given: tuple[Any, ...]) -> None:
            if given[0] is JOBS and given[-1].get("spec", {}).get("suspend") is False and not evicted:
                evicted.append(given[1])
                await scene.evict(await scene.workload())

        def check() -> None:
            holds = "admission" in scene.now(QUOTA_WORKLOADS)[0].data.get("status", {})
            runs = not scene.now(JOBS)[0].data["spec"]["suspend"] or any(not is_finished(x) for x in scene.now(PODS))
            assert holds or not runs, "it runs without quota"

        await scene.create(job())
        await scene.settle()
        original = template_bytes(await scene.get(JOBS, "train"))
        scene.before = before
        scene.start()
        scene.check = check
        await scene.admit(await scene.workload())
        await scene.settle()
        workload = await scene.workload()
        assert evicted == ["train"]
        assert condition(workload, "Evicted") == ("True", "Preempted")
        assert "admission" not in workload.data["status"]
        assert template_bytes(await scene.get(JOBS, "train")) == original

    play(act)


def test_admitted_at_the_moment_its_job_is_changed_it_asks_again_for_what_it_needs_now() -> None:
    async def act(scene: Scene) -> None:
        admitted: list[str] = []

        async def before(given: tuple[Any, ...]) -> None:
            if given[0] is QUOTA_WORKLOADS and "spec" in given[-1] and not admitted:
                admitted.append(given[1])
                await scene.admit(await scene.workload())

        await scene.create(job(spec={"completions": 9}))
        await scene.settle()
        scene.before = before
        scene.start()
        scene.check = lambda: _no_more_than(scene, 0)
        await scene.patch(JOBS, "train", {"spec": {"parallelism": 5}})
        await scene.settle()
        workload = await scene.workload()
        assert admitted == [workload.name]
        assert condition(workload, "Evicted") == ("True", "JobChanged")
        assert "admission" not in workload.data["status"]
        assert workload.data["spec"]["podSets"][0]["count"] == 5

    play(act)


def _no_more_than(scene: Scene, pods: int) -> None:
    assert len(scene.now(PODS)) <= pods, "pods that nobody admitted"


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_with_a_garbage_collector_quota_is_still_held_until_the_pods_are_gone(propagation: Propagation) -> None:
    async def act(scene: Scene) -> None:
        def check() -> None:
            if not scene.now(QUOTA_WORKLOADS):
                assert all(is_finished(pod) for pod in scene.now(PODS)), "its quota is free too early"

        scene.also(GarbageCollector)
        await started(scene)
        scene.check = check
        await scene.store.delete(JOBS, "train", "default", propagation=propagation)
        await scene.settle()
        assert await scene.all(JOBS) == await scene.all(PODS) == await scene.all(QUOTA_WORKLOADS) == []

    play(act, grace=10)


def test_a_job_of_the_same_name_made_at_once_gets_a_workload_of_its_own() -> None:
    async def act(scene: Scene) -> None:
        scene.also(GarbageCollector)
        await started(scene)
        old = await scene.workload()
        await scene.store.delete(JOBS, "train", "default")
        await scene.create(job())
        await scene.settle()
        new = await scene.workload()
        assert new.name != old.name
        assert new.metadata["ownerReferences"][0]["uid"] == (await scene.get(JOBS, "train")).uid
        assert await scene.all(PODS) == []

    play(act)
