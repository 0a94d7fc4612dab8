"""What the README does by hand: real processes share this machine, and the less important one makes way and returns."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.cli.running import Running, running, until

TELL = "echo started; trap 'echo stopped; exit 1' TERM; while :; do sleep 0.1; done"


def cpus(plane: Running) -> str:
    plane.wait_for_address()
    (node,) = until(lambda: plane.get("nodes")["items"])
    return str(node["status"]["allocatable"]["cpu"])


def phases(plane: Running, name: str) -> list[str]:
    return [each["status"]["phase"] for each in plane.pods("-l", f"app={name}").values()]


def test_one_that_fills_the_machine_makes_way_and_returns(tmp_path: Path) -> None:
    gate, record = tmp_path / "gate", tmp_path / "record"
    with running(tmp_path, "--agent", "process") as plane:
        all_of_it = cpus(plane)
        plane.ok("submit", "--name", "low", "--cpu", all_of_it, "--", "sh", "-c", f"exec >> {record}; {TELL}")
        until(lambda: record.exists() and record.read_text() == "started\n")
        important = f"while [ ! -e {gate} ]; do sleep 0.1; done; echo done"
        plane.ok("submit", "--name", "vip", "--cpu", all_of_it, "--priority", "100", "--", "sh", "-c", important)
        until(lambda: record.read_text() == "started\nstopped\n")
        until(lambda: phases(plane, "vip") == ["Running"])
        assert phases(plane, "low") == ["Pending"]
        assert "was preempted at" in plane.ok("explain", "job/low").stdout
        gate.touch()
        until(lambda: record.read_text() == "started\nstopped\nstarted\n")
        assert plane.ok("logs", "job/vip").lines == ["done"]
        assert plane.get("job", "vip")["status"]["succeeded"] == 1
        assert plane.stop(signal.SIGINT) == 0
        assert plane.errors.read_text() == ""


def test_a_second_signal_stops_at_once_and_what_runs_is_found_again(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    stubborn = f"trap '' TERM; echo $$ > {file}; while :; do sleep 0.1; done"
    with running(tmp_path, "--agent", "process") as plane:
        plane.ok("submit", "--name", "stubborn", "--cpu", "10m", "--", "sh", "-c", stubborn)
        until(lambda: file.exists() and file.read_text().strip())
        (pod,) = plane.pods()
        plane.process.send_signal(signal.SIGINT)
        plane.said("Ctrl-C again stops at once")
        assert plane.stop(signal.SIGINT) == 130
        assert plane.output.read_text().splitlines()[-1] == "Stopped at once."
    number = int(file.read_text())
    assert _lives(number)
    with running(tmp_path, "--agent", "process") as plane:
        plane.ok("delete", "pod", pod, "--force")
        until(lambda: not _lives(number))


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True
