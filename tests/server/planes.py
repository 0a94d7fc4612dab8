"""A control plane as far as the API needs one: a real store, a real history, a real server, and logs from memory."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter

from reprieve.agents.process.kept_logs import Run
from reprieve.configuration import Settings
from reprieve.manifests.kinds import NODES, PODS
from reprieve.manifests.loaded import Loaded
from reprieve.model.clock import Clock, system_clock
from reprieve.planning.change import ProposedChange
from reprieve.planning.comparison import Comparison
from reprieve.planning.planner import Planner
from reprieve.planning.what_if import what_if
from reprieve.planning.yunikorn_answers import YunikornAnswers
from reprieve.policies.quota.world import QuotaWorld
from reprieve.scheduler.history import History
from reprieve.server import Serving, create_app, serve
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from reprieve.world import World
from tests.stores.bare import bare

Result = TypeVar("Result")
PATIENCE = 30.0


class TestPlane:
    """What `reprieve up` builds, without the loops: nothing happens here by itself."""

    __test__ = False

    def __init__(self, clock: Clock = system_clock, *, keep: int = 10_000, only_protocol: bool = False) -> None:
        self.clock = clock
        self.settings = Settings()
        self.opened = EmbeddedStore.open(":memory:", clock, keep=keep)
        self.store: Store = bare(self.opened) if only_protocol else self.opened
        self.history: History | None = History(":memory:", clock)
        self.ready = True
        self.settings = Settings()
        self.metrics_registry = CollectorRegistry()
        Counter("reprieve_asked", "How often somebody asked.", registry=self.metrics_registry).inc(3)
        self.written: dict[tuple[str, str, str], list[bytes]] = {}
        self.kept: dict[str, list[tuple[Run, bytes]]] = {}
        self.asked: list[dict[str, Any]] = []
        self.more = asyncio.Event()

    @property
    def quota(self) -> QuotaWorld:
        return QuotaWorld(World(), self.settings)

    def planner(self, loaded: Loaded, now: datetime) -> Planner:
        return Planner(loaded, self.settings, now)

    def compare(self, loaded: Loaded, change: ProposedChange, now: datetime) -> Comparison:
        return what_if(loaded, change, self.settings, now)

    def queues(self) -> YunikornAnswers | None:
        return None

    async def logs(
        self, namespace: str, pod: str, container: str, *, tail: int | None, follow: bool, **options: Any
    ) -> AsyncIterator[bytes]:
        self.asked.append({"tail": tail, "follow": follow, **options})
        lines = self.written.get((namespace, pod, container))
        if lines is None:
            raise NotFound(f"nothing was written by {container} of {pod}")
        for line in lines[-tail:] if tail else lines:
            yield line
        while follow:
            await self.more.wait()
            self.more.clear()
            yield lines[-1]

    def runs(self, uid: str) -> list[Run]:
        return [run for run, _ in self.kept.get(uid, ())]

    def run_log(
        self, uid: str, container: str, run: int, *, tail: int | None, limit_bytes: int | None
    ) -> AsyncIterator[bytes] | None:
        self.asked.append({"tail": tail, "limit_bytes": limit_bytes})
        kept = (written for each, written in self.kept[uid] if (each.container, each.run) == (container, run))
        return _pieces(next(kept))

    def close(self) -> None:
        self.opened.close()
        if self.history is not None:
            self.history.close()


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


class Running:
    """A server on a thread of its own, so that blocking clients can be used against it."""

    def __init__(self, plane: TestPlane, serving: Serving, loop: asyncio.AbstractEventLoop) -> None:
        self.plane = plane
        self.serving = serving
        self.url = serving.url
        self._loop = loop

    def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run something on the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def fill(self) -> None:
        """A small cluster: one node, one pod on it, one that waits."""
        for name, node in (("low", "n1"), ("high", "")):
            self.do(self.plane.store.create(PODS, pod(name, node=node)))
        if not any(record.name == "n1" for record in self.do(self.plane.store.list(NODES)).records):
            self.do(self.plane.store.create(NODES, node_of("n1")))

    def signal(self, event: asyncio.Event) -> None:
        self._loop.call_soon_threadsafe(event.set)


@contextmanager
def running(
    *, token: str = "", host: str = "127.0.0.1", keep: int = 10_000, ready: bool = True, only_protocol: bool = False
) -> Iterator[Running]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="server")
    thread.start()

    def on_loop(work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, loop).result(PATIENCE)

    async def start() -> tuple[TestPlane, Serving]:
        plane = TestPlane(keep=keep, only_protocol=only_protocol)
        plane.ready = ready
        return plane, await serve(create_app(plane, token=token), host, 0)

    try:
        plane, serving = on_loop(start())
        try:
            yield Running(plane, serving, loop)
        finally:
            on_loop(serving.stop())
            loop.call_soon_threadsafe(plane.close)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def kubeconfig(server: Running, path: Path, token: str = "") -> Path:
    """A file that leads kubectl and others to the server."""
    named = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server.url}}],
        "users": [{"name": "me", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me", "namespace": "default"}}],
        "current-context": "here",
    }
    path.write_text(json.dumps(named))
    return path


def pod(name: str, *, node: str = "", cpu: str = "1", labels: dict[str, str] | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "work", "resources": {"requests": {"cpu": cpu}}}]}
    if node:
        spec["nodeName"] = node
    metadata = {"name": name, "namespace": "default", "labels": labels or {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def node_of(name: str, cpu: str = "4") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"capacity": amounts, "allocatable": amounts, "conditions": conditions}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
