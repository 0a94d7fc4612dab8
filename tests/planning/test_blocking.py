"""What `check` says of gangs that can never fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprieve.cli.check import review
from tests.builders.pods import in_workload, node, pod, priority_class, to_yaml, workload

Dict = dict[str, Any]
CLASSES = [priority_class(name, value) for name, value in (("low", 10), ("high", 100), ("top", 1000))]


def warnings(path: Path, *objects: Dict) -> list[str]:
    file = path / "all.yaml"
    file.write_text(to_yaml(*CLASSES, *objects))
    return [str(problem) for problem in review([str(file)], [])[1]]


def gang(size: int) -> list[Dict]:
    members = [pod(f"job-{number}", cpu="4", priority_class="high", spec=in_workload("job")) for number in range(size)]
    return [workload("job", gang=size, priorityClassName="high"), *members]


def held_by(name: str, **classes: str) -> list[Dict]:
    holder = pod(f"{name}-0", node="n1", cpu="4", priority_class="low", spec=in_workload(name))
    return [workload(name, gang=1, priorityClassName="low", **classes), holder]


def test_a_gang_that_is_larger_than_all_nodes(tmp_path: Path) -> None:
    (said,) = warnings(tmp_path, node("n1"), *gang(2))
    assert "Workload/default/job: $.spec: it can never fit on these nodes, even if they were empty" in said
    assert warnings(tmp_path, node("n1"), *gang(1)) == []


def test_a_gang_that_a_high_preemption_priority_keeps_out(tmp_path: Path) -> None:
    (said,) = warnings(tmp_path, node("n1"), *gang(1), *held_by("slow", preemptionPriorityClassName="top"))
    want = "while Workload/default/slow (preemption priority 1000) keeps their room: their own priority is below 100"
    assert want in said


def test_nothing_is_said_of_gangs_that_can_preempt_or_that_are_kept_out_by_higher_priorities(tmp_path: Path) -> None:
    assert warnings(tmp_path, node("n1"), *gang(1), *held_by("slow")) == []
    assert warnings(tmp_path, node("n1"), *gang(1), pod("top", node="n1", cpu="4", priority_class="top")) == []


def test_without_nodes_nobody_knows(tmp_path: Path) -> None:
    assert warnings(tmp_path, *gang(2)) == []
