"""What earlier attempts wrote: read after they were preempted, failed or deleted, after a restart and after a kill."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.builders.pods import pod, to_yaml
from tests.cli.explain.test_live import CLASSES
from tests.cli.running import Running, running, until

PROCESSES = ("--agent", "process")
CHECKPOINT = "trap 'echo checkpoint at step 7; exit 0' TERM; echo begun; while :; do sleep 0.1; done"
POD = r"Pod/default/work-\w{5}"


def _cpu(plane: Running) -> str:
    (node,) = until(lambda: plane.get("nodes")["items"])
    return str(node["status"]["allocatable"]["cpu"])


def _runs(plane: Running, name: str) -> bool:
    return [each["status"].get("phase") for each in plane.pods("-l", f"app={name}").values()] == ["Running"]


def _preempt(plane: Running) -> None:
    """`work` has written something, and something more when it had to go; `boss` has its place."""
    cpu = _cpu(plane)
    plane.ok("apply", "-f", "-", stdin=to_yaml(*CLASSES))
    plane.ok("submit", "--name", "work", "--cpu", cpu, "--", "sh", "-c", CHECKPOINT)
    until(lambda: _runs(plane, "work") and plane.run("logs", "job/work").lines == ["begun"])
    plane.ok("submit", "--name", "boss", "--cpu", cpu, "--priority", "higher", "--", "sleep", "600")
    until(lambda: _runs(plane, "boss") and len(plane.pods("-l", "app=work")) == 1)
    until(lambda: "(pending)" in plane.ok("explain", "job/work").stdout)


def _wrote(lines: list[str]) -> bool:
    return lines[0] == "begun" and lines[-1] == "checkpoint at step 7"


def _killed(plane: Running) -> None:
    """Without warning: it has no time to remove its address."""
    plane.process.kill()
    plane.process.wait()
    (plane.directory / "server.json").unlink()


def test_last_words_about_a_checkpoint_are_read_whatever_happens(tmp_path: Path) -> None:
    with running(tmp_path, *PROCESSES) as plane:
        _preempt(plane)
        for asked in (("--previous",), ("--attempt", "1")):
            done = plane.ok("logs", "job/work", *asked)
            assert _wrote(done.lines)
            assert re.fullmatch(rf"This is attempt 1 of 2: {POD} \(preempted at .*Z\)\.\n", done.stderr)
        (name,) = plane.pods("-l", "app=work")
        assert plane.run("logs", "job/work").stderr == f'error: container "main" in pod "{name}" is waiting to start\n'
        _killed(plane)
    with running(tmp_path, *PROCESSES) as plane:
        assert _wrote(plane.ok("logs", "job/work", "--previous").lines)
        plane.ok("delete", "job/work", "job/boss")
        until(lambda: not plane.pods())
        done = plane.ok("logs", "job/work")
        assert _wrote(done.lines)
        assert done.stderr.startswith("job.batch/work has no pod now.\nThis is attempt 1 of 2: ")
        assert plane.stop() == 0
    with running(tmp_path, *PROCESSES) as plane:
        lines = plane.ok("logs", "job/work", "--all").lines
        assert re.fullmatch(rf"==> attempt 1: {POD} \(preempted at .*Z\) <==", lines[0])
        assert _wrote(lines[1:-1])
        assert re.fullmatch(rf"==> attempt 2: {POD} \(deleted at .*Z\) <==", lines[-1])
        text = plane.ok("explain", "work").stdout
        assert re.match(rf"Job/default/work: 2 attempts: {POD} \(preempted\), {POD} \(deleted\)\n", text)


def _shell(name: str, script: str, **spec: Any) -> str:
    made = pod(name, cpu="10m", spec={"restartPolicy": "Never", **spec})
    made["spec"]["containers"][0] |= {"command": ["/bin/sh", "-c", script]}
    return to_yaml(made)


def test_runs_of_one_pod_and_pods_of_one_name_are_attempts(tmp_path: Path) -> None:
    with running(tmp_path, *PROCESSES) as plane:
        mark = tmp_path / "mark"
        again = f"if [ -e {mark} ]; then echo second; sleep 600; fi; touch {mark}; echo first; exit 3"
        plane.ok("apply", "-f", "-", stdin=_shell("p", again, restartPolicy="OnFailure"))
        until(lambda: plane.run("logs", "p").lines == ["second"])
        assert plane.ok("logs", "p", "--previous").lines == ["first"]
        plane.ok("delete", "pod", "p", "--grace-period", "0")
        until(lambda: "p" not in plane.pods())
        assert plane.ok("logs", "p").lines == ["second"]
        plane.ok("apply", "-f", "-", stdin=_shell("p", "echo third; exit 1"))
        until(lambda: plane.pods()["p"]["status"]["phase"] == "Failed")
        assert plane.ok("logs", "p").lines == ["third"]
        assert plane.ok("logs", "p", "--previous").lines == ["second"], "the pod that had its name before"
        lines = plane.ok("logs", "p", "--all").lines
        assert [line for line in lines if not line.startswith("==>")] == ["first", "second", "third"]
        stands = [re.sub(r" at .*Z", "", line.partition("(")[2]) for line in lines if line.startswith("==>")]
        assert stands == ["exited with 3) <==", "deleted) <==", "failed) <=="]
        story = plane.ok("explain", "p").stdout
        assert "failed  Pod/default/p failed: main exited with 1" in story


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with running(tmp_path, *PROCESSES) as plane:
        plane.ok("apply", "-f", "-", stdin=_shell("p", "echo only"))
        until(lambda: plane.pods()["p"]["status"]["phase"] == "Succeeded")
        for arguments, code, want in (
            (("--attempt", "2"), 2, "--attempt: pod/p has 1 attempt, no 2: 1: Pod/default/p (succeeded at "),
            (("--attempt", "1", "--all"), 2, "only one of --previous, --attempt and --all can be given"),
            (("--attempt", "1", "--follow"), 2, "it cannot be followed"),
            (("--previous",), 1, 'previous terminated container "main" in pod "p" not found'),
            (("--attempt", "1", "-c", "other"), 1, "has written nothing that is kept"),
        ):
            done = plane.run("logs", "p", *arguments)
            assert (done.code, done.stdout) == (code, ""), arguments
            assert want in done.stderr, (arguments, done.stderr)
