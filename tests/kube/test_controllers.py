"""`reprieve run --controllers quota` on a real API server, with real Jobs, and the rights of `deploy/rbac.yaml`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.manifests.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    QUOTA_WORKLOADS,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
)
from tests.cli.running import until
from tests.kube.asked_for import ROLES, SOON, ended, ready, running, said
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.definitions import defined
from tests.kube.incumbents import deployment, lease, there
from tests.kube.stories import Story

API = "kueue.x-k8s.io/v1beta2"
KUEUE_LEASE = "c1f6bfd2.kueue.x-k8s.io"
QUOTA = ("--policies=pod,quota", "--controllers=quota")


@pytest.fixture(scope="module")
def quota_kube(busy_kube: Cluster) -> Iterator[Cluster]:
    """With Kueue's kinds, and without Kueue."""
    kinds = (CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES, QUOTA_WORKLOADS)
    with busy_kube.client() as admin, defined(admin, *kinds):
        for name, value in (("routine", 10), ("urgent", 1000)):
            about = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
            admin.create(about)
        admin.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "any"}})
        yield busy_kube


class Queue(Story):
    """A namespace with a queue of two cpus, and Jobs in it."""

    def __init__(self, admin: KubeClient, namespace: str) -> None:
        super().__init__(admin, namespace)
        quota = {"name": "cpu", "nominalQuota": "2"}
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}]
        selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        preemption = {"withinClusterQueue": "LowerPriority"}
        spec = {"namespaceSelector": selector, "resourceGroups": groups, "preemption": preemption}
        admin.create({"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": namespace}, "spec": spec})
        queue = {"spec": {"clusterQueue": namespace}}
        self.create({"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": "jobs"}, **queue})

    def job(self, name: str, priority: str = "routine", cpu: str = "2", suspend: bool = False) -> None:
        labels = {"kueue.x-k8s.io/queue-name": "jobs", "kueue.x-k8s.io/priority-class": priority}
        containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
        pods = {"containers": containers, "restartPolicy": "Never", "terminationGracePeriodSeconds": 1}
        spec = {"parallelism": 1, "completions": 1, "suspend": suspend, "template": {"spec": pods}}
        metadata = {"name": name, "labels": labels}
        self.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})

    def suspended(self, name: str) -> bool:
        job = self.admin.get("batch/v1", "Job", name, self.namespace)
        return bool(job["spec"].get("suspend"))

    def pods_of(self, name: str) -> list[str]:
        pods = self.admin.list("v1", "Pod", self.namespace, labelSelector=f"batch.kubernetes.io/job-name={name}")
        return [pod["spec"].get("nodeName", "") for pod in pods]

    def works(self, name: str) -> bool:
        return not self.suspended(name) and any(self.pods_of(name))

    def workload(self, name: str) -> dict[str, Any]:
        for each in self.admin.list(API, "Workload", self.namespace):
            if any(owner["name"] == name for owner in each["metadata"].get("ownerReferences", ())):
                return dict(each)
        return {}

    def reasons(self, job: str) -> list[str]:
        """What the events of a Job say."""
        found = self.admin.list("events.k8s.io/v1", "Event", self.namespace)
        return [each["reason"] for each in found if each["regarding"]["name"] == job]

    def admitted(self) -> list[str]:
        found = self.admin.list(API, "Workload", self.namespace)
        return [each["metadata"]["ownerReferences"][0]["name"] for each in found if _admission(each)]

    def until_works(self, name: str) -> None:
        """With quota: before it is first suspended a Job may have pods. And nobody has more than there is meanwhile."""

        def works() -> bool:
            admitted = self.admitted()
            assert len(admitted) <= 1, admitted
            return admitted == [name] and self.works(name)

        until(works, SOON)


def _admission(workload: dict[str, Any]) -> Any:
    return workload.get("status", {}).get("admission")


def _is(workload: dict[str, Any], kind: str) -> bool:
    conditions = workload.get("status", {}).get("conditions", ())
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


