"""Containers for tests, each of a pod of its own, and waiting for what processes do."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from reprieve.agents.process.command import environment
from reprieve.agents.process.containers import ContainerSpec, Directory, PodIdentity
from reprieve.agents.process.processes import ContainerProcess
from reprieve.agents.process.remains import marked
from reprieve.agents.process.shim.process_table import Process, living, send

PATIENCE = 20.0


class World:
    """A pod on this machine whose processes must all be gone in the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pod = PodIdentity("default", "work", str(uuid.uuid4()), "here")

    def directory(self, name: str = "main", attempt: int = 0) -> Directory:
        return Directory.of(self.root / "pods", self.pod.uid, name, attempt)

    def spec(self, *command: str, name: str = "main", **more: object) -> ContainerSpec:
        variables = environment(os.environ, self.pod, name)
        settings = {"environment": variables, "working_directory": str(self.root), **more}
        return ContainerSpec(pod=self.pod, name=name, command=command, **settings)  # type: ignore[arg-type]

    async def start(self, *command: str, name: str = "main", **more: object) -> ContainerProcess:
        return await ContainerProcess.start(self.directory(name), self.spec(*command, name=name, **more))

    async def shell(self, script: str, name: str = "main", **more: object) -> ContainerProcess:
        return await self.start("/bin/sh", "-c", script, name=name, **more)

    def processes(self) -> list[int]:
        return marked(self.pod.uid)

    def number_in(self, name: str) -> int:
        return int((self.root / name).read_text())


@contextmanager
def world(root: Path) -> Iterator[World]:
    made = World(root)
    try:
        yield made
    finally:
        left = [process for pid in made.processes() if (process := living(pid))]
        send(left, 9)


async def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.01)


def filled(file: Path) -> Callable[[], bool]:
    """Whether a process has written its line to this file."""
    return lambda: file.exists() and file.read_text().endswith("\n")


def gone(process: Process | int | None) -> bool:
    assert process is not None
    return living(process if isinstance(process, int) else process.pid) is None
