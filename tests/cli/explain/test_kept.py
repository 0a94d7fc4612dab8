"""What is not kept of a decision is said: of large worlds, of many repetitions, of plans that could not be asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from reprieve.cli.explain.decisions import preempted_lines, reasons_of
from reprieve.cli.explain.why_not import why_not_lines
from reprieve.scheduler.history import plans
from reprieve.texts.history import kept_in_brief
from tests.builders.quota import flavor, queue, workload
from tests.planes.running import Plane, live

NOBODY = {"unit": "Pod/default/nobody", "attempts": [], "others": [], "earlier": []}


async def _preemption(plane: Plane) -> dict[str, Any]:
    """What the history tells of a pod that preempted on one of two nodes."""
    for name in ("n1", "n2"):
        await plane.node(name, cpu="2")
    await plane.priority("high", 100)
    for name in ("a", "b"):
        await plane.pod(name, cpu="2")
    await plane.passes(10)
    await plane.pod("high", cpu="2", priority="high")
    await plane.passes(10)
    told: dict[str, Any] = plane.plane.history.explain("Pod/default/high")
    return told


def test_of_a_large_world_only_the_main_points_are_kept_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        told = await _preemption(plane)
        made = told["preemption"]
        (victim,) = (each["unit"] for each in made["plan"]["victims"])
        said = (
            "Of this decision only the main points were kept, because there were 3 pods: "
            "the chosen place and a few alternatives."
        )
        assert list(reasons_of(made))[-1] == said
        assert list(preempted_lines(made, victim))[-1] == said
        assert list(why_not_lines(told, NOBODY))[-1] == said

    monkeypatch.setattr(plans, "UNITS_FOR_WHOLE_PLANS", 2)
    live(story)


def test_that_others_waited_for_a_decision_is_said_where_it_was_the_cause() -> None:
    assert kept_in_brief(300, "pods", 40, chosen=False) == (
        "Of this decision only the main points were kept, because there were 300 pods, and 40 others waited for a "
        "decision: what was decided, without the reasons."
    )


def test_where_many_workloads_are_decided_for_at_once_the_main_points_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(plane: Plane) -> None:
        await plane.apply(flavor("default"), *queue("team", {"default": {"cpu": 2}}))
        for number in range(4):
            await plane.apply(workload(f"w{number}", "team", cpu=2))
        await plane.passes(10)
        made = plane.plane.history.explain("Workload/default/w3")["decision"]
        assert list(reasons_of(made))[-1] == (
            "Of this decision only the main points were kept, because there were 4 workloads, and 2 others waited for "
            "a decision: what was decided, without the reasons."
        )

    monkeypatch.setattr(plans, "_UNITS_FOR_ALL_WHO_WAIT", 7)
    live(story)


def test_of_a_small_one_all_is_kept_and_nothing_is_said() -> None:
    async def story(plane: Plane) -> None:
        told = await _preemption(plane)
        assert not any("kept" in line for line in reasons_of(told["preemption"]))
        assert list(why_not_lines(told, NOBODY))[-1].startswith("Nothing is known about Pod/default/nobody: ")

    live(story)


@pytest.mark.parametrize(("times", "want"), [(1, False), (2, True)])
def test_how_often_decides_whether_there_is_a_first_time(times: int, want: bool) -> None:
    plan = {**_PLAN, "spared": [{"unit": "Pod/default/b", "rule": "Priority", "message": "why", "domain": "n1"}]}
    at = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    made = {"id": 1, "at": at, "last": at, "times": times, "message": "no room", "plan": plan}
    assert any("reasons of the first time" in line for line in reasons_of(made)) is want


def test_more_than_can_be_kept_are_counted() -> None:
    made = {"id": 1, "at": "", "last": "", "times": 1, "message": "no room", "plan": {**_PLAN, "moreSpared": 7}}
    assert list(reasons_of(made))[-1] == "7 more stayed, whose reasons were not kept."


_PLAN: dict[str, Any] = {
    "preemptor": "Pod/default/a",
    "policy": "pod",
    "outcome": "Unschedulable",
    "domain": None,
    "placement": {},
    "victims": [],
    "candidates": {},
    "spared": [],
    "message": "no room",
    "obstacles": {},
}
