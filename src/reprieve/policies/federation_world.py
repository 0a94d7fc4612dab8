"""Karmada's objects as the federation policy sees them: what clusters have left, what bindings ask for and rank at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprieve.engine.reach import tolerates
from reprieve.objects.core import Controller, Job
from reprieve.objects.karmada import (
    CLUSTER_POLICY_ANNOTATION,
    POLICY_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    Cluster,
    ClusterAffinity,
    Placement,
    PropagationPolicy,
    ResourceBinding,
)
from reprieve.objects.meta import SelectorRequirement, find_condition
from reprieve.objects.pods import PodSpec
from reprieve.objects.priorities import Priority, of_scheduled_binding
from reprieve.resources import NOTHING, Resources
from reprieve.world import World, microseconds

DUPLICATED = "Duplicated"


class BindingFacts:
    """What decisions ask about a binding."""

    def __init__(self, binding: ResourceBinding, priority: Priority) -> None:
        self.binding = binding
        self.key = (binding.kind, binding.namespace, binding.name)
        self.unit = f"{binding.kind}/{binding.namespace if binding.kind == 'ResourceBinding' else ''}/{binding.name}"
        self.priority = priority.value
        self.preemption_policy = priority.preemption_policy
        self.created = microseconds(binding.metadata.creation_timestamp)
        requirements = binding.spec.replica_requirements
        self.request: Resources = requirements.resource_request if requirements else NOTHING
        scheduling = binding.spec.placement.replica_scheduling if binding.spec.placement else None
        self.duplicated = scheduling is None or scheduling.replica_scheduling_type == DUPLICATED

    @property
    def pending(self) -> bool:
        return not self.binding.spec.clusters

    @property
    def placement(self) -> Placement:
        return self.binding.spec.placement or Placement()

    def on(self, cluster: str) -> Resources:
        """What it uses of a cluster it is scheduled to."""
        for target in self.binding.spec.clusters:
            if target.name == cluster:
                return self.request * (self.binding.spec.replicas if self.duplicated else target.replicas)
        return NOTHING

    @property
    def whole(self) -> Resources:
        """What all its replicas ask for."""
        return self.request * self.binding.spec.replicas


class Federation:
    """The member clusters and all bindings of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clusters: dict[str, Cluster] = {cluster.name: cluster for cluster in world.all(Cluster)}
        self.free: dict[str, Resources] = {name: _free(cluster) for name, cluster in self.clusters.items()}
        self.bindings = [BindingFacts(binding, self.priority(binding)) for binding in world.all(ResourceBinding)]

    def priority(self, binding: ResourceBinding) -> Priority:
        """What a binding carries; else what the policy that made it says."""
        carried = of_scheduled_binding(binding)
        if carried is not None:
            return carried
        policy = self._policy(binding)
        asked = policy.spec.schedule_priority if policy is not None else None
        return self.world.classes.of_binding(asked, self._template(binding))

    def _policy(self, binding: ResourceBinding) -> PropagationPolicy | None:
        """The policy that a binding's annotations name."""
        said: Mapping[str, str] = {**binding.metadata.labels, **binding.metadata.annotations}
        if POLICY_ANNOTATION in said:
            namespace = said.get(POLICY_NAMESPACE_ANNOTATION, binding.namespace)
            return self.world.get(PropagationPolicy, said[POLICY_ANNOTATION], namespace)
        name = said.get(CLUSTER_POLICY_ANNOTATION, "")
        return self.world.get(PropagationPolicy, name, called="ClusterPropagationPolicy") if name else None

    def _template(self, binding: ResourceBinding) -> PodSpec | None:
        """The pod template of the resource that is bound."""
        reference = binding.spec.resource
        namespace = reference.namespace or binding.namespace
        found: Any = self.world.get(Controller, reference.name, namespace, called=reference.kind)
        if found is None:
            found = self.world.get(Job, reference.name, namespace)
        return found.spec.template.spec if found is not None else None

    def reachable(self, facts: BindingFacts) -> list[str]:
        """Clusters that the placement allows: by affinity, in the order of its groups, and by taints."""
        placement = facts.placement
        groups: tuple[ClusterAffinity, ...] = placement.cluster_affinities or (
            (placement.cluster_affinity,) if placement.cluster_affinity else (ClusterAffinity(),)
        )
        for group in groups:
            found = [name for name, cluster in sorted(self.clusters.items()) if self._suits(cluster, group, placement)]
            if found:
                return found
        return []

    def _suits(self, cluster: Cluster, group: ClusterAffinity, placement: Placement) -> bool:
        ready = find_condition(cluster.status.conditions, "Ready")
        if ready is not None and ready.status != "True":
            return False
        tolerated = all(
            taint.effect == "PreferNoSchedule" or any(tolerates(item, taint) for item in placement.cluster_tolerations)
            for taint in cluster.spec.taints
        )
        return tolerated and _meant(cluster, group)


def _free(cluster: Cluster) -> Resources:
    summary = cluster.status.resource_summary
    if summary is None:
        return NOTHING
    return summary.allocatable - summary.allocated - summary.allocating


def _meant(cluster: Cluster, group: ClusterAffinity) -> bool:
    if cluster.name in group.exclude or (group.cluster_names and cluster.name not in group.cluster_names):
        return False
    if group.label_selector is not None and not group.label_selector.matches(cluster.metadata.labels):
        return False
    expressions = group.field_selector.match_expressions if group.field_selector else ()
    return all(_field_holds(item, cluster) for item in expressions)


def _field_holds(requirement: SelectorRequirement, cluster: Cluster) -> bool:
    spec = cluster.spec
    values = {"provider": {spec.provider}, "region": {spec.region}, "zone": {spec.zone, *spec.zones}}
    found = values.get(requirement.key, set()) - {""}
    match requirement.operator:
        case "In":
            return bool(found & set(requirement.values))
        case "NotIn":
            return not found & set(requirement.values)
        case "Exists":
            return bool(found)
        case "DoesNotExist":
            return not found
