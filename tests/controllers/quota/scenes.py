"""A little cluster in virtual time: the embedded store, the controllers of quota and Jobs, an agent; a hand admits.

Everything that is written passes `Observed`, which checks after each write what must never be otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec

from reprieve.controllers.pods.jobs import JobController
from reprieve.controllers.quota.jobs import QuotaJobs
from reprieve.controllers.quota.lifecycle import QuotaLifecycle
from reprieve.controllers.quota.pods import QuotaPods
from reprieve.controllers.quota.status import QuotaStatus
from reprieve.controllers.runner import BaseController
from reprieve.manifests.kinds import EVENTS, PODS, QUOTA_WORKLOADS, resource_of
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, precise_timestamp, run_virtually
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from tests.builders.pods import Dict, node
from tests.builders.quota import flavor, queue

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
GPU_NODES = {"pool": "gpu"}
TOLERATION = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
CONTROLLERS: tuple[type[BaseController], ...] = (QuotaJobs, QuotaPods, QuotaLifecycle, QuotaStatus, JobController)
"""What runs; nobody collects garbage unless a test asks for it."""
_PATIENCE = 4000
Before = Callable[[tuple[Any, ...]], Coroutine[Any, Any, None]]


class Observed:
    """The store with an eye on it: `check` looks after each write; after `writes_left` writes the writers end."""

    def __init__(self, store: EmbeddedStore, check: Callable[[], None], writes_left: int | None = None) -> None:
        self._store = store
        self._check = check
        self.writes_left = writes_left
        self.writes = 0
        self.crashed = False
        self.before: Before = _nothing
        """What somebody else does just before a write, which is given what it was asked."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name in ("list", "watch", "get"):
            return method
        return lambda *given, **more: self._write(method, *given, **more)

    async def _write(self, method: Callable[..., Coroutine[Any, Any, Record]], *given: Any, **more: Any) -> Record:
        if self.crashed or (self.writes_left is not None and self.writes >= self.writes_left):
            self.crashed = True
            raise asyncio.CancelledError
        await self.before(given)
        before = self._store.version
        written = await method(*given, **more)
        self.writes += self._store.version != before
        self._check()
        return written


async def _nothing(_: tuple[Any, ...]) -> None:
    return


