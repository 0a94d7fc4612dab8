"""The alternatives of KEP-83, as its fields have them: per queue, workload and LocalQueue; and who has run for long."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve import plan
from reprieve.manifests.problems import InvalidInput
from reprieve.planning.result import Decision, Result
from tests.builders.quota import condition, flavor, queue, workload

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"


def asked(objects: list[Dict], **config: Any) -> Result:
    return plan([flavor(), *objects], preemptor="Workload/default/p", now=NOW, config={"quota": config})


def team(*others: Dict, preemption: Dict | None = None, spec: Dict | None = None, **parts: Any) -> list[Dict]:
    """A queue full of others, and one that wants a place of theirs."""
    made = queue("a", {"default": {"cpu": len(others)}}, within="LowerPriority", **(spec or {}))
    made[0]["spec"]["preemption"] |= preemption or {}
    return [*made, *others, workload("p", "a", cpu=1, priority=5, created="2026-01-01T08:00:00Z", **parts)]


def running(name: str, since: str = "2026-01-01T10:00:00Z", **fields: Any) -> Dict:
    return workload(name, "a", on="default", cpu=1, reserved=since, **fields)


def gone(decision: Decision) -> list[str]:
    return [victim["unit"].rpartition("/")[2] for victim in decision.victims]


# workloadSorting


@pytest.mark.parametrize(
    ("sorting", "want"),
    [([], "late"), (["ByLowestPriority", "ByLongestRuntime"], "early"), (["ByLowestRuntime"], "high")],
)
def test_the_queue_of_the_preemptor_says_in_which_order_others_are_asked(sorting: list[str], want: str) -> None:
    others = [
        running("early", "2026-01-01T08:00:00Z"),
        running("late", "2026-01-01T10:00:00Z"),
        running("high", "2026-01-01T11:00:00Z", priority=3),
    ]
    assert gone(asked(team(*others, preemption={"workloadSorting": sorting})).decision) == [want]


def test_another_queue_keeps_its_own_order() -> None:
    """Workloads of the cohort are sorted by the criteria of the queue that preempts."""
    spread = {
        name: queue(name, {"default": {"cpu": 1}}, cohort="c", reclaim="Any", within="LowerPriority") for name in "xyz"
    }
    spread["x"][0]["spec"]["preemption"]["workloadSorting"] = ["ByLongestRuntime"]
    lent = [
        workload("early", "z", on="default", cpu=1, reserved="2026-01-01T08:00:00Z"),
        workload("middle", "z", on="default", cpu=1, reserved="2026-01-01T09:00:00Z"),
        workload("late", "z", on="default", cpu=1, reserved="2026-01-01T10:00:00Z"),
    ]
    base = [item for made in spread.values() for item in made] + lent
    assert gone(asked([*base, workload("p", "x", cpu=1)]).decision) == ["early"]
    assert gone(asked([*base, workload("p", "y", cpu=1)]).decision) == ["late"]


# triggerAfterWorkloadWaitingSeconds


@pytest.mark.parametrize(
    ("attempted", "seconds", "want"),
    [
        (None, 60, "Wait"),
        ("2026-01-01T11:59:01Z", 60, "Wait"),
        ("2026-01-01T11:59:00Z", 60, "Preempt"),
        (None, 0, "Preempt"),
    ],
)
@pytest.mark.parametrize("field", ["triggerAfterWorkloadWaitingSeconds", "waitBeforePreemptionSeconds"])
def test_it_waits_from_its_first_attempt_and_not_from_its_creation(
    field: str, attempted: str | None, seconds: int, want: str
) -> None:
    inside = field.startswith("trigger")
    objects = team(
        running("low"), preemption={field: seconds} if inside else None, spec=None if inside else {field: seconds}
    )
    if attempted is not None:
        objects[-1]["status"] = {"conditions": [condition("Admitted", attempted, status="False")]}
    decision = asked(objects).decision
    assert decision.outcome == want
    if attempted is None and seconds:
        assert "it may preempt from 2026-01-01T12:01:00Z on" in decision.message


def test_what_a_workload_says_itself_wins_over_its_queue_and_that_over_the_settings() -> None:
    wait = {"triggerAfterWorkloadWaitingSeconds": 60}
    said = {"reprieve.scheduling/wait-before-preemption-seconds": "0"}
    assert asked(team(running("low"), preemption=wait, annotations=said)).decision.outcome == "Preempt"
    none = {"triggerAfterWorkloadWaitingSeconds": 0}
    settings = {"waitBeforePreemptionSeconds": 10**6}
    assert asked(team(running("low"), preemption=none), **settings).decision.outcome == "Preempt"


# disruptionCostMilestones


def test_what_a_disruption_costs_may_be_said_by_a_field_an_annotation_or_the_local_queue() -> None:
    """Of three that run for a minute: 100 by the field, 50 by the annotation, and 70 because its queue says so."""
    field = running(
        "field", "2026-01-01T11:59:00Z", annotations={"reprieve.scheduling/disruption-cost-milestones": "0:1"}
    )
    field["spec"]["preemption"] = {
        "disruptionCostMilestones": [{"seconds": 600, "cost": 0}, {"seconds": 60, "cost": 100}]
    }
    annotation = running(
        "annotation", "2026-01-01T11:59:00Z", annotations={"reprieve.scheduling/disruption-cost-milestones": "0:50"}
    )
    objects = team(field, annotation, running("default", "2026-01-01T11:59:00Z"))
    objects[1]["spec"]["preemption"] = {"disruptionCostMilestones": [{"seconds": 0, "cost": 70}]}
    order = ["ByLowestCost"]
    assert gone(asked(objects, candidateOrder=order).decision) == ["annotation"]
    for cheapest, then in (("annotation", "default"), ("default", "field")):
        objects = [item for item in objects if item["metadata"]["name"] != cheapest]
        objects[0]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = str(len(objects) - 3)
        assert gone(asked(objects, candidateOrder=order).decision) == [then]


# onPreemption


@pytest.mark.parametrize(
    ("field", "annotation", "want"),
    [("Terminate", None, "Terminate"), ("Requeue", "Terminate", None), (None, "Terminate", "Terminate")],
)
def test_the_field_wins_over_the_annotation(field: str | None, annotation: str | None, want: str | None) -> None:
    said = {"reprieve.scheduling/on-preemption": annotation} if annotation else None
    low = running("low", annotations=said)
    if field:
        low["spec"]["onPreemption"] = field
    (victim,) = asked(team(low)).decision.victims
    assert victim.get("onPreemption") == want


# Who has run for long


@pytest.mark.parametrize(("seconds", "want"), [(0, "Preempt"), (7201, "Preempt"), (7200, "Unschedulable")])
def test_who_has_run_for_long_is_not_preempted(seconds: int, want: str) -> None:
    decision = asked(team(running("low")), protectAfterSeconds=seconds).decision
    assert decision.outcome == want
    if want == "Unschedulable":
        assert [item["rule"] for item in decision.spared] == ["LongRunning"]
        assert "1 has run too long to be preempted" in decision.message


def test_who_leaves_already_is_counted_on_however_long_it_has_run() -> None:
    decision = asked(team(running("low", evicted="Preempted")), protectAfterSeconds=60).decision
    assert decision.outcome == "Wait"


# The switch


def test_kep_83_and_fair_sharing_exclude_each_other() -> None:
    with pytest.raises(InvalidInput, match=r"\$\.quota\.design: found \"KEP-83\"; allowed: Kueue, where fairSharing"):
        plan([flavor()], config={"quota": {"design": "KEP-83"}, "fairSharing": {"enable": True}})


def test_who_preempts_does_not_borrow_though_its_queue_may_today() -> None:
    """p asks for 2 of its queue's 3, of which 2 are used; today it takes a lower priority while it borrows."""
    borrow = {"policy": "LowerPriority"}
    objects = [
        *queue("a", {"default": {"cpu": 3}}, cohort="c", reclaim="LowerPriority", borrow=borrow),
        *queue("b", {"default": {"cpu": 1}}, cohort="c"),
        workload("own", "a", on="default", cpu=2, priority=9),
        workload("lent", "b", on="default", cpu=2),
        workload("p", "a", cpu=2, priority=5),
    ]
    assert gone(asked(objects).decision) == ["lent"]
    written = asked(objects, design="KEP-83").decision
    assert (written.outcome, gone(written)) == ("Unschedulable", [])


