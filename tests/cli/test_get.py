"""`reprieve get`: kinds as people type them, in every form, once or as they change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.builders.pods import pod, to_yaml
from tests.cli.command import REPRIEVE
from tests.cli.running import HOLLOW, Running, running, until


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("get"), *HOLLOW) as plane:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        pods = [
            pod("a", cpu="1", labels={"app": "web"}, spec={"schedulerName": "nobody"}),
            pod("b", cpu="1", labels={"app": "db"}, spec={"schedulerName": "nobody"}),
            pod("c", cpu="1", namespace="other", spec={"schedulerName": "nobody"}),
        ]
        plane.ok("apply", "-f", "-", stdin=to_yaml(space, *pods))
        yield plane


@pytest.mark.parametrize("kind", ["pods", "pod", "po", "Pod", "PODS"])
def test_a_table_whatever_people_call_the_kind(plane: Running, kind: str) -> None:
    rows = plane.ok("get", kind).rows
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[:4] for row in rows[1:]] == [["a", "0/1", "Pending", "0"], ["b", "0/1", "Pending", "0"]]


def test_wide_shows_more(plane: Running) -> None:
    assert plane.ok("get", "nodes", "-o", "wide").lines[0].split()[-2:] == ["CPU", "MEMORY"]
    assert [row[-2:] for row in plane.ok("get", "nodes", "-o", "wide").rows[1:]] == [["4", "8Gi"], ["4", "8Gi"]]
    assert "PRIORITY" in plane.ok("get", "pods", "-o", "wide").lines[0]


def test_columns_stand_below_each_other(plane: Running) -> None:
    lines = plane.ok("get", "pods").lines
    assert len({line.index(word) for line, word in zip(lines[1:], ("Pending", "Pending"), strict=True)}) == 1
    assert lines[0].index("STATUS") == lines[1].index("Pending")


def test_all_namespaces_are_named(plane: Running) -> None:
    rows = plane.ok("get", "pods", "-A").rows
    assert [row[:2] for row in rows] == [["NAMESPACE", "NAME"], ["default", "a"], ["default", "b"], ["other", "c"]]
    assert [row[0] for row in plane.ok("get", "pods", "-n", "other").rows] == ["NAME", "c"]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (("pods",), ["pod/a", "pod/b"]),
        (("pods", "b", "a"), ["pod/b", "pod/a"]),
        (("pod/a", "node/hollow-1"), ["pod/a", "node/hollow-1"]),
        (("nodes,pods",), ["node/hollow-1", "node/hollow-2", "pod/a", "pod/b"]),
        (("pods", "-l", "app=web"), ["pod/a"]),
        (("pods", "-l", "app in (web, db),app!=web"), ["pod/b"]),
        (("pods", "--field-selector", "metadata.name=b"), ["pod/b"]),
        (("all",), ["pod/a", "pod/b"]),
        (("ns", "other"), ["namespace/other"]),
        (("pods.", "a"), ["pod/a"]),
    ],
)
def test_names_say_what_is_meant(plane: Running, words: tuple[str, ...], want: list[str]) -> None:
    assert plane.ok("get", *words, "-o", "name").lines == want


def test_several_kinds_have_tables_of_their_own_with_kinds_in_front(plane: Running) -> None:
    lines = plane.ok("get", "pods,nodes").lines
    assert [line.split()[0] for line in lines if line] == [
        "NAME",
        "pod/a",
        "pod/b",
        "NAME",
        "node/hollow-1",
        "node/hollow-2",
    ]
    assert lines[3] == ""


def test_json_of_many_is_a_list_and_of_one_is_the_object(plane: Running) -> None:
    found = plane.ok("get", "pods", "-o", "json").json()
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert [(item["kind"], item["metadata"]["name"]) for item in found["items"]] == [("Pod", "a"), ("Pod", "b")]
    assert plane.ok("get", "pod", "a", "-o", "json").json()["kind"] == "Pod"
    assert yaml.safe_load(plane.ok("get", "pod/a", "-o", "yaml").stdout)["metadata"]["name"] == "a"
    assert plane.ok("get", "jobs", "-o", "json").json()["items"] == []


def test_what_is_printed_can_be_applied_again(plane: Running) -> None:
    text = plane.ok("get", "pods", "-o", "yaml").stdout
    plane.ok("apply", "-f", "-", stdin=text)
    assert plane.ok("apply", "-f", "-", stdin=text).lines == ["pod/a unchanged", "pod/b unchanged"]


def test_nothing_found_is_said_beside_the_answer(plane: Running) -> None:
    done = plane.ok("get", "jobs")
    assert (done.stdout, done.stderr) == ("", "No resources found in default namespace.\n")
    assert plane.ok("get", "jobs", "-A").stderr == "No resources found.\n"
    assert plane.ok("get", "clusters").stderr == "No resources found.\n"


def test_a_path_is_answered_as_it_is(plane: Running) -> None:
    """kubectl's own `get --raw` drops the part of the address in which the token is."""
    found = json.loads(plane.ok("get", "--raw", "/api/v1/namespaces/default/pods?limit=1").stdout)
    assert [item["metadata"]["name"] for item in found["items"]] == ["a"]
    pending = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/none/pendingworkloads"
    assert plane.run("get", "--raw", pending).code == 1
    for words in ([], ["pods", "--raw", "/api"], ["--raw", "api"]):
        assert plane.run("get", *words).code == 2


def test_one_that_is_missing_does_not_hide_the_others(plane: Running) -> None:
    done = plane.run("get", "pods", "a", "nobody", "b")
    assert done.code == 1
    assert [row[0] for row in done.rows] == ["NAME", "a", "b"]
    assert done.stderr == 'error: pods "nobody" not found\n'


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (("pdos",), "error: 'pdos' is not a kind that is stored; did you mean 'pods'?"),
        (("pod/a", "b"), "error: KIND/NAME cannot be mixed with other words: write either `pods a b` or `pod/a job/b`"),
        (("pods", "a", "-l", "x=y"), "error: names cannot be given together with -l or --all"),
        (("pods,nodes", "-w"), "error: --watch follows one kind at a time"),
    ],
)
def test_bad_usage_is_2(plane: Running, words: tuple[str, ...], want: str) -> None:
    done = plane.run("get", *words)
    assert (done.code, done.stdout, done.stderr) == (2, "", f"{want}\n")


def test_a_bad_selector_is_refused_by_the_server_with_1(plane: Running) -> None:
    done = plane.run("get", "pods", "-l", "a=b=c")
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: label selector")


@pytest.mark.parametrize(("form", "want"), [("table", "late"), ("name", "configmap/late"), ("json", '"name": "late"')])
def test_a_watch_shows_every_change_until_it_is_interrupted(plane: Running, form: str, want: str) -> None:
    command = [*REPRIEVE, "get", "cm", "-w", "-o", form]
    variables = plane.environment()
    early = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "early"}}
    plane.ok("apply", "-f", "-", stdin=to_yaml(early))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables) as watch:
        assert watch.stdout is not None
        os.set_blocking(watch.stdout.fileno(), False)
        seen = b""

        def shows(text: str) -> bool:
            nonlocal seen
            seen += watch.stdout.read() or b""  # type: ignore[union-attr]
            return text in seen.decode()

        until(lambda: shows("early"))
        plane.ok("apply", "-f", "-", stdin=to_yaml({**early, "metadata": {"name": "late"}}))
        until(lambda: shows(want))
        watch.send_signal(signal.SIGINT)
        assert watch.wait(30) == 130
        assert watch.stderr is not None
        assert watch.stderr.read() == b""
    plane.ok("delete", "cm", "early", "late")
