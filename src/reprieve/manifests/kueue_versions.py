"""The older spellings of Kueue's kinds, and how each becomes today's.

v1alpha2 is what KEP-83 was written against: quota as min and max, `withinCohort`, admission in the spec.
"""

from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, structs

from reprieve.manifests import kueue
from reprieve.manifests.meta import Condition, Count, Int32, LabelSelector, Manifest, Model, PositiveCount, Taint
from reprieve.manifests.pods import PodSpec, PodTemplate
from reprieve.model.resources import Quantity

Today = TypeVar("Today", bound=Model)
# Both are looked up with what is not in them as it is.
_RECLAIM: dict[Any, Any] = {
    "ReclaimFromLowerPriority": "LowerPriority",
    "ReclaimFromAny": "Any",
    "ReclaimAny": "Any",
    "Always": "Any",
}
_WITHIN_QUEUE: dict[Any, Any] = {"LowerPriorityOnly": "LowerPriority"}
_STOP_AT: dict[Any, Any] = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def _today(kind: type[Today], old: Model, **changed: Any) -> Today:
    """What is said in the same words today is taken as it is; `changed` is the rest."""
    same = {name: getattr(old, name) for name in kind.__struct_fields__ if name not in changed and hasattr(old, name)}
    return kind(**same, **changed)


class FlavorFungibilityV1beta1(Model):
    when_can_borrow: Literal["Borrow", "MayStopSearch", "TryNextFlavor"] = "Borrow"
    when_can_preempt: Literal["Preempt", "MayStopSearch", "TryNextFlavor"] = "TryNextFlavor"


class ClusterQueueSpecV1beta1(Model):
    resource_groups: tuple[kueue.ResourceGroup, ...] = ()
    cohort: str = ""
    queueing_strategy: kueue.QueueingStrategy = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    preemption: kueue.Preemption = kueue.Preemption()
    flavor_fungibility: FlavorFungibilityV1beta1 = FlavorFungibilityV1beta1()
    fair_sharing: kueue.FairSharing | None = None
    stop_policy: kueue.StopPolicy = "None"
    wait_before_preemption_seconds: Count | None = None
    admission_checks: tuple[str, ...] = ()
    admission_checks_strategy: kueue.ChecksStrategy = kueue.ChecksStrategy()


class ClusterQueueV1beta1(Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta1"] = "kueue.x-k8s.io/v1beta1"
    kind: Literal["ClusterQueue"] = "ClusterQueue"
    spec: ClusterQueueSpecV1beta1 = ClusterQueueSpecV1beta1()
    status: kueue.QueueStatus = kueue.QueueStatus()

    def internal(self) -> kueue.ClusterQueue:
        said = structs.asdict(self.spec.flavor_fungibility)
        fungibility = kueue.FlavorFungibility(**{name: _STOP_AT.get(value, value) for name, value in said.items()})
        named = tuple(kueue.CheckRule(name=name) for name in self.spec.admission_checks)
        checks = kueue.ChecksStrategy(admission_checks=named) if named else self.spec.admission_checks_strategy
        changed = {"cohort_name": self.spec.cohort, "flavor_fungibility": fungibility}
        today = _today(kueue.ClusterQueueSpec, self.spec, admission_checks_strategy=checks, **changed)
        return kueue.ClusterQueue(metadata=self.metadata, spec=today, status=self.status)


class QuotaV1alpha2(Model):
    min: Quantity
    max: Quantity | None = None


class FlavorV1alpha2(Model):
    name: str
    quota: QuotaV1alpha2


class ResourceV1alpha2(Model):
    name: str
    flavors: Annotated[tuple[FlavorV1alpha2, ...], Meta(min_length=1)]


class PreemptionV1alpha2(Model):
    """With what KEP-83 writes elsewhere in its text: Always, ReclaimAny, LowerPriorityOnly, and its alternatives."""

    within_cohort: (
        Literal["Never", "ReclaimFromLowerPriority", "ReclaimFromAny", "ReclaimAny", "Always", "LowerPriority"] | None
    ) = None
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority", "LowerPriorityOnly"] | None = (
        None
    )
    trigger_after_workload_waiting_seconds: Count | None = None
    workload_sorting: tuple[kueue.Sorting, ...] = ()


