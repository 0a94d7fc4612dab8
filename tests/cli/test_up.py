"""`reprieve up`: it says what it does, is found by the other commands, and stops as it should."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from tests.builders.pods import pod, to_yaml
from tests.cli.command import REPRIEVE, environment
from tests.cli.running import HOLLOW, Running, call, running, until
from tests.paths import ROOT


def test_it_says_where_it_is_what_it_keeps_and_how_to_stop_it(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as plane:
        url = plane.wait_for_address()
        said = plane.said("Ctrl-C").splitlines()
        assert [line for line in said if "feature gates" not in line] == [  # in a pipe lines stay whole
            f"Reprieve listens on {url}",
            f"data in {plane.directory}",
            "2 hollow nodes, hollow-1 to hollow-2: 4 CPU, 8Gi memory each",
            f"for kubectl: export KUBECONFIG={plane.directory / 'kubeconfig'}",
            "Ctrl-C stops it; what is stored stays.",
        ]
        left = json.loads((plane.directory / "server.json").read_text())
        token = str(plane.directory / "token")
        assert left == {"url": url, "pid": plane.process.pid, "data": str(plane.directory), "tokenFile": token}
        assert (plane.home / "reprieve" / "server.json").stat().st_mode & 0o777 == 0o600
        assert plane.stop(signal.SIGINT) == 0
        assert plane.output.read_text().splitlines()[-2:] == ["Stopping ...", "Stopped."]
        assert plane.errors.read_text() == ""
        assert not (plane.directory / "server.json").exists()
        assert not (plane.home / "reprieve" / "server.json").exists()


def test_it_tells_decisions_as_they_are_made_and_keeps_what_it_was_given(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as plane:
        plane.ok("apply", "-f", "-", stdin=to_yaml(pod("a", cpu="1")))
        assert re.search(r"\d\d:\d\d:\d\d  Pod/default/a fits on hollow-\d; nobody", plane.said("Pod/default/a fits"))
        assert plane.stop(signal.SIGTERM) == 0
    with running(tmp_path, *HOLLOW) as plane:
        assert list(plane.pods()) == ["a"]
        assert plane.ok("explain", "pod/default/a").lines[0].startswith("Decided at ")


def test_manifests_are_applied_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text(to_yaml(pod("first", cpu="1")))
    with running(tmp_path, *HOLLOW, "-f", str(file)) as plane:
        assert "pod/first created" in plane.said("pod/first")
        assert list(plane.pods()) == ["first"]


def test_a_manifest_that_is_refused_stops_it_with_1(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text(to_yaml(pod("first", cpu="1", namespace="nowhere")))
    plane = Running(tmp_path, *HOLLOW, "-f", str(file))
    assert plane.process.wait(60) == 1
    assert plane.errors.read_text() == 'error: namespaces "nowhere" not found\n'


def test_fewer_nodes_than_before_are_what_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path, "--agent", "hollow", "--nodes", "3") as plane:
        chosen = {"nodeSelector": {"kubernetes.io/hostname": "hollow-3"}}
        plane.ok("apply", "-f", "-", stdin=to_yaml(pod("a", cpu="1", spec=chosen)))
        until(lambda: plane.pods()["a"].get("spec", {}).get("nodeName"))
    with running(tmp_path, "--agent", "hollow", "--nodes", "1", "--node-cpu", "2") as plane:
        assert "hollow-3 stays until the pods there have gone" in plane.said("Ctrl-C")
        nodes = {item["metadata"]["name"]: item for item in plane.get("nodes")["items"]}
        assert sorted(nodes) == ["hollow-1", "hollow-3"]
        assert nodes["hollow-1"]["status"]["allocatable"]["cpu"] == "2"
        assert nodes["hollow-3"]["spec"]["unschedulable"] is True


def test_in_shadow_it_decides_and_binds_nobody(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW, "--shadow") as plane:
        plane.ok("apply", "-f", "-", stdin=to_yaml(pod("a", cpu="1")))
        assert "in shadow: decides and records, and writes nothing" in plane.said("Pod/default/a fits")
        assert "nodeName" not in plane.pods()["a"]["spec"]


def test_it_serves_only_the_scheduler_names_it_is_told(tmp_path: Path) -> None:
    mine, other = (pod(name, cpu="1", spec={"schedulerName": name}) for name in ("mine", "other"))
    with running(tmp_path, *HOLLOW, "--scheduler-name", "mine") as plane:
        plane.ok("apply", "-f", "-", stdin=to_yaml(other, mine))
        until(lambda: plane.pods()["mine"]["spec"].get("nodeName"))
        assert "nodeName" not in plane.pods()["other"]["spec"]


def test_a_token_is_wanted_from_everybody(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("correct-horse\n")
    with running(tmp_path, *HOLLOW, "--token-file", str(secret)) as plane:
        url = plane.wait_for_address()
        assert plane.ok("get", "nodes", "-o", "name").lines == ["node/hollow-1", "node/hollow-2"]
        assert plane.ok("get", "nodes", "--server", url)
        refused = call("get", "nodes", "--server", url, XDG_DATA_HOME=str(tmp_path / "of-another-user"))
        assert (refused.code, refused.stdout) == (1, "")
        assert refused.stderr.startswith("error: a token is needed")
        assert plane.run("get", "nodes", "--server", url, "--token", "wrong").code == 1
        assert plane.ok("get", "nodes", "--server", url, "--token", "correct-horse")
        assert plane.ok("get", "nodes", REPRIEVE_SERVER=url, REPRIEVE_TOKEN="correct-horse")  # noqa: S106


def test_what_a_killed_one_left_of_its_kubeconfig_goes_at_the_next_start(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as first:
        gone = first.process.pid
        first.process.kill()
        first.process.wait()
    left, other = (tmp_path / "data" / f".{name}.{gone}.new" for name in ("kubeconfig", "notes"))
    for file in (left, other):
        file.write_text("secret")
    with running(tmp_path, *HOLLOW):
        until(lambda: not left.exists())
    assert other.exists()


def test_a_second_one_leaves_the_first_where_commands_find_it(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as first:
        command = [*REPRIEVE, "up", "--data", str(tmp_path / "other"), "--port", "0", *HOLLOW]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=first.environment()) as other:
            assert other.stdout is not None
            said = [other.stdout.readline() for _ in range(5)]
            other.send_signal(signal.SIGTERM)
            other.stdout.read()
        assert said[4].startswith(f"other commands find {first.wait_for_address()} by default; for this one say")
        assert first.ok("get", "nodes", "-o", "name").lines == ["node/hollow-1", "node/hollow-2"]


# What is wrong is one line, and 2


def test_data_in_use_is_told_with_who_uses_it(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as plane:
        done = call("up", "--data", str(plane.directory), "--port", "0", *HOLLOW, XDG_DATA_HOME=str(plane.home))
        assert (done.code, done.stdout) == (2, "")
        assert done.stderr == f"error: {plane.directory / 'store.db'} is in use by process {plane.process.pid}\n"
        assert plane.ok("get", "nodes")


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = call("up", "--data", str(tmp_path), "--port", port, *HOLLOW, XDG_DATA_HOME=str(tmp_path))
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: 127.0.0.1:{port} is in use by another program")


@pytest.mark.parametrize(
    ("options", "want"),
    [
        (("--config", "missing.yaml"), "error: missing.yaml: cannot be read"),
        (("--config", "bad.yaml"), "error: bad.yaml: $.pbd: unknown field"),
        (("--feature-gates", "Nope=true"), "unknown feature gate"),
        (
            ("--host", "0.0.0.0", "--insecure-no-token"),  # noqa: S104
            "error: this address can be reached from other machines: a token is required",
        ),
        (("--node-cpu", "many"), "error: --node-cpu: 'many': not a quantity"),
        (("-f", "missing.yaml"), "error: missing.yaml: no such file or directory"),
        (("--token-file", "empty"), "error: --token-file: 'empty' cannot be used"),
        (("--token-file", "missing"), "error: missing: No such file or directory"),
        (("--data", "empty"), "empty: File exists"),
        (("--agent", "docker"), "'docker' is not one of"),
    ],
)
def test_what_cannot_be_used_is_told_before_anything_runs(tmp_path: Path, options: tuple[str, ...], want: str) -> None:
    (tmp_path / "bad.yaml").write_text("pbd: Respect\n")
    (tmp_path / "empty").write_text("\n")
    data = () if "--data" in options else ("--data", "data")
    done = call("up", "--port", "0", *HOLLOW, *data, *options, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path / "home"))
    assert done.code == 2
    assert done.stdout == ""
    assert want in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "home" / "reprieve" / "server.json").exists()


# Where there is no control plane


def test_without_one_every_command_says_how_to_start_it(tmp_path: Path) -> None:
    done = call("get", "pods", XDG_DATA_HOME=str(tmp_path))
    assert (done.code, done.stdout) == (1, "")
    want = "no control plane runs on this machine; start one with `reprieve up`, or name one with --server URL"
    assert done.stderr == f"error: {want}\n"


def test_one_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = call("top", "--server", address, XDG_DATA_HOME=str(tmp_path))
    assert done.code == 1
    assert done.stderr.startswith(f"error: http://{address} cannot be reached: ")
    assert "start one with `reprieve up`" in done.stderr


@pytest.mark.parametrize("address", ["ftp://x", "http://", "http://a b", "http://x:port", "http://x:99999"])
def test_an_address_that_is_none_is_bad_usage(tmp_path: Path, address: str) -> None:
    done = call("get", "pods", "--server", address, XDG_DATA_HOME=str(tmp_path))
    assert (done.code, done.stderr) == (
        2,
        f"error: --server: '{address}' is no address such as http://127.0.0.1:7410\n",
    )


# On a terminal


def test_a_terminal_shows_decisions_and_how_full_it_is(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    variables = {**environment(XDG_DATA_HOME=str(tmp_path / "home")), "TERM": "xterm"}
    command = [*REPRIEVE, "up", "--data", str(tmp_path / "data"), "--port", "0", *HOLLOW]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables) as up:
        os.close(theirs)
        os.set_blocking(ours, False)
        seen = b""

        def shows(text: str) -> bool:
            nonlocal seen
            with suppress(OSError):  # nothing to read yet, or nobody there any more
                seen += os.read(ours, 65536)
            return text in seen.decode(errors="replace")

        try:
            until(lambda: shows("0 running, 0 waiting, 0 leaving"))
            home = str(tmp_path / "home")
            assert call("apply", "-f", "-", stdin=to_yaml(pod("a", cpu="3")), XDG_DATA_HOME=home).code == 0
            until(lambda: shows("Pod/default/a fits on hollow-"))
            until(lambda: shows("1 running, 0 waiting, 0 leaving"))
            until(lambda: shows("3/4 (75%)"))
            up.send_signal(signal.SIGINT)
            until(lambda: shows("Stopped."))
            assert up.wait(30) == 0
        finally:
            up.kill()
            os.close(ours)


# kubectl reprieve


def test_the_script_for_kubectl_is_installed_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["scripts"]["kubectl-reprieve"] == "reprieve.cli:kubectl_plugin"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_finds_it_and_passes_everything_on(tmp_path: Path) -> None:
    script = tmp_path / "kubectl-reprieve"
    script.write_text(f"#!{sys.executable}\nfrom reprieve.cli import kubectl_plugin\nkubectl_plugin()\n")
    script.chmod(0o755)
    variables = environment(XDG_DATA_HOME=str(tmp_path), PATH=f"{tmp_path}:{os.environ['PATH']}")
    helped, done = (
        subprocess.run(["kubectl", "reprieve", "get", word], env=variables, capture_output=True, text=True, check=False)
        for word in ("--help", "pods")
    )
    assert "Usage: kubectl reprieve get" in helped.stdout
    assert done.returncode == 1
    assert done.stderr.startswith("error: no control plane runs on this machine")


def test_it_prints_which_feature_gates_are_on_and_off(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW, "--feature-gates", "AllAlpha=true,PriorityBoost=false", COLUMNS="80") as plane:
        said = " ".join(plane.said("Ctrl-C").split())
        lists = (rf"feature gates {word}: ([\w, ]+?)(?: feature gates| \()" for word in ("on", "off"))
        on, off = (re.search(pattern, said) for pattern in lists)
        assert on is not None
        assert off is not None
        assert {"CompositePodGroup", "PriorityBasedScheduling", "PartialAdmission"} <= set(on[1].split(", "))
        assert {"GenericWorkload", "PriorityBoost"} <= set(off[1].split(", "))
        assert "(--feature-gates NAME=true turns one on)" in said
        with plane.http() as http:
            figures = http.get("/metrics").text
        assert 'kubernetes_feature_enabled{name="GenericWorkload",stage="BETA"} 0.0' in figures


def test_a_plan_of_the_server_goes_by_its_own_gates(tmp_path: Path) -> None:
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "train"}}
    gang = {**group, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    tried = to_yaml(gang, pod("a", group="train"))
    for gates, unit in ((), "Pod/default/a"), (("--feature-gates", "AllBeta=true"), "PodGroup/default/train"):
        (tmp_path / unit[:4]).mkdir()
        with running(tmp_path / unit[:4], *HOLLOW, *gates) as plane:
            plane.wait_for_address()
            made = plane.ok("plan", "--live", "--for", "pod/default/a", "-f", "-", "-o", "json", stdin=tried).json()
            assert [each["preemptor"] for each in made["decisions"]] == [unit]
            assert ("GenericWorkload is off" in made["decisions"][0]["message"]) is (not gates)


def test_deleting_a_class_that_running_pods_name_warns_and_top_and_check_tell(tmp_path: Path) -> None:
    with running(tmp_path, *HOLLOW) as plane:
        batch = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "batch"},
            "value": 1,
        }
        plane.ok("apply", "-f", "-", stdin=to_yaml(batch, pod("old", priority_class="batch")))
        where = str(until(lambda: plane.pods()["old"]["spec"].get("nodeName")))
        done = plane.ok("delete", "priorityclass", "batch")
        assert done.stderr.startswith("Warning: Pod/default/old still names PriorityClass batch: ")
        assert ["batch", "pod/old", where] in plane.ok("top").rows
        assert plane.ok("top", "-o", "json").json()["missingClasses"][0]["named by"] == "pod/old"
        listed = json.dumps(plane.get("pods"))
        checked = plane.run("check", "-f", "-", stdin=listed)
        assert (
            f'there is no PriorityClass "batch"; while it is missing, no higher pod can preempt on {where}'
            in checked.stdout
        )
