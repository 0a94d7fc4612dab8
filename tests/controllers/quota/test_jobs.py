"""Jobs in queues, from their Workload to their start."""

from __future__ import annotations

import pytest

from reprieve.manifests.kinds import JOBS, PODS, PROPAGATION_POLICIES, QUOTA_WORKLOADS
from reprieve.manifests.resource import Resource
from tests.builders.pods import Dict, manifest, metadata, priority_class
from tests.builders.quota import KUEUE, flavor
from tests.controllers.quota.scenes import GPU_NODES, TOLERATION, Scene, job, play, started

POLICIES: Resource = PROPAGATION_POLICIES


def workload_priority_class(name: str, value: int) -> Dict:
    return manifest(KUEUE, "WorkloadPriorityClass", metadata(name), value=value)


def test_a_job_in_a_queue_gets_a_workload_and_waits() -> None:
    async def act(scene: Scene) -> None:
        said = {"reprieve.scheduling/on-preemption": "Terminate", "kueue.x-k8s.io/priority-boost": "3", "other": "no"}
        await scene.create(job(annotations={**said, "kueue.x-k8s.io/job-min-parallelism": "1"}))
        await scene.settle()
        train, workload = await scene.get(JOBS, "train"), await scene.workload()
        assert workload.name.startswith("job-train-")
        assert len(workload.name) == len("job-train-") + 5
        (owner,) = workload.metadata["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", train.uid, True)
        (pod_set,) = workload.data["spec"]["podSets"]
        assert (pod_set["name"], pod_set["count"], pod_set["minCount"]) == ("main", 2, 1)
        assert pod_set["template"] == train.data["spec"]["template"]
        assert workload.data["spec"]["queueName"] == "team"
        assert workload.data["spec"]["priority"] == 0
        assert workload.metadata["annotations"] == {key: value for key, value in said.items() if key != "other"}
        assert train.data["spec"]["suspend"] is True
        assert await scene.all(PODS) == []
        assert "CreatedWorkload" in await scene.events("train")

    play(act)


def test_completions_limit_the_count() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job(parallelism=5, spec={"completions": 3}))
        await scene.settle()
        assert (await scene.workload()).data["spec"]["podSets"][0]["count"] == 3

    play(act)


@pytest.mark.parametrize(
    ("label", "pod_class", "default", "want", "want_reference"),
    [
        ("batch", "", None, 50, ("WorkloadPriorityClass", "batch")),
        ("batch", "high", None, 50, ("WorkloadPriorityClass", "batch")),
        ("", "high", None, 1000, ("PriorityClass", "high")),
        ("", "", 7, 7, ("PriorityClass", "usual")),
        ("", "", None, 0, None),
    ],
)
def test_priority_comes_from_the_label_then_the_pods_then_the_default(
    label: str, pod_class: str, default: int | None, want: int, want_reference: tuple[str, str] | None
) -> None:
    async def act(scene: Scene) -> None:
        await scene.create(workload_priority_class("batch", 50), priority_class("high", 1000))
        if default is not None:
            await scene.create(priority_class("usual", default, default=True))
        labels = {"kueue.x-k8s.io/priority-class": label} if label else {}
        await scene.create(job(labels=labels, pod_spec={"priorityClassName": pod_class} if pod_class else {}))
        await scene.settle()
        spec = (await scene.workload()).data["spec"]
        reference = spec.get("priorityClassRef")
        assert spec["priority"] == want
        assert (reference and (reference["kind"], reference["name"])) == want_reference

    play(act)


def test_a_job_whose_class_is_missing_waits_for_it() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job(labels={"kueue.x-k8s.io/priority-class": "later"}))
        await scene.settle()
        assert await scene.all(QUOTA_WORKLOADS) == []
        assert "PriorityClassNotFound" in await scene.events("train")
        await scene.create(workload_priority_class("later", 9))
        await scene.settle()
        assert (await scene.workload()).data["spec"]["priority"] == 9

    play(act)


