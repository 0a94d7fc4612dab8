"""The quota policy, read along its design: who may preempt, whom, in which order, on which flavor."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve import plan
from reprieve.planning.result import Decision
from tests.builders.quota import KUEUE, cohort, flavor, queue, workload

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
CPU8 = {"default": {"cpu": 8}}
NO_CPU = {"default": {"cpu": 0}}


def decide(*objects: Dict, name: str = "p", **question: Any) -> Decision:
    return plan(
        [flavor(), flavor("spot"), *objects], preemptor=f"Workload/default/{name}", now=NOW, **question
    ).decision


def gone(made: Decision) -> dict[str, str]:
    """Who makes way, by which right."""
    return {victim["unit"].rpartition("/")[2]: victim["reason"] for victim in made.victims}


def spared(made: Decision) -> dict[str, str]:
    return {item["unit"].rpartition("/")[2]: item["rule"] for item in made.spared}


# Who may be preempted


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        (None, {}),
        ("Never", {}),
        ("LowerPriority", {"lower": "InClusterQueue"}),
        ("LowerOrNewerEqualPriority", {"lower": "InClusterQueue", "newer": "InClusterQueue"}),
    ],
)
def test_within_its_queue_a_workload_preempts_whom_the_policy_reaches(policy: str | None, want: dict[str, str]) -> None:
    made = decide(
        *queue("a", CPU8, within=policy),
        workload("lower", "a", on="default", cpu=3, priority=0, created="2026-01-01T08:00:00Z"),
        workload("newer", "a", on="default", cpu=3, priority=5, created="2026-01-01T11:00:00Z"),
        workload("older", "a", on="default", cpu=2, priority=5, created="2026-01-01T08:00:00Z"),
        workload("p", "a", cpu=max(3, 2 * len(want)), priority=5, created="2026-01-01T09:00:00Z"),
    )
    assert gone(made) == want


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        ("Never", {}),
        ("LowerPriority", {"low": "InCohortReclamation"}),
        ("Any", {"low": "InCohortReclamation", "high": "InCohortReclamation"}),
    ],
)
def test_a_queue_under_its_quota_reclaims_what_others_borrow(policy: str, want: dict[str, str]) -> None:
    made = decide(
        *queue("a", CPU8, cohort="all", reclaim=policy),
        *queue("b", NO_CPU, cohort="all"),
        workload("low", "b", on="default", cpu=4, priority=0),
        workload("high", "b", on="default", cpu=4, priority=9),
        workload("p", "a", cpu=8 if policy == "Any" else 4, priority=5),
    )
    assert gone(made) == want


def test_a_queue_within_its_quota_gives_nobody_whatever_their_priority() -> None:
    made = decide(
        *queue("a", CPU8, cohort="all", reclaim="Any"),
        *queue("b", CPU8, cohort="all"),
        *queue("c", NO_CPU, cohort="all"),
        workload("at-home", "b", on="default", cpu=8, priority=-5),
        workload("guest", "c", on="default", cpu=8, priority=5),
        workload("p", "a", cpu=8),
    )
    assert gone(made) == {"guest": "InCohortReclamation"}
    assert spared(made)["at-home"] == "WithinNominalQuota"


def test_a_request_above_nominal_cannot_even_evict_its_own_queue_in_a_flat_cohort() -> None:
    made = decide(
        *queue("a", {"default": {"cpu": 4}}, cohort="all", within="LowerPriority"),
        *queue("b", {"default": {"cpu": 4}}, cohort="all"),
        workload("low", "a", on="default", cpu=8),
        workload("p", "a", cpu=5, priority=5),
    )
    assert (made.outcome, gone(made)) == ("Unschedulable", {})


@pytest.mark.parametrize(("threshold", "want"), [(None, ["low", "middle"]), (0, ["low"]), (-1, [])])
def test_while_it_borrows_it_preempts_only_those_below_the_threshold(threshold: int | None, want: list[str]) -> None:
    borrow = {"policy": "LowerPriority"} | ({} if threshold is None else {"maxPriorityThreshold": threshold})
    made = decide(
        *queue("a", NO_CPU, cohort="all", reclaim="LowerPriority", borrow=borrow),
        *queue("b", NO_CPU, cohort="all"),
        cohort("all", {"default": {"cpu": 4}}),
        workload("low", "b", on="default", cpu=2, priority=0),
        workload("middle", "b", on="default", cpu=2, priority=3),
        workload("p", "a", cpu=4 if threshold is None else 2, priority=5),
    )
    assert sorted(gone(made)) == want
    assert set(gone(made).values()) <= {"InCohortReclaimWhileBorrowing"}


# In which order


def test_candidates_are_asked_evicted_first_then_elsewhere_then_lower_then_later_admitted() -> None:
    running = [
        workload("own", "a", on="default", cpu=2, priority=-9),
        workload("evicted", "a", on="default", cpu=2, priority=4, evicted="Preempted"),
        workload("middle", "b", on="default", cpu=2, priority=1),
        workload("low-early", "b", on="default", cpu=2, priority=0, reserved="2026-01-01T09:00:00Z"),
        workload("low-late", "b", on="default", cpu=2, priority=0, reserved="2026-01-01T11:00:00Z"),
    ]
    queues = [
        *queue("a", {"default": {"cpu": 10}}, cohort="all", reclaim="Any", within="LowerPriority"),
        *queue("b", NO_CPU, cohort="all"),
    ]
    order = []
    for amount in (2, 4, 6, 8, 10):
        made = decide(*queues, *running, workload("p", "a", cpu=amount, priority=5))
        everybody = [*made.waiting_for, *(victim["unit"] for victim in made.victims)]
        order += [unit for unit in everybody if unit not in order]
    want = ["evicted", "low-late", "low-early", "middle", "own"]
    assert [unit.rpartition("/")[2] for unit in order] == want


def test_whoever_the_preemptor_fits_beside_is_given_back() -> None:
    made = decide(
        *queue("a", CPU8, cohort="all", reclaim="Any"),
        *queue("b", NO_CPU, cohort="all"),
        workload("small", "b", on="default", cpu=1, priority=0),
        workload("large", "b", on="default", cpu=7, priority=1),
        workload("p", "a", cpu=7, priority=5),
    )
    assert gone(made) == {"large": "InCohortReclamation"}
    assert spared(made) == {"small": "Reprieved"}


def test_first_without_borrowing_from_others_then_with_borrowing_from_its_own_queue() -> None:
    """Two attempts: b's high one may go while a stays within nominal; where that is not enough, a's own must."""
    queues = [
        *queue("a", {"default": {"cpu": 4}}, cohort="all", reclaim="LowerPriority", within="LowerPriority"),
        *queue("b", {"default": {"cpu": 4}}, cohort="all"),
    ]
    own, guest = workload("own", "a", on="default", cpu=3), workload("guest", "b", on="default", cpu=5)
    made = decide(*queues, own, guest, workload("p", "a", cpu=1, priority=5))
    assert gone(made) == {"guest": "InCohortReclamation"}
    made = decide(*queues, own, guest, workload("p", "a", cpu=3, priority=5))
    assert gone(made) == {"own": "InClusterQueue"}


# On which flavor


TWO_FLAVORS = {"default": {"cpu": 4}, "spot": {"cpu": 4}}


def test_flavors_are_tried_in_order_and_one_that_fits_comes_before_one_that_preempts() -> None:
    busy = workload("busy", "a", on="default", cpu=4)
    made = decide(*queue("a", TWO_FLAVORS, within="LowerPriority"), busy, workload("p", "a", cpu=4, priority=5))
    assert (made.outcome, made.domain) == ("Fits", "spot")


def test_where_no_flavor_fits_one_within_nominal_quota_may_preempt() -> None:
    running = [workload("first", "a", on="default", cpu=4), workload("second", "a", on="spot", cpu=4, priority=9)]
    made = decide(*queue("a", TWO_FLAVORS, within="LowerPriority"), *running, workload("p", "a", cpu=4, priority=5))
    assert (made.domain, gone(made)) == ("default", {"first": "InClusterQueue"})


def test_when_can_preempt_may_stop_the_search_at_the_first_flavor() -> None:
    busy = workload("busy", "a", on="default", cpu=4)
    stops = {"whenCanPreempt": "MayStopSearch"}
    made = decide(
        *queue("a", TWO_FLAVORS, within="LowerPriority", flavorFungibility=stops),
        busy,
        workload("p", "a", cpu=4, priority=5),
    )
    assert (made.domain, gone(made)) == ("default", {"busy": "InClusterQueue"})


def test_a_flavor_s_labels_rule_it_out_only_for_pods_that_contradict_them() -> None:
    queues = queue("a", {"arm": {"cpu": 4}, "default": {"cpu": 4}})
    arm = flavor("arm", nodeLabels={"arch": "arm"})
    x86 = decide(arm, *queues, workload("p", "a", cpu=1, pod_spec={"nodeSelector": {"arch": "x86"}}))
    other = decide(arm, *queues, workload("p", "a", cpu=1, pod_spec={"nodeSelector": {"zone": "z"}}))
    assert (x86.domain, other.domain) == ("default", "arm")


def test_a_flavor_can_be_forced() -> None:
    running = [workload("first", "a", on="default", cpu=4), workload("second", "a", on="spot", cpu=4)]
    objects = [*queue("a", TWO_FLAVORS, within="LowerPriority"), *running, workload("p", "a", cpu=4, priority=5)]
    assert gone(decide(*objects, assignment={"cpu": "spot"})) == {"second": "InClusterQueue"}
    assert gone(decide(*objects)) == {"first": "InClusterQueue"}


def test_none_of_a_resource_without_quota_is_no_request_but_some_of_it_fits_nowhere() -> None:
    assert decide(*queue("a", CPU8), workload("p", "a", cpu=1, gpu=0)).outcome == "Fits"
    made = decide(*queue("a", CPU8), workload("p", "a", cpu=1, gpu=1))
    assert made.outcome == "Unschedulable"
    assert "has no quota for nvidia.com/gpu" in made.message


# The seed's names


def test_the_names_of_the_seed_and_of_today_give_the_same_decision() -> None:
    running = workload("guest", "b", on="default", cpu=8)
    pending = workload("p", "a", cpu=8, priority=5)
    today = [*queue("a", CPU8, cohort="all", reclaim="LowerPriority"), *queue("b", NO_CPU, cohort="all")]
    assert gone(decide(*(first_version(item) for item in today), running, pending)) == gone(
        decide(*today, running, pending)
    ) == {"guest": "InCohortReclamation"}  # fmt: skip


def first_version(item: Dict) -> Dict:
    """A queue as v1alpha2 wrote it: min and max, `withinCohort`."""
    if item["kind"] != "ClusterQueue":
        return item
    (group,) = item["spec"]["resourceGroups"]
    flavors = [{"name": "default", "quota": {"min": group["flavors"][0]["resources"][0]["nominalQuota"], "max": "8"}}]
    spec = {
        "cohort": item["spec"]["cohortName"],
        "namespaceSelector": {},
        "resources": [{"name": "cpu", "flavors": flavors}],
        "preemption": {"withinCohort": "ReclaimFromLowerPriority", "withinClusterQueue": "Never"},
    }
    return {**item, "apiVersion": KUEUE.replace("v1beta2", "v1alpha2"), "spec": spec}