class ClusterQueueSpecV1alpha2(Model):
    resources: tuple[ResourceV1alpha2, ...] = ()
    cohort: str = ""
    queueing_strategy: kueue.QueueingStrategy = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    preemption: PreemptionV1alpha2 = PreemptionV1alpha2()
    wait_before_preemption_seconds: Count | None = None


class ClusterQueueV1alpha2(Manifest):
    api_version: Literal["kueue.x-k8s.io/v1alpha2"] = "kueue.x-k8s.io/v1alpha2"
    kind: Literal["ClusterQueue"] = "ClusterQueue"
    spec: ClusterQueueSpecV1alpha2 = ClusterQueueSpecV1alpha2()
    status: kueue.QueueStatus = kueue.QueueStatus()

    def internal(self) -> kueue.ClusterQueue:
        spec = self.spec
        preemption = _today(kueue.Preemption, spec.preemption, **_policies(spec.preemption))
        changed = {"resource_groups": _resource_groups(spec.resources), "cohort_name": spec.cohort}
        today = _today(kueue.ClusterQueueSpec, spec, preemption=preemption, **changed)
        return kueue.ClusterQueue(metadata=self.metadata, spec=today, status=self.status)


def _policies(said: PreemptionV1alpha2) -> dict[str, Any]:
    """Whom it reaches, in today's words. LowerPriority is what KEP-83 would have called preempting while borrowing."""
    within, own = said.within_cohort, said.within_cluster_queue
    borrow = kueue.BorrowWithinCohort(policy="LowerPriority") if within == "LowerPriority" else None
    return {
        "reclaim_within_cohort": _RECLAIM.get(within, within),
        "within_cluster_queue": _WITHIN_QUEUE.get(own, own),
        "borrow_within_cohort": borrow,
    }


def _resource_groups(resources: tuple[ResourceV1alpha2, ...]) -> tuple[kueue.ResourceGroup, ...]:
    """Resources that list the same flavors in the same order share them: one group for each such list."""
    groups: dict[tuple[str, ...], list[ResourceV1alpha2]] = {}
    for resource in resources:
        groups.setdefault(tuple(flavor.name for flavor in resource.flavors), []).append(resource)
    return tuple(_resource_group(flavors, members) for flavors, members in groups.items())


def _resource_group(flavors: tuple[str, ...], members: list[ResourceV1alpha2]) -> kueue.ResourceGroup:
    quotas = (
        kueue.FlavorQuotas(name=name, resources=tuple(_quota(each.name, each.flavors[index].quota) for each in members))
        for index, name in enumerate(flavors)
    )
    return kueue.ResourceGroup(covered_resources=tuple(each.name for each in members), flavors=tuple(quotas))


def _quota(name: str, quota: QuotaV1alpha2) -> kueue.FlavorResourceQuota:
    """`max` was the most a queue could use; today the same is said by what it may borrow above nominal.

    A maximum below the minimum is refused by admission; a world that has it lends nothing.
    """
    limit = None if quota.max is None else max(quota.max - quota.min, Quantity(0))
    return kueue.FlavorResourceQuota(name=name, nominal_quota=quota.min, borrowing_limit=limit)


class ResourceFlavorV1alpha2(Manifest):
    api_version: Literal["kueue.x-k8s.io/v1alpha2"] = "kueue.x-k8s.io/v1alpha2"
    kind: Literal["ResourceFlavor"] = "ResourceFlavor"
    node_selector: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()

    def internal(self) -> kueue.ResourceFlavor:
        spec = kueue.ResourceFlavorSpec(node_labels=self.node_selector, node_taints=self.taints)
        return kueue.ResourceFlavor(metadata=self.metadata, spec=spec)


