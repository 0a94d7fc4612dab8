"""A misspelt field loses what it was meant to say, a protection perhaps: everybody who reads manifests says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reprieve as library
from tests.builders.pods import node, pod, priority_class, to_yaml
from tests.cli.command import reprieve
from tests.cli.running import HOLLOW, Running, running

CLASS = '$.spec.priorityClasName: unknown field; did you mean "priorityClassName"?'
MODE = '$.spec.podGroups[0].policy.gang.preemtionMode: unknown field; did you mean "preemptionMode"?'
RENAMED = '$.spec.preemtionMode: unknown field; did you mean "disruptionMode"?'
MISSPELT = pod("p", cpu="1", spec={"priorityClasName": "high"})
GANG = {"minCount": 2, "preemtionMode": "PodGroup"}
WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1alpha1",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"podGroups": [{"name": "g", "policy": {"gang": GANG}}]},
}
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "preemtionMode": "PodGroup"},
}
WORLD: list[dict[str, Any]] = [node("n1"), priority_class("high", 100), MISSPELT, WORKLOAD, GROUP]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    file = tmp_path / "world.yaml"
    file.write_text(to_yaml(*WORLD))
    return file


def lines_of(world: Path) -> dict[str, int]:
    """Where the misspelt fields stand, by hand."""
    lines = world.read_text().splitlines()
    places = [number for number, line in enumerate(lines, 1) if "preemtionMode" in line]
    own = next(number for number, line in enumerate(lines, 1) if "priorityClasName" in line)
    return dict(zip((CLASS, MODE, RENAMED), (own, *places), strict=True))


@pytest.mark.parametrize(
    "arguments", [("check",), ("plan",), ("explain", "--for", "pod/default/p")], ids=["check", "plan", "explain"]
)
def test_verbs_on_files_warn_with_the_line(world: Path, arguments: tuple[str, ...]) -> None:
    done = reprieve(*arguments, "-f", str(world))
    assert done.returncode == 0
    said = f"{done.stdout}{done.stderr}".splitlines()
    for what, line in lines_of(world).items():
        assert [each for each in said if each.startswith("warning: ") and f", line {line}: " in each and what in each]


def test_cases_warn_of_their_objects(tmp_path: Path) -> None:
    case = {"case": "c", "objects": [node("n1"), MISSPELT], "preemptor": {"kind": "Pod", "name": "p"}}
    file = tmp_path / "case.yaml"
    file.write_text(to_yaml({**case, "expect": {"outcome": "Fits"}}))
    done = reprieve("test", str(file))
    assert (done.returncode, done.stdout) == (0, "1 passed, 0 failed\n")
    place = CLASS.replace("$.", "$.objects[1].")
    assert done.stderr == f"warning: {file}: document 1: Pod/default/p: {place}\n"


def test_python_programs_find_them_among_the_warnings() -> None:
    found = [str(problem) for problem in library.plan(WORLD).warnings]
    assert [what for what in (CLASS, MODE, RENAMED) if any(what in each for each in found)] == [CLASS, MODE, RENAMED]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("unknown"), *HOLLOW) as found:
        yield found


def test_apply_warns_before_it_sends(plane: Running, world: Path) -> None:
    done = plane.ok("apply", "-f", str(world))
    for what, line in lines_of(world).items():
        assert f", line {line}: " in done.stderr
        assert what in done.stderr
    assert plane.ok("delete", "-f", str(world), "--force").stderr == ""  # nobody runs pods on its node


def test_a_live_plan_warns_of_what_it_is_asked_about(plane: Running, world: Path) -> None:
    done = plane.ok("plan", "--live", "-f", str(world), "--for", "pod/default/p")
    assert done.stderr.count(CLASS) == 1
    assert f", line {lines_of(world)[CLASS]}: " in done.stderr


def test_the_server_warns_unless_it_is_asked_not_to(plane: Running) -> None:
    with plane.http(params={"dryRun": "All"}) as http:
        pods = "/api/v1/namespaces/default/pods"
        assert "priorityClasName" in http.post(pods, json=MISSPELT).headers["warning"]
        assert "warning" not in http.post(pods, json=MISSPELT, params={"fieldValidation": "Ignore"}).headers
        assert http.post(pods, json=MISSPELT, params={"fieldValidation": "Strict"}).status_code == 400


def test_the_first_line_of_a_plan_says_that_there_are_errors(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(to_yaml(node("n1"), pod("p", cpu="1", priority_class="gone")))
    for arguments in (("plan",), ("explain", "--for", "pod/default/p")):
        done = reprieve(*arguments, "-f", str(file))
        assert (done.returncode, done.stdout.splitlines()[0]) == (
            0,
            "The manifests have 1 error: an API server would refuse what `reprieve check` lists. "
            "Decided as if it had not.",
        )
    assert reprieve("check", "-f", str(file)).stdout.endswith("\n1 error\n")
    file.write_text(to_yaml(node("n1"), pod("p", cpu="1")))
    assert "refuse" not in reprieve("plan", "-f", str(file)).stdout
