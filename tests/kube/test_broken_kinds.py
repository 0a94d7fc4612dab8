"""Kinds of somebody else that the server has and cannot give: their webhook is gone, and everything else goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.manifests.kinds import QUOTA_WORKLOADS
from reprieve.stores.errors import Unavailable
from reprieve.stores.kubernetes.store import KubernetesStore
from tests.cli.running import call, until
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.conftest import MakeNode
from tests.kube.second_scheduler import SecondScheduler, also_bound
from tests.kube.stores import with_store
from tests.kube.stories import Story
from tests.kube.test_kinds import definition, make_when_served, remove_definition

_OLDER = QUOTA_WORKLOADS.versions[1]


@pytest.fixture
def broken(busy_kube: Cluster, admin: KubeClient, namespace: str) -> Iterator[dict[str, Any]]:
    """Workloads of Kueue that are kept in an older version, and nobody is there to convert them."""
    made = definition(QUOTA_WORKLOADS)
    spec = made["spec"]
    spec["versions"] = [{**spec["versions"][0], "storage": False}, {**spec["versions"][0], "name": _OLDER}]
    service = {"namespace": namespace, "name": "gone", "path": "/convert"}
    spec["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]},
    }
    admin.create(made)
    workload = {"apiVersion": QUOTA_WORKLOADS.in_version(_OLDER), "kind": "Workload", "spec": {}}
    make_when_served(admin, {**workload, "metadata": {"name": "kept", "namespace": namespace}})
    busy_kube.api_server.restart()  # what it has in memory it would go on giving
    yield made
    # Nobody could list them to remove them, either.
    admin.patch("apiextensions.k8s.io/v1", "CustomResourceDefinition", made["metadata"]["name"], _AS_IT_IS)
    remove_definition(admin, made)


_AS_IT_IS = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}


def test_it_is_so(busy_kube: Cluster, broken: dict[str, Any]) -> None:
    assert broken

    async def story(store: KubernetesStore) -> None:
        with pytest.raises(Unavailable):
            await store.list(QUOTA_WORKLOADS)

    with_store(busy_kube.kubeconfig(), story)


def test_pods_are_scheduled_and_quota_is_decided_over_when_it_can_be_seen(
    busy_kube: Cluster, admin: KubeClient, namespace: str, make_node: MakeNode, broken: dict[str, Any]
) -> None:
    with also_bound(admin, "reprieve-quota"):
        scheduler = SecondScheduler(busy_kube, admin, {}, options=["--no-leader-elect"]).start()
        try:
            tale = Story(admin, namespace)
            node = make_node(cpu="4")["metadata"]["name"]
            tale.low("one", node, cpu="1")
            assert tale.bound("one") == node
            assert "workloads.kueue.x-k8s.io cannot be listed" in scheduler.process.tail(1000)
            name = broken["metadata"]["name"]
            admin.patch("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, _AS_IT_IS)
            until(lambda: "workloads.kueue.x-k8s.io can be listed again" in scheduler.process.tail(1000), 90.0)
        finally:
            scheduler.process.stop()


def test_questions_are_answered_without_them(busy_kube: Cluster, broken: dict[str, Any]) -> None:
    assert broken
    done = call("plan", "--kubeconfig", str(busy_kube.kubeconfig()))
    assert done.code == 0, done.stderr
    assert "warning: workloads.kueue.x-k8s.io cannot be read, and the answer is as if there were none" in done.stderr
