"""The rest of Kubernetes that scheduling reads: nodes, namespaces, budgets, and what pods are made from."""

from typing import Annotated, Literal

from msgspec import Meta

from reprieve.manifests.meta import (
    Condition,
    Count,
    LabelSelector,
    Manifest,
    Model,
    PositiveCount,
    Reference,
    Taint,
    Time,
)
from reprieve.manifests.pods import PodTemplate
from reprieve.manifests.scheduling import DisruptionMode, Empty, ResourceClaims, SchedulingConstraints
from reprieve.model.resources import NOTHING, Resources

# A number in quotes can be read; that it is no percentage is for admission to say.
IntOrPercent = Count | Annotated[str, Meta(pattern=r"^[0-9]+%?$")]


class NodeSpec(Model):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeImage(Model):
    """A container image that a node has, with all of its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Model):
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    images: tuple[NodeImage, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Node(Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["Node"] = "Node"
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def allocatable(self) -> Resources:
        """What pods may use; a node that does not say offers its whole capacity."""
        return self.status.allocatable or self.status.capacity


class Namespace(Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["Namespace"] = "Namespace"


class Event(Manifest):
    """What happened to an object, and why, for people to read."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["Event"] = "Event"
    involved_object: Reference = Reference()
    type: str = "Normal"
    reason: str = ""
    message: str = ""
    count: Count = 1
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None


class ConfigMap(Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["ConfigMap"] = "ConfigMap"
    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}


class PodDisruptionBudgetSpec(Model):
    selector: LabelSelector | None = None
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


def desired_healthy(spec: PodDisruptionBudgetSpec, expected: int) -> int:
    """How many pods have to stay healthy; a budget that says nothing lets nobody go."""
    if spec.max_unavailable is not None:
        return max(0, expected - scaled(spec.max_unavailable, expected))
    return scaled(spec.min_available, expected) if spec.min_available is not None else expected


def scaled(value: int | str, expected: int) -> int:
    """A number, or that percentage rounded up."""
    text = str(value)
    return -(-int(text[:-1]) * expected // 100) if text.endswith("%") else int(text)


class PodDisruptionBudgetStatus(Model):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Time] = {}
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PodDisruptionBudget(Manifest):
    api_version: Literal["policy/v1"] = "policy/v1"
    kind: Literal["PodDisruptionBudget"] = "PodDisruptionBudget"
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class JobGang(Model):
    min_count: PositiveCount | None = None
    """Left out: as many as the Job runs at a time."""


class JobSchedulingPolicy(Model):
    basic: Empty | None = None
    gang: JobGang | None = None


class JobScheduling(Model):
    """How the pods of a Job are scheduled: what its PodGroup says."""

    scheduling_policy: JobSchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: ResourceClaims = ()


class JobSpec(Model):
    template: PodTemplate
    parallelism: Count = 1
    completions: Count | None = None
    suspend: bool = False
    scheduling: JobScheduling | None = None


class JobStatus(Model):
    active: Count = 0
    ready: Count = 0
    succeeded: Count = 0
    failed: Count = 0
    conditions: tuple[Condition, ...] = ()


class Job(Manifest):
    api_version: Literal["batch/v1"] = "batch/v1"
    kind: Literal["Job"] = "Job"
    spec: JobSpec
    status: JobStatus = JobStatus()


class ControllerSpec(Model):
    """Deployments, ReplicaSets and StatefulSets: so many pods of one template."""

    template: PodTemplate
    replicas: Count = 1
    selector: LabelSelector | None = None


class ControllerStatus(Model):
    replicas: Count = 0
    ready_replicas: Count = 0


class Controller(Manifest):
    """A workload whose pods some other controller makes: a template for federation, an owner for pods."""

    api_version: Literal["apps/v1"] = "apps/v1"
    kind: Literal["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"]
    spec: ControllerSpec
    status: ControllerStatus = ControllerStatus()
