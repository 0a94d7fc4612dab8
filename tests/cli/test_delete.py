"""`reprieve delete`: by name, by label, by file; gracefully or at once; and it waits until they are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders.pods import pod, to_yaml
from tests.cli.running import HOLLOW, Running, running, until

SLOW = {"annotations": {"reprieve.scheduling/termination-seconds": "600"}}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("delete"), *HOLLOW) as plane:
        yield plane


def start(plane: Running, *names: str, slow: bool = False, **labels: str) -> None:
    more: dict[str, Any] = {"spec": {"terminationGracePeriodSeconds": 600}, **SLOW} if slow else {}
    pods = [pod(name, cpu="100m", labels=labels, **more) for name in names]
    plane.ok("apply", "-f", "-", stdin=to_yaml(*pods))
    until(lambda: all(plane.pods()[name]["status"]["phase"] == "Running" for name in names))


def test_when_it_returns_they_are_gone(plane: Running) -> None:
    start(plane, "a", "b", "c")
    assert plane.ok("delete", "pods", "a", "b").lines == ["pod/a deleted", "pod/b deleted"]
    assert list(plane.pods()) == ["c"]
    assert plane.ok("delete", "pod/c").lines == ["pod/c deleted"]
    assert plane.pods() == {}


def test_by_label_and_all(plane: Running) -> None:
    start(plane, "web-1", "web-2", app="web")
    start(plane, "db", app="db")
    assert plane.ok("delete", "pods", "-l", "app=web").lines == ["pod/web-1 deleted", "pod/web-2 deleted"]
    assert list(plane.pods()) == ["db"]
    assert plane.ok("delete", "pods", "--all").lines == ["pod/db deleted"]


def test_what_files_hold_goes_in_the_opposite_order(plane: Running) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}}
    text = to_yaml(space, pod("p", namespace="short"))
    plane.ok("apply", "-f", "-", stdin=text)
    assert plane.ok("delete", "-f", "-", stdin=text).lines == ["pod/p deleted", "namespace/short deleted"]
    assert plane.run("get", "ns", "short").code == 1


def test_the_pods_of_a_job_go_with_it(plane: Running) -> None:
    plane.ok("submit", "--name", "work", "--", "true")
    until(plane.pods)
    plane.ok("delete", "job", "work")
    until(lambda: not plane.pods())


def test_without_waiting_it_returns_at_once_and_force_ends_it(plane: Running) -> None:
    start(plane, "slow", slow=True)
    assert plane.ok("delete", "pod", "slow", "--no-wait").lines == ["pod/slow deleted"]
    assert "deletionTimestamp" in plane.pods()["slow"]["metadata"]
    done = plane.run("delete", "pod", "slow", "--timeout", "0.2")
    assert (done.code, done.stderr) == (1, "error: still there after 0.2 seconds: pod/slow\n")
    plane.ok("delete", "pod", "slow", "--force")
    assert plane.pods() == {}


def test_a_grace_period_of_the_command_is_what_counts(plane: Running) -> None:
    start(plane, "patient", slow=True)
    plane.ok("delete", "pod", "patient", "--grace-period", "1")
    assert plane.pods() == {}


def test_one_that_is_missing_does_not_keep_the_others(plane: Running) -> None:
    start(plane, "x")
    done = plane.run("delete", "pods", "nobody", "x")
    assert (done.code, done.lines, done.stderr) == (1, ["pod/x deleted"], 'error: pods "nobody" not found\n')
    assert plane.ok("delete", "pod", "nobody", "--ignore-not-found").stdout == ""


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ((), "nothing is named: say a kind and names, or files with -f"),
        (("pods",), "say which: names, -l SELECTOR, or --all for all of them"),
        (("pods", "a", "--all"), "names cannot be given together with -l or --all"),
        (("pods", "a", "-f", "-"), "nothing is named: say a kind and names, or files with -f"),
    ],
)
def test_what_is_not_clear_deletes_nothing(plane: Running, words: tuple[str, ...], want: str) -> None:
    done = plane.run("delete", *words)
    assert (done.code, done.stdout, done.stderr) == (2, "", f"error: {want}\n")