class Scene:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.store = EmbeddedStore.open(":memory:", clock, seed=1)
        self.check: Callable[[], None] = lambda: None
        self.broken: list[str] = []
        """What did not hold after some write: a controller that is told so would only try again."""
        self.before: Before = _nothing
        self.observed = Observed(self.store, self._look)
        self._tasks: list[asyncio.Task[None]] = []
        self._running: list[asyncio.Task[None]] = []

    def _look(self) -> None:
        try:
            self.check()
        except AssertionError as broken:
            self.broken.append(str(broken))

    # The controllers

    def start(self, writes_left: int | None = None) -> Observed:
        """The controllers anew, as a process that has just begun; it ends after so many writes."""
        self.stop()
        observed = Observed(self.store, self._look, writes_left)
        observed.before = self.before
        self._running = [asyncio.create_task(kind(observed, self.clock).run()) for kind in CONTROLLERS]
        return observed

    def also(self, kind: type[BaseController]) -> None:
        """One more controller, that does not end with the others."""
        self._tasks.append(asyncio.create_task(kind(self.observed, self.clock).run()))

    def stop(self) -> None:
        for task in self._running:
            task.cancel()

    async def close(self) -> None:
        self.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._running, *self._tasks, return_exceptions=True)
        self.store.close()

    # What users do

    async def create(self, *manifests: Dict) -> None:
        for manifest in manifests:
            resource = resource_of(manifest["apiVersion"], manifest["kind"])
            assert resource is not None
            await self.store.create(resource, manifest)

    async def patch(self, resource: Resource, name: str, patch: Dict, subresource: str = "") -> None:
        namespace = "default" if resource.namespaced else ""
        await self.observed.patch(resource, name, namespace, patch, subresource=subresource)

    async def find(self, resource: Resource, name: str) -> Record | None:
        try:
            return await self.store.get(resource, name, "default" if resource.namespaced else "")
        except NotFound:
            return None

    async def get(self, resource: Resource, name: str) -> Record:
        found = await self.find(resource, name)
        assert found is not None, f"{resource} {name} is not there"
        return found

    async def all(self, resource: Resource) -> list[Record]:
        return (await self.store.list(resource)).records

    def now(self, resource: Resource) -> list[Record]:
        """All of a kind, without waiting: for checks between two writes."""
        return list(self.store._journal.of_kind(resource).records(""))

    async def workload(self) -> Record:
        """The only one."""
        (found,) = await self.all(QUOTA_WORKLOADS)
        return found

    async def told(self, name: str) -> list[Record]:
        """The events about an object, in their order."""
        found = [each for each in await self.all(EVENTS) if each.data["involvedObject"]["name"] == name]
        return sorted(found, key=lambda each: each.version)

    async def events(self, name: str) -> list[str]:
        return [each.data["reason"] for each in await self.told(name)]

    # What the scheduler writes

    async def admit(self, workload: Record, flavor: str = "gpu", pods: int | None = None, queue: str = "team") -> None:
        assignments = [
            {
                "name": pod_set["name"],
                "count": pod_set["count"] if pods is None else pods,
                "flavors": {"cpu": flavor},
                "resourceUsage": {"cpu": str(pod_set["count"] if pods is None else pods)},
            }
            for pod_set in workload.data["spec"]["podSets"]
        ]
        status = {"admission": {"clusterQueue": queue, "podSetAssignments": assignments}}
        kinds = {"QuotaReserved": "True", "Admitted": "True", "Evicted": "False", "Preempted": "False"}
        await self._write_conditions(workload, status, {kind: (value, "Test", "") for kind, value in kinds.items()})

    async def evict(self, workload: Record, message: str = "another is more important") -> None:
        kinds = {"Evicted": ("True", "Preempted", message), "Preempted": ("True", "InClusterQueue", message)}
        await self._write_conditions(workload, {}, kinds)

    async def _write_conditions(self, workload: Record, status: Dict, changes: dict[str, tuple[str, str, str]]) -> None:
        for _ in range(5):
            now = await self.get(QUOTA_WORKLOADS, workload.name)
            known = {each["type"]: each for each in now.data.get("status", {}).get("conditions", [])}
            for kind, (value, reason, message) in changes.items():
                since = precise_timestamp(self.clock())
                known[kind] = {"type": kind, "status": value, "reason": reason, "message": message}
                known[kind] |= {"lastTransitionTime": since}
            patch = {"status": {**status, "conditions": list(known.values())}}
            with contextlib.suppress(Conflict):
                await self.observed.patch(
                    QUOTA_WORKLOADS, now.name, now.namespace, patch, subresource="status", version=now.version
                )
                return

    # Waiting

    async def until(self, holds: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Wait until something holds; it is looked at often, and not for ever."""
        for _ in range(_PATIENCE):
            if await holds():
                return
            await asyncio.sleep(0.05)
        raise AssertionError("it never came to that")

    async def settle(self) -> None:
        """Long enough for everything that is going to happen by itself."""
        await asyncio.sleep(60)

    # The agent

    def begin_agent(self, grace: float = 3.0) -> None:
        self._tasks.append(asyncio.create_task(self._agent(grace)))

    async def _agent(self, grace: float) -> None:
        """Binds what is not held, runs it, and ends what is deleted after so many seconds."""
        ending: dict[str, float] = {}
        loop = asyncio.get_running_loop()
        while True:
            for pod in (await self.store.list(PODS)).records:
                with contextlib.suppress(NotFound, Conflict):
                    if "deletionTimestamp" in pod.metadata:
                        if loop.time() >= ending.setdefault(pod.uid, loop.time() + grace):
                            await self._end(pod)
                    else:
                        await self._advance(pod)
            await asyncio.sleep(0.2)

    async def _advance(self, pod: Record) -> None:
        if pod.data["spec"].get("schedulingGates"):
            return
        if "nodeName" not in pod.data["spec"]:
            await self.observed.bind(pod.name, pod.namespace, "n1")
        elif pod.data["status"]["phase"] == "Pending":
            await self.patch(PODS, pod.name, {"status": {"phase": "Running"}}, "status")

    async def _end(self, pod: Record) -> None:
        """As an agent does: it has failed, and is gone as soon as nobody holds it."""
        if pod.data["status"]["phase"] not in ("Succeeded", "Failed"):
            await self.patch(PODS, pod.name, {"status": {"phase": "Failed"}}, "status")
        await self.observed.delete(PODS, pod.name, pod.namespace, grace=0)

    async def succeed(self) -> None:
        """All that runs has done its work."""
        for pod in await self.all(PODS):
            if pod.data["status"]["phase"] == "Running":
                await self.patch(PODS, pod.name, {"status": {"phase": "Succeeded"}}, "status")

    async def running(self) -> list[Record]:
        return [pod for pod in await self.all(PODS) if pod.data["status"]["phase"] == "Running"]


@contextlib.asynccontextmanager
async def scene(clock: Clock, *, grace: float = 3.0) -> AsyncIterator[Scene]:
    """A cluster with one node, two flavors and a queue; the controllers run."""
    made = Scene(clock)
    await made.create(
        node("n1", cpu="100", labels=GPU_NODES),
        flavor("gpu", nodeLabels=GPU_NODES, tolerations=[TOLERATION]),
        flavor("spot", nodeLabels={"pool": "spot", "life": "short"}),
        *queue("team", {"gpu": {"cpu": 4}, "spot": {"cpu": 4}}),
    )
    made.begin_agent(grace)
    made.start()
    try:
        yield made
        assert made.broken == []
    finally:
        await made.close()


def play(act: Callable[[Scene], Coroutine[Any, Any, None]], *, grace: float = 3.0) -> None:
    """Run a test in virtual time."""

    async def main(clock: Clock) -> None:
        async with scene(clock, grace=grace) as made:
            await act(made)

    run_virtually(main)


def job(name: str = "train", *, queue: str | None = "team", parallelism: int = 2, **more: Any) -> Dict:
    """A Job of `parallelism` pods of one cpu; `labels`, `annotations`, `spec` and `pod_spec` add to it."""
    labels = {**({QUEUE_LABEL: queue} if queue else {}), **more.get("labels", {})}
    requests = {"resources": {"requests": {"cpu": "1"}}}
    pod_spec = {"containers": [{"name": "main", "image": "busy", **requests}], **more.get("pod_spec", {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": labels,
            "annotations": more.get("annotations", {}),
        },
        "spec": {
            "parallelism": parallelism,
            "completions": parallelism,
            "template": {"spec": pod_spec},
            **more.get("spec", {}),
        },
    }


async def started(scene: Scene, **more: Any) -> None:
    """A Job that runs on the flavor gpu."""
    await scene.create(job(**more))
    await scene.settle()
    await scene.admit(await scene.workload())
    await scene.settle()


def condition(record: Record, kind: str) -> tuple[str, str]:
    """Status and reason of a condition; empty where it is not there."""
    found = (each for each in record.data.get("status", {}).get("conditions", []) if each["type"] == kind)
    return next(((each["status"], each.get("reason", "")) for each in found), ("", ""))


def message(record: Record, kind: str) -> str:
    found = (each for each in record.data.get("status", {}).get("conditions", []) if each["type"] == kind)
    return next((each.get("message", "") for each in found), "")


def template_bytes(record: Record) -> bytes:
    return msgspec.json.encode(record.data["spec"]["template"])
