"""What `reprieve run` does about volumes and devices on a real API server: keep to them, or leave the pod alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.cli.running import until
from tests.kube.client import KubeClient
from tests.kube.stories import Story

MakeNode = Callable[..., dict[str, Any]]
SHARED, FOR_ONE = "ReadWriteOnce", "ReadWriteOncePod"
HOST = "kubernetes.io/hostname"


class Disks:
    """Volumes, classes and claims for one test; what is not in its namespace is removed after it."""

    def __init__(self, admin: KubeClient, namespace: str) -> None:
        self._admin = admin
        self._namespace = namespace
        self._made: list[tuple[str, str, str]] = []

    def volume(
        self, node: str = "", *, claim: str = "", storage_class: str = "", driver: str = "", mode: str = SHARED
    ) -> str:
        """On one node, or anywhere; meant for a claim."""
        name = f"disk-{uuid4().hex[:8]}"
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
        source = {"csi": {"driver": driver, "volumeHandle": name}} if driver else {"hostPath": {"path": "/none"}}
        spec: dict[str, Any] = {"capacity": {"storage": "1Gi"}, "accessModes": [mode], **source}
        spec["storageClassName"] = storage_class
        if node:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        if claim:
            spec["claimRef"] = {"namespace": self._namespace, "name": claim}
        self._create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
        return name

    def storage_class(self, mode: str) -> str:
        name = f"class-{uuid4().hex[:8]}"
        self._create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": name},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": mode,
            }
        )
        return name

    def limit(self, node: str, driver: str) -> None:
        drivers = [{"name": driver, "nodeID": node, "topologyKeys": [], "allocatable": {"count": 10}}]
        made = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node}}
        self._create({**made, "spec": {"drivers": drivers}})

    def claim(self, name: str, *, volume: str = "", storage_class: str = "", mode: str = SHARED) -> None:
        asked = {"requests": {"storage": "1Gi"}}
        spec: dict[str, Any] = {"accessModes": [mode], "resources": asked, "storageClassName": storage_class}
        if volume:
            spec["volumeName"] = volume
        made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        self._admin.create(made, self._namespace)

    def bind(self, claim: str, volume: str) -> None:
        """Say it on both sides, so that Kubernetes' binder need not look for it."""
        chosen = {"spec": {"volumeName": volume}}
        self._admin.patch("v1", "PersistentVolumeClaim", claim, chosen, self._namespace)

    def bound(self, name: str) -> None:
        until(lambda: self._phase(name) == "Bound", 20.0)

    def _phase(self, claim: str) -> str:
        found = self._admin.get("v1", "PersistentVolumeClaim", claim, self._namespace)
        return str(found["status"].get("phase"))

    def _create(self, manifest: dict[str, Any]) -> None:
        self._admin.create(manifest)
        self._made.append((manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"]))

    def remove(self) -> None:
        for api_version, kind, name in self._made:
            self._admin.delete(api_version, kind, name)


@pytest.fixture
def disks(admin: KubeClient, namespace: str) -> Iterator[Disks]:
    made = Disks(admin, namespace)
    yield made
    made.remove()


def uses(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]}


def names(*nodes: dict[str, Any]) -> list[str]:
    return [node["metadata"]["name"] for node in nodes]


def test_a_pod_goes_where_its_volume_is_and_preempts_there(story: Story, disks: Disks, make_node: MakeNode) -> None:
    free, full = names(make_node(cpu="8"), make_node(cpu="2"))
    story.low("low", full, cpu="2")
    story.runs("low")
    disks.claim("data", volume=disks.volume(full))
    disks.bound("data")
    story.high("user", cpu="2", **uses("data"))
    assert story.bound("user") == full, f"it is not on {free}"
    assert story.gone("low")


def test_a_claim_that_waits_for_its_pod_is_left_alone_until_it_is_bound(
    story: Story, disks: Disks, one_node: str
) -> None:
    slow = disks.storage_class("WaitForFirstConsumer")
    story.low("low", one_node, cpu="4")
    story.runs("low")
    disks.claim("data", storage_class=slow)
    story.high("user", cpu="4", **uses("data"))
    said = story.waits("user", "WaitForFirstConsumer")
    assert "let kube-scheduler place it" in said
    assert story.told("user", "FailedScheduling")["note"] == said
    assert "deletionTimestamp" not in story.pod("low")["metadata"], "nobody makes way for a pod that is left alone"
    disks.bind("data", disks.volume(claim="data", storage_class=slow))
    disks.bound("data")
    assert story.bound("user", seconds=5.0) == one_node, "it is tried at once"


def test_a_claim_that_is_missing_is_waited_for(story: Story, disks: Disks, one_node: str) -> None:
    story.low("user", **uses("data"))
    story.waits("user", "PersistentVolumeClaim data does not exist")
    disks.claim("data", volume=disks.volume())
    assert story.bound("user") == one_node


def test_a_claim_for_one_pod_is_had_by_one_pod_at_a_time(story: Story, disks: Disks, one_node: str) -> None:
    disks.claim("data", volume=disks.volume(driver="none", mode=FOR_ONE), mode=FOR_ONE)
    disks.bound("data")
    story.low("first", **uses("data"))
    assert story.bound("first") == one_node
    story.low("second", **uses("data"))
    story.waits("second", f"Pod/{story.namespace}/first has it")
    story.admin.delete("v1", "Pod", "first", story.namespace, grace_seconds=0)
    assert story.bound("second") == one_node


def test_a_node_that_limits_volumes_is_left_to_kube_scheduler(story: Story, disks: Disks, one_node: str) -> None:
    driver = f"{uuid4().hex[:8]}.example.com"
    disks.limit(one_node, driver)
    disks.claim("data", volume=disks.volume(driver=driver))
    disks.bound("data")
    story.low("user", **uses("data"))
    story.waits("user", "limited in the volumes of a driver that it needs")


def test_devices_by_resource_claims_are_left_to_kube_scheduler(story: Story, one_node: str) -> None:
    claims = [{"name": "gpu", "resourceClaimName": "gpu"}]
    story.low("user", one_node, resourceClaims=claims)
    story.waits("user", "it asks for devices by resource claims (gpu)")
