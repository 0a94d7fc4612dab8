"""core/v1 Pod, as far as scheduling reads it, and what a pod asks for in all."""

from typing import Annotated, Literal

from msgspec import Meta, field

from reprieve.manifests.affinity import Affinity, TopologySpreadConstraint
from reprieve.manifests.meta import (
    Condition,
    Count,
    Int32,
    Manifest,
    Model,
    ObjectMeta,
    PreemptionPolicy,
    Time,
    Toleration,
    find_condition,
)
from reprieve.model.resources import NOTHING, PODS, Resources

Port = Annotated[int, Meta(ge=1, le=65535)]
HostPort = Annotated[int, Meta(ge=0, le=65535)]
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


class ResourceRequirements(Model):
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


class ContainerPort(Model):
    container_port: Port
    host_port: HostPort = 0
    host_ip: str = field(name="hostIP", default="")
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"


class Container(Model):
    name: str
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: Literal["Always", "OnFailure", "Never"] | None = None


class SchedulingGate(Model):
    name: str


class WorkloadReference(Model):
    """How a pod names its group in scheduling.k8s.io/v1alpha1."""

    name: str
    pod_group: str
    pod_group_replica_key: str = ""


class SchedulingGroup(Model):
    """How a pod names its group since scheduling.k8s.io/v1alpha2."""

    pod_group_name: str = ""


class PodSpec(Model):
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    overhead: Resources = NOTHING
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: PreemptionPolicy | None = None
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    termination_grace_period_seconds: Count = 30
    host_network: bool = False
    workload_ref: WorkloadReference | None = None
    scheduling_group: SchedulingGroup | None = None


class PodStatus(Model):
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None
    start_time: Time | None = None
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["Pod"] = "Pod"
    spec: PodSpec
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def terminating_by_preemption(self) -> bool:
        target = find_condition(self.status.conditions, "DisruptionTarget")
        return (
            self.terminating
            and target is not None
            and target.status == "True"
            and target.reason == PREEMPTION_BY_SCHEDULER
        )


class PodTemplate(Model):
    """What controllers make pods from."""

    metadata: ObjectMeta = ObjectMeta()
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
    return pod_requests(spec) + Resources({PODS: 1})