def test_the_first_flavor_that_fits_is_taken_whatever_is_preferred() -> None:
    """Spot fits by borrowing, reserved without: today `TryNextFlavor` goes on to the second."""
    flavors = {"spot": {"cpu": 0}, "reserved": {"cpu": 2}}
    objects = [
        flavor("spot"),
        flavor("reserved"),
        *queue("a", flavors, cohort="c", flavorFungibility={"whenCanBorrow": "TryNextFlavor"}),
        *queue("b", {"spot": {"cpu": 2}, "reserved": {"cpu": 0}}, cohort="c"),
        workload("p", "a", cpu=2),
    ]
    results = [asked(objects, design=design) for design in ("Kueue", "KEP-83")]
    assert [made.flavors["Workload/default/p"]["main"]["cpu"] for made in results] == ["reserved", "spot"]


def test_of_two_flavors_on_which_it_could_preempt_the_first_is_taken() -> None:
    """On spot nobody may go; today it takes reserved, where somebody may."""
    objects = [
        flavor("spot"),
        flavor("reserved"),
        *queue("a", {"spot": {"cpu": 1}, "reserved": {"cpu": 1}}, within="LowerPriority"),
        workload("dear", "a", on="spot", cpu=1, priority=9),
        workload("cheap", "a", on="reserved", cpu=1),
        workload("p", "a", cpu=1, priority=5),
    ]
    assert gone(asked(objects).decision) == ["cheap"]
    written = asked(objects, design="KEP-83").decision
    assert (written.outcome, written.domain) == ("Unschedulable", "spot")


