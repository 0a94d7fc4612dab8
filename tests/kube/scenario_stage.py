"""Scenarios on a real API server: `reprieve run` as a process, Kubernetes' own controllers, and kwok for nodes.

What Kueue's and Karmada's controllers would do is done by Reprieve's, on the same server: they let evicted Workloads
give back their quota, and bindings leave member clusters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Self

import httpx

from reprieve.agents.hollow.clusters import HollowClusters
from reprieve.control_plane import PlanePart
from reprieve.controllers.quota.lifecycle import QuotaLifecycle
from reprieve.kubernetes_plane import open_store
from reprieve.manifests.kinds import NODES, PODS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import system_clock
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.hollow import FAKE
from tests.kube.namespaces import make_namespace, remove_namespace
from tests.kube.second_scheduler import SecondScheduler, give_rights
from tests.scenarios.player import Player
from tests.scenarios.scenario import Manifest, Scenario

_ROLES = ("reprieve-queues", "reprieve-quota", "reprieve-federation")
# The last word of a connection with TLS is still on its way when its session is closed.
_GOODBYE = 0.5
_RBAC = "rbac.authorization.k8s.io"


@contextmanager
def all_rights(admin: KubeClient) -> Iterator[None]:
    """The roles of `deploy/rbac.yaml` that are a choice are all chosen."""
    give_rights(admin)
    subject = {"kind": "ServiceAccount", "name": "reprieve", "namespace": "kube-system"}
    for name in _ROLES:
        role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
        bound = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
        admin.create({**bound, "roleRef": role, "subjects": [subject]})
    yield
    for name in _ROLES:
        admin.delete(f"{_RBAC}/v1", "ClusterRoleBinding", name)


class Theatre:
    """One cluster for all scenarios, one event loop, and one scheduler for those that have the same settings."""

    def __init__(self, cluster: Cluster, admin: KubeClient) -> None:
        self._cluster = cluster
        self._admin = admin
        self._scheduler: SecondScheduler | None = None
        self._called: object = None

    @contextmanager
    def opened(self) -> Iterator[Self]:
        with asyncio.Runner() as self._runner:
            stack = AsyncExitStack()
            self._store = self._runner.run(self._enter(stack))
            try:
                yield self
                self._stop()
            finally:
                self._runner.run(_leave(stack))

    async def _enter(self, stack: AsyncExitStack) -> Store:
        store = await stack.enter_async_context(open_store(str(self._cluster.kubeconfig()), qps=0))
        await stack.enter_async_context(_others(store))
        return store

    def play(self, scenario: Scenario) -> None:
        stage = KubeStage(self._store, self._start(scenario).url)
        make_namespace(self._admin, scenario.name)
        try:
            self._runner.run(Player(stage, scenario).play())
        finally:
            self._runner.run(stage.clear(scenario.name))
            remove_namespace(self._admin, scenario.name)

    def _start(self, scenario: Scenario) -> SecondScheduler:
        called = (scenario.configured, scenario.names)
        if self._scheduler is None or self._called != called:
            self._stop()
            options = [f"--scheduler-name={name}" for name in scenario.names]
            settings = {**scenario.settings, "validate": True}
            made = SecondScheduler(self._cluster, self._admin, settings, options=options)
            self._scheduler, self._called = made.start(), called
        return self._scheduler

    def _stop(self) -> None:
        if self._scheduler is not None:
            scheduler, self._scheduler = self._scheduler, None
            scheduler.stop()


async def _leave(stack: AsyncExitStack) -> None:
    await stack.aclose()
    await asyncio.sleep(_GOODBYE)


class KubeStage:
    """Makes objects, and takes all of them away at the end: scenarios share nodes, classes and queues by name."""

    def __init__(self, store: Store, url: str) -> None:
        self.store = store
        self._url = url
        self._made: list[tuple[Resource, str, str]] = []

    async def make(self, resource: Resource, manifest: Manifest) -> None:
        metadata = manifest["metadata"]
        if resource == NODES:
            manifest = {**manifest, "metadata": {**metadata, "annotations": {FAKE: "fake"}}}
        await self.store.create(resource, manifest)
        self._made.append((resource, metadata["name"], metadata.get("namespace", "")))
        if resource == NODES:
            # Admission calls every new node not ready; a controller would take that back some moments later.
            taints = manifest.get("spec", {}).get("taints")
            await self.store.patch(NODES, metadata["name"], "", {"spec": {"taints": taints}})

    async def preemptions(self) -> list[dict[str, Any]]:
        async with httpx.AsyncClient(base_url=self._url, trust_env=False) as client:
            told = (await client.get("/decisions", params={"limit": 1000})).json()["decisions"]
            numbers = [each["id"] for each in told if each["outcome"] == "Preempt"]
            return [(await client.get(f"/decisions/{number}")).json() for number in numbers]

    async def clear(self, namespace: str) -> None:
        """Owners before what they would make anew, and pods at once."""
        for resource, name, where in reversed(self._made):
            with suppress(NotFound):
                await self.store.delete(resource, name, where, grace=0 if resource == PODS else None)
        async with asyncio.timeout(30):
            while pods := (await self.store.list(PODS, namespace)).records:
                for pod in pods:
                    with suppress(NotFound):
                        await self.store.delete(PODS, pod.name, namespace, grace=0)
                await asyncio.sleep(0.1)


@asynccontextmanager
async def _others(store: Store) -> Any:
    """Who would run in a cluster with Kueue and Karmada."""
    parts: list[PlanePart] = [QuotaLifecycle(store, system_clock), HollowClusters(store, system_clock)]
    tasks = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
