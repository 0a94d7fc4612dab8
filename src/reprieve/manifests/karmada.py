"""Karmada: member clusters, propagation policies and resource bindings."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from reprieve.manifests import meta
from reprieve.manifests.pods import NodeSelector
from reprieve.model.resources import NOTHING, Resources

BindingKind = Literal["ResourceBinding", "ClusterResourceBinding"]
PriorityClassSource = Literal["KubePriorityClass", "PodPriorityClass", "FederatedPriorityClass"]
POLICY_ANNOTATION = "propagationpolicy.karmada.io/name"
POLICY_NAMESPACE_ANNOTATION = "propagationpolicy.karmada.io/namespace"
CLUSTER_POLICY_ANNOTATION = "clusterpropagationpolicy.karmada.io/name"
HOLLOW_ANNOTATION = "reprieve.scheduling/hollow"
"""On a cluster that exists on paper only: it runs what bindings bring to it, and nothing else."""


class ResourceSummary(meta.Model):
    allocatable: Resources = NOTHING
    allocated: Resources = NOTHING
    allocating: Resources = NOTHING


class ApiResource(meta.Model):
    name: str = ""
    kind: str = ""


class ApiEnablement(meta.Model):
    group_version: str
    resources: tuple[ApiResource, ...] = ()


class ClusterSpec(meta.Model):
    sync_mode: Literal["Push", "Pull"] = "Push"
    provider: str = ""
    region: str = ""
    zone: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[meta.Taint, ...] = ()


class ClusterStatus(meta.Model):
    conditions: tuple[meta.Condition, ...] = ()
    resource_summary: ResourceSummary | None = None
    api_enablements: tuple[ApiEnablement, ...] = ()


class Cluster(meta.Manifest):
    api_version: Literal["cluster.karmada.io/v1alpha1"] = "cluster.karmada.io/v1alpha1"
    kind: Literal["Cluster"] = "Cluster"
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()


def is_hollow(cluster: Cluster) -> bool:
    return cluster.metadata.annotations.get(HOLLOW_ANNOTATION) == "true"


class FieldSelector(meta.Model):
    match_expressions: tuple[meta.SelectorRequirement, ...] = ()


class ClusterAffinity(meta.Model):
    label_selector: meta.LabelSelector | None = None
    field_selector: FieldSelector | None = None
    cluster_names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class ClusterAffinityTerm(ClusterAffinity):
    affinity_name: str


class SpreadConstraint(meta.Model):
    spread_by_field: Literal["", "cluster", "region", "zone", "provider"] = ""
    spread_by_label: str = ""
    min_groups: meta.Count = 0
    max_groups: meta.Count = 0


class StaticClusterWeight(meta.Model):
    target_cluster: ClusterAffinity
    weight: meta.PositiveCount


class ClusterPreferences(meta.Model):
    static_weight_list: tuple[StaticClusterWeight, ...] = ()
    dynamic_weight: Literal["", "AvailableReplicas"] = ""


class ReplicaScheduling(meta.Model):
    replica_scheduling_type: Literal["Duplicated", "Divided"] = "Divided"
    replica_division_preference: Literal["", "Aggregated", "Weighted"] = ""
    weight_preference: ClusterPreferences | None = None


class Placement(meta.Model):
    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[ClusterAffinityTerm, ...] = ()
    cluster_tolerations: tuple[meta.Toleration, ...] = ()
    spread_constraints: tuple[SpreadConstraint, ...] = ()
    replica_scheduling: ReplicaScheduling | None = None
    workload_affinity: dict[str, Any] | None = None


class ResourceSelector(meta.Model):
    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    label_selector: meta.LabelSelector | None = None


class PolicySchedulePriority(meta.Model):
    priority_class_source: PriorityClassSource = "KubePriorityClass"
    priority_class_name: str = ""


class PropagationSpec(meta.Model):
    resource_selectors: Annotated[tuple[ResourceSelector, ...], Meta(min_length=1)]
    placement: Placement = Placement()
    priority: meta.Int32 = 0
    preemption: Literal["Always", "Never"] = "Never"
    scheduler_name: str = "default-scheduler"
    schedule_priority: PolicySchedulePriority | None = None
    # No decision goes by these: `check` says so.
    propagate_deps: bool = False
    dependent_overrides: tuple[str, ...] = ()
    failover: dict[str, Any] | None = None
    suspension: dict[str, Any] | None = None
    conflict_resolution: Literal["", "Abort", "Overwrite"] = ""
    activation_preference: Literal["", "Lazy"] = ""
    preserve_resources_on_deletion: bool = False


class PropagationPolicy(meta.Manifest):
    api_version: Literal["policy.karmada.io/v1alpha1"] = "policy.karmada.io/v1alpha1"
    kind: Literal["PropagationPolicy", "ClusterPropagationPolicy"]
    spec: PropagationSpec


class NodeClaim(meta.Model):
    node_selector: dict[str, str] = {}
    tolerations: tuple[meta.Toleration, ...] = ()
    hard_node_affinity: NodeSelector | None = None


class ReplicaRequirements(meta.Model):
    node_claim: NodeClaim | None = None
    resource_request: Resources = NOTHING
    namespace: str = ""
    priority_class_name: str = ""


class TargetCluster(meta.Model):
    name: str
    replicas: meta.Count = 0


class BindingSchedulePriority(meta.Model):
    """Both belong to it by the proposal; Karmada's API has only the first one so far. A priority that is left out is 0;
    a preemption policy that is left out is that of the class of the binding's policy, else Never."""

    priority: meta.Int32 | None = None
    preemption_policy: meta.PreemptionPolicy | None = None


class Suspension(meta.Model):
    scheduling: bool = False


class GracefulEvictionTask(meta.Model):
    from_cluster: str
    replicas: meta.Count | None = None
    reason: str = ""
    message: str = ""
    creation_timestamp: meta.Time | None = None
    grace_period_seconds: meta.Count | None = None
    suppress_deletion: bool = False


class BindingSpec(meta.Model):
    resource: meta.Reference
    replicas: meta.Count = 0
    replica_requirements: ReplicaRequirements | None = None
    clusters: tuple[TargetCluster, ...] = ()
    placement: Placement | None = None
    scheduler_name: str = "default-scheduler"
    schedule_priority: BindingSchedulePriority | None = None
    graceful_eviction_tasks: tuple[GracefulEvictionTask, ...] = ()
    suspension: Suspension | None = None
    components: tuple[dict[str, Any], ...] = ()


class BindingStatus(meta.Model):
    conditions: tuple[meta.Condition, ...] = ()
    scheduler_observed_generation: int = 0


class ResourceBinding(meta.Manifest):
    """A binding of a template to clusters, namespaced or for the whole control plane."""

    api_version: Literal["work.karmada.io/v1alpha2"] = "work.karmada.io/v1alpha2"
    kind: BindingKind
    spec: BindingSpec
    status: BindingStatus = BindingStatus()
