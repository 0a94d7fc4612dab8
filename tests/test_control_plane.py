"""The parts together: they start, stop, start again from what is on disk, and one that fails takes nobody with it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.configuration import Settings
from reprieve.control_plane import ControlPlane
from reprieve.embedded_plane import HISTORY_FILE, STORE_FILE, open_plane
from reprieve.manifests.kinds import NODES, PODS
from reprieve.manifests.loading import load_objects
from reprieve.model.clock import Clock, run_virtually, system_clock
from reprieve.scheduler.history import History
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import BadRequest, NotFound
from reprieve.stores.records import Record
from tests.planes.rest import everything
from tests.planes.running import Plane, job, live, pod
from tests.stores.bare import bare


def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path) -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="2")
        await plane.apply(job("work", replicas=2, run=100))
        await plane.passes(50)
        await plane.restart()
        assert len(await plane.starting_with("work")) == 2
        await plane.passes(49)
        assert (await plane.job("work")).data["status"].get("succeeded", 0) == 0
        await plane.passes(5)
        assert (await plane.job("work")).data["status"]["succeeded"] == 2, "they ran on as if nothing had happened"

    live(story, directory=tmp_path)


def test_it_is_ready_when_it_has_seen_everything() -> None:
    async def main(clock: Clock) -> None:
        plane = open_plane(None, clock, Settings())
        assert not plane.ready
        await plane.start()
        try:
            await asyncio.sleep(1)
            assert plane.ready
        finally:
            await plane.stop()

    run_virtually(main)


def test_its_directory_is_for_its_owner_alone_and_holds_two_files(tmp_path: Path) -> None:
    async def main(clock: Clock) -> None:
        plane = open_plane(tmp_path / "data", clock, Settings())
        await plane.stop()

    run_virtually(main)
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    assert {STORE_FILE, HISTORY_FILE} <= {path.name for path in (tmp_path / "data").iterdir()}


def test_a_history_that_cannot_be_opened_lets_go_of_the_store(tmp_path: Path) -> None:
    async def main(clock: Clock) -> None:
        database = sqlite3.connect(tmp_path / HISTORY_FILE)
        database.execute("PRAGMA user_version=99")
        database.commit()
        database.close()
        with pytest.raises(ValueError, match="newer Reprieve"):
            open_plane(tmp_path, clock, Settings())
        (tmp_path / HISTORY_FILE).unlink()
        plane = open_plane(tmp_path, clock, Settings())  # the store is free
        await plane.stop()

    run_virtually(main)


class _Clumsy:
    """A part that fails now and then."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.starts = 0

    async def run(self) -> None:
        self.starts += 1
        if self.starts <= self.failures:
            raise RuntimeError("out of luck")
        await asyncio.sleep(10**6)


def test_a_part_that_fails_starts_again_and_takes_nobody_with_it(caplog: pytest.LogCaptureFixture) -> None:
    clumsy = _Clumsy(3)

    async def main(clock: Clock) -> None:
        plane = open_plane(None, clock, Settings(), seed=1)
        plane.add(clumsy)
        await plane.start()
        try:
            await plane.store.create(NODES, hollow_node("n1"))
            await plane.store.create(PODS, pod("a"))
            await asyncio.sleep(30)
            assert (await plane.store.get(PODS, "a", "default")).data["status"]["phase"] == "Running"
        finally:
            await plane.stop()

    with caplog.at_level(logging.CRITICAL):
        run_virtually(main)
    assert clumsy.starts == 4


def test_any_store_will_do_and_is_let_go_of_at_the_end() -> None:
    closed: list[str] = []

    async def main(clock: Clock) -> None:
        embedded, history = EmbeddedStore.open(":memory:", clock, seed=1), History(":memory:", clock)
        plane = ControlPlane(bare(embedded), history, clock, Settings(), close=lambda: closed.append("once"))
        await plane.start()
        await plane.store.create(NODES, hollow_node("n1"))
        await plane.store.create(PODS, pod("a"))
        await asyncio.sleep(30)
        assert (await plane.store.get(PODS, "a", "default")).data["status"]["phase"] == "Running"
        await plane.stop()
        embedded.close()
        history.close()

    run_virtually(main)
    assert closed == ["once"]


