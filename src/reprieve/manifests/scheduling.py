"""scheduling.k8s.io: priority classes, workloads and pod groups.

Two shapes of one idea are read. In v1alpha1 a Workload holds its pod groups and their priorities, and pods name both
in `spec.workloadRef`. Since v1alpha2 a Workload holds templates only; a PodGroup object is what pods name in
`spec.schedulingGroup`. Inside, a group is a `GroupPolicy` either way.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from reprieve.manifests.meta import Condition, Int32, Manifest, Model, PositiveCount, PreemptionPolicy

TOLERATION_PREFIX = "preemption-toleration.scheduling.x-k8s.io/"
TOLERATION_PREFIX_BEFORE = "preemption-toleration.scheduling.sigs.k8s.io/"
"""How the plugin wrote it at first; nobody reads that any more."""
MINIMUM_PREEMPTABLE_PRIORITY = TOLERATION_PREFIX + "minimum-preemptable-priority"
TOLERATION_SECONDS = TOLERATION_PREFIX + "toleration-seconds"
ALLOW_PREEMPTION = "yunikorn.apache.org/allow-preemption"

DisruptionUnit = Literal["Pod", "PodGroup"]


class PriorityClass(Manifest):
    api_version: Literal["scheduling.k8s.io/v1"] = "scheduling.k8s.io/v1"
    kind: Literal["PriorityClass"] = "PriorityClass"
    value: Int32
    global_default: bool = False
    description: str = ""
    preemption_policy: PreemptionPolicy = "PreemptLowerPriority"


class Empty(Model):
    """An option that is chosen by being there."""


class GangPolicy(Model):
    min_count: PositiveCount


class CompositeGangPolicy(Model):
    min_group_count: PositiveCount


class SchedulingPolicy(Model):
    basic: Empty | None = None
    gang: GangPolicy | None = None


class CompositeSchedulingPolicy(Model):
    basic: Empty | None = None
    gang: CompositeGangPolicy | None = None


class DisruptionMode(Model):
    single: Empty | None = None
    all: Empty | None = None


class TopologyConstraint(Model):
    key: str


class SchedulingConstraints(Model):
    topology: Annotated[tuple[TopologyConstraint, ...], Meta(max_length=1)] = ()


class ResourceClaim(Model):
    """A claim that the pods of a group share. No decision reads it; it is part of what a group is."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class GroupPolicy(Model):
    """How a group is scheduled and preempted, whichever version it was written in."""

    min_count: int | None = None
    """At least so many pods together; None: each on its own (basic)."""
    unit: DisruptionUnit = "Pod"
    topology_key: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: PreemptionPolicy | None = None
    resource_claims: tuple[ResourceClaim, ...] = ()


class GroupTemplate(Model):
    """A template of a Workload, whatever it stands below: what groups made of it say."""

    name: str
    place: str
    """Where it is written, such as `compositePodGroupTemplates[0].podGroupTemplates[1]`."""
    policy: GroupPolicy
    above: str = ""
    """The composite template it stands below."""


class WorkloadPodGroup(Model):
    """A pod group inside a Workload: the group itself (v1alpha1) or its template."""

    name: str
    policy: GroupPolicy


class ControllerReference(Model):
    """Whose pods a Workload is about, in the same namespace."""

    kind: str = ""
    name: str = ""
    api_group: str = ""


class WorkloadStatus(Model):
    """Priorities are recorded when a Workload is made, as a pod's are: classes that come and go do not change them."""

    priority: Int32 | None = None
    preemption_priority: Int32 | None = None
    preemption_policy: PreemptionPolicy | None = None
    conditions: tuple[Condition, ...] = ()


class Workload(Manifest):
    """A scheduling.k8s.io Workload, from either shape."""

    api_version: str = "scheduling.k8s.io/v1beta1"
    kind: Literal["Workload"] = "Workload"
    pod_groups: tuple[WorkloadPodGroup, ...] = ()
    priority_class_name: str = ""
    preemption_priority_class_name: str = ""
    status: WorkloadStatus = WorkloadStatus()
    holds_groups: bool = False
    """True in v1alpha1, where pods belong to the Workload directly."""
    templates: tuple[GroupTemplate, ...] = ()
    """All that groups are made from, those below composite templates too; none in v1alpha1."""
    controller_ref: ControllerReference | None = None


class PodGroupStatus(Model):
    conditions: tuple[Condition, ...] = ()


class PodGroup(Manifest):
    """The running instance of a group of pods."""

    api_version: str = "scheduling.k8s.io/v1beta1"
    kind: Literal["PodGroup", "CompositePodGroup"] = "PodGroup"
    policy: GroupPolicy = GroupPolicy()
    parent: str = ""
    workload_name: str = ""
    template_name: str = ""
    status: PodGroupStatus = PodGroupStatus()


# What is read from manifests.


class GangPolicyV1alpha1(Model):
    min_count: PositiveCount
    preemption_mode: DisruptionUnit | None = None