class QuotaWorkloadSpecV1beta1(Model):
    pod_sets: Annotated[tuple[kueue.PodSet, ...], Meta(min_length=1, max_length=8)]
    queue_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    priority_class_source: Literal["", "kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass"] = ""
    active: bool = True
    maximum_execution_time_seconds: PositiveCount | None = None
    on_preemption: kueue.OnPreemption | None = None
    preemption: kueue.WorkloadPreemption | None = None


class QuotaWorkloadV1beta1(Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta1"] = "kueue.x-k8s.io/v1beta1"
    kind: Literal["Workload"] = "Workload"
    spec: QuotaWorkloadSpecV1beta1
    status: kueue.QuotaWorkloadStatus = kueue.QuotaWorkloadStatus()

    def internal(self) -> kueue.QuotaWorkload:
        reference = _class_reference(self.spec.priority_class_name, self.spec.priority_class_source)
        today = _today(kueue.QuotaWorkloadSpec, self.spec, priority_class_ref=reference)
        return kueue.QuotaWorkload(metadata=self.metadata, spec=today, status=self.status)


def _class_reference(name: str, source: str) -> kueue.PriorityClassReference | None:
    if not name:
        return None
    if source == "kueue.x-k8s.io/workloadpriorityclass":
        return kueue.PriorityClassReference(group="kueue.x-k8s.io", kind="WorkloadPriorityClass", name=name)
    return kueue.PriorityClassReference(group="scheduling.k8s.io", kind="PriorityClass", name=name)


class PodSetV1alpha2(Model):
    name: str = "main"
    count: Count = 1
    spec: PodSpec


class PodSetFlavorsV1alpha2(Model):
    name: str = "main"
    flavors: dict[str, str] = {}


class AdmissionV1alpha2(Model):
    cluster_queue: str
    pod_set_flavors: tuple[PodSetFlavorsV1alpha2, ...] = ()


class QuotaWorkloadSpecV1alpha2(Model):
    pod_sets: Annotated[tuple[PodSetV1alpha2, ...], Meta(min_length=1)]
    queue_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    admission: AdmissionV1alpha2 | None = None
    on_preemption: kueue.OnPreemption | None = None
    preemption: kueue.WorkloadPreemption | None = None


class WorkloadStatusV1alpha2(Model):
    conditions: tuple[Condition, ...] = ()


class QuotaWorkloadV1alpha2(Manifest):
    api_version: Literal["kueue.x-k8s.io/v1alpha2"] = "kueue.x-k8s.io/v1alpha2"
    kind: Literal["Workload"] = "Workload"
    spec: QuotaWorkloadSpecV1alpha2
    status: WorkloadStatusV1alpha2 = WorkloadStatusV1alpha2()

    def internal(self) -> kueue.QuotaWorkload:
        spec = self.spec
        pod_sets = tuple(
            kueue.PodSet(name=pod_set.name, count=pod_set.count, template=PodTemplate(spec=pod_set.spec))
            for pod_set in spec.pod_sets
        )
        reference = _class_reference(spec.priority_class_name, "")
        today = _today(kueue.QuotaWorkloadSpec, spec, pod_sets=pod_sets, priority_class_ref=reference)
        status = kueue.QuotaWorkloadStatus(admission=_admission(spec.admission), conditions=self.status.conditions)
        return kueue.QuotaWorkload(metadata=self.metadata, spec=today, status=status)


def _admission(admission: AdmissionV1alpha2 | None) -> kueue.Admission | None:
    if admission is None:
        return None
    assignments = (
        kueue.PodSetAssignment(name=pod_set.name, flavors=pod_set.flavors) for pod_set in admission.pod_set_flavors
    )
    return kueue.Admission(cluster_queue=admission.cluster_queue, pod_set_assignments=tuple(assignments))
