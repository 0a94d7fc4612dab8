"""What KEP-83 writes is read, and whoever wrote it is told today's words."""

from __future__ import annotations

from typing import Any

import pytest

from reprieve import plan
from reprieve.manifests.admission import admit_all
from reprieve.manifests.kueue import BorrowWithinCohort, ClusterQueue, CostMilestone, QuotaWorkload
from reprieve.manifests.loading import load_objects, load_text

Dict = dict[str, Any]
V1ALPHA2 = "kueue.x-k8s.io/v1alpha2"
STORY_1 = """
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ClusterQueue
metadata:
  name: cluster-total
spec:
  preemption:
    withinCohort: Always
    withinClusterQueue: LowerPriorityOnly
"""


def told(objects: list[Dict]) -> dict[str, str]:
    """The warnings of admission: what is right, by field."""
    found = list(admit_all(load_objects(objects).entries))
    assert {problem.severity for problem in found} <= {"warning"}
    return {problem.field: problem.allowed for problem in found}


def first_queue(**preemption: Any) -> Dict:
    spec = {"preemption": preemption}
    return {"apiVersion": V1ALPHA2, "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}


def test_the_configuration_of_story_1() -> None:
    loaded = load_text(STORY_1)
    (queue,) = loaded.objects
    assert isinstance(queue, ClusterQueue)
    assert queue.spec.preemption.reclaim_within_cohort == "Any"
    assert queue.spec.preemption.within_cluster_queue == "LowerPriority"
    assert [(problem.field, problem.allowed) for problem in admit_all(loaded.entries)] == [
        ("$.spec.preemption.withinCohort", "today: reclaimWithinCohort: Any"),
        ("$.spec.preemption.withinClusterQueue", "today: withinClusterQueue: LowerPriority"),
    ]


@pytest.mark.parametrize(
    ("said", "today"),
    [
        ("Never", "Never"),
        ("ReclaimFromLowerPriority", "LowerPriority"),
        ("ReclaimFromAny", "Any"),
        ("ReclaimAny", "Any"),
        ("Always", "Any"),
    ],
)
def test_who_is_reclaimed_from(said: str, today: str) -> None:
    (queue,) = load_objects([first_queue(withinCohort=said)]).objects
    assert (queue.spec.preemption.reclaim_within_cohort, queue.spec.preemption.borrow_within_cohort) == (today, None)
    assert told([first_queue(withinCohort=said)]) == {
        "$.spec.preemption.withinCohort": f"today: reclaimWithinCohort: {today}"
    }


def test_the_alternative_that_borrows_while_it_preempts() -> None:
    (queue,) = load_objects([first_queue(withinCohort="LowerPriority")]).objects
    assert queue.spec.preemption.reclaim_within_cohort == "LowerPriority"
    assert queue.spec.preemption.borrow_within_cohort == BorrowWithinCohort(policy="LowerPriority")
    assert "borrowWithinCohort" in told([first_queue(withinCohort="LowerPriority")])["$.spec.preemption.withinCohort"]


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1beta2"])
def test_the_knobs_of_a_queue(version: str) -> None:
    queue = first_queue(triggerAfterWorkloadWaitingSeconds=30, workloadSorting=["ByLongestRuntime"])
    queue["apiVersion"] = f"kueue.x-k8s.io/{version}"
    queue["spec"]["waitBeforePreemptionSeconds"] = 40
    (read,) = load_objects([queue]).objects
    assert read.spec.preemption.trigger_after_workload_waiting_seconds == 30
    assert read.spec.preemption.workload_sorting == ("ByLongestRuntime",)
    assert read.spec.wait_before_preemption_seconds == 40
    warned = told([queue])
    assert list(warned) == [
        "$.spec.preemption.triggerAfterWorkloadWaitingSeconds",
        "$.spec.waitBeforePreemptionSeconds",
        "$.spec.preemption.workloadSorting",
    ]
    assert "quota.candidateOrder" in warned["$.spec.preemption.workloadSorting"]


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1beta2"])
def test_the_fields_of_a_workload(version: str) -> None:
    pods: Dict = {"spec": {"containers": [{"name": "main"}]}}
    template = pods if version == "v1alpha2" else {"template": pods}
    spec = {
        "podSets": [{"name": "main", "count": 1, **template}],
        "onPreemption": "Terminate",
        "preemption": {"disruptionCostMilestones": [{"seconds": 60, "cost": 100}, {"seconds": 600, "cost": 0}]},
    }
    item = {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "Workload",
        "metadata": {"name": "my-workload", "namespace": "default"},
        "spec": spec,
    }
    (read,) = load_objects([item]).objects
    assert isinstance(read, QuotaWorkload)
    assert read.spec.on_preemption == "Terminate"
    assert read.spec.preemption is not None
    assert read.spec.preemption.disruption_cost_milestones == (
        CostMilestone(seconds=60, cost=100),
        CostMilestone(seconds=600, cost=0),
    )
    warned = told([item])
    assert "reprieve.scheduling/on-preemption" in warned["$.spec.onPreemption"]
    assert "reprieve.scheduling/disruption-cost-milestones" in warned["$.spec.preemption.disruptionCostMilestones"]


def test_what_the_kep_never_wrote_is_refused_with_what_would_be_right() -> None:
    (problem,) = load_objects([first_queue(withinCohort="Sometimes")]).errors
    assert problem.field == "$.spec.preemption.withinCohort"
    assert "Always" in problem.allowed


def test_a_plan_warns_too() -> None:
    result = plan(STORY_1)
    assert any("today: reclaimWithinCohort: Any" in str(warning) for warning in result.warnings)