class PolicyV1alpha1(Model):
    basic: Empty | None = None
    gang: GangPolicyV1alpha1 | None = None


class PodGroupV1alpha1(Model):
    name: str
    policy: PolicyV1alpha1
    scheduling_constraints: SchedulingConstraints | None = None


class WorkloadSpecV1alpha1(Model):
    pod_groups: Annotated[tuple[PodGroupV1alpha1, ...], Meta(min_length=1, max_length=8)]
    controller_ref: ControllerReference | None = None
    priority_class_name: str = ""
    preemption_priority_class_name: str = ""


class WorkloadV1alpha1(Manifest):
    api_version: Literal["scheduling.k8s.io/v1alpha1"] = "scheduling.k8s.io/v1alpha1"
    kind: Literal["Workload"] = "Workload"
    spec: WorkloadSpecV1alpha1
    status: WorkloadStatus = WorkloadStatus()

    def internal(self) -> Workload:
        return Workload(
            api_version=self.api_version,
            metadata=self.metadata,
            pod_groups=tuple(_inline_group(group) for group in self.spec.pod_groups),
            priority_class_name=self.spec.priority_class_name,
            preemption_priority_class_name=self.spec.preemption_priority_class_name,
            status=self.status,
            holds_groups=True,
            controller_ref=self.spec.controller_ref,
        )


ResourceClaims = Annotated[tuple[ResourceClaim, ...], Meta(max_length=4)]


class WorkloadTemplateReference(Model):
    workload_name: str
    template_name: str


class PodGroupSpec(Model):
    scheduling_policy: SchedulingPolicy
    disruption_mode: DisruptionMode | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: ResourceClaims = ()
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: PreemptionPolicy | None = None
    workload_ref: WorkloadTemplateReference | None = None
    parent_composite_pod_group_name: str = ""


class CompositePodGroupSpec(Model):
    scheduling_policy: CompositeSchedulingPolicy
    disruption_mode: DisruptionMode | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: PreemptionPolicy | None = None
    workload_ref: WorkloadTemplateReference | None = None
    parent_composite_pod_group_name: str = ""


class PodGroupManifest(Manifest):
    api_version: Literal["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"] = "scheduling.k8s.io/v1beta1"
    kind: Literal["PodGroup"] = "PodGroup"
    spec: PodGroupSpec
    status: PodGroupStatus = PodGroupStatus()

    def internal(self) -> PodGroup:
        return pod_group(self, self.spec.workload_ref)


class CompositePodGroupManifest(Manifest):
    api_version: Literal["scheduling.k8s.io/v1alpha3"] = "scheduling.k8s.io/v1alpha3"
    kind: Literal["CompositePodGroup"] = "CompositePodGroup"
    spec: CompositePodGroupSpec
    status: PodGroupStatus = PodGroupStatus()

    def internal(self) -> PodGroup:
        return pod_group(self, self.spec.workload_ref)


def _inline_group(group: PodGroupV1alpha1) -> WorkloadPodGroup:
    gang, topology_key = group.policy.gang, _topology_key(group.scheduling_constraints)
    if gang is None:
        return WorkloadPodGroup(name=group.name, policy=GroupPolicy(topology_key=topology_key))
    unit = gang.preemption_mode or "Pod"
    policy = GroupPolicy(min_count=gang.min_count, unit=unit, topology_key=topology_key)
    return WorkloadPodGroup(name=group.name, policy=policy)


def pod_group(manifest: Any, reference: WorkloadTemplateReference | None) -> PodGroup:
    """A group or a composite group, from whichever version, and what it was made from."""
    return PodGroup(
        api_version=manifest.api_version,
        kind=manifest.kind,
        metadata=manifest.metadata,
        policy=group_policy(manifest.spec),
        parent=manifest.spec.parent_composite_pod_group_name,
        workload_name=reference.workload_name if reference else "",
        template_name=reference.template_name if reference else "",
        status=manifest.status,
    )


def group_policy(spec: Any) -> GroupPolicy:
    """Of a group, a composite group, or a template of one: they say it in the same words."""
    return GroupPolicy(
        min_count=_minimum(spec.scheduling_policy.gang),
        unit=_unit(spec.disruption_mode),
        topology_key=_topology_key(spec.scheduling_constraints),
        priority=spec.priority,
        priority_class_name=spec.priority_class_name,
        preemption_policy=spec.preemption_policy,
        resource_claims=getattr(spec, "resource_claims", ()),
    )


def _unit(mode: DisruptionMode | DisruptionUnit | None) -> DisruptionUnit:
    """v1alpha2 says the unit itself."""
    if isinstance(mode, DisruptionMode):
        return "Pod" if mode.all is None else "PodGroup"
    return mode or "Pod"


def _minimum(gang: GangPolicy | CompositeGangPolicy | None) -> int | None:
    if isinstance(gang, CompositeGangPolicy):
        return gang.min_group_count
    return None if gang is None else gang.min_count


def _topology_key(constraints: SchedulingConstraints | None) -> str:
    return constraints.topology[0].key if constraints and constraints.topology else ""
