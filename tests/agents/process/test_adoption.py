"""Work goes on when its agent is killed, is found again, and is never confused with anything else."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from reprieve.agents.process.containers import ContainerRecord, Directory, ProcessIdentity, directories
from reprieve.agents.process.logs import read_log
from reprieve.agents.process.processes import ContainerProcess
from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.shim import process_table
from tests.agents.process.containers import World, filled, gone, until

AGENT = Path(__file__).with_name("agent_process.py")
UNTIL_TOLD = "echo before; echo > begun; while ! [ -e go ]; do sleep 0.02; done; echo after; exit 9"


@contextmanager
def an_agent(here: World, *command: str, count: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that starts the containers; it is killed without warning when the block ends."""
    arguments = [sys.executable, str(AGENT), str(here.root / "pods"), str(count)]
    agent = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None
    agent.stdin.write(msgspec.json.encode(here.spec(*command)))
    agent.stdin.close()
    assert agent.stdout is not None
    assert agent.stdout.readline() == b"begin\n"
    with agent:
        try:
            yield agent
        finally:
            agent.kill()


def started_by_a_killed_agent(here: World, script: str) -> int:
    with an_agent(here, "/bin/sh", "-c", script) as agent:
        assert agent.stdout is not None
        return int(agent.stdout.readline())


async def adopted(directory: Directory) -> ContainerProcess:
    container = await ContainerProcess.adopt(directory)
    assert container is not None
    return container


def record_of(container: ContainerProcess) -> ContainerRecord:
    record = container.directory.record()
    assert record is not None
    return record


def test_work_survives_the_agent_and_is_found_again(here: World) -> None:
    async def scene() -> None:
        pid = started_by_a_killed_agent(here, UNTIL_TOLD)
        container = await adopted(here.directory())
        assert container.running
        assert container.pid == pid
        assert container.spec == here.spec("/bin/sh", "-c", UNTIL_TOLD)
        (here.root / "go").touch()
        assert (await container.wait()).exit_code == 9
        assert b"".join(read_log(container.directory)) == b"before\nafter\n"

    asyncio.run(scene())


def test_work_that_was_adopted_can_be_stopped(here: World) -> None:
    async def scene() -> None:
        started_by_a_killed_agent(here, "setsid sleep 600 & sleep 600")
        assert (await (await adopted(here.directory())).terminate(20)).exit_code == 143

    asyncio.run(scene())


def test_an_end_that_no_agent_saw_is_known_afterwards(here: World) -> None:
    async def scene() -> None:
        started_by_a_killed_agent(here, UNTIL_TOLD)
        (here.root / "go").touch()
        await until(lambda: here.directory().exit() is not None)
        ended = await (await adopted(here.directory())).wait()
        assert (ended.exit_code, ended.reason) == (9, "Error")

    asyncio.run(scene())


def test_an_agent_that_only_stops_watching_can_adopt_again(here: World) -> None:
    async def scene() -> None:
        first = await here.shell(UNTIL_TOLD)
        first.close()
        second = await adopted(first.directory)
        (here.root / "go").touch()
        assert (await second.wait()).exit_code == 9

    asyncio.run(scene())


OFFSPRING = "sleep 600 & setsid sleep 600 & env -i sleep 600 & echo $! > bare; echo > begun; wait"


def test_when_the_shim_is_killed_all_of_the_container_goes(here: World) -> None:
    async def scene() -> None:
        container = await here.shell(OFFSPRING)
        await until(filled(here.root / "begun"))
        os.kill(record_of(container).shim.pid, signal.SIGKILL)
        ended = await container.wait()
        assert (ended.exit_code, ended.reason) == (137, "ContainerStatusUnknown")
        assert ended.message == "the shim that watched over the command was killed"
        assert here.processes() == []
        assert gone(here.number_in("bare"))
        assert container.directory.exit() == ended

    asyncio.run(scene())


def test_a_shim_that_was_killed_while_no_agent_ran_is_noticed(here: World) -> None:
    async def scene() -> None:
        started_by_a_killed_agent(here, OFFSPRING)
        await until(filled(here.root / "begun"))
        record = here.directory().record()
        assert record is not None
        os.kill(record.shim.pid, signal.SIGKILL)
        await until(lambda: gone(record.shim.pid))
        assert (await (await adopted(here.directory())).wait()).exit_code == 137
        assert here.processes() == []
        assert gone(here.number_in("bare"))

    asyncio.run(scene())


def test_other_containers_of_the_pod_stay_when_one_shim_is_killed(here: World) -> None:
    async def scene() -> None:
        victim, neighbour = await here.start("sleep", "600"), await here.start("sleep", "600", name="other")
        os.kill(record_of(victim).shim.pid, signal.SIGKILL)
        await victim.wait()
        assert neighbour.running
        assert (await neighbour.terminate(20)).exit_code == 143

    asyncio.run(scene())