class _Failing:
    """A part that always fails, after it has run for some time."""

    def __init__(self, *runs: float) -> None:
        self.runs = runs
        self.starts: list[float] = []

    async def run(self) -> None:
        self.starts.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.runs[min(len(self.starts), len(self.runs)) - 1])
        raise RuntimeError("out of luck")


def test_a_part_that_fails_at_once_waits_longer_each_time_until_it_has_run_for_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    at_once, later = _Failing(0), _Failing(0, 0, 60, 10**6)

    async def main(clock: Clock) -> None:
        plane = open_plane(None, clock, Settings(), seed=1)
        plane.add(at_once)
        plane.add(later)
        await plane.start()
        await asyncio.sleep(100)
        await plane.stop()

    with caplog.at_level(logging.CRITICAL):
        run_virtually(main)
    assert at_once.starts == [0, 1, 3, 7, 15, 31, 61, 91]
    assert later.starts == [0, 1, 3, 64]


def test_nothing_is_written_after_it_has_stopped(tmp_path: Path) -> None:
    async def main(clock: Clock) -> None:
        plane = open_plane(tmp_path, clock, Settings(), seed=1)
        await plane.start()
        await plane.store.create(NODES, hollow_node("n1"))
        await plane.store.create(PODS, pod("a", run=10))
        await asyncio.sleep(1)
        await plane.stop()
        size = (tmp_path / STORE_FILE).stat().st_size
        await asyncio.sleep(3600)
        assert (tmp_path / STORE_FILE).stat().st_size == size

    run_virtually(main)


def test_it_runs_by_the_clock_of_the_machine_as_well() -> None:
    async def main() -> str:
        plane = open_plane(None, system_clock, Settings())
        await plane.start()
        try:
            await plane.store.create(NODES, hollow_node("n1"))
            await plane.store.create(PODS, pod("a"))
            async with asyncio.timeout(30):
                while (found := (await plane.store.get(PODS, "a", "default")).data["status"]["phase"]) != "Running":
                    await asyncio.sleep(0.01)
            return str(found)
        finally:
            await plane.stop()

    assert asyncio.run(main()) == "Running"


def test_a_question_is_answered_as_the_scheduler_would() -> None:
    async def story(plane: Plane) -> None:
        await plane.node("n1", cpu="1")
        await plane.priority("high", 100)
        await plane.pod("low")
        await plane.passes(2)
        asked: dict[str, Any] = pod("asks", priority="high")
        loaded = load_objects([*await everything(plane), asked])
        answer = plane.plane.planner(loaded, plane.clock()).single("Pod/default/asks").decision
        assert answer.outcome == "Preempt"
        assert [victim["unit"] for victim in answer.victims] == ["Pod/default/low"]

    live(story)


class _Speaking:
    """An agent that keeps the logs of one pod."""

    async def run(self) -> None:
        await asyncio.sleep(10**6)

    def logs(self, pod: Record, container: str, **_: Any) -> AsyncIterator[bytes] | None:
        if pod.name != "talks":
            return None

        async def said() -> AsyncIterator[bytes]:
            yield f"hello from {container}".encode()

        return said()


def test_logs_come_from_the_agent_that_runs_the_pod() -> None:
    async def main(clock: Clock) -> None:
        plane = open_plane(None, clock, Settings(), seed=1)
        plane.add(_Speaking())
        try:
            await plane.store.create(PODS, pod("talks"))
            await plane.store.create(PODS, pod("silent", nodeName="elsewhere"))
            await plane.store.create(PODS, pod("waits"))
            assert [part async for part in plane.logs("default", "talks", "main")] == [b"hello from main"]
            with pytest.raises(BadRequest, match="on no node that keeps logs"):
                [part async for part in plane.logs("default", "silent", "main")]
            with pytest.raises(BadRequest, match='container "main" in pod "waits" is waiting to start'):
                [part async for part in plane.logs("default", "waits", "main")]
            with pytest.raises(NotFound):
                [part async for part in plane.logs("default", "nobody", "main")]
        finally:
            await plane.stop()

    run_virtually(main)
