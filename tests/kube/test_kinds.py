"""Kinds that a server does not have are absent; they come with their definition, and go with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from reprieve.manifests.kinds import CLUSTER_QUEUES, QUOTA_WORKLOADS
from reprieve.manifests.resource import Resource
from reprieve.scheduler.mirror import Mirror
from reprieve.stores.errors import NotFound, StoreError
from reprieve.stores.kubernetes import discovery
from reprieve.stores.kubernetes.store import KubernetesStore
from reprieve.world import World
from tests.kube.client import KubeClient, Refused
from tests.kube.cluster import Cluster
from tests.kube.stores import with_store

SOON = 15.0


@pytest.fixture
def definitions(admin: KubeClient) -> Iterator[list[dict[str, Any]]]:
    made = [definition(CLUSTER_QUEUES), definition(QUOTA_WORKLOADS)]
    yield made
    for each in made:
        remove_definition(admin, each)


def definition(resource: Resource) -> dict[str, Any]:
    """A definition that takes everything."""
    names = {"kind": resource.kind, "plural": resource.plural, "singular": resource.kind.lower()}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": resource.versions[0], "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": names | {"listKind": f"{resource.kind}List"},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


def queue(name: str) -> dict[str, Any]:
    return {"apiVersion": CLUSTER_QUEUES.api_version, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {}}


class Following:
    """A mirror as the scheduler has it, that follows all the time."""

    def __init__(self, store: KubernetesStore) -> None:
        self.mirror = Mirror(store, World())
        self.gone: list[str] = []

    async def until(self, there: set[str], patience: float = SOON + 10) -> None:
        async with asyncio.timeout(patience):
            while {record.name for record in self.mirror.all(CLUSTER_QUEUES)} != there:
                await self.follow()
                await asyncio.sleep(0.1)

    async def follow(self) -> None:
        for seen in await self.mirror.follow():
            if seen.resource == CLUSTER_QUEUES and seen.new is None:
                self.gone.append(seen.record.name)


def test_a_kind_comes_and_goes_with_its_definition(
    kube: Cluster, admin: KubeClient, definitions: list[dict[str, Any]]
) -> None:
    async def story(store: KubernetesStore) -> None:
        following = Following(store)
        await following.follow()
        assert (await store.list(CLUSTER_QUEUES)).records == []
        with pytest.raises(NotFound, match="the server has no clusterqueues"):
            await store.get(CLUSTER_QUEUES, "one")
        for each in definitions:
            await asyncio.to_thread(admin.create, each)
        await asyncio.to_thread(make_when_served, admin, queue("one"))
        await following.until({"one"})
        await asyncio.to_thread(admin.create, queue("two"))
        await following.until({"one", "two"}, 5.0)
        await asyncio.to_thread(remove_definition, admin, definitions[0])
        await following.until(set())
        assert following.gone == ["one", "two"] or following.gone == ["two", "one"]
        # And once more: the same name is another definition, and has nothing of what was there before.
        await asyncio.to_thread(admin.create, definitions[0])
        await asyncio.to_thread(make_when_served, admin, queue("three"))
        await following.until({"three"})
        following.mirror.close()

    with_store(kube.kubeconfig(), story)


def test_nothing_is_forgotten_while_a_server_starts(
    kube: Cluster, admin: KubeClient, definitions: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "_LOOK_AGAIN_SECONDS", 0.5)
    for each in definitions:
        admin.create(each)
    make_when_served(admin, queue("one"))

    async def story(store: KubernetesStore) -> None:
        following = Following(store)
        await following.until({"one"})
        kube.api_server.kill()
        kube.api_server.launch()
        for _ in range(60):
            with suppress(StoreError):
                await following.follow()
            await asyncio.sleep(0.1)
        await asyncio.to_thread(kube.api_server.wait_until_ready)
        await asyncio.to_thread(make_when_served, admin, queue("two"))
        await following.until({"one", "two"}, 60.0)
        assert following.gone == []
        following.mirror.close()

    with_store(kube.kubeconfig(), story)


def test_whoever_waits_for_a_kind_sees_it_soon() -> None:
    assert discovery._LOOK_AGAIN_SECONDS <= SOON - 5


def make_when_served(admin: KubeClient, manifest: dict[str, Any]) -> None:
    for _ in range(200):
        try:
            admin.create(manifest)
            return
        except (Refused, KeyError):
            time.sleep(0.1)
    raise AssertionError("it was never served")


def remove_definition(admin: KubeClient, made: dict[str, Any]) -> None:
    name = made["metadata"]["name"]
    if admin.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", name) is None:
        return
    admin.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
    while admin.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", name) is not None:
        time.sleep(0.1)
