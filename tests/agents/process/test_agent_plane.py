"""This machine in a whole control plane: Jobs are scheduled, make way for more important ones, and come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from reprieve.agents.process.agent import ProcessAgent
from reprieve.agents.process.machine import Machine
from reprieve.agents.process.remains import marked
from reprieve.configuration import Settings
from reprieve.control_plane import ControlPlane
from reprieve.embedded_plane import open_plane
from reprieve.manifests.kinds import JOBS, PODS, PRIORITY_CLASSES
from reprieve.model.clock import system_clock
from reprieve.stores.errors import BadRequest
from reprieve.stores.records import Record
from tests.agents.process.scenes import until

SMALL = Machine(name="here", milli_cpu=2000, memory=4 << 30)


@asynccontextmanager
async def a_plane(directory: Path) -> AsyncIterator[ControlPlane]:
    plane = open_plane(directory, system_clock, Settings())
    plane.add(ProcessAgent(plane.store, system_clock, directory / "agent", machine=SMALL))
    await plane.start()
    try:
        yield plane
    finally:
        await plane.stop()


def job(name: str, script: str, *, cpu: str = "2", priority: str = "", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "command": ["/bin/sh", "-c", script], "resources": {"requests": {"cpu": cpu}}}
    pod = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    if priority:
        pod["priorityClassName"] = priority
    metadata = {"name": name, "namespace": "default"}
    return {"metadata": metadata, "spec": {"template": {"spec": pod}, **spec}}


async def pods_of(plane: ControlPlane, name: str, phase: str) -> list[Record]:
    records = (await plane.store.list(PODS, "default", labels=f"job-name={name}")).records
    return [
        record
        for record in records
        if record.data["status"].get("phase") == phase and "deletionTimestamp" not in record.metadata
    ]


def in_phase(plane: ControlPlane, name: str, phase: str) -> Callable[[], Awaitable[Any]]:
    async def reached() -> Record | None:
        found = await pods_of(plane, name, phase)
        return found[0] if found else None

    return reached


def complete(plane: ControlPlane, name: str) -> Callable[[], Awaitable[Any]]:
    async def reached() -> bool:
        status = (await plane.store.get(JOBS, name, "default")).data.get("status", {})
        return any(each["type"] == "Complete" for each in status.get("conditions", ()))

    return reached


async def log_of(plane: ControlPlane, pod: Record) -> bytes:
    return b"".join([piece async for piece in plane.logs("default", pod.name, "")])


def test_the_important_job_takes_the_machine_and_the_first_one_returns(tmp_path: Path) -> None:
    async def story() -> None:
        data = tmp_path / "data"
        files = f"{tmp_path}"
        polite = f"trap 'echo made way >> {files}/said; exit 0' TERM; echo at work; while :; do sleep 0.05; done"
        async with a_plane(data) as plane:
            await plane.store.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
            await plane.store.create(JOBS, job("filling", polite))
            first = await until(in_phase(plane, "filling", "Running"))
            await until(lambda: _wrote(plane, first, b"at work"))
            done = f"while ! [ -e {files}/go ]; do sleep 0.02; done; echo important"
            await plane.store.create(JOBS, job("urgent", done, priority="high"))
            urgent = await until(in_phase(plane, "urgent", "Running"))
            assert marked(first.uid) == [], "it really made way before the other one began"
            assert (tmp_path / "said").read_text() == "made way\n"
            waiting = await until(in_phase(plane, "filling", "Pending"))
            assert waiting.uid != first.uid
            (tmp_path / "go").touch()
            await until(complete(plane, "urgent"))
            assert await log_of(plane, urgent) == b"important\n"
            second = await until(in_phase(plane, "filling", "Running"))
            assert second.uid == waiting.uid
            status = (await plane.store.get(JOBS, "filling", "default")).data["status"]
            assert status.get("failed", 0) == 0
            assert status.get("succeeded", 0) == 0
        assert [pid for uid in (first.uid, urgent.uid, second.uid) for pid in marked(uid)] == []

    asyncio.run(story())


async def _wrote(plane: ControlPlane, pod: Record, text: bytes) -> bool:
    return text in await log_of(plane, pod)


def test_a_job_outlives_the_control_plane(tmp_path: Path) -> None:
    """It is stopped with the plane and goes on with the next one; nobody holds that against it."""

    async def story() -> None:
        script = f"[ -e {tmp_path}/go ] || {{ echo begun; exec sleep 600; }}"
        async with a_plane(tmp_path / "data") as plane:
            await plane.store.create(JOBS, job("work", script, backoffLimit=0))
            first = await until(in_phase(plane, "work", "Running"))
            await until(lambda: _wrote(plane, first, b"begun"))
        assert marked(first.uid) == []
        (tmp_path / "go").touch()
        async with a_plane(tmp_path / "data") as plane:
            await until(complete(plane, "work"))
            status = (await plane.store.get(JOBS, "work", "default")).data["status"]
            assert (status["succeeded"], status.get("failed", 0)) == (1, 0)

    asyncio.run(story())


def test_the_plane_refuses_logs_that_cannot_be_had(tmp_path: Path) -> None:
    async def story() -> None:
        async with a_plane(tmp_path / "data") as plane:
            await plane.store.create(JOBS, job("work", "echo hello", cpu="1"))
            await until(complete(plane, "work"))
            (pod,) = await pods_of(plane, "work", "Succeeded")
            assert await log_of(plane, pod) == b"hello\n"
            with pytest.raises(BadRequest, match="container other is not valid"):
                await anext(plane.logs("default", pod.name, "other"))

    asyncio.run(story())
