"""Jobs are kept apart from the control plane that runs them, as far as one user can be kept from itself."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Running, running, until

ROOT = os.geteuid() == 0
_ESCAPE = "env -i setsid sh -c 'echo $$ > {0}; exec sleep 1000' & while [ ! -s {0} ]; do :; done; kill -9 $PPID"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("jobs"), "--agent", "process") as found:
        yield found


def end_of(plane: Running, name: str) -> dict[str, Any]:
    """How the pod of a job ended."""

    def ended() -> Any:
        pods = [pod for each, pod in plane.pods().items() if each.startswith(f"{name}-")]
        return next((pod for pod in pods if pod["status"]["phase"] in ("Succeeded", "Failed")), None)

    found: dict[str, Any] = until(ended)
    return found


def submit(plane: Running, name: str, script: str) -> None:
    options = ("--name", name, "--cpu", "10m", "--memory", "10Mi", "--retries", "0", "--restart", "Never")
    plane.ok("submit", *options, "--", "/bin/sh", "-c", script)


def test_a_job_cannot_forge_its_success(plane: Running) -> None:
    """It writes what its shim would write of a good end, and kills the shim before that can say otherwise."""
    good = {"exitCode": 0, "signal": 0, "reason": "Completed", "message": "", "mac": "0" * 64}
    good |= {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}
    there = f"{plane.directory}/agent/pods/$REPRIEVE_POD_UID/main/0"
    forge = f"cd {there} && echo '{json.dumps(good)}' > exit.json && kill -9 $PPID; exit 1"
    submit(plane, "forger", forge)
    pod = end_of(plane, "forger")
    assert pod["status"]["phase"] == "Failed"
    (status,) = pod["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 137


def test_a_pipe_in_the_place_of_what_a_shim_writes_holds_up_nobody(plane: Running) -> None:
    """Whoever opened it would wait until somebody writes, and nobody does."""
    there = f"{plane.directory}/agent/pods/$REPRIEVE_POD_UID/main/0"
    files = "exit.json process.json stop.json kept.json shim.log"
    submit(plane, "piper", f"cd {there} && rm -f {files}; mkfifo {files} && kill -9 $PPID; exit 1")
    assert end_of(plane, "piper")["status"]["phase"] == "Failed"
    plane.ok("delete", "job", "piper")
    with plane.http() as http:
        assert http.get("/healthz", timeout=5).status_code == 200


def test_variables_that_would_fill_any_memory_are_refused(plane: Running) -> None:
    variables = [{"name": "A0", "value": "x" * 64}]
    variables += [{"name": f"A{number}", "value": f"$(A{number - 1})" * 2} for number in range(1, 60)]
    container = {"name": "main", "image": "x", "command": ["true"], "env": variables}
    spec = {"restartPolicy": "Never", "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "laughs-1"}, "spec": spec}
    plane.ok("apply", "-f", "-", stdin=json.dumps(pod))
    (status,) = end_of(plane, "laughs")["status"]["containerStatuses"]
    assert "more than 2097152 letters" in status["state"]["terminated"]["message"]


def test_a_job_that_kills_its_shim_is_still_ended(plane: Running, tmp_path: Path) -> None:
    """Its child has another session and another environment: nothing tells that it belongs to the job."""
    left = tmp_path / "left"
    escape = (
        f"env -i setsid sh -c 'echo $$ > {left}; exec sleep 1000' & while [ ! -s {left} ]; do :; done; kill -9 $PPID"
    )
    submit(plane, "escaper", escape)
    assert end_of(plane, "escaper")["status"]["phase"] == "Failed"
    pid = int(left.read_text())
    until(lambda: not Path(f"/proc/{pid}").exists() or "(sleep) Z" in Path(f"/proc/{pid}/stat").read_text())


def test_the_same_without_control_groups(tmp_path: Path) -> None:
    """As on a machine that has none: the orphan comes to the agent, which never started it."""
    code = """
import asyncio, os, sys
from pathlib import Path
from reprieve.agents.process.containers import ContainerSpec, Directory, PodIdentity
from reprieve.agents.process.processes import ContainerProcess
from reprieve.agents.process.remains import take_in_orphans

