"""Real processes: how they end, how they are ended, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from pathlib import Path

import msgspec
import pytest

from reprieve.agents.process.containers import AlreadyStarted, Directory, InvalidContainer
from reprieve.agents.process.kept_logs import KeptLogs, LogLimits
from reprieve.agents.process.logs import read_log
from reprieve.agents.process.processes import ContainerProcess
from tests.agents.process.containers import World, filled, gone, until

STANDARD_SIGNALS = (1 << 31) - 1
DEAF = "trap '' TERM; echo ready > deaf; while :; do sleep 1; done"


def output(container: ContainerProcess) -> str:
    return b"".join(read_log(container.directory)).decode()


@pytest.mark.parametrize(
    ("script", "want_code", "want_signal", "want_reason"),
    [
        ("exit 0", 0, 0, "Completed"),
        ("exit 3", 3, 0, "Error"),
        ("kill -KILL $$", 137, 9, "Error"),
        ("kill -TERM $$", 143, 15, "Error"),
        ("kill -SEGV $$", 139, 11, "Error"),
    ],
)
def test_an_exit_says_how_the_command_ended(
    here: World, script: str, want_code: int, want_signal: int, want_reason: str
) -> None:
    async def scene() -> None:
        container = await here.shell(script)
        ended = await container.wait()
        assert (ended.exit_code, ended.signal, ended.reason) == (want_code, want_signal, want_reason)
        assert ended.started_at <= ended.finished_at
        assert not container.running

    asyncio.run(scene())


def test_a_command_that_is_not_found_is_an_exit_with_a_reason(here: World) -> None:
    async def scene() -> None:
        ended = await (await here.start("no-such-program", "x")).wait()
        assert (ended.exit_code, ended.reason) == (127, "StartError")
        assert ended.message == "command not found: no-such-program"

    asyncio.run(scene())


def test_a_file_that_is_not_executable_is_an_exit_with_a_reason(here: World) -> None:
    async def scene() -> None:
        file = here.root / "notes"
        file.write_text("not a program")
        ended = await (await here.start(str(file))).wait()
        assert (ended.exit_code, ended.reason) == (126, "StartError")
        assert ended.message == f"command is not executable: {file}"

    asyncio.run(scene())


def test_a_file_that_is_no_program_is_an_exit_with_a_reason(here: World) -> None:
    async def scene() -> None:
        file = here.root / "noise"
        file.write_bytes(b"\x01\x02\x03")
        file.chmod(0o700)
        ended = await (await here.start(str(file))).wait()
        assert (ended.exit_code, ended.message) == (126, f"command cannot be started: {file}: Exec format error")

    asyncio.run(scene())


def test_a_missing_working_directory_is_an_exit_with_a_reason(here: World) -> None:
    async def scene() -> None:
        ended = await (await here.start("true", working_directory="/no/such/place")).wait()
        assert (ended.exit_code, ended.reason) == (128, "StartError")
        assert ended.message == "working directory /no/such/place: No such file or directory"

    asyncio.run(scene())


def test_a_command_finds_its_environment_directory_and_umask_and_nothing_of_the_agent(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_SECRET", "hidden")

    async def scene() -> None:
        container = await here.shell("env; pwd; umask; grep -E 'Sig(Blk|Ign)' /proc/self/status", umask=0o027)
        await container.wait()
        lines = output(container).splitlines()
        assert f"REPRIEVE_POD_UID={here.pod.uid}" in lines
        assert {"REPRIEVE_POD_NAME=work", "REPRIEVE_POD_NAMESPACE=default", "REPRIEVE_NODE_NAME=here"} <= set(lines)
        assert f"PATH={os.environ['PATH']}" in lines
        assert "hidden" not in output(container)
        assert str(here.root) in lines
        assert "0027" in lines
        masks = [int(line.split()[1], 16) for line in lines if line.startswith("Sig")]
        assert [mask & STANDARD_SIGNALS for mask in masks] == [0, 0], "no signal is blocked or ignored"

    asyncio.run(scene())


def test_words_and_variables_arrive_as_they_are(here: World) -> None:
    async def scene() -> None:
        words = ("", "ä 東 😀", "a\nb", "$HOME", "x=y=z")
        container = await here.start("/usr/bin/printf", "[%s]", *words)
        await container.wait()
        assert output(container) == "".join(f"[{word}]" for word in words)

    asyncio.run(scene())


def test_output_and_errors_go_to_one_log_in_their_order(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("echo one; echo two >&2; printf three")
        await container.wait()
        assert output(container) == "one\ntwo\nthree"

    asyncio.run(scene())


def test_a_command_that_stops_when_asked_has_its_own_exit_code(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("trap 'exit 7' TERM; echo > ready; while :; do sleep 0.02; done")
        await until(filled(here.root / "ready"))
        assert (await container.terminate(20)).exit_code == 7

    asyncio.run(scene())


def test_a_command_that_does_not_stop_when_asked_is_killed_after_its_grace(here: World) -> None:
    async def scene() -> None:
        container = await here.shell(DEAF)
        await until(filled(here.root / "deaf"))
        ended = await container.terminate(0.3)
        assert (ended.exit_code, ended.message) == (137, "ended by signal 9 (SIGKILL)")

    asyncio.run(scene())


def test_without_grace_nobody_is_asked(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("trap 'echo asked' TERM; echo > ready; while :; do sleep 0.02; done")
        await until(filled(here.root / "ready"))
        assert (await container.terminate(0)).signal == signal.SIGKILL
        assert output(container) == ""

    asyncio.run(scene())


def test_a_second_request_with_less_grace_counts(here: World) -> None:
    async def scene() -> None:
        container = await here.shell(DEAF)
        await until(filled(here.root / "deaf"))
        patient = asyncio.create_task(container.terminate(3600))
        await asyncio.sleep(0)
        assert (await container.terminate(0)).signal == signal.SIGKILL
        assert (await patient).signal == signal.SIGKILL

    asyncio.run(scene())


def test_a_paused_command_can_still_stop_as_it_wishes(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("trap 'exit 5' TERM; echo > ready; while :; do sleep 0.02; done")
        await until(filled(here.root / "ready"))
        assert container.pid is not None
        os.killpg(container.pid, signal.SIGSTOP)
        assert (await container.terminate(20)).exit_code == 5

    asyncio.run(scene())


@pytest.mark.parametrize(
    "offspring",
    [
        pytest.param("sleep 600 & echo $! > child", id="a child in the background"),
        pytest.param("setsid sleep 600 & echo $! > child", id="a child with a session of its own"),
        pytest.param("(setsid sh -c 'sleep 600 & echo $! > child' &) ; sleep 0.1", id="a daemon"),
        pytest.param("env -i setsid sleep 600 & echo $! > child", id="a child without the mark"),
        pytest.param("setsid sh -c 'trap \"\" TERM HUP; echo $$ > child; while :; do sleep 1; done' &", id="deaf"),
    ],
)
def test_what_a_command_leaves_behind_ends_with_it(here: World, offspring: str) -> None:
    async def scene() -> None:
        waits = "while ! [ -s child ]; do sleep 0.01; done"
        ended = await (await here.shell(f"{offspring}\n{waits}; exit 4")).wait()
        assert ended.exit_code == 4
        assert gone(here.number_in("child"))
        assert here.processes() == []

    asyncio.run(scene())


@pytest.mark.parametrize("session", ["", "setsid"])
def test_children_may_use_the_grace_even_when_their_parent_went_first(here: World, session: str) -> None:
    """A shell ends at once when asked; the program it started may have a checkpoint to write."""

    async def scene() -> None:
        child = "trap 'sleep 0.3; echo kept > checkpoint; exit' TERM; echo > ready; while :; do sleep 0.02; done"
        variables = {**here.spec("sh").environment, "CHILD": child}
        container = await here.shell(f'{session} sh -c "$CHILD" & wait', environment=variables)
        await until(filled(here.root / "ready"))
        assert (await container.terminate(20)).signal == signal.SIGTERM
        assert (here.root / "checkpoint").read_text() == "kept\n"

    asyncio.run(scene())


def test_children_that_outlast_the_grace_are_killed(here: World) -> None:
    async def scene() -> None:
        container = await here.shell(f'setsid sh -c "{DEAF}" & wait')
        await until(filled(here.root / "deaf"))
        assert (await container.terminate(0.3)).signal == signal.SIGTERM
        assert here.processes() == []

    asyncio.run(scene())


def test_a_paused_shim_does_not_keep_its_command_alive(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("setsid sleep 600 & echo > ready; wait")
        await until(filled(here.root / "ready"))
        record = container.directory.record()
        assert record is not None
        os.kill(record.shim.pid, signal.SIGSTOP)
        assert (await container.terminate(0)).signal == signal.SIGKILL

    asyncio.run(scene())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_shim_does_not_disturb_the_work(here: World, number: int) -> None:
    async def scene() -> None:
        container = await here.shell("while ! [ -e go ]; do sleep 0.02; done; exit 6")
        record = container.directory.record()
        assert record is not None
        os.kill(record.shim.pid, number)
        (here.root / "go").touch()
        assert (await container.wait()).exit_code == 6

    asyncio.run(scene())


def test_the_shim_and_the_command_have_sessions_of_their_own(here: World) -> None:
    async def scene() -> None:
        container = await here.start("sleep", "600")
        record = container.directory.record()
        assert record is not None
        assert os.getsid(record.shim.pid) == record.shim.pid
        assert os.getsid(record.command.pid) == os.getpgid(record.command.pid) == container.pid
        await container.terminate(20)

    asyncio.run(scene())


def test_all_are_stopped_together(here: World) -> None:
    async def scene() -> None:
        names = ("one", "two", "three")
        containers = [await here.shell(DEAF.replace("> deaf", f"> {name}"), name=name) for name in names]
        for name in names:
            await until(filled(here.root / name))
        polite = await here.start("sleep", "600", name="polite")
        exits = await asyncio.gather(polite.terminate(20), *(container.terminate(0.2) for container in containers))
        assert [ended.exit_code for ended in exits] == [143, 137, 137, 137]

    asyncio.run(scene())


def test_giving_up_waiting_leaves_the_work_alone(here: World) -> None:
    async def scene() -> None:
        container = await here.start("sleep", "600")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(container.wait(), 0.05)
        assert container.running
        assert (await container.terminate(20)).exit_code == 143

    asyncio.run(scene())


def test_to_end_what_has_ended_is_no_mistake(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("exit 2")
        ended = await container.wait()
        assert await container.terminate(5) == ended

    asyncio.run(scene())


def test_a_directory_belongs_to_one_attempt(here: World) -> None:
    async def scene() -> None:
        container = await here.start("sleep", "600")
        with pytest.raises(AlreadyStarted, match="was started before"):
            await here.start("true")
        kept = KeptLogs(here.root / "kept", LogLimits())
        with pytest.raises(AlreadyStarted, match="still runs"):
            kept.take_run(container.directory, container.spec.pod.uid, "main")
        await container.terminate(20)
        with pytest.raises(AlreadyStarted):
            await here.start("true")
        kept.take_pod(here.root / "pods", container.spec.pod.uid)
        assert list((here.root / "pods").iterdir()) == []

    asyncio.run(scene())


def test_only_the_owner_can_read_what_is_kept(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("exit 0")
        await container.wait()
        path = container.directory.path
        assert {stat.S_IMODE(one.stat().st_mode) for one in (path, *path.parents[:2])} == {0o700}
        assert {stat.S_IMODE(one.stat().st_mode) for one in path.iterdir()} == {0o600}

    asyncio.run(scene())


@pytest.mark.parametrize("uid", ["", "..", ".", "a/b", "../a", "a\0", "a\n", "-a", "a" * 200])
def test_a_pod_uid_cannot_lead_out_of_the_directory(tmp_path: Path, uid: str) -> None:
    with pytest.raises(InvalidContainer, match="pod uid"):
        Directory.of(tmp_path, uid, "main")


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "a.b", "a\n", "x" * 64])
def test_a_container_name_cannot_lead_out_of_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidContainer, match="container name"):
        Directory.of(tmp_path, "uid", name)


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"command": ()}, "no command"),
        ({"command": ("",)}, "no command"),
        ({"command": ("echo", "a\0b")}, "no process can be given"),
        ({"command": ("echo", "\ud800")}, "no process can be given"),
        ({"environment": {"A=B": "c"}}, "'A=B' cannot be the name of a variable"),
        ({"environment": {"": "c"}}, "'' cannot be the name of a variable"),
        ({"working_directory": "here"}, "not an absolute path"),
        ({"umask": 0o1000}, "umask 1000"),
        ({"log_limit": 0}, "must be positive"),
        ({"name": "../up"}, "container name"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_made(here: World, change: dict[str, object], want: str) -> None:
    async def scene() -> None:
        spec = msgspec.structs.replace(here.spec("true"), **change)
        with pytest.raises(InvalidContainer, match=want):
            await ContainerProcess.start(here.directory(), spec)
        assert not (here.root / "pods").exists()

    asyncio.run(scene())