# What a plan says of one workload


def test_flavors_and_counts_are_told_of_a_named_preemptor_as_in_a_cycle() -> None:
    objects = [flavor(), *queue("a", {"default": {"cpu": 3}}), workload("p", "a", cpu=1, count=5, least=2)]
    one = plan(objects, preemptor="Workload/default/p", now=NOW).to_dict()
    every = plan(objects, now=NOW).to_dict()
    assert one["flavors"] == every["flavors"] == {"Workload/default/p": {"main": {"cpu": "default"}}}
    assert one["counts"] == every["counts"] == {"Workload/default/p": {"main": 3}}


def test_of_two_groups_with_the_same_resource_the_first_decides() -> None:
    made = queue("a", {"default": {"cpu": 1}})
    second = {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "9"}]}
    made[0]["spec"]["resourceGroups"].append({"coveredResources": ["cpu"], "flavors": [second]})
    fits = [flavor("spot"), *made, workload("p", "a", cpu=1)]
    assert asked(fits).flavors == {"Workload/default/p": {"main": {"cpu": "default"}}}
    assert asked([flavor("spot"), *made, workload("p", "a", cpu=2)]).decision.outcome == "Unschedulable"
    assert any('found "cpu" a second time' in str(warning) for warning in asked(fits).warnings)


def test_of_a_victim_that_is_larger_only_what_was_asked_for_is_said_to_be_taken() -> None:
    objects = [
        *queue("a", {"default": {"cpu": 4}}, cohort="c", reclaim="Any"),
        *queue("b", {"default": {"cpu": 2}}, cohort="c"),
        workload("large", "b", on="default", cpu=6),
        workload("p", "a", cpu=1),
    ]
    message = asked(objects).decision.message
    assert message.endswith("It reclaims 1 of the 4 cpu that b borrowed; b is left with 0 of its nominal 2.")


def test_a_refusal_says_which_flavor_lacks_how_much() -> None:
    objects = [
        *queue("a", {"default": {"cpu": 4}}),
        workload("own", "a", on="default", cpu=3),
        workload("p", "a", cpu=2),
    ]
    assert "3 of 4 cpu on default used in a, 2 needed, 1 missing" in asked(objects).decision.message
