"""What KEP-83 put off: waiting before preemption, ending when preempted, other orders, what a disruption costs."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve import plan
from reprieve.engine.lost_work import disruption_cost
from reprieve.manifests.admission import admit_all
from reprieve.manifests.kueue import DISRUPTION_COST, ON_PREEMPTION, PRIORITY_BOOST, WAIT_BEFORE_PREEMPTION
from reprieve.manifests.kueue_annotations import cost_milestones
from reprieve.manifests.loading import load_objects
from reprieve.planning.result import Decision
from tests.builders.quota import flavor, queue, workload

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
CREATED = "2026-01-01T11:55:00Z"


def decide(*running: Dict, asks: dict[str, str] | None = None, now: str = NOW, **config: Any) -> Decision:
    """A queue full of the running ones, and one that wants a place of theirs."""
    full = {"default": {"cpu": len(running)}}
    preemptor = workload("p", "a", cpu=1, priority=5, created=CREATED, annotations=asks)
    objects = [flavor(), *queue("a", full, within="LowerPriority"), *running, preemptor]
    return plan(objects, preemptor="Workload/default/p", now=now, config={"quota": config}).decision


def running(name: str, since: str = "2026-01-01T10:00:00Z", **fields: Any) -> Dict:
    return workload(name, "a", on="default", cpu=1, reserved=since, **fields)


def gone(made: Decision) -> list[str]:
    return [victim["unit"].rpartition("/")[2] for victim in made.victims]


# Waiting before preemption


@pytest.mark.parametrize(
    ("asks", "settings", "want"),
    [
        (None, {}, "Preempt"),
        (None, {"waitBeforePreemptionSeconds": 300}, "Preempt"),
        (None, {"waitBeforePreemptionSeconds": 301}, "Wait"),
        ({WAIT_BEFORE_PREEMPTION: "600"}, {}, "Wait"),
        ({WAIT_BEFORE_PREEMPTION: "0"}, {"waitBeforePreemptionSeconds": 600}, "Preempt"),
        ({WAIT_BEFORE_PREEMPTION: "soon"}, {"waitBeforePreemptionSeconds": 600}, "Wait"),
        ({WAIT_BEFORE_PREEMPTION: "-5"}, {}, "Preempt"),
    ],
)
def test_a_workload_waits_from_its_creation_before_it_preempts(
    asks: dict[str, str] | None, settings: Dict, want: str
) -> None:
    """Created five minutes ago. What it says itself wins; what cannot be read counts as not said."""
    assert decide(running("low"), asks=asks, **settings).outcome == want


def test_a_workload_that_waits_is_told_until_when_and_takes_nobody() -> None:
    made = decide(running("low"), asks={WAIT_BEFORE_PREEMPTION: "600"})
    assert "it may preempt from 2026-01-01T12:05:00Z on" in made.message
    assert gone(made) == []
    assert [(item["unit"], item["rule"]) for item in made.spared] == [("Workload/default/low", "NobodyAsked")]
    assert decide(running("low"), asks={WAIT_BEFORE_PREEMPTION: "600"}, now="2026-01-01T12:05:00Z").outcome == "Preempt"


# Ending when preempted


@pytest.mark.parametrize(("asks", "want"), [("Terminate", "Terminate"), ("Requeue", None), ("terminate", None)])
def test_a_victim_that_asked_to_end_is_shown_as_such(asks: str, want: str | None) -> None:
    (victim,) = decide(running("low", annotations={ON_PREEMPTION: asks})).victims
    assert victim.get("onPreemption") == want


# Other orders


@pytest.mark.parametrize(
    ("order", "want"),
    [
        (None, "late"),
        (["ByLowestPriority", "ByLowestRuntime"], "late"),
        (["ByLowestPriority", "ByLongestRuntime"], "early"),
        (["ByLowestRuntime"], "high"),
        (["ByLongestRuntime", "ByLowestPriority"], "early"),
        (["ByLowestCost", "ByLowestPriority", "ByLongestRuntime"], "early"),
    ],
)
def test_candidates_are_asked_in_the_order_of_the_settings(order: list[str] | None, want: str) -> None:
    config: Dict = {"candidateOrder": order} if order else {}
    made = decide(
        running("early", "2026-01-01T08:00:00Z"),
        running("late", "2026-01-01T10:00:00Z"),
        running("high", "2026-01-01T11:00:00Z", priority=3),
        **config,
    )
    assert gone(made) == [want]


# What a disruption costs

MILESTONES = "60:100,600:0"


@pytest.mark.parametrize(
    ("seconds", "want"),
    [(0, 0), (30, 50_000), (60, 100_000), (330, 50_000), (600, 0), (6000, 0)],
)
def test_the_cost_is_linear_between_milestones_from_nothing_at_the_start(seconds: int, want: int) -> None:
    (item,) = load_objects([running("w", annotations={DISRUPTION_COST: MILESTONES})]).objects
    assert disruption_cost(cost_milestones(item), since=0, now=seconds * 1_000_000) == want


@pytest.mark.parametrize(("now", "want"), [("2026-01-01T11:00:50Z", "steady"), ("2026-01-01T11:00:10Z", "climbing")])
def test_who_costs_least_at_this_moment_goes_first(now: str, want: str) -> None:
    """One costs 50 all the time; the other begins at 0 and costs 100 after a minute."""
    made = decide(
        running("steady", "2026-01-01T11:00:00Z", annotations={DISRUPTION_COST: "0:50"}),
        running("climbing", "2026-01-01T11:00:00Z", annotations={DISRUPTION_COST: MILESTONES}),
        now=now,
        candidateOrder=["ByLowestCost"],
    )
    assert gone(made) == [want]


# Values that cannot be read


@pytest.mark.parametrize(
    ("annotation", "value", "right"),
    [
        (WAIT_BEFORE_PREEMPTION, "soon", "a number of seconds"),
        (WAIT_BEFORE_PREEMPTION, "-1", "a number of seconds"),
        (ON_PREEMPTION, "Delete", "Terminate, Requeue"),
        (DISRUPTION_COST, "60=100", "60:100,600:0"),
        (DISRUPTION_COST, "60:100,", "60:100,600:0"),
        (DISRUPTION_COST, "", "60:100,600:0"),
        (PRIORITY_BOOST, "high", "a number of 32 bits"),
    ],
)
def test_a_value_that_cannot_be_read_is_reported_and_changes_nothing(annotation: str, value: str, right: str) -> None:
    item = running("low", annotations={annotation: value})
    (problem,) = admit_all(load_objects([item]).entries)
    assert annotation in problem.field
    assert right in problem.allowed
    order = ["ByLowestCost", "ByLowestPriority"]
    assert gone(decide(item, candidateOrder=order)) == gone(decide(running("low"), candidateOrder=order))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (WAIT_BEFORE_PREEMPTION, "0"),
        (ON_PREEMPTION, "Requeue"),
        (DISRUPTION_COST, " 60 : 1 , 5:2"),
        (PRIORITY_BOOST, "-3"),
    ],
)
def test_a_value_that_can_be_read_is_not_reported(annotation: str, value: str) -> None:
    assert list(admit_all(load_objects([running("low", annotations={annotation: value})]).entries)) == []


def test_a_boost_counts_only_where_the_gate_is_on() -> None:
    objects = [
        flavor(),
        *queue("a", {"default": {"cpu": 1}}, within="LowerPriority"),
        running("boosted", annotations={PRIORITY_BOOST: "10"}),
        workload("p", "a", cpu=1, priority=5),
    ]
    outcomes = [
        plan(objects, preemptor="Workload/default/p", now=NOW, feature_gates={"PriorityBoost": on}).decision.outcome
        for on in (False, True)
    ]
    assert outcomes == ["Preempt", "Unschedulable"]
