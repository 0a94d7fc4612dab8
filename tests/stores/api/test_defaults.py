"""What is filled in where a manifest says nothing, and what the designs change in a new object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.manifests.kinds import BUDGETS, DAEMON_SETS, JOBS, NAMESPACES, NODES, PODS, QUOTA_WORKLOADS, REPLICA_SETS
from reprieve.stores.api.mutations import mutate
from tests.stores.embedded.scene import Scene, job, node, pod

QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        yield made


def test_a_pod(scene: Scene) -> None:
    data = {**pod("a"), "status": {"phase": "Running"}}
    made = scene.create(PODS, data).data
    assert made["spec"] == {
        "containers": [{"name": "c"}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_what_a_pod_says_stays(scene: Scene) -> None:
    said: dict[str, Any] = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "schedulerName": "reprieve"}
    spec = scene.create(PODS, pod("a", **said)).data["spec"]
    assert said.items() <= spec.items()


def test_limits_without_requests_become_requests(scene: Scene) -> None:
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    containers = [{"name": "c", "resources": resources}, {"name": "d"}]
    spec = scene.create(PODS, pod("a", containers=containers)).data["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert spec["containers"][1] == {"name": "d"}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"example.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": 1}}], "Guaranteed"),
    ],
)
def test_quality_of_service(scene: Scene, resources: list[dict[str, Any]], quality: str) -> None:
    containers = [{"name": f"c{index}", "resources": each} for index, each in enumerate(resources)]
    assert scene.create(PODS, pod("a", containers=containers)).data["status"]["qosClass"] == quality


def test_a_job_finds_its_pods_by_its_uid(scene: Scene) -> None:
    record = scene.create(JOBS, job("j"))
    spec = record.data["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"], spec["suspend"]) == (1, 1, 6, False)
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": record.uid}}
    labels = spec["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/controller-uid"] == labels["controller-uid"] == record.uid
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "j"
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_a_job_of_a_work_queue_has_no_completions(scene: Scene) -> None:
    assert "completions" not in scene.create(JOBS, job("j", parallelism=3)).data["spec"]
    assert scene.create(JOBS, job("k", completions=3)).data["spec"]["parallelism"] == 1


def test_a_job_that_chooses_its_pods_itself(scene: Scene) -> None:
    selector = {"matchLabels": {"a": "b"}}
    spec = scene.create(JOBS, job("j", manualSelector=True, selector=selector)).data["spec"]
    assert spec["selector"] == selector
    assert "metadata" not in spec["template"]


def test_a_replaced_job_keeps_its_selector(scene: Scene) -> None:
    before = scene.create(JOBS, job("j")).data["spec"]
    assert scene.replace(JOBS, job("j", labels={"a": "b"})).data["spec"] == before


def test_controllers(scene: Scene) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    spec = scene.create(REPLICA_SETS, {"metadata": {"name": "r"}, "spec": {"template": template}}).data["spec"]
    assert (spec["replicas"], spec["selector"]) == (1, {"matchLabels": {"a": "b"}})
    daemons = DAEMON_SETS
    assert (
        "replicas"
        not in scene.create(daemons, {"metadata": {"name": "d"}, "spec": {"template": template}}).data["spec"]
    )


def test_a_namespace_is_labelled_with_its_name(scene: Scene) -> None:
    made = scene.create(NAMESPACES, {"metadata": {"name": "team", "labels": {"a": "b"}}}).data
    assert made["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "team"}
    assert made["status"] == {"phase": "Active"}


def test_a_node_registers_with_its_status(scene: Scene) -> None:
    made = scene.create(NODES, node()).data
    assert made["status"]["allocatable"] == made["status"]["capacity"]


def test_nobody_else_brings_a_status(scene: Scene) -> None:
    assert "status" not in scene.create(JOBS, {**job("j"), "status": {"active": 1}}).data
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 5}}
    assert scene.create(BUDGETS, budget).data["status"]["disruptionsAllowed"] == 0


def test_a_quota_workload(scene: Scene) -> None:
    template = {"spec": {"containers": [{"name": "c"}]}}
    spec = scene.create(QUOTA_WORKLOADS, {"metadata": {"name": "w"}, "spec": {"podSets": [{"template": template}]}})
    assert spec.data["spec"] == {"podSets": [{"template": template, "name": "main", "count": 1}], "active": True}


# What the designs change


def test_a_job_in_a_queue_begins_suspended(scene: Scene) -> None:
    assert scene.create(JOBS, job("j", labels=QUEUE)).data["spec"]["suspend"] is True
    # Afterwards it is for quota to say.
    assert scene.patch(JOBS, "j", {"spec": {"suspend": False}}).data["spec"]["suspend"] is False


def test_a_pod_in_a_queue_waits_behind_a_gate(scene: Scene) -> None:
    gates = [{"name": "example.com/own"}]
    made = scene.create(PODS, pod("a", labels=QUEUE, schedulingGates=gates)).data
    assert made["spec"]["schedulingGates"] == [*gates, {"name": "kueue.x-k8s.io/admission"}]


def test_a_pod_that_a_controller_makes_does_not(scene: Scene) -> None:
    data = pod("a", labels=QUEUE)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    data["metadata"]["ownerReferences"] = [owner]
    assert "schedulingGates" not in scene.create(PODS, data).data["spec"]


@pytest.mark.parametrize("data", [pod("a", labels=QUEUE), job("j", labels=QUEUE)])
def test_a_second_time_changes_nothing(data: dict[str, Any]) -> None:
    assert mutate(data)
    assert not mutate(data)
    assert not mutate(node())
    assert not mutate(pod("b"))