@contextmanager
def an_innocent() -> Iterator[ProcessIdentity]:
    """A process that has nothing to do with any pod, in a session and group of its own."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        try:
            yield ProcessIdentity(process.pid, process_table.started(process.pid))
            assert process.poll() is None, "it was taken for somebody else"
        finally:
            process.kill()


@pytest.mark.parametrize("confused", ["another start time", "another boot"])
def test_a_number_that_was_used_again_is_not_taken_for_ours(here: World, confused: str) -> None:
    async def scene() -> None:
        with an_innocent() as innocent:
            boot = process_table.boot()
            claimed = ProcessIdentity(innocent.pid, innocent.started)
            if confused == "another start time":
                claimed = ProcessIdentity(innocent.pid, f"{innocent.started}0")
            else:
                boot = "00000000-0000-0000-0000-000000000000"
            directory = here.directory()
            directory.create()
            directory.write(files.CONTAINER, here.spec("sleep", "600"))
            directory.write(files.PROCESS, ContainerRecord(boot, claimed, claimed, "2026-01-01T00:00:00Z"))
            container = await adopted(directory)
            ended = await container.terminate(0)
            assert ended.exit_code == 137
            assert ("restarted" in ended.message) is (confused == "another boot")

    asyncio.run(scene())


def test_a_signal_reaches_only_the_process_that_was_meant() -> None:
    with an_innocent() as innocent:
        process = process_table.living(innocent.pid)
        assert process is not None
        process.started = "1"
        process_table.send([process], signal.SIGKILL)
        assert innocent.alive


def test_what_was_never_started_can_be_started_later(here: World) -> None:
    async def scene() -> None:
        directory = here.directory()
        assert await ContainerProcess.adopt(directory) is None
        directory.create()
        directory.write(files.CONTAINER, here.spec("sh"))
        assert await ContainerProcess.adopt(directory) is None
        assert (await (await here.shell("exit 3")).wait()).exit_code == 3

    asyncio.run(scene())


@pytest.mark.parametrize("name", [files.EXIT, files.PROCESS, files.CONTAINER])
def test_a_damaged_file_says_as_little_as_none(here: World, name: str) -> None:
    async def scene() -> None:
        directory = here.directory()
        directory.create()
        directory.file(name).write_bytes(b'{"exitCode": 0, "rea')
        assert await ContainerProcess.adopt(directory) is None

    asyncio.run(scene())


def test_a_shim_that_cannot_even_begin_is_an_exit_with_a_reason(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        monkeypatch.setattr("reprieve.agents.process.shim_starter._SHIM", here.root / "missing.py")
        ended = await (await here.start("true")).wait()
        assert (ended.exit_code, ended.reason) == (128, "StartError")
        assert "missing.py" in ended.message

    asyncio.run(scene())


def test_waiting_works_where_the_kernel_offers_no_descriptor_of_a_process(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    async def scene() -> None:
        assert (await (await here.shell("exit 3")).wait()).exit_code == 3
        again = await here.start("sleep", "600", name="other")
        assert (await again.terminate(20)).exit_code == 143

    asyncio.run(scene())


def test_an_agent_killed_at_any_moment_leaves_only_what_can_be_found_again(here: World) -> None:
    """Ten agents die while they start containers, sooner or later after they began."""
    chance = random.Random(8)  # noqa: S311

    async def scene() -> None:
        for number in range(10):
            root = here.root / "pods"
            with an_agent(here, "sleep", "600", count=100):
                time.sleep(chance.uniform(0, 0.08))
            found = [await ContainerProcess.adopt(directory) for directory in directories(root)]
            running = [container for container in found if container is not None and container.running]
            assert {process.parent for process in commands(here)} == {record_of(one).shim.pid for one in running}
            for container in running:
                assert (await container.terminate(20)).exit_code == 143
            assert here.processes() == []
            root.rename(here.root / f"pods-{number}")

    asyncio.run(scene())


def commands(here: World) -> list[process_table.Process]:
    """The processes of the pod whose parent is one, too: the commands, not their shims."""
    found = [process for pid in here.processes() if (process := process_table.living(pid))]
    return [process for process in found if process.parent in {other.pid for other in found}]


def test_directories_are_found_in_order_and_strange_files_passed_over(here: World) -> None:
    root = here.root / "pods"
    assert list(directories(root)) == []
    for attempt in (10, 9, 0):
        here.directory("main", attempt).create()
    (root / "stray").write_text("")
    (root / here.pod.uid / "main" / "notes").mkdir()
    assert [directory.attempt for directory in directories(root)] == [0, 9, 10]