async def main(root, script):
    take_in_orphans()
    spec = ContainerSpec(pod=PodIdentity("a", "b", "uid", "n"), name="main", command=("/bin/sh", "-c", script))
    spec = __import__("msgspec").structs.replace(spec, environment={"PATH": os.environ["PATH"]})
    print((await (await ContainerProcess.start(Directory.of(root / "pods", "uid", "main"), spec)).wait()).exit_code)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""
    left = tmp_path / "left"
    escape = (
        f"env -i setsid sh -c 'echo $$ > {left}; exec sleep 1000' & while [ ! -s {left} ]; do :; done; kill -9 $PPID"
    )
    command = [sys.executable, "-c", code, str(tmp_path), escape]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.strip() == "137", done.stderr
    assert not Path(f"/proc/{int(left.read_text())}").exists()


@pytest.mark.skipif(not ROOT, reason="only root can be two users")
def test_what_the_control_plane_knows_is_not_read_by_others_of_its_user() -> None:
    code = """
import os, subprocess, sys
from reprieve.agents.process.shim.command import process_control
from reprieve.cli.up.access import close_to_others
os.setgid(65534); os.setuid(65534)
process_control()(4, 1)  # to change the user closes a process; one that has always been that user is open
look = ["/bin/cat", f"/proc/{os.getpid()}/environ"]
if len(sys.argv) > 1:
    close_to_others(None)
print(subprocess.run(look, capture_output=True).returncode)
"""
    given = {**os.environ, "REPRIEVE_TOKEN": "secret"}
    for closed, want in (((), "0"), (("closed",), "1")):
        command = [sys.executable, "-c", code, *closed]
        done = subprocess.run(command, capture_output=True, text=True, env=given, check=False)
        assert done.stdout.strip() == want, done.stderr


def test_a_node_says_how_far_limits_are_enforced(plane: Running) -> None:
    (node,) = plane.get("nodes")["items"]
    shown = plane.ok("describe", "node", node["metadata"]["name"]).stdout
    assert re.search(r"LimitsEnforced\s+(True|False)", shown)
    assert re.search(r"limits of (cpu and memory|memory|cpu) are enforced", " ".join(shown.split()))


def test_a_limit_of_memory_is_kept(plane: Running) -> None:
    greedy = [sys.executable, "-c", "x = bytearray(400_000_000); print(len(x))"]
    container = {"name": "main", "image": "x", "command": greedy, "resources": {"limits": {"memory": "200Mi"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "greedy-1"},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    plane.ok("apply", "-f", "-", stdin=json.dumps(pod))
    assert end_of(plane, "greedy")["status"]["phase"] == "Failed"


@pytest.mark.skipif(not ROOT, reason="only root can be two users")
def test_namespaces_have_users_of_their_own(tmp_path: Path) -> None:
    nobody = pwd.getpwuid(65534)
    with running(tmp_path, "--agent", "process", "--user", f"alice={nobody.pw_name}") as plane:
        plane.ok("apply", "-f", "-", stdin="apiVersion: v1\nkind: Namespace\nmetadata: {name: alice}\n")
        look = f"id -u; cat {plane.directory}/token; kill -9 $PPID; echo $HOME $USER; exit 3"

        def pod(namespace: str) -> str:
            container = {"name": "main", "image": "x", "command": ["/bin/sh", "-c", look], "workingDir": "/"}
            metadata = {"name": "looks", "namespace": namespace}
            spec = {"restartPolicy": "Never", "containers": [container]}
            return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

        plane.ok("apply", "-f", "-", stdin=pod("alice"))
        until(lambda: plane.pods("-n", "alice")["looks"]["status"]["phase"] == "Failed")
        status = plane.pods("-n", "alice")["looks"]["status"]["containerStatuses"][0]["state"]["terminated"]
        assert status["exitCode"] == 3  # the shim is root's, and lives to tell
        said = plane.ok("logs", "-n", "alice", "looks").stdout
        assert said.splitlines()[0] == "65534"
        assert plane.token() not in said
        assert f"{nobody.pw_dir} {nobody.pw_name}" in said
        plane.ok("apply", "-f", "-", stdin=pod("default"))
        until(lambda: plane.pods()["looks"]["status"]["phase"] == "Failed")
        assert "namespace default has no user to run as" in json.dumps(plane.pods()["looks"]["status"])
