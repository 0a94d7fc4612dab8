"""Pods whose own priority is not that of their workload or group: said once for each, and decided over all the same."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

import reprieve
from reprieve.cli import app
from tests.builders.pods import in_workload, node, pod, pod_group, priority_class, to_yaml, workload

Dict = dict[str, Any]
LONG_AGO = "2026-01-01T00:00:00Z"
GATES = {"GenericWorkload": True}
CLASSES = [priority_class("low", 10), priority_class("high", 100)]


def team(*priorities: int | None) -> list[Dict]:
    pods = [
        pod(f"team-{number}", node="n1", priority=priority, created=LONG_AGO, cpu="1", spec=in_workload("team"))
        for number, priority in enumerate(priorities)
    ]
    return [workload("team", gang=1, priorityClassName="low"), *pods]


def grouped(*priorities: int) -> list[Dict]:
    pods = [
        pod(f"team-{number}", node="n1", priority=priority, created=LONG_AGO, cpu="1", group="team")
        for number, priority in enumerate(priorities)
    ]
    return [pod_group("team", priority=10, priorityClassName="low"), *pods]


def warnings(objects: list[Dict], gates: dict[str, bool] | None = None) -> list[str]:
    everything = [*CLASSES, node(cpu="64"), *objects, pod("p", priority=100)]
    result = reprieve.plan(everything, preemptor="Pod/default/p", feature_gates=GATES if gates is None else gates)
    return [str(problem).partition(": ")[2].partition(": ")[2] for problem in result.warnings]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        (team(10, 10), []),
        (
            team(10, 500, None),
            [
                "Workload/default/team: $.spec.priorityClassName: not the priority of all its pods: "
                "Pod/default/team-1 has 500 and Pod/default/team-2 has 0; 10 is what counts for them"
            ],
        ),
        (
            grouped(10, 500),
            [
                "PodGroup/default/team: $.spec.priority: not the priority of all its pods: Pod/default/team-1 has 500; "
                "10 is what counts for them"
            ],
        ),
        ([pod("alone", node="n1", priority=500, group="missing")], []),
    ],
)
def test_a_group_is_told_of_pods_that_say_otherwise_once(objects: list[Dict], want: list[str]) -> None:
    assert warnings(objects) == want


def test_many_pods_make_one_line() -> None:
    (line,) = warnings(team(*[500] * 9))
    assert "and 6 more" in line


def test_pods_that_have_finished_say_nothing() -> None:
    objects = team(500)
    objects[1]["status"]["phase"] = "Succeeded"
    assert warnings(objects) == []


def test_without_the_gate_a_pod_group_says_nothing_about_its_pods() -> None:
    assert warnings(grouped(10, 500), {}) == []


@pytest.mark.parametrize("objects", [team(500), grouped(500)])
def test_check_warns_too_and_finds_nothing_wrong(tmp_path: Any, objects: list[Dict]) -> None:
    file = tmp_path / "world.yaml"
    file.write_text(to_yaml(*CLASSES, node(), *objects))
    result = CliRunner().invoke(app, ["check", "-f", str(file)])
    assert result.exit_code == 0
    assert "warning: " in result.output
    assert "10 is what counts for them" in result.output
    assert result.output.endswith("\n1 warning\n")
