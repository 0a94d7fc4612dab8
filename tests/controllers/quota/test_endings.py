"""Jobs that lose their quota, that end, and that are left alone."""

from __future__ import annotations

import msgspec
import pytest

from reprieve.controllers.pods.templates import is_finished
from reprieve.manifests.kinds import JOBS, PODS, PROPAGATION_POLICIES, QUOTA_WORKLOADS, RESOURCE_FLAVORS
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import Invalid
from tests.builders.pods import manifest, metadata
from tests.controllers.quota.scenes import Scene, condition, job, message, play, started, template_bytes

POLICIES: Resource = PROPAGATION_POLICIES


def test_partial_admission_lowers_the_parallelism_and_eviction_restores_it() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job(parallelism=4, annotations={"kueue.x-k8s.io/job-min-parallelism": "1"}))
        await scene.settle()
        await scene.admit(await scene.workload(), pods=2)
        await scene.settle()
        assert (await scene.get(JOBS, "train")).data["spec"]["parallelism"] == 2
        assert len(await scene.running()) == 2
        await scene.evict(await scene.workload())
        await scene.settle()
        assert (await scene.get(JOBS, "train")).data["spec"]["parallelism"] == 4
        assert (await scene.workload()).data["spec"]["podSets"][0]["count"] == 4

    play(act)


def test_quota_is_free_only_when_the_pods_are_gone() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job(pod_spec={"nodeSelector": {"disk": "fast"}}))
        await scene.settle()
        original = template_bytes(await scene.get(JOBS, "train"))
        await scene.admit(await scene.workload())
        await scene.settle()
        freed: list[int] = []

        def check() -> None:
            if "admission" not in scene.now(QUOTA_WORKLOADS)[0].data["status"]:
                freed.append(len([pod for pod in scene.now(PODS) if not is_finished(pod)]))

        scene.check = check
        await scene.evict(await scene.workload(), "Workload/default/b is more important")
        await scene.settle()
        assert freed
        assert set(freed) == {0}
        train, workload = await scene.get(JOBS, "train"), await scene.workload()
        assert train.data["spec"]["suspend"] is True
        assert template_bytes(train) == original
        assert condition(workload, "QuotaReserved") == ("False", "Pending")
        assert condition(workload, "Admitted")[0] == "False"
        assert condition(workload, "Requeued") == ("True", "Preempted")
        assert condition(workload, "Evicted") == ("True", "Preempted")
        assert await scene.all(PODS) == []
        assert "Suspended" in await scene.events("train")

    play(act, grace=20)


def test_an_evicted_job_runs_again_elsewhere() -> None:
    async def act(scene: Scene) -> None:
        await started(scene)
        await scene.evict(await scene.workload())
        await scene.settle()
        await scene.admit(await scene.workload(), "spot")
        await scene.settle()
        assert [pod.data["spec"]["nodeSelector"] for pod in await scene.running()] == [
            {"pool": "spot", "life": "short"}
        ] * 2
        await scene.succeed()
        await scene.settle()
        workload = await scene.workload()
        assert condition(workload, "Finished") == ("True", "JobFinished")
        assert message(workload, "Finished") == "The Job train has completed."
        assert "finalizers" not in workload.metadata

    play(act)


def test_a_failed_job_frees_its_quota_and_says_so() -> None:
    async def act(scene: Scene) -> None:
        await started(scene, parallelism=1, spec={"backoffLimit": 0})
        (pod,) = await scene.running()
        await scene.patch(PODS, pod.name, {"status": {"phase": "Failed"}}, "status")
        await scene.settle()
        assert message(await scene.workload(), "Finished") == "The Job train has failed."

    play(act)


def test_preempted_and_inactive_it_is_not_queued_again_until_it_is_made_active() -> None:
    async def act(scene: Scene) -> None:
        await started(scene)
        name = (await scene.workload()).name
        await scene.patch(QUOTA_WORKLOADS, name, {"spec": {"active": False}})
        await scene.settle()
        workload = await scene.workload()
        assert condition(workload, "Evicted") == ("True", "Deactivated")
        assert condition(workload, "Requeued") == ("False", "Deactivated")
        assert "admission" not in workload.data["status"]
        assert (await scene.get(JOBS, "train")).data["spec"]["suspend"] is True
        await scene.patch(QUOTA_WORKLOADS, name, {"spec": {"active": True}})
        await scene.settle()
        assert condition(await scene.workload(), "Requeued") == ("True", "Reactivated")

    play(act)


