"""What makes workloads leave other than preemption, and those that nobody owns."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve.manifests.kinds import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, QUOTA_WORKLOADS
from reprieve.manifests.resource import Resource
from tests.builders.quota import workload
from tests.controllers.quota.scenes import Scene, condition, job, message, play


async def admitted(scene: Scene, **more: Any) -> str:
    await scene.create(job(**more))
    await scene.settle()
    await scene.admit(await scene.workload())
    await scene.settle()
    return (await scene.workload()).name


def test_a_workload_that_nobody_owns_gives_its_quota_back_at_once() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload("bare", "team", cpu=1))
        await scene.admit(await scene.workload())
        await scene.settle()
        states: list[tuple[bool, str]] = []

        def check() -> None:
            (bare,) = scene.now(QUOTA_WORKLOADS)
            states.append(("admission" in bare.data["status"], condition(bare, "QuotaReserved")[0]))

        scene.check = check
        await scene.evict(await scene.workload())
        await scene.settle()
        assert set(states) == {(True, "True"), (False, "False")}
        assert condition(await scene.workload(), "Requeued") == ("True", "Preempted")

    play(act)


@pytest.mark.parametrize(
    ("queues", "want"), [(CLUSTER_QUEUES, "ClusterQueueStopped"), (LOCAL_QUEUES, "LocalQueueStopped")]
)
def test_a_queue_that_is_drained_evicts_all_and_one_that_is_held_nobody(queues: Resource, want: str) -> None:
    async def act(scene: Scene) -> None:
        await admitted(scene)
        await scene.patch(queues, "team", {"spec": {"stopPolicy": "Hold"}})
        await scene.settle()
        assert len(await scene.running()) == 2
        await scene.patch(queues, "team", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await scene.settle()
        left = await scene.workload()
        assert condition(left, "Evicted") == ("True", want)
        assert "team is stopped" in message(left, "Evicted")
        assert "admission" not in left.data["status"]
        assert await scene.running() == []

    play(act)


def test_one_that_runs_too_long_is_deactivated() -> None:
    async def act(scene: Scene) -> None:
        await admitted(scene, labels={"kueue.x-k8s.io/max-exec-time-seconds": "100"})
        assert len(await scene.running()) == 2  # one minute has passed
        await scene.settle()
        left = await scene.workload()
        assert left.data["spec"]["active"] is False
        assert condition(left, "Evicted") == ("True", "DeactivatedDueToMaximumExecutionTimeExceeded")
        assert message(left, "Evicted") == "It ran for longer than its maximum of 100 seconds."
        assert (await scene.get(JOBS, "train")).data["spec"]["suspend"] is True

    play(act)


def test_time_that_it_ran_before_counts_until_it_is_made_active_again() -> None:
    async def act(scene: Scene) -> None:
        name = await admitted(scene, labels={"kueue.x-k8s.io/max-exec-time-seconds": "100"})
        await scene.evict(await scene.workload())
        await scene.settle()
        past = (await scene.workload()).data["status"]["accumulatedPastExecutionTimeSeconds"]
        assert 60 <= past < 70
        await scene.admit(await scene.workload())
        await scene.settle()
        assert (await scene.workload()).data["spec"]["active"] is False
        await scene.patch(QUOTA_WORKLOADS, name, {"spec": {"active": True}})
        await scene.settle()
        left = await scene.workload()
        assert "accumulatedPastExecutionTimeSeconds" not in left.data["status"]
        assert condition(left, "DeactivationTarget") == ("False", "Reactivated")
        assert condition(left, "Requeued") == ("True", "Reactivated")

    play(act)


def test_a_workload_that_waits_and_is_made_inactive_keeps_its_job_suspended() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.settle()
        await scene.patch(QUOTA_WORKLOADS, (await scene.workload()).name, {"spec": {"active": False}})
        await scene.patch(JOBS, "train", {"spec": {"suspend": False}})
        await scene.settle()
        assert (await scene.get(JOBS, "train")).data["spec"]["suspend"] is True
        assert condition(await scene.workload(), "Evicted") == ("", "")

    play(act)


def test_conditions_say_when_precisely_and_of_which_generation() -> None:
    async def act(scene: Scene) -> None:
        await admitted(scene)
        await scene.evict(await scene.workload())
        await scene.settle()
        left = await scene.workload()
        reserved = next(each for each in left.data["status"]["conditions"] if each["type"] == "QuotaReserved")
        assert "." in reserved["lastTransitionTime"]
        assert reserved["observedGeneration"] == left.metadata["generation"]

    play(act)
