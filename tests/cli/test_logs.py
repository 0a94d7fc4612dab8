"""`reprieve logs`, and `submit` with real processes: what a command writes, while it runs and afterwards."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprieve.cli.logs import seconds_in
from reprieve.cli.options import BadUsage
from tests.builders.pods import pod, to_yaml
from tests.cli.command import REPRIEVE
from tests.cli.running import HOLLOW, Running, running, until

TWO = "echo one; echo two"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """This machine as a node, and a hollow one beside it."""
    agents = ("--agent", "process", *HOLLOW)
    with running(tmp_path_factory.mktemp("logs"), *agents) as plane:
        until(lambda: any(not item["metadata"]["name"].startswith("hollow") for item in plane.get("nodes")["items"]))
        plane.ok("delete", "node", "hollow-1", "hollow-2")
        yield plane


@pytest.fixture(autouse=True)
def _clean(plane: Running) -> Iterator[None]:
    yield
    plane.ok("delete", "jobs", "--all")
    until(lambda: not plane.pods())


def submit(plane: Running, name: str, script: str, *options: str) -> None:
    plane.ok("submit", "--name", name, "--cpu", "10m", *options, "--", "sh", "-c", script)


def test_what_a_command_wrote_is_read_by_job_and_by_pod(plane: Running) -> None:
    done = plane.ok("submit", "--name", "two", "--cpu", "10m", "--wait", "--", "sh", "-c", TWO)
    assert done.lines == ["job.batch/two created", "job.batch/two complete"]
    assert plane.ok("logs", "job/two").lines == ["one", "two"]
    (name,) = plane.pods("-l", "app=two")
    assert plane.ok("logs", name, "--tail", "1").lines == ["two"]
    assert plane.ok("logs", f"pod/{name}", "-c", "main").lines == ["one", "two"]


def test_it_runs_where_it_was_submitted_with_what_it_was_given(plane: Running, tmp_path: Path) -> None:
    command = ("--", "sh", "-c", 'echo "$PWD $COLOUR $(echo x$(echo y)) $$$$" | sed "s/[0-9]*$/pid/"')
    given = ("--env", "PATH", "--env", "COLOUR=$(PATH)$$")
    plane.ok("submit", "--name", "here", "--cpu", "10m", *given, "--wait", *command, cwd=tmp_path)
    assert plane.ok("logs", "job/here").lines == [f"{tmp_path} $(PATH)$$ xy pid"]


def test_a_command_that_fails_is_told_and_is_1(plane: Running) -> None:
    done = plane.run("submit", "--name", "fails", "--cpu", "10m", "--wait", "--", "sh", "-c", "echo no; exit 3")
    assert done.code == 1
    assert done.lines == ["job.batch/fails created"]
    assert done.stderr.startswith("error: job.batch/fails has failed")


def test_following_waits_for_the_start_and_ends_with_the_command(plane: Running, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    submit(plane, "slow", f"echo begun; while [ ! -e {gate} ]; do sleep 0.1; done; echo ended")
    with subprocess.Popen(
        [*REPRIEVE, "logs", "-f", "job/slow"], stdout=subprocess.PIPE, text=True, env=plane.environment()
    ) as logs:
        assert logs.stdout is not None
        assert logs.stdout.readline() == "begun\n"
        gate.touch()
        assert logs.stdout.read() == "ended\n"
        assert logs.wait(30) == 0


def test_ctrl_c_ends_the_following_and_not_the_command(plane: Running) -> None:
    submit(plane, "on", "echo begun; sleep 600")
    with subprocess.Popen(
        [*REPRIEVE, "logs", "-f", "job/on"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=plane.environment(),
    ) as logs:
        assert logs.stdout is not None
        assert logs.stderr is not None
        assert logs.stdout.readline() == "begun\n"
        logs.send_signal(signal.SIGINT)
        assert logs.wait(30) == 130
        assert logs.stderr.read() == ""
    assert [each["status"]["phase"] for each in plane.pods().values()] == ["Running"]


def test_of_several_pods_one_is_read_and_named(plane: Running) -> None:
    submit(plane, "many", "echo here; sleep 600", "--replicas", "2")
    until(lambda: [each["status"]["phase"] for each in plane.pods().values()] == ["Running"] * 2)
    until(lambda: plane.ok("logs", "job/many").lines == ["here"])
    assert plane.ok("logs", "job/many").stderr.startswith("There are 2 pods; this is many-")


@pytest.mark.parametrize(
    ("arguments", "code", "want"),
    [
        (("nobody",), 1, 'pods "nobody" not found'),
        (("job/nobody",), 1, 'jobs.batch "nobody" not found'),
        (("planet/x",), 2, "'planet' is not a kind that is stored"),
        (("x", "--since", "yesterday"), 2, "--since: 'yesterday' cannot be used"),
    ],
)
def test_what_cannot_be_read(plane: Running, arguments: tuple[str, ...], code: int, want: str) -> None:
    done = plane.run("logs", *arguments)
    assert (done.code, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert want in done.stderr


def test_a_pod_that_waits_has_written_nothing(plane: Running) -> None:
    plane.ok("apply", "-f", "-", stdin=to_yaml(pod("giant", cpu="9999")))
    done = plane.run("logs", "giant")
    assert done.code == 1
    assert done.stderr.startswith("error: ")
    plane.ok("delete", "pod", "giant")


@pytest.mark.parametrize(("text", "want"), [("90", 90), ("30s", 30), ("5m", 300), ("1h30m", 5400), ("1h2m3s", 3723)])
def test_durations(text: str, want: int) -> None:
    assert seconds_in(text) == want


@pytest.mark.parametrize("text", ["", "m", "1d", "-5s", "5m1h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(BadUsage, match="it must be a duration"):
        seconds_in(text)
