"""`reprieve plan --context` where Kueue, YuniKorn or Karmada have their objects: who makes way by their rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_QUEUES,
    CLUSTERS,
    LOCAL_QUEUES,
    PROPAGATION_POLICIES,
    QUOTA_WORKLOADS,
    RESOURCE_FLAVORS,
)
from tests.builders import quota
from tests.builders.queues import queues, tree
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.conftest import MakeNode
from tests.kube.definitions import defined
from tests.kube.hollow import pod
from tests.kube.read_only import onlooker
from tests.kube.test_context import job

Data = dict[str, Any]


def written(directory: Path, manifest: Data) -> str:
    place = directory / "asked.yaml"
    place.write_text(yaml.safe_dump(manifest))
    return str(place)


def in_place(manifest: Data, namespace: str) -> Data:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def create_whole(admin: KubeClient, manifest: Data) -> None:
    """With its status, which is written apart."""
    admin.create(manifest)
    metadata, change = manifest["metadata"], {"status": manifest["status"]}
    where = (manifest["apiVersion"], manifest["kind"], metadata["name"])
    admin.patch(*where, change, metadata.get("namespace"), "status")


def test_a_job_in_a_queue_of_kueue(kube: Cluster, admin: KubeClient, namespace: str, tmp_path: Path) -> None:
    """It comes to a Workload, which asks for quota; a running one of lower priority makes way."""
    kinds = (CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, QUOTA_WORKLOADS)
    with defined(admin, *kinds), onlooker(kube, admin) as reader:
        cluster_queue, local_queue = quota.queue(namespace, {namespace: {"cpu": 4}}, within="LowerPriority")
        admin.create(quota.flavor(namespace))
        admin.create(cluster_queue)
        admin.create(in_place(local_queue, namespace))
        running = quota.workload("running", namespace, on=namespace, cpu=4, priority=-5)
        create_whole(admin, in_place(running, namespace))
        asked = job("train", namespace, cpu="2", parallelism=2, priorityClassName="")
        asked["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": namespace}
        done = reader("plan", "-f", written(tmp_path, asked), "-o", "json")
        assert done.code == 0, done.stderr
        (decision,) = done.json()["decisions"]
        assert (decision["policy"], decision["outcome"]) == ("quota", "Preempt")
        assert decision["preemptor"].startswith(f"Workload/{namespace}/job-train-")
        assert [victim["unit"] for victim in decision["victims"]] == [f"Workload/{namespace}/running"]
        assert namespace in reader("top", "queues").stdout
        assert reader.writes() == []


def test_a_pod_in_a_queue_of_yunikorn(
    kube: Cluster, admin: KubeClient, namespace: str, make_node: MakeNode, tmp_path: Path
) -> None:
    """The queue that is below its guarantee takes from the one that is above."""
    node = make_node(cpu="4", labels={"test": namespace})["metadata"]["name"]
    for number in range(2):
        labels = {"queue": "root.test", "applicationId": "test"}
        admin.create(pod(f"test-{number}", cpu="2", scheduler="yunikorn", labels=labels), namespace)
        admin.bind(f"test-{number}", node, namespace)
    configuration = queues(tree("prod", cpu=2, preemption_delay="1s"), tree("test", cpu=1))
    data = configuration["data"]
    admin.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-configs"}, "data": data}, namespace
    )
    labels = {"queue": "root.prod", "applicationId": "prod"}
    asked = in_place(pod("ask", cpu="2", scheduler="yunikorn", labels=labels), namespace)
    asked["spec"]["nodeSelector"] = {"test": namespace}
    asked["metadata"]["creationTimestamp"] = "2026-01-01T12:00:00Z"
    with onlooker(kube, admin) as reader:
        done = reader("plan", "-f", written(tmp_path, asked), "-o", "json")
        assert done.code == 0, done.stderr
        (decision,) = done.json()["decisions"]
        assert (decision["policy"], decision["outcome"], len(decision["victims"])) == ("queue", "Preempt", 1)
        assert reader.writes() == []


def test_a_template_of_karmada(kube: Cluster, admin: KubeClient, namespace: str, tmp_path: Path) -> None:
    """It comes to a binding, and to no pods here."""
    kinds = (CLUSTERS, PROPAGATION_POLICIES, BINDINGS)
    with defined(admin, *kinds), onlooker(kube, admin) as reader:
        amounts = {"allocatable": {"cpu": "8", "pods": "100"}, "allocated": {}}
        cluster = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": {"name": "member-1"}, "spec": {}}
        ready = [{"type": "Ready", "status": "True"}]
        create_whole(admin, {**cluster, "status": {"conditions": ready, "resourceSummary": amounts}})
        selectors = [{"apiVersion": "batch/v1", "kind": "Job"}]
        policy = {
            "apiVersion": PROPAGATION_POLICIES.api_version,
            "kind": "PropagationPolicy",
            "metadata": {"name": "all", "namespace": namespace},
            "spec": {"resourceSelectors": selectors, "placement": {}},
        }
        admin.create(policy)
        asked = job("train", namespace, cpu="2", priorityClassName="")
        done = reader("plan", "-f", written(tmp_path, asked), "-o", "json")
        assert done.code == 0, done.stderr
        (decision,) = done.json()["decisions"]
        assert (decision["preemptor"], decision["outcome"]) == (f"ResourceBinding/{namespace}/train-job", "Fits")
        assert reader.writes() == []
