"""kueue.x-k8s.io: queues, cohorts, flavors and quota workloads, as v1beta2 spells them.

The older spellings are in `kueue_versions`; inside, there is only what stands here.
"""

import hashlib
from typing import Annotated, Any, Literal

from msgspec import Meta

from reprieve.manifests import meta
from reprieve.manifests.kueue_topology import PodSetTopologyRequest, TopologyAssignment
from reprieve.manifests.pods import PodTemplate
from reprieve.model.resources import NOTHING, Quantity, Resources

V1BETA2 = "kueue.x-k8s.io/v1beta2"
QUEUE_NAME_LABEL = "kueue.x-k8s.io/queue-name"
ADMISSION_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods in queues that have no quota yet."""
PRIORITY_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
MAXIMUM_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
TOTAL_COUNT = "kueue.x-k8s.io/pod-group-total-count"
SUSPENDING_PARENT = "kueue.x-k8s.io/pod-suspending-parent"
"""Of a pod: which kind of owner has its Workload."""
STATEFUL_SET = "statefulset"
FAST_ADMISSION = "kueue.x-k8s.io/pod-group-fast-admission"
SERVING = "kueue.x-k8s.io/pod-group-serving"
MINIMUM_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"
# Annotations of Reprieve's own on quota workloads: what KEP-83 considered and put off.
WAIT_BEFORE_PREEMPTION = "reprieve.scheduling/wait-before-preemption-seconds"
ON_PREEMPTION = "reprieve.scheduling/on-preemption"
DISRUPTION_COST = "reprieve.scheduling/disruption-cost-milestones"

ReclaimPolicy = Literal["Never", "LowerPriority", "Any"]
WithinQueuePolicy = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
BorrowPolicy = Literal["Never", "LowerPriority"]
QueueingStrategy = Literal["StrictFIFO", "BestEffortFIFO"]
StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
Sorting = Literal["ByLowestPriority", "ByLowestRuntime", "ByLongestRuntime", "ByLowestCost"]
OnPreemption = Literal["Requeue", "Terminate"]

_LONGEST_NAME, _LONGEST_LABEL = 253, 63
_HASH = 5


def workload_name(kind: str, name: str, uid: str, *, longest: int = _LONGEST_NAME) -> str:
    """The Workload of an object: the same each time for the same one, another one for its successor of that name."""
    digest = hashlib.sha256(uid.encode()).hexdigest()[:_HASH]
    base = f"{kind}-{name}"[: longest - _HASH - 1].rstrip("-.")
    return f"{base}-{digest}"


def stateful_set_workload(name: str) -> str:
    """The Workload of a StatefulSet, which is a label of its pods too: it is known before the object has a uid."""
    return workload_name(STATEFUL_SET, name, name, longest=_LONGEST_LABEL)


class FlavorResourceQuota(meta.Model):
    name: str
    nominal_quota: Quantity = Quantity(0)
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(meta.Model):
    name: str
    resources: Annotated[tuple[FlavorResourceQuota, ...], Meta(min_length=1)]


class ResourceGroup(meta.Model):
    covered_resources: Annotated[tuple[str, ...], Meta(min_length=1)]
    flavors: Annotated[tuple[FlavorQuotas, ...], Meta(min_length=1)]


class BorrowWithinCohort(meta.Model):
    policy: BorrowPolicy = "Never"
    max_priority_threshold: meta.Int32 | None = None


class Preemption(meta.Model):
    """Who may be preempted; a policy that is not set selects nobody, like Never."""

    reclaim_within_cohort: ReclaimPolicy | None = None
    within_cluster_queue: WithinQueuePolicy | None = None
    borrow_within_cohort: BorrowWithinCohort | None = None
    trigger_after_workload_waiting_seconds: meta.Count | None = None
    """KEP-83's, and no field of Kueue: how long workloads wait, from their first attempt, before they may preempt."""
    workload_sorting: tuple[Sorting, ...] = ()
    """KEP-83's, and no field of Kueue: by what those who could make way are told apart."""


class CostMilestone(meta.Model):
    """What an interruption costs after so many seconds."""

    seconds: meta.Count
    cost: meta.Count


class WorkloadPreemption(meta.Model):
    """KEP-83's, and no field of Kueue."""

    disruption_cost_milestones: tuple[CostMilestone, ...] = ()


