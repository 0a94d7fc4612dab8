"""Nobody gets in without a token: no other user, no page in a browser, nobody who reads files or takes over a port."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.command import REPRIEVE, environment
from tests.cli.running import HOLLOW, Running, call, running, until

PODS = "/api/v1/namespaces/default/pods"
PATHS = (
    PODS,
    "/api",
    "/apis",
    "/version",
    "/openapi/v3",
    "/metrics",
    "/plan",
    "/decisions",
    "/units?name=a",
    "/shadow",
)
NOBODY = 65534
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "intruder"},
    "spec": {"containers": [{"name": "main", "image": "x", "command": ["true"]}]},
}


@pytest.fixture
def http(plane: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=plane.wait_for_address()) as client:
        yield client


@pytest.mark.parametrize("path", [*PATHS, "/no/such/path", "/ws/v1/partitions", "/explain/Pod/default/a"])
def test_without_a_token_nothing_is_told(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_whether_it_lives_may_be_asked_by_anybody(http: httpx.Client, path: str) -> None:
    assert (http.get(path).status_code, http.get(path).text) == (200, "ok")


def test_almost_the_token_is_not_the_token(plane: Running, http: httpx.Client) -> None:
    right = plane.token()
    for token in ("x", right[:-1], right + "x", right.upper(), right[::-1], "ü", "a" * 10_000):
        answer = http.get(PODS, headers={b"authorization": f"Bearer {token}".encode("latin-1")})
        assert answer.status_code == 401, token
        assert http.get(f"/bearer/{token}{PODS}").status_code == 401, token
    for path in (f"/bearer{PODS}", f"/bearer/{PODS}", "/bearer", "/bearer/"):
        assert http.get(path).status_code == 401, path
    assert http.get(PODS, headers={"authorization": f"Basic {right}"}).status_code == 401
    assert http.get(PODS, params={"token": right}).status_code == 401
    assert http.get(PODS, headers={"authorization": f"bearer  {right}"}).status_code == 200
    assert http.get(f"/bearer/{right}{PODS}").status_code == 200
    assert http.get(f"/bearer/{right}/healthz").status_code == 200


def test_its_own_user_does_not_notice(plane: Running) -> None:
    assert plane.ok("get", "nodes", "-o", "name").lines == ["node/hollow-1", "node/hollow-2"]
    assert plane.ok("get", "nodes", "--server", plane.wait_for_address().replace("127.0.0.1", "localhost"))


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_gets_in_with_the_kubeconfig_that_was_written(plane: Running, tmp_path: Path) -> None:
    with_it = {**environment(), "HOME": str(tmp_path), "KUBECONFIG": str(plane.directory / "kubeconfig")}
    done = subprocess.run(["kubectl", "get", "nodes", "-o", "name"], env=with_it, capture_output=True, check=False)
    assert done.stdout.decode().splitlines() == ["node/hollow-1", "node/hollow-2"], done.stderr
    without = {**with_it, "KUBECONFIG": "/dev/null"}
    server = ["kubectl", "--server", plane.wait_for_address(), "get", "nodes"]
    assert subprocess.run(server, env=without, capture_output=True, check=False).returncode != 0


# Files


def test_files_are_the_owners_alone_whatever_the_umask_and_the_directory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    data.chmod(0o755)
    (data / "store.db").touch(mode=0o666)
    (data / "store.db").chmod(0o666)
    before = os.umask(0)
    try:
        with running(tmp_path, "--agent", "process") as plane:
            plane.ok("get", "nodes")
            seen = [file for file in (*data.rglob("*"), *plane.home.rglob("*")) if not file.is_symlink()]
            loose = {str(file): oct(file.stat().st_mode) for file in seen if file.stat().st_mode & 0o077}
            home = str(plane.home)
            assert {name for name in loose if name != home} == set()
            assert {"token", "kubeconfig", "store.db", "history.db", "server.json"} <= {file.name for file in seen}
    finally:
        os.umask(before)
    assert stat.S_IMODE(data.stat().st_mode) == 0o755  # a directory that was there is its owner's business


def test_a_data_directory_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o777)
    done = call("up", "--data", str(tmp_path / "data"), "--port", "0", *HOLLOW, XDG_DATA_HOME=str(tmp_path))
    assert (done.code, done.stdout) == (2, "")
    assert "can be written by others" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_a_token_that_somebody_else_put_there_is_not_used(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "token").write_text("known-to-me\n")
    os.chown(data / "token", NOBODY, NOBODY)
    done = call("up", "--data", str(data), "--port", "0", *HOLLOW, XDG_DATA_HOME=str(tmp_path))
    assert done.code == 2
    assert "belongs to another user" in done.stderr


def test_a_token_outlives_a_restart_and_is_not_told_to_anybody(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as plane:
        first = plane.token()
        assert first not in plane.said("Ctrl-C")
    with running(tmp_path, *HOLLOW) as plane:
        assert plane.token() == first
        environ = Path(f"/proc/{plane.process.pid}/environ")
        assert not environ.exists() or first.encode() not in environ.read_bytes()
        assert first.encode() not in Path(f"/proc/{plane.process.pid}/cmdline").read_bytes()


_LISTEN = """
import socket, sys, os
os.setuid({user})
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
caught, _ = listener.accept()
print(caught.recv(4096), flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_whoever_takes_the_port_of_one_that_ended_is_not_told_the_token() -> None:
    script = _LISTEN.format(user=NOBODY)
    with subprocess.Popen(["/usr/bin/env", "python3", "-c", script], stdout=subprocess.PIPE, text=True) as thief:
        assert thief.stdout is not None
        port = thief.stdout.readline().strip()
        # Root may be trusted with anybody's token, so that the one who asks is a third user.
        code = f"import os; from reprieve.cli import addresses as a; os.setuid({NOBODY - 1}); "
        code += f"print(a.is_somebody_elses('http://127.0.0.1:{port}'), a.is_somebody_elses('http://127.0.0.1:1'))"
        try:
            asked = subprocess.run([REPRIEVE[0], "-c", code], capture_output=True, text=True, check=True)
        finally:
            thief.kill()
    assert asked.stdout.split() == ["True", "False"]


# Who wants it otherwise


def test_without_a_token_it_says_what_that_means(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW, "--insecure-no-token") as plane:
        assert "every user and every program of this machine may do what its owner may" in plane.said("Ctrl-C")
        url = plane.wait_for_address()
        assert httpx.get(f"{url}{PODS}").status_code == 200
        assert httpx.get(f"{url}{PODS}", headers={"host": "evil.example"}).status_code == 403
        assert not (plane.directory / "token").exists()


def test_a_token_in_the_environment_does_not_reach_a_job(tmp_path: Path) -> None:
    with running(tmp_path, "--agent", "process", REPRIEVE_TOKEN="from-outside") as plane:  # noqa: S106
        given: dict[str, Any] = {"REPRIEVE_TOKEN": "from-outside"}
        plane.ok("submit", "--name", "env", "--cpu", "100m", "--", "/usr/bin/env", **given)
        until(lambda: plane.run("logs", "job/env", **given).stdout)
        assert "from-outside" not in plane.ok("logs", "job/env", **given).stdout


# Pages


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:3000"},
        {"origin": "http://127.0.0.1"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none", "origin": "http://evil.example"},
    ],
)
@pytest.mark.parametrize("path", [PODS, "/metrics", "/healthz"])
def test_pages_of_others_are_refused_even_with_the_token(plane: Running, headers: dict[str, str], path: str) -> None:
    with plane.http() as http:
        assert http.get(path, headers=headers).status_code == 403
        assert http.post(path, json=POD, headers=headers).status_code == 403
        assert http.get(f"{PODS}/intruder").status_code == 404


def test_pages_of_its_own_are_served(plane: Running) -> None:
    with plane.http() as http:
        own = {"origin": plane.wait_for_address(), "sec-fetch-site": "same-origin"}
        assert http.get(PODS, headers=own).status_code == 200


@pytest.mark.parametrize(
    "declared", [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_body_has_to_say_that_it_is_no_form(plane: Running, declared: str | None) -> None:
    """What a page can send without asking first has one of these types, or none."""
    headers = {"authorization": f"Bearer {plane.token()}", "origin": plane.wait_for_address()}
    headers |= {} if declared is None else {"content-type": declared}
    with httpx.Client(base_url=plane.wait_for_address(), headers=headers) as http:
        for path in (PODS, "/plan"):
            answer = http.post(path, content=json.dumps(POD).encode())
            assert (answer.status_code, answer.json()["reason"]) == (415, "UnsupportedMediaType")
        answer = http.patch(f"{PODS}/a", content=b"{}")
        assert answer.status_code == 415
        assert http.get(f"{PODS}/intruder").status_code == 404
