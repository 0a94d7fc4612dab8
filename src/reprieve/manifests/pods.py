"""core/v1 Pod, as far as scheduling reads it: where it may run, beside whom, and what it asks for in all."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from reprieve.manifests import meta
from reprieve.model.resources import NOTHING, PODS, Resources

Port = Annotated[int, Meta(ge=1, le=65535)]
HostPort = Annotated[int, Meta(ge=0, le=65535)]
Weight = Annotated[int, Meta(ge=1, le=100)]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
"""On what a kubelet shows of a pod that it runs by itself, whatever an API server says."""
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


class NodeSelectorRequirement(meta.Model):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()


class NodeSelectorTerm(meta.Model):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(meta.Model):
    node_selector_terms: tuple[NodeSelectorTerm, ...]


class PreferredSchedulingTerm(meta.Model):
    weight: Weight
    preference: NodeSelectorTerm


class NodeAffinity(meta.Model):
    required: NodeSelector | None = field(name=_REQUIRED, default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] = field(name=_PREFERRED, default=())


class PodAffinityTerm(meta.Model):
    topology_key: str
    label_selector: meta.LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: meta.LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(meta.Model):
    weight: Weight
    pod_affinity_term: PodAffinityTerm


class PodAffinity(meta.Model):
    required: tuple[PodAffinityTerm, ...] = field(name=_REQUIRED, default=())
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(name=_PREFERRED, default=())


class Affinity(meta.Model):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(meta.Model):
    max_skew: meta.PositiveCount
    topology_key: str
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: meta.LabelSelector | None = None
    min_domains: meta.PositiveCount | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    node_taints_policy: Literal["Honor", "Ignore"] = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ResourceRequirements(meta.Model):
    requests: Resources = NOTHING
    limits: Resources = NOTHING

    @property
    def effective(self) -> Resources:
        """What is asked for: a limit without a request is a request."""
        if not self.limits:
            return self.requests
        if not self.requests:
            return self.limits
        return Resources({**self.limits, **self.requests})


class ContainerPort(meta.Model):
    container_port: Port
    host_port: HostPort = 0
    host_ip: str = field(name="hostIP", default="")
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"


class Container(meta.Model):
    name: str
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: Literal["Always", "OnFailure", "Never"] | None = None


class ClaimVolume(meta.Model):
    claim_name: str


class InlineCsiVolume(meta.Model):
    driver: str


class ImageVolume(meta.Model):
    """The files of an image as a volume."""

    reference: str = ""


class Volume(meta.Model):
    """One of a pod's volumes. Of kinds that matter to no scheduler only the name is read."""

    name: str
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: dict[str, Any] | None = None
    """It gets a claim of its own, named after the pod and the volume."""
    csi: InlineCsiVolume | None = None
    image: ImageVolume | None = None
    # Disks that a pod names itself, of which two pods may not use the same one.
    gce_persistent_disk: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None
    rbd: dict[str, Any] | None = None

    @property
    def names_disk(self) -> bool:
        return any(
            each is not None for each in (self.gce_persistent_disk, self.aws_elastic_block_store, self.iscsi, self.rbd)
        )


class PodResourceClaim(meta.Model):
    """A device that dynamic resource allocation is to find."""

    name: str


class SchedulingGate(meta.Model):
    name: str


class WorkloadReference(meta.Model):
    """How a pod names its group in scheduling.k8s.io/v1alpha1."""

    name: str
    pod_group: str
    pod_group_replica_key: str = ""


class SchedulingGroup(meta.Model):
    """How a pod names its group since scheduling.k8s.io/v1alpha2."""

    pod_group_name: str = ""


class PodSpec(meta.Model):
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    overhead: Resources = NOTHING
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[meta.Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: meta.Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: meta.PreemptionPolicy | None = None
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    runtime_class_name: str = ""
    termination_grace_period_seconds: meta.Count = 30
    host_network: bool = False
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    workload_ref: WorkloadReference | None = None
    scheduling_group: SchedulingGroup | None = None


class ContainerStatus(meta.Model):
    """What a node says of a container: what it has set aside for it, and what it runs with."""

    name: str = ""
    allocated_resources: Resources = NOTHING
    resources: ResourceRequirements = ResourceRequirements()


class PodStatus(meta.Model):
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None
    start_time: meta.Time | None = None
    nominated_node_name: str = ""
    conditions: tuple[meta.Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(meta.Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["Pod"] = "Pod"
    spec: PodSpec
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def mirror(self) -> bool:
        return MIRROR_ANNOTATION in self.metadata.annotations

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def preempted_by_scheduler(self) -> bool:
        """Whether a scheduler has chosen it to make way; that is written before it is deleted."""
        target = meta.find_condition(self.status.conditions, "DisruptionTarget")
        return target is not None and target.status == "True" and target.reason == PREEMPTION_BY_SCHEDULER

    @property
    def terminating_by_preemption(self) -> bool:
        return self.terminating and self.preempted_by_scheduler


class PodTemplate(meta.Model):
    """What controllers make pods from."""

    metadata: meta.ObjectMeta = meta.ObjectMeta()
    spec: PodSpec


def pod_requests(spec: PodSpec) -> Resources:
    """What a pod holds on its node: its containers, or its hungriest moment at start, with overhead.

    1. Containers and sidecars (init containers that restart always) run together.
    2. An ordinary init container runs beside the sidecars started before it; the largest such moment counts.
    3. Requests on the pod itself replace what its containers ask for, resource by resource; limits on the pod
       itself count where neither asks.
    4. Overhead comes on top.
    """
    if not spec.init_containers and not spec.overhead and len(spec.containers) == 1:
        requests = spec.containers[0].resources.effective
    else:
        requests = _container_requests(spec)
    if spec.resources.requests or spec.resources.limits:
        requests = Resources({**spec.resources.limits, **requests, **spec.resources.requests})
    return requests + spec.overhead if spec.overhead else requests


def _container_requests(spec: PodSpec) -> Resources:
    running = NOTHING
    for container in spec.containers:
        running += container.resources.effective
    sidecars = starting = NOTHING
    for container in spec.init_containers:
        requests = container.resources.effective
        if container.restart_policy == "Always":
            sidecars += requests
            requests = NOTHING
        starting = starting.maximum(sidecars + requests)
    return (running + sidecars).maximum(starting)


def pod_slots(spec: PodSpec) -> Resources:
    """A pod's requests with the place among the node's pods that it takes."""
    return pod_requests(spec).with_more(PODS, 1)