def test_a_waiting_workload_follows_its_job() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job(), workload_priority_class("urgent", 80))
        await scene.settle()
        uid = (await scene.workload()).uid
        labels = {"kueue.x-k8s.io/queue-name": "other", "kueue.x-k8s.io/priority-class": "urgent"}
        template = {"spec": {"nodeSelector": {"disk": "fast"}}}
        annotations = {"reprieve.scheduling/on-preemption": "Requeue"}
        change = {"metadata": {"labels": labels, "annotations": annotations}}
        await scene.patch(JOBS, "train", {**change, "spec": {"parallelism": 1, "template": template}})
        await scene.settle()
        workload = await scene.workload()
        assert workload.uid == uid
        assert workload.data["spec"]["queueName"] == "other"
        assert workload.data["spec"]["priority"] == 80
        assert workload.data["spec"]["podSets"][0]["count"] == 1
        assert workload.data["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}
        assert workload.metadata["annotations"] == annotations

    play(act)


def test_what_others_write_on_the_workload_stays() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job(annotations={"reprieve.scheduling/on-preemption": "Requeue"}))
        await scene.settle()
        hold = {"reprieve.scheduling/hold": "{}"}
        await scene.patch(QUOTA_WORKLOADS, (await scene.workload()).name, {"metadata": {"annotations": hold}})
        await scene.patch(JOBS, "train", {"metadata": {"annotations": {"reprieve.scheduling/on-preemption": None}}})
        await scene.settle()
        assert (await scene.workload()).metadata["annotations"] == hold

    play(act)


def test_a_job_cannot_write_what_only_the_scheduler_may() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(
            job(annotations={"reprieve.scheduling/hold": "{}", "reprieve.scheduling/on-preemption": "?"})
        )
        await scene.settle()
        assert (await scene.workload()).metadata.get("annotations", {}) == {}
        assert "AnnotationIgnored" in await scene.events("train")

    play(act)


def test_a_job_that_is_let_go_by_hand_is_suspended_again() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.settle()
        await scene.patch(JOBS, "train", {"spec": {"suspend": False}})
        await scene.settle()
        assert (await scene.get(JOBS, "train")).data["spec"]["suspend"] is True
        assert await scene.running() == []

    play(act)


def test_an_admitted_job_runs_on_its_flavor() -> None:
    async def act(scene: Scene) -> None:
        own = {"key": "own", "operator": "Exists"}
        await started(scene, pod_spec={"nodeSelector": {"disk": "fast"}, "tolerations": [own]})
        train = await scene.get(JOBS, "train")
        assert train.data["spec"]["suspend"] is False
        assert train.data["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast", **GPU_NODES}
        assert train.data["spec"]["template"]["spec"]["tolerations"] == [own, TOLERATION]
        assert [pod.data["spec"]["nodeSelector"]["pool"] for pod in await scene.running()] == ["gpu", "gpu"]
        assert "Started" in await scene.events("train")

    play(act)


def test_let_go_by_hand_and_admitted_at_once_it_still_gets_to_its_flavor() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.settle()
        await scene.patch(JOBS, "train", {"spec": {"suspend": False}})
        await scene.admit(await scene.workload())
        await scene.settle()
        assert {pod.data["spec"]["nodeSelector"]["pool"] for pod in await scene.running()} == {"gpu"}
        assert len(await scene.running()) == 2

    play(act)


def test_suspended_by_hand_an_admitted_job_goes_on() -> None:
    async def act(scene: Scene) -> None:
        await started(scene)
        await scene.patch(JOBS, "train", {"spec": {"suspend": True}})
        await scene.settle()
        assert len(await scene.running()) == 2

    play(act)


def test_nothing_starts_on_a_flavor_that_is_not_there() -> None:
    async def act(scene: Scene) -> None:
        await scene.create(job())
        await scene.settle()
        await scene.admit(await scene.workload(), "gone")
        await scene.settle()
        assert (await scene.get(JOBS, "train")).data["spec"]["suspend"] is True
        assert "FlavorNotFound" in await scene.events("train")
        await scene.create(flavor("gone", nodeLabels={"pool": "late"}))
        await scene.settle()
        assert [pod.data["spec"]["nodeSelector"]["pool"] for pod in await scene.running()] == ["late", "late"]

    play(act)
