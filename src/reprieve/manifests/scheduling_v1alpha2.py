"""scheduling.k8s.io/v1alpha2, as Kubernetes 1.36 had it, and how it becomes what is said today.

A disruption mode is a word, and a group names its template in `podGroupTemplateRef`. Today's spelling is read as well.
"""

from typing import Annotated, Literal

from msgspec import Meta

from reprieve.manifests.meta import Int32, Manifest, Model, PreemptionPolicy
from reprieve.manifests.scheduling import (
    ControllerReference,
    DisruptionMode,
    DisruptionUnit,
    PodGroup,
    PodGroupStatus,
    ResourceClaims,
    SchedulingConstraints,
    SchedulingPolicy,
    Workload,
    WorkloadTemplateReference,
    pod_group,
)
from reprieve.manifests.workload_templates import CompositePodGroupTemplate, workload

V1ALPHA2 = Literal["scheduling.k8s.io/v1alpha2"]


class PodGroupTemplateV1alpha2(Model):
    name: str
    scheduling_policy: SchedulingPolicy
    disruption_mode: DisruptionUnit | DisruptionMode | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: ResourceClaims = ()
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: PreemptionPolicy | None = None


class WorkloadSpecV1alpha2(Model):
    pod_group_templates: Annotated[tuple[PodGroupTemplateV1alpha2, ...], Meta(max_length=8)] = ()
    composite_pod_group_templates: Annotated[tuple[CompositePodGroupTemplate, ...], Meta(max_length=8)] = ()
    controller_ref: ControllerReference | None = None


class WorkloadV1alpha2(Manifest):
    api_version: V1ALPHA2 = "scheduling.k8s.io/v1alpha2"
    kind: Literal["Workload"] = "Workload"
    spec: WorkloadSpecV1alpha2

    def internal(self) -> Workload:
        return workload(self, self.spec)


class WorkloadTemplateReferenceV1alpha2(Model):
    workload_name: str
    pod_group_template_name: str


class PodGroupTemplateReference(Model):
    workload: WorkloadTemplateReferenceV1alpha2 | None = None


class PodGroupSpecV1alpha2(Model):
    scheduling_policy: SchedulingPolicy
    disruption_mode: DisruptionUnit | DisruptionMode | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: ResourceClaims = ()
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: PreemptionPolicy | None = None
    pod_group_template_ref: PodGroupTemplateReference | None = None
    workload_ref: WorkloadTemplateReference | None = None
    parent_composite_pod_group_name: str = ""

    @property
    def template(self) -> WorkloadTemplateReference | None:
        """Where it was made from, in today's words."""
        old = self.pod_group_template_ref.workload if self.pod_group_template_ref else None
        if old is None:
            return self.workload_ref
        return WorkloadTemplateReference(workload_name=old.workload_name, template_name=old.pod_group_template_name)


class PodGroupV1alpha2(Manifest):
    api_version: V1ALPHA2 = "scheduling.k8s.io/v1alpha2"
    kind: Literal["PodGroup"] = "PodGroup"
    spec: PodGroupSpecV1alpha2
    status: PodGroupStatus = PodGroupStatus()

    def internal(self) -> PodGroup:
        return pod_group(self, self.spec.template)