class FlavorFungibility(meta.Model):
    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] = "MayStopSearch"
    when_can_preempt: Literal["MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class FairSharing(meta.Model):
    weight: Quantity = Quantity(10**9)


class CheckRule(meta.Model):
    """An admission check of a queue; for workloads on some flavors only, where it names any."""

    name: str
    on_flavors: tuple[str, ...] = ()


class ChecksStrategy(meta.Model):
    admission_checks: tuple[CheckRule, ...] = ()


class ClusterQueueSpec(meta.Model):
    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort_name: str = ""
    queueing_strategy: QueueingStrategy = "BestEffortFIFO"
    namespace_selector: meta.LabelSelector | None = None
    preemption: Preemption = Preemption()
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    fair_sharing: FairSharing | None = None
    stop_policy: StopPolicy = "None"
    wait_before_preemption_seconds: meta.Count | None = None
    """Another name of KEP-83's for `preemption.triggerAfterWorkloadWaitingSeconds`, which wins."""
    admission_checks_strategy: ChecksStrategy = ChecksStrategy()
    admission_scope: dict[str, Any] | None = None
    concurrent_admission_policy: dict[str, Any] | None = None
    """These two have no effect, and admission says so."""

    def checks(self) -> tuple[CheckRule, ...]:
        return self.admission_checks_strategy.admission_checks


class QueueStatus(meta.Model):
    conditions: tuple[meta.Condition, ...] = ()


class ClusterQueue(meta.Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["ClusterQueue"] = "ClusterQueue"
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: QueueStatus = QueueStatus()


DEEPEST_COHORTS = 100
"""How many cohorts may stand above each other."""


class CohortSpec(meta.Model):
    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_sharing: FairSharing | None = None


class Cohort(meta.Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["Cohort"] = "Cohort"
    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(meta.Model):
    cluster_queue: str
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None
    preemption: WorkloadPreemption | None = None
    """What counts for workloads of this queue that say nothing of it themselves."""


class LocalQueue(meta.Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha2"] = (
        "kueue.x-k8s.io/v1beta2"
    )
    kind: Literal["LocalQueue"] = "LocalQueue"
    spec: LocalQueueSpec
    status: QueueStatus = QueueStatus()


class ResourceFlavorSpec(meta.Model):
    node_labels: dict[str, str] = {}
    node_taints: tuple[meta.Taint, ...] = ()
    tolerations: tuple[meta.Toleration, ...] = ()
    topology_name: str = ""


class ResourceFlavor(meta.Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["ResourceFlavor"] = "ResourceFlavor"
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class CheckParameters(meta.Model):
    api_group: str
    kind: str
    name: str


class AdmissionCheckSpec(meta.Model):
    controller_name: Annotated[str, Meta(min_length=1)]
    parameters: CheckParameters | None = None


class AdmissionCheckStatus(meta.Model):
    conditions: tuple[meta.Condition, ...] = ()


class AdmissionCheck(meta.Manifest):
    """Something that an outside controller decides about a workload that has quota, before it may run."""

    api_version: Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["AdmissionCheck"] = "AdmissionCheck"
    spec: AdmissionCheckSpec
    status: AdmissionCheckStatus = AdmissionCheckStatus()

    @property
    def active(self) -> bool:
        """Whether its controller has said that it works."""
        return meta.is_true(self.status.conditions, "Active")


class WorkloadPriorityClass(meta.Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["WorkloadPriorityClass"] = "WorkloadPriorityClass"
    value: meta.Int32
    description: str = ""


class PodSet(meta.Model):
    name: str = "main"
    count: meta.Count = 1
    min_count: meta.PositiveCount | None = None
    template: PodTemplate
    topology_request: PodSetTopologyRequest | None = None


class PriorityClassReference(meta.Model):
    group: str = ""
    kind: Literal["WorkloadPriorityClass", "PriorityClass"]
    name: str


class PreemptionGate(meta.Model):
    """Something that has to be opened before a workload may preempt."""

    name: Annotated[str, Meta(min_length=1, max_length=63)]


class PreemptionGateState(meta.Model):
    name: str
    position: Literal["Open", "Closed"] = "Closed"
    last_transition_time: meta.Time | None = None


class QuotaWorkloadSpec(meta.Model):
    pod_sets: Annotated[tuple[PodSet, ...], Meta(min_length=1, max_length=8)]
    queue_name: str = ""
    priority: meta.Int32 | None = None
    priority_class_ref: PriorityClassReference | None = None
    active: bool = True
    maximum_execution_time_seconds: meta.PositiveCount | None = None
    on_preemption: OnPreemption | None = None
    """KEP-83's, and no field of Kueue: whether it is over once preempted."""
    preemption: WorkloadPreemption | None = None
    preemption_gates: Annotated[tuple[PreemptionGate, ...], Meta(max_length=8)] = ()


class PodSetAssignment(meta.Model):
    name: str = "main"
    flavors: dict[str, str] = {}
    resource_usage: Resources = NOTHING
    count: meta.Count | None = None
    topology_assignment: TopologyAssignment | None = None


class Admission(meta.Model):
    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class ReclaimablePod(meta.Model):
    """So many pods of a set have done their work: they need no quota any more."""

    name: str = "main"
    count: meta.Count


class PodSetUpdate(meta.Model):
    """What a check adds to the pods of a set."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[meta.Toleration, ...] = ()


class CheckState(meta.Model):
    """What the controller of an admission check says about a workload."""

    name: str
    state: Literal["Pending", "Ready", "Retry", "Rejected"] = "Pending"
    message: str = ""
    last_transition_time: meta.Time | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] = ()
    requeue_after_seconds: meta.Count | None = None
    retry_count: meta.Count | None = None


class RequeueState(meta.Model):
    count: meta.Count | None = None
    requeue_at: meta.Time | None = None


class QuotaWorkloadStatus(meta.Model):
    admission: Admission | None = None
    conditions: tuple[meta.Condition, ...] = ()
    requeue_state: RequeueState | None = None
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()
    admission_checks: tuple[CheckState, ...] = ()
    preemption_gates: tuple[PreemptionGateState, ...] = ()


class QuotaWorkload(meta.Manifest):
    """Kueue's Workload; Kubernetes has a kind of the same name."""

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["Workload"] = "Workload"
    spec: QuotaWorkloadSpec
    status: QuotaWorkloadStatus = QuotaWorkloadStatus()

    @property
    def closed_gates(self) -> tuple[str, ...]:
        """The preemption gates that nobody has opened: before that it preempts nobody."""
        opened = {gate.name for gate in self.status.preemption_gates if gate.position == "Open"}
        return tuple(gate.name for gate in self.spec.preemption_gates if gate.name not in opened)
