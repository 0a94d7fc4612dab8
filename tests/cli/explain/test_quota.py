"""`reprieve explain` for quota workloads: the decision, who takes its quota, or what keeps it safe."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders.pods import to_yaml
from tests.builders.quota import condition, flavor, queue, workload
from tests.cli.command import reprieve
from tests.paths import EXAMPLES

COHORT = EXAMPLES / "05-quota-cohort"


def explain(*options: str) -> list[str]:
    done = reprieve("explain", "-f", str(COHORT), *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_pending_workload_is_explained_by_its_decision() -> None:
    lines = explain("--for", "workload/genomics/outbreak-scan")
    assert lines[0] == (
        "Workload/climate/hindcast makes way for Workload/genomics/outbreak-scan in genomics. "
        "It reclaims the 4 cpu that climate borrowed; climate stays at its nominal 8."
    )


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("climate/hindcast", "would be preempted by Workload/genomics/outbreak-scan: climate borrows"),
        (
            "climate/ensemble-1",
            "would not be preempted by Workload/genomics/outbreak-scan: the preemptor fits beside it.",
        ),
        (
            "archive/compaction",
            "would not be preempted by Workload/genomics/outbreak-scan: archive is within its nominal",
        ),
    ],
)
def test_an_admitted_workload_is_told_who_takes_its_quota_or_why_it_is_safe(name: str, want: str) -> None:
    where, why = explain("--for", f"workload/{name}")
    assert where.startswith(f"Workload/{name} is admitted by {name.partition('/')[0]}, which uses")
    assert want in why


def test_why_not_names_the_rule_that_spares_another_workload() -> None:
    asked = ("--for", "workload/genomics/outbreak-scan", "--why-not")
    assert explain(*asked, "workload/archive/compaction")[1] == (
        "Workload/archive/compaction stays: archive is within its nominal quota."
    )
    assert explain(*asked, "workload/climate/hindcast")[1].startswith("Workload/climate/hindcast is a victim: climate")


def test_a_workload_that_was_preempted_is_told_for_what() -> None:
    leaving = workload("leaving", "a", on="default", cpu=1, evicted="Preempted")
    leaving["status"]["conditions"].append(condition("Preempted", "2026-01-01T11:00:00Z", reason="InClusterQueue"))
    objects = [flavor(), *queue("a", {"default": {"cpu": 1}}), leaving]
    done = reprieve("explain", "-f", "-", "--for", "workload/default/leaving", stdin=to_yaml(*objects))
    first, second, third = done.stdout.splitlines()
    assert first == "Workload/default/leaving is being evicted from a, which uses 1 cpu on default (nominal 1)."
    assert "InClusterQueue" in second
    assert third == "Nobody who is pending has to preempt anybody."


# No queue takes it

HELD_UP = [
    *queue("held", {"default": {"cpu": 4}}, stopPolicy="Hold"),
    *queue("picky", {"default": {"cpu": 4}}, namespaceSelector={"matchLabels": {"team": "other"}}),
    *queue("strict", {"default": {"cpu": 1}}, queueingStrategy="StrictFIFO"),
    flavor(),
    *(workload(f"in-{name or 'none'}", name, cpu=2) for name in ("held", "picky", "gone", "")),
    workload("first", "strict", cpu=2, priority=9),
    workload("second", "strict", cpu=1),
]
WHY = {
    "in-held": "the ClusterQueue held is stopped (stopPolicy Hold).",
    "in-picky": "the ClusterQueue picky does not take workloads of the namespace default (namespaceSelector).",
    "in-gone": "the LocalQueue gone does not exist.",
    "in-none": "it names no LocalQueue.",
}


@pytest.mark.parametrize(("name", "want"), WHY.items())
def test_why_no_queue_takes_a_workload_is_an_answer(name: str, want: str) -> None:
    done = reprieve("explain", "-f", "-", "--for", f"workload/default/{name}", stdin=to_yaml(*HELD_UP))
    assert (done.returncode, done.stdout) == (0, f"Workload/default/{name} stays pending: {want}\n")


@pytest.mark.parametrize(("name", "want"), WHY.items())
def test_who_is_in_no_queue_is_unschedulable_in_a_plan(name: str, want: str) -> None:
    unit = f"Workload/default/{name}"
    done = reprieve("plan", "-f", "-", "--for", unit, stdin=to_yaml(*HELD_UP))
    assert (done.returncode, done.stdout) == (0, f"{unit} stays pending: {want}\n")
    told = json.loads(reprieve("plan", "-f", "-", "--for", unit, "-o", "json", stdin=to_yaml(*HELD_UP)).stdout)
    (made,) = told["decisions"]
    assert (made["preemptor"], made["policy"], made["outcome"]) == (unit, "quota", "Unschedulable")
    assert len(made["claims"]) == 1


@pytest.mark.parametrize(
    ("parts", "want"),
    [({"active": False}, "is inactive (spec.active is false)"), ({"finished": True}, "has finished")],
)
def test_who_does_not_wait_is_told_apart_from_who_is_not_there(parts: dict[str, Any], want: str) -> None:
    over = workload("over", "held", cpu=1)
    if parts.pop("finished", False):
        over["status"] = {"conditions": [condition("Finished", "2026-01-01T11:00:00Z", reason="Succeeded")]}
    over["spec"] |= parts
    text = to_yaml(*HELD_UP, over)
    done = reprieve("plan", "-f", "-", "--for", "workload/default/over", stdin=text)
    assert done.returncode == 2
    assert f"--for: Workload/default/over {want}; there is nothing to decide" in done.stderr
    explained = reprieve("explain", "-f", "-", "--for", "workload/default/over", stdin=text)
    assert (explained.returncode, explained.stdout) == (0, f"Workload/default/over {want}.\n")


def test_a_cycle_tells_of_everybody_why_they_wait() -> None:
    lines = reprieve("plan", "-f", "-", stdin=to_yaml(*HELD_UP)).stdout.splitlines()
    for name, why in WHY.items():
        assert f"Workload/default/{name} stays pending: {why}" in lines
    assert "Workload/default/second stays pending: workloads before it in its queue have their turn first." in lines
    assert lines[-1] == "6 stay pending"
    told = json.loads(reprieve("plan", "-f", "-", "-o", "json", stdin=to_yaml(*HELD_UP)).stdout)
    assert sorted(told["pending"]) == sorted(f"Workload/default/{name}" for name in (*WHY, "second"))