@pytest.fixture
def queue(quota_kube: Cluster, admin: KubeClient, namespace: str, one_node: str) -> Iterator[Queue]:  # noqa: ARG001
    """On a node; and nothing stays behind that only a controller lets go."""
    made = Queue(admin, namespace)
    yield made
    for each in admin.list(API, "Workload", namespace):
        admin.patch(API, "Workload", each["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace)


def test_a_job_waits_for_its_workload_and_makes_way_for_a_higher_one(
    quota_kube: Cluster, admin: KubeClient, queue: Queue
) -> None:
    with running(quota_kube, admin, *QUOTA) as scheduler:
        ready(scheduler)
        queue.job("first")
        until(lambda: _is(queue.workload("first"), "Admitted"), SOON)
        queue.until_works("first")
        time.sleep(1.1)  # who is older is known by the second
        queue.job("second")
        until(lambda: queue.workload("second") and queue.suspended("second"), SOON)
        until(lambda: not queue.pods_of("second"), SOON)
        queue.job("urgent", "urgent")
        queue.until_works("urgent")
        first = queue.workload("first")
        assert queue.suspended("first")
        assert not queue.pods_of("first")
        assert _admission(first) is None
        assert queue.admitted() == ["urgent"]
        assert "Suspended" in queue.reasons("first")
        assert "Started" in queue.reasons("urgent")
        status = until(lambda: _counts(admin, queue, pending=2, admitted=1), SOON)
        assert status["flavorsReservation"][0]["resources"][0]["total"] == "2"
        path = admin.path("batch/v1", "Job", queue.namespace, "urgent")
        admin.request("DELETE", path, params={"propagationPolicy": "Background"})
        queue.until_works("first")  # of two of one priority the older


def _counts(admin: KubeClient, queue: Queue, *, pending: int, admitted: int) -> Any:
    status = admin.get(API, "LocalQueue", "jobs", queue.namespace).get("status", {})
    right = (status.get("pendingWorkloads"), status.get("admittedWorkloads")) == (pending, admitted)
    return status if right else None


def test_without_its_policy_nobody_is_admitted_and_pods_go_on(
    quota_kube: Cluster, admin: KubeClient, queue: Queue, one_node: str
) -> None:
    with running(quota_kube, admin, "--policies=pod", roles=ROLES[:1]) as scheduler:
        ready(scheduler)
        queue.job("untouched", suspend=True)
        template = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
        spec = {"queueName": "jobs", "podSets": [{"name": "main", "count": 1, "template": template}]}
        queue.create({"apiVersion": API, "kind": "Workload", "metadata": {"name": "alone"}, "spec": spec})
        queue.low("plain", one_node)
        assert queue.bound("plain") == one_node
        time.sleep(2)
        assert "status" not in admin.get(API, "Workload", "alone", queue.namespace)
        assert queue.workload("untouched") == {}
    with running(quota_kube, admin, "--policies=quota", roles=ROLES[:1]) as scheduler:
        ready(scheduler)
        until(lambda: _admission(admin.get(API, "Workload", "alone", queue.namespace)), SOON)
        assert queue.workload("untouched") == {}


def test_who_takes_over_goes_on_with_what_was_begun(quota_kube: Cluster, admin: KubeClient, queue: Queue) -> None:
    with running(quota_kube, admin, *QUOTA) as first:
        ready(first)
        queue.job("low")
        queue.until_works("low")
        with running(quota_kube, admin, *QUOTA) as second:
            ready(second)
            queue.job("high", "urgent")
            until(lambda: _is(queue.workload("low"), "Evicted") or not _admission(queue.workload("low")), SOON)
            first.process.kill()
            queue.until_works("high")
            assert queue.suspended("low")
            assert queue.admitted() == ["high"]
            queue.job("later")
            until(lambda: queue.workload("later") and queue.suspended("later"), SOON)


# Beside the real one


@pytest.mark.parametrize("options", [QUOTA, ("--policies=quota",), ("--policies=pod", "--controllers=quota")])
def test_beside_kueue_it_is_refused(quota_kube: Cluster, admin: KubeClient, options: tuple[str, ...]) -> None:
    with there(admin, "kueue-system", lease(KUEUE_LEASE)), running(quota_kube, admin, *options) as scheduler:
        code, line = ended(scheduler)
    assert code == 2
    assert line.startswith(f"error: Kueue runs in this cluster (manager-1 holds the Lease kueue-system/{KUEUE_LEASE})")
    assert line.endswith("only watch with --shadow, or remove Kueue")
    assert "Traceback" not in said(scheduler)


def test_what_nobody_asked_for_is_left_to_kueue(
    quota_kube: Cluster, admin: KubeClient, queue: Queue, one_node: str
) -> None:
    manifest = deployment("kueue-controller-manager", replicas=1)
    with there(admin, "kueue-system", manifest), running(quota_kube, admin, roles=ROLES[:1]) as scheduler:
        ready(scheduler)
        queue.low("plain", one_node)
        assert queue.bound("plain") == one_node
        assert "the policy quota is off: Kueue runs in this cluster" in said(scheduler)


def test_a_shadow_may_watch_it(quota_kube: Cluster, admin: KubeClient) -> None:
    options = ("--policies=quota", "--shadow")
    with there(admin, "kueue-system", lease(KUEUE_LEASE)), running(quota_kube, admin, *options) as scheduler:
        ready(scheduler)
    with running(quota_kube, admin, *QUOTA, "--shadow") as scheduler:
        assert ended(scheduler) == (
            2,
            "error: --controllers write, and --shadow writes nothing: give one or the other",
        )


def test_when_kueue_comes_later_it_ends_with_the_reason(quota_kube: Cluster, admin: KubeClient, queue: Queue) -> None:
    with running(quota_kube, admin, *QUOTA) as scheduler:
        ready(scheduler)
        queue.job("first")
        queue.until_works("first")
        with there(admin, "kueue-system", lease(KUEUE_LEASE)):
            code, line = ended(scheduler)
            assert code == 2
            assert "Kueue runs in this cluster" in line


def test_what_is_no_set_of_controllers_is_refused(quota_kube: Cluster, admin: KubeClient) -> None:
    with running(quota_kube, admin, "--controllers=quotas") as scheduler:
        assert ended(scheduler) == (
            2,
            'error: --controllers: found "quotas"; allowed: federation, quota; did you mean "quota"?',
        )
    with running(quota_kube, admin, "--policies=pods") as scheduler:
        code, line = ended(scheduler)
    assert code == 2
    assert line.startswith(
        'error: --policies: found "pods"; allowed: federation, pod, podgroup, queue, quota; did you mean "pod'
    )
