"""A node of real processes for tests: a store in a file, an agent, and pods that are given to it.

def test_it(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        pod = await scene.shell("a", "exit 3", restartPolicy="Never")
        assert (await scene.ended(pod))["phase"] == "Failed"

    play(story, tmp_path)

Whatever a story does, nothing of its pods may run when it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from reprieve.agents.process.agent import ProcessAgent
from reprieve.agents.process.kept_logs import USUAL, LogLimits
from reprieve.agents.process.machine import Machine
from reprieve.agents.process.remains import marked
from reprieve.agents.process.shim.process_table import living, send
from reprieve.manifests.kinds import EVENTS, NODES, PODS
from reprieve.model.clock import system_clock
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import NotFound
from reprieve.stores.records import Record

Data = dict[str, Any]
NODE = "here"
PATIENCE = 30.0
MACHINE = Machine(name=NODE, milli_cpu=4000, memory=8 << 30, devices=("0", "1"))


async def until(check: Callable[[], Awaitable[Any]], what: str = "") -> Any:
    """Wait until something is so, and return it."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await check()):
            await asyncio.sleep(0.01)
        return found
    raise AssertionError(what)


def pod_of(name: str, *containers: Data, **spec: Any) -> Data:
    metadata = {"name": name, "namespace": "default", **spec.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [*containers], **spec}}


def shell(script: str, name: str = "main", **more: Any) -> Data:
    return {"name": name, "image": "none", "command": ["/bin/sh", "-c", script], **more}


class Scene:
    """One node, its store and its agent."""

    def __init__(self, directory: Path, machine: Machine = MACHINE, logs: LogLimits = USUAL) -> None:
        self.path = directory
        self.files = directory / "agent"
        self.machine = machine
        self.logs = logs
        self.store = EmbeddedStore.open(directory / "store.db", system_clock)
        self.agent = self._agent()
        self._task: asyncio.Task[None] | None = None
        self.uids: set[str] = set()

    def _agent(self) -> ProcessAgent:
        return ProcessAgent(self.store, system_clock, self.files, machine=self.machine, logs=self.logs)

    # The agent

    async def begin(self) -> None:
        self.agent = self._agent()
        self._task = asyncio.create_task(self.agent.run())
        await until(self._ready)

    async def _ready(self) -> bool:
        assert self._task is not None
        if self._task.done():
            self._task.result()
        try:
            node = await self.store.get(NODES, NODE)
        except NotFound:
            return False
        return condition(node, "Ready").get("status") == "True"

    async def stop(self) -> None:
        """In good order."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    # Pods

    async def run(self, pod: Data) -> Record:
        made = await self.store.create(PODS, pod)
        self.uids.add(made.uid)
        return await self.store.bind(made.name, made.namespace, NODE, uid=made.uid)

    async def shell(self, name: str, script: str, **spec: Any) -> Record:
        """A pod of one container that begins in the directory of the test."""
        return await self.run(pod_of(name, shell(script, workingDir=str(self.path)), **spec))

    async def now(self, pod: Record) -> Record:
        return await self.store.get(PODS, pod.name, pod.namespace)

    async def status(self, pod: Record) -> Data:
        status: Data = (await self.now(pod)).data.get("status", {})
        return status

    async def container(self, pod: Record, name: str = "main") -> Data:
        return container_in(await self.status(pod), name)

    async def phase(self, pod: Record, *wanted: str) -> Data:
        """The status, once it has one of these phases."""

        async def reached() -> Data | None:
            status = await self.status(pod)
            return status if status.get("phase") in wanted else None

        found: Data = await until(reached, f"{pod.unit} is not {wanted}")
        return found

    async def ended(self, pod: Record) -> Data:
        return await self.phase(pod, "Succeeded", "Failed")

    async def restarts(self, pod: Record, number: int, name: str = "main") -> Data:
        """The status of a container that runs for the so many-th time again."""

        async def reached() -> Data | None:
            found = await self.container(pod, name)
            return found if found.get("restartCount", 0) >= number and "running" in found["state"] else None

        found: Data = await until(reached)
        return found

    async def gone(self, pod: Record) -> None:
        async def reached() -> bool:
            try:
                return (await self.now(pod)).uid != pod.uid
            except NotFound:
                return True

        await until(reached)

    async def delete(self, pod: Record, grace: int | None = None) -> None:
        await self.store.delete(PODS, pod.name, pod.namespace, grace=grace, uid=pod.uid)

    async def log(self, pod: Record, container: str = "", **options: Any) -> bytes:
        pieces = self.agent.logs(await self.now(pod), container, **options)
        assert pieces is not None
        return b"".join([piece async for piece in pieces])

    async def wrote(self, pod: Record, text: bytes, container: str = "main") -> None:
        """Wait until a container has written something."""

        async def reached() -> bool:
            if not (self.files / "pods" / pod.uid / container).exists():
                return False
            return text in await self.log(pod, container)

        await until(reached)

    async def told(self, pod: Record) -> list[tuple[str, str]]:
        """The events about a pod, with reason and message."""
        events = sorted((await self.store.list(EVENTS)).records, key=lambda event: event.version)
        about = [event.data for event in events if event.data["involvedObject"].get("uid") == pod.uid]
        return [(event["reason"], event["message"]) for event in about]

    def running(self) -> list[int]:
        return [pid for uid in self.uids for pid in marked(uid)]


def container_in(status: Data, name: str = "main") -> Data:
    entries: Iterable[Data] = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return next((entry for entry in entries if entry["name"] == name), {})


def condition(record: Record, kind: str) -> Data:
    conditions = record.data.get("status", {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})


def terminated(status: Data, name: str = "main") -> Data:
    found: Data = container_in(status, name)["state"]["terminated"]
    return found


Story = Callable[[Scene], Awaitable[None]]


def play(
    story: Story, directory: Path, machine: Machine = MACHINE, *, agent: bool = True, logs: LogLimits = USUAL
) -> None:
    """Run a story with an agent at work, and stop it; nothing may run then."""

    async def main() -> None:
        scene = Scene(directory, machine, logs)
        try:
            if agent:
                await scene.begin()
            await story(scene)
            await scene.stop()
            assert scene.running() == []
        finally:
            with suppress(Exception):
                await scene.stop()
            send([process for pid in scene.running() if (process := living(pid))], 9)
            scene.store.close()

    asyncio.run(main())
