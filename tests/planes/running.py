"""Whole control planes for tests: in memory, in virtual time, with hollow nodes; ask for things by name.

def test_it() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.pod("a", cpu="1")
        await plane.passes(10)
        assert await plane.where("a") == "n1"

    live(story)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from reprieve.agents.hollow.nodes import EXIT_CODE, RUN_SECONDS, TERMINATION_SECONDS, hollow_node
from reprieve.configuration import Settings
from reprieve.manifests.kinds import (
    BINDINGS,
    EVENTS,
    JOBS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_WORKLOADS,
    RESOURCES,
    resource_of,
)
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, run_virtually
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from tests.builders.gates import GANGS_AND_BINDINGS
from tests.planes.patience import patience

Dict = dict[str, Any]
SETTINGS = Settings(validate=True, feature_gates=GANGS_AND_BINDINGS)
"""Of planes in tests, where nothing else is said: gangs and bindings are in many stories."""
_QUIET = 600.0
_LONGEST = 6 * 3600.0


class Plane:
    """A control plane that lives in virtual time, with short words for what tests do with it."""

    def __init__(self, plane: Any, clock: Clock, again: Callable[[], Any] | None = None) -> None:
        self.plane = plane
        self.store: Store = plane.store
        self.clock = clock
        self._again = again

    async def passes(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def restart(self) -> None:
        """End everything, and start anew from what is on disk."""
        assert self._again is not None, "only a control plane on a directory can be started again"
        await self.plane.stop()
        self.plane = self._again()
        self.store = self.plane.store
        await self.plane.start()

    async def rests(self, quiet: float = _QUIET, within: float = _LONGEST) -> float:
        """Wait until nothing has been written for so long; seconds until then."""
        began, version, since = self.clock(), self.plane.store.version, self.clock()
        while (self.clock() - since).total_seconds() < quiet:
            await self.passes(quiet / 4)
            if self.plane.store.version != version:
                version, since = self.plane.store.version, self.clock()
                assert (since - began).total_seconds() < within, f"still busy at {since}: {await self.last_written()}"
        return (since - began).total_seconds()

    async def last_written(self) -> list[str]:
        """The objects that were written last, for somebody who wonders who does not come to rest."""
        records = [record for resource in RESOURCES.values() for record in (await self.store.list(resource)).records]
        return [repr(record) for record in sorted(records, key=lambda record: -record.version)[:8]]

    async def until(self, check: Callable[[], Awaitable[Any]], within: float = 600.0, step: float = 0.5) -> Any:
        """Wait until something is so, and return it."""
        for _ in range(int(within / step)):
            if found := await check():
                return found
            await self.passes(step)
        raise AssertionError(f"not so within {within} seconds")

    async def apply(self, *manifests: Dict) -> list[Record]:
        """Create objects, each in its namespace."""
        made = []
        for data in manifests:
            resource = resource_of(data["apiVersion"], data["kind"])
            assert resource is not None, data
            if resource.namespaced:
                data = {**data, "metadata": {"namespace": "default", **data["metadata"]}}
            made.append(await self.store.create(resource, data))
        return made

    async def node(self, name: str, **sizes: Any) -> None:
        await self.store.create(NODES, hollow_node(name, **sizes))

    async def priority(self, name: str, value: int, **fields: Any) -> None:
        metadata = {"name": name, "annotations": fields.pop("annotations", {})}
        manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata}
        await self.store.create(PRIORITY_CLASSES, {**manifest, "value": value, **fields})

    async def pod(self, name: str, **parts: Any) -> Record:
        return await self.store.create(PODS, pod(name, **parts))

    async def record(self, name: str, namespace: str = "default") -> Record:
        return await self.store.get(PODS, name, namespace)

    async def find(self, name: str, namespace: str = "default") -> Record | None:
        try:
            return await self.record(name, namespace)
        except NotFound:
            return None

    async def pods(self) -> dict[str, Record]:
        return {record.name: record for record in (await self.store.list(PODS)).records}

    async def where(self, name: str) -> str:
        """The node of a pod; empty while it waits; `gone` when there is none."""
        record = await self.find(name)
        return "gone" if record is None else record.data["spec"].get("nodeName", "")

    async def starting_with(self, name: str) -> list[Record]:
        """The pods whose name begins so: those of a Job or a ReplicaSet."""
        return [record for record in (await self.store.list(PODS)).records if record.name.startswith(name)]

    async def homes(self, name: str) -> list[str]:
        """The nodes of all pods whose name begins so and that have not ended; empty for one that waits."""
        return sorted(
            record.data["spec"].get("nodeName", "")
            for record in await self.starting_with(name)
            if not record.manifest.finished
        )

    async def workload(self, job: str) -> Record:
        """The quota workload of a Job or a pod."""
        found = [
            record
            for record in (await self.store.list(QUOTA_WORKLOADS)).records
            if any(owner["name"] == job for owner in record.metadata.get("ownerReferences", ()))
        ]
        assert len(found) == 1, found
        return found[0]

    async def job(self, name: str) -> Record:
        return await self.store.get(JOBS, name, "default")

    async def binding(self, name: str, kind: str = "deployment") -> Record:
        return await self.store.get(BINDINGS, f"{name}-{kind}", "default")

    async def change(self, resource: Resource, name: str, patch: Dict, namespace: str = "default") -> Record:
        return await self.store.patch(resource, name, namespace if resource.namespaced else "", patch)

    async def events(self, reason: str = "", about: str = "") -> list[str]:
        """What was told: all, or for one reason, or about the object of a name."""
        found = (await self.store.list(EVENTS)).records
        return sorted(
            record.data["message"]
            for record in found
            if (not reason or record.data["reason"] == reason)
            and (not about or record.data["involvedObject"]["name"] == about)
        )


def condition(record: Record, kind: str) -> Dict:
    """A condition of an object; empty when it has none of that type."""
    conditions = record.data.get("status", {}).get("conditions") or ()
    return next((item for item in conditions if item["type"] == kind), {})


def pod(
    name: str,
    *,
    cpu: str = "1",
    priority: str = "",
    run: float | None = None,
    leaves: float = 0,
    exit_code: int = 0,
    namespace: str = "default",
    labels: Dict | None = None,
    annotations: Dict | None = None,
    **spec: Any,
) -> Dict:
    """A pod for hollow nodes: `run` seconds long, taking `leaves` seconds to go."""
    said: Dict = {TERMINATION_SECONDS: str(leaves), **(annotations or {})}
    if run is not None:
        said[RUN_SECONDS] = str(run)
    if exit_code:
        said[EXIT_CODE] = str(exit_code)
    metadata = {"name": name, "namespace": namespace, "annotations": said, "labels": labels or {}}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    body = {"containers": [container], **({"priorityClassName": priority} if priority else {}), **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def job(
    name: str, *, replicas: int = 1, labels: Dict | None = None, pod_labels: Dict | None = None, **parts: Any
) -> Dict:
    """A Job of so many such pods."""
    template = pod("unused", labels=pod_labels, **parts)
    metadata = {key: template["metadata"][key] for key in ("annotations", "labels")}
    spec = {
        "parallelism": replicas,
        "completions": replicas,
        "template": {"metadata": metadata, "spec": {**template["spec"], "restartPolicy": "Never"}},
    }
    about = {"name": name, "namespace": parts.get("namespace", "default"), "labels": labels or {}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": spec}


def replica_set(name: str, *, replicas: int = 1, **parts: Any) -> Dict:
    """A ReplicaSet of so many such pods."""
    template = pod("unused", **parts)
    labels = {**template["metadata"]["labels"], "app": name}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {**template["metadata"], "labels": labels}, "spec": template["spec"]},
    }
    for key in ("name", "namespace"):
        del spec["template"]["metadata"][key]  # type: ignore[index]
    about = {"name": name, "namespace": parts.get("namespace", "default")}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": about, "spec": spec}


def daemon_set(name: str, *, update: Dict | None = None, **parts: Any) -> Dict:
    """A DaemonSet of such pods."""
    made = replica_set(name, **parts)
    del made["spec"]["replicas"]
    if update is not None:
        made["spec"]["updateStrategy"] = update
    return {**made, "kind": "DaemonSet"}


def stateful_set(name: str, *, labels: Dict | None = None, more: Dict | None = None, **parts: Any) -> Dict:
    """A StatefulSet of such pods; `labels` are its own, `more` is what else its spec says."""
    made = replica_set(name, **parts)
    made["metadata"]["labels"] = labels or {}
    made["spec"] |= {"serviceName": name, **(more or {})}
    return {**made, "kind": "StatefulSet"}


def job_set(name: str, *, labels: Dict | None = None, **jobs: Dict) -> Dict:
    """A JobSet of such Jobs, by name: `worker={"replicas": 2, "pods": 3, "cpu": "1"}` is two Jobs of three pods."""
    replicated = []
    for called, parts in jobs.items():
        said = dict(parts)
        replicas, pods = said.pop("replicas", 1), said.pop("pods", 1)
        made = job("unused", replicas=pods, **said)
        replicated.append({"name": called, "replicas": replicas, "template": {"spec": made["spec"]}})
    about = {"name": name, "namespace": "default", "labels": labels or {}}
    spec = {"replicatedJobs": replicated}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": about, "spec": spec}


Story = Callable[[Plane], Awaitable[Any]]


def live(
    story: Story,
    settings: Settings | None = None,
    *,
    directory: Path | None = None,
    seed: int = 7,
    longest: float = 300.0,
    **options: Any,
) -> Any:
    """Run a story on a new control plane: in memory, or on a directory, where it can be started again."""

    from reprieve.control_plane import ControlPlane
    from reprieve.embedded_plane import open_plane

    async def main(clock: Clock) -> Any:
        def opened() -> ControlPlane:
            return open_plane(directory, clock, settings or SETTINGS, seed=seed, **options)

        alive = Plane(opened(), clock, opened if directory is not None else None)
        await alive.plane.start()
        try:
            return await story(alive)
        finally:
            await alive.plane.stop()

    with patience(longest):
        return run_virtually(main)
