"""Programs beside the tests: they start, they can be treated badly, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from tests.cli.running import until
from tests.kube.processes import DidNotStart, Process, free_ports
from tests.paths import ROOT

# Says that it is there, by its number, and is deaf to whoever asks it to go if it was told to be. It becomes `sleep`: a
# shell that is halted while it makes a child waits for that child, and does not count as halted.
PROGRAM = """#!/bin/sh
[ "$2" = deaf ] && trap '' TERM
echo $$ >> "$1"
exec sleep 3600
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    place = tmp_path / "program"
    place.write_text(PROGRAM)
    place.chmod(0o755)
    return place


def begun(place: Path) -> list[str]:
    return place.read_text().splitlines() if place.exists() else []


def make(program: Path, *more: str) -> Process:
    said = program.with_name("said")
    process = Process([program, said, *more], program.with_name("log"), lambda: str(process.pid) in begun(said))
    return process


def gone(process: Process) -> bool:
    return not process.running and not psutil.pid_exists(process.pid)


def test_it_is_ready_when_start_comes_back_and_gone_after_stop(program: Path) -> None:
    process = make(program)
    process.start()
    assert process.running
    assert os.getpgid(process.pid) == process.pid
    process.stop()
    assert gone(process)


def test_starting_twice_is_starting_once(program: Path) -> None:
    process = make(program).start()
    before = process.pid
    assert process.start().pid == before
    process.stop()


def test_it_comes_back_as_another_process(program: Path) -> None:
    process = make(program).start()
    before = process.pid
    process.kill()
    process.start()
    assert process.pid != before
    process.restart()
    assert process.running
    process.stop()
    assert len(begun(program.with_name("said"))) == 3


def test_who_does_not_listen_is_killed(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.kube.processes._POLITE", 0.3)
    process = make(program, "deaf").start()
    process.stop()
    assert gone(process)


def test_one_that_is_halted_stays_and_can_be_stopped(program: Path) -> None:
    process = make(program).start()
    process.halt()
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
    process.go_on()
    until(lambda: psutil.Process(process.pid).status() != psutil.STATUS_STOPPED)
    process.halt()
    process.stop()
    assert gone(process)


def test_one_that_ends_shows_the_end_of_its_log(tmp_path: Path) -> None:
    process = Process(["/bin/sh", "-c", "echo no such flag >&2; exit 3"], tmp_path / "log", lambda: False)
    with pytest.raises(DidNotStart, match=r"sh ended.*\n.*no such flag"):
        process.start()


def test_one_that_is_never_ready_is_killed(program: Path) -> None:
    process = Process([program, program.with_name("said")], program.with_name("log"), lambda: False)
    with pytest.raises(DidNotStart, match="not ready after 0 seconds"):
        process.start(patience=0.3)
    assert gone(process)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of the end of their parent")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_it_dies_with_whoever_started_it(program: Path, number: signal.Signals) -> None:
    """However that ends: a test run that is interrupted leaves nothing behind."""
    script = """
    import sys, time
    from pathlib import Path
    from tests.kube.test_processes import make
    print(make(Path(sys.argv[1])).start().pid, flush=True)
    time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(program)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child)
        parent.send_signal(number)
    until(lambda: not psutil.pid_exists(child), 10)


def test_ports_are_different_and_free() -> None:
    assert len(set(free_ports(20))) == 20
