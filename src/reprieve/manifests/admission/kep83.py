"""What KEP-83 spells otherwise than Kueue does today, or has as a field that Kueue's API does not keep.

All of it is read, and whoever wrote it is told today's words.
"""

from collections.abc import Iterator

from reprieve.manifests import kueue, kueue_versions
from reprieve.manifests.admission.metadata import check_unique
from reprieve.manifests.kueue import DISRUPTION_COST, ON_PREEMPTION
from reprieve.manifests.problems import Finding, found

ClusterQueueSpec = (
    kueue.ClusterQueueSpec | kueue_versions.ClusterQueueSpecV1beta1 | kueue_versions.ClusterQueueSpecV1alpha2
)
_WITHIN_COHORT = {
    "Never": "reclaimWithinCohort: Never",
    "ReclaimFromLowerPriority": "reclaimWithinCohort: LowerPriority",
    "ReclaimFromAny": "reclaimWithinCohort: Any",
    "ReclaimAny": "reclaimWithinCohort: Any",
    "Always": "reclaimWithinCohort: Any",
    "LowerPriority": "reclaimWithinCohort: LowerPriority, with borrowWithinCohort: {policy: LowerPriority}",
}
_FOR_ALL = "Reprieve reads it, Kueue has no such field; for all queues: {} in the configuration"
_ON_WORKLOADS = "Reprieve reads it, Kueue has no such field; kept by any API server: the annotation {} on workloads"


def check_old_policies(preemption: kueue_versions.PreemptionV1alpha2) -> Iterator[Finding]:
    """The policies of the first version, in today's words."""
    path, within = "$.spec.preemption", preemption.within_cohort
    if within is not None:
        yield _warning(f"{path}.withinCohort", found(within), f"today: {_WITHIN_COHORT[within]}")
    if preemption.within_cluster_queue == "LowerPriorityOnly":
        today = "today: withinClusterQueue: LowerPriority"
        yield _warning(f"{path}.withinClusterQueue", found("LowerPriorityOnly"), today)


def check_queue_alternatives(spec: ClusterQueueSpec) -> Iterator[Finding]:
    path, preemption = "$.spec.preemption", spec.preemption
    waits = _FOR_ALL.format("quota.waitBeforePreemptionSeconds (from creation)")
    seconds = preemption.trigger_after_workload_waiting_seconds
    if seconds is not None:
        yield _warning(f"{path}.triggerAfterWorkloadWaitingSeconds", found(seconds), waits)
    if spec.wait_before_preemption_seconds is not None:
        yield _warning("$.spec.waitBeforePreemptionSeconds", found(spec.wait_before_preemption_seconds), waits)
    if preemption.workload_sorting:
        sorting = ", ".join(preemption.workload_sorting)
        yield _warning(f"{path}.workloadSorting", f"found {sorting}", _FOR_ALL.format("quota.candidateOrder"))


def check_workload_alternatives(spec: kueue.QuotaWorkloadSpec) -> Iterator[Finding]:
    if spec.on_preemption is not None:
        yield _warning("$.spec.onPreemption", found(spec.on_preemption), _ON_WORKLOADS.format(ON_PREEMPTION))
    yield from check_costs(spec.preemption)


def check_costs(preemption: kueue.WorkloadPreemption | None) -> Iterator[Finding]:
    """Milestones of a workload, or of all workloads in a LocalQueue."""
    milestones = preemption.disruption_cost_milestones if preemption is not None else ()
    if milestones:
        path = "$.spec.preemption.disruptionCostMilestones"
        yield from check_unique(path, [str(one.seconds) for one in milestones], "seconds")
        said = ",".join(f"{one.seconds}:{one.cost}" for one in milestones)
        yield _warning(path, f"found {said}", _ON_WORKLOADS.format(DISRUPTION_COST))


def _warning(path: str, message: str, right: str) -> Finding:
    return Finding(path, message, right, "", "warning")
