"""`reprieve run --controllers federation` on a real API server; and why there are no controllers for groups of Jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTERS,
    PROPAGATION_POLICIES,
)
from tests.cli.running import until
from tests.kube import programs
from tests.kube.asked_for import SOON, ended, ready, running
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.definitions import defined
from tests.kube.incumbents import lease, there
from tests.kube.stories import HIGH, LOW, Story


@pytest.fixture
def federation_kube(busy_kube: Cluster, admin: KubeClient) -> Iterator[Cluster]:
    """With Karmada's kinds, and without Karmada."""
    kinds = (CLUSTERS, PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES, BINDINGS, CLUSTER_BINDINGS)
    with defined(admin, *kinds):
        yield busy_kube


def member(admin: KubeClient, name: str, cpu: str) -> None:
    about = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    summary = {"allocatable": {"cpu": cpu, "pods": "100"}, "allocated": {}}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "resourceSummary": summary}
    admin.create({**about, "metadata": {"name": name}, "spec": {"syncMode": "Push"}})
    admin.patch(about["apiVersion"], about["kind"], name, {"status": status}, subresource="status")


def propagated(here: Story, name: str, priority: str, cpu: str) -> None:
    """A Deployment and the policy that sends it to member clusters; here nothing of it runs."""
    labels = {"app": name}
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers, "schedulerName": "nobody"}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    here.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})
    placement = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
    rules = {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
        "placement": placement,
        "schedulerName": "reprieve",
        "schedulePriority": {"priorityClassSource": "KubePriorityClass", "priorityClassName": priority},
    }
    api_version = "policy.karmada.io/v1alpha1"
    here.create({"apiVersion": api_version, "kind": "PropagationPolicy", "metadata": {"name": name}, "spec": rules})


def clusters_of(here: Story, name: str) -> list[str]:
    found = here.admin.find("work.karmada.io/v1alpha2", "ResourceBinding", f"{name}-deployment", here.namespace)
    return [each["name"] for each in (found or {"spec": {}})["spec"].get("clusters") or ()]


def test_templates_get_bindings_and_clusters_and_make_way_there(
    federation_kube: Cluster, admin: KubeClient, namespace: str
) -> None:
    here = Story(admin, namespace)
    member(admin, "m1", "4")
    roles = ("reprieve-federation", "reprieve-federation-controllers")
    gates = "PriorityBasedScheduling=true,PriorityBasedPreemptiveScheduling=true"
    options = ("--policies=federation", "--controllers=federation", f"--feature-gates={gates}")
    with running(federation_kube, admin, *options, roles=roles) as scheduler:
        ready(scheduler)
        propagated(here, "low", LOW, cpu="3")
        until(lambda: clusters_of(here, "low") == ["m1"], SOON)
        propagated(here, "high", HIGH, cpu="3")
        until(lambda: clusters_of(here, "low") == [], SOON)
        path = ("work.karmada.io/v1alpha2", "ResourceBinding", "low-deployment")
        tasks = admin.get(*path, namespace)["spec"]["gracefulEvictionTasks"]
        assert [task["fromCluster"] for task in tasks] == ["m1"]
        assert clusters_of(here, "high") == [], "the other one has not left yet"
        admin.patch(*path, {"spec": {"gracefulEvictionTasks": []}}, namespace)  # as the member cluster's agent does
        until(lambda: clusters_of(here, "high") == ["m1"], SOON)


@pytest.mark.parametrize("name", ["karmada-scheduler", "karmada-controller-manager"])
def test_beside_karmada_it_is_refused(busy_kube: Cluster, admin: KubeClient, name: str) -> None:
    with there(admin, "karmada-system", lease(name)), running(busy_kube, admin, "--policies=federation") as scheduler:
        code, line = ended(scheduler)
    assert code == 2
    assert line.startswith("error: Karmada runs in this cluster")


# Groups for Jobs


def test_a_server_without_the_gate_forgets_which_group_a_job_asked_for(tmp_path: Path) -> None:
    """So nobody but the server's own Job controller can make groups for Jobs."""
    with Cluster(tmp_path, programs.folder(), feature_gates={}, runtime_config={}) as plain, plain.client() as admin:
        pods = {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}
        group = {"schedulingPolicy": {"gang": {"minCount": 2}}}
        spec = {"parallelism": 2, "completions": 2, "scheduling": group, "template": {"spec": pods}}
        made = admin.create(
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "gang"}, "spec": spec}, "default"
        )
        assert "scheduling" not in made["spec"]