def test_terminated_by_preemption_it_has_failed() -> None:
    async def act(scene: Scene) -> None:
        await started(scene, annotations={"reprieve.scheduling/on-preemption": "Terminate"})
        await scene.patch(QUOTA_WORKLOADS, (await scene.workload()).name, {"spec": {"active": False}})
        await scene.evict(await scene.workload())
        await scene.settle()
        workload = await scene.workload()
        assert condition(workload, "Finished")[0] == "True"
        assert condition(await scene.get(JOBS, "train"), "Failed") == ("True", "Preempted")
        assert await scene.running() == []

    play(act)


def test_a_job_changed_while_it_runs_has_to_ask_again() -> None:
    async def act(scene: Scene) -> None:
        await started(scene, spec={"completions": 9})
        await scene.patch(JOBS, "train", {"spec": {"parallelism": 3}})
        await scene.settle()
        workload = await scene.workload()
        assert condition(workload, "Evicted") == ("True", "JobChanged")
        assert "admission" not in workload.data["status"]
        assert workload.data["spec"]["podSets"][0]["count"] == 3
        assert (await scene.get(JOBS, "train")).data["spec"]["parallelism"] == 3

    play(act)


def test_a_deleted_job_takes_its_workload_with_it_when_its_pods_are_gone() -> None:
    async def act(scene: Scene) -> None:
        await started(scene)
        await scene.store.delete(JOBS, "train", "default")  # nobody collects garbage here: its pods stay at first
        await scene.settle()
        assert len(await scene.all(QUOTA_WORKLOADS)) == 1
        for pod in await scene.running():
            await scene.store.delete(PODS, pod.name, "default")
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []

    play(act)


def test_a_workload_deleted_by_hand_is_made_anew_when_the_job_has_stopped() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.settle()
        original = template_bytes(await scene.get(JOBS, "train"))
        await scene.admit(await scene.workload())
        await scene.settle()
        old = await scene.workload()
        await scene.store.delete(QUOTA_WORKLOADS, old.name, "default")
        await scene.settle()
        workload = await scene.workload()
        assert workload.uid != old.uid
        assert template_bytes(await scene.get(JOBS, "train")) == original
        assert msgspec.json.encode(workload.data["spec"]["podSets"][0]["template"]) == original
        assert await scene.running() == []

    play(act)


def test_a_job_without_a_queue_and_a_template_for_member_clusters_are_left_alone() -> None:
    async def act(scene: Scene) -> None:
        selector = {"apiVersion": "batch/v1", "kind": "Job", "name": "template"}
        policy = manifest(
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
            metadata("spread", "default"),
            spec={"resourceSelectors": [selector]},
        )
        await scene.create(policy, job("plain", queue=None, parallelism=1), job("template"))
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []
        assert len(await scene.running()) == 1
        await scene.store.delete(POLICIES, "spread", "default")
        await scene.settle()
        assert [each.metadata["ownerReferences"][0]["name"] for each in await scene.all(QUOTA_WORKLOADS)] == [
            "template"
        ]

    play(act)


def test_a_job_taken_out_of_its_queue_loses_its_workload() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.settle()
        await scene.patch(JOBS, "train", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}})
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []

    play(act)


def test_a_flavor_that_goes_while_its_job_runs_does_not_stop_the_restoration() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.settle()
        original = template_bytes(await scene.get(JOBS, "train"))
        await scene.admit(await scene.workload())
        await scene.settle()
        await scene.store.delete(RESOURCE_FLAVORS, "gpu")
        await scene.evict(await scene.workload())
        await scene.settle()
        assert template_bytes(await scene.get(JOBS, "train")) == original

    play(act)


def test_what_was_admitted_cannot_be_changed_behind_its_back() -> None:
    """The store keeps it so; the controllers rely on it."""

    async def act(scene: Scene) -> None:
        await started(scene)
        with pytest.raises(Invalid):
            await scene.patch(JOBS, "train", {"spec": {"template": {"spec": {"nodeSelector": {"pool": "other"}}}}})

    play(act)
