"""Karmada's clusters, policies and bindings."""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests import karmada
from reprieve.manifests.admission import karmada_without_effect as without_effect
from reprieve.manifests.admission.metadata import check_dns_name, check_unique, is_dns_name
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.admission.pods import check_selector, check_taints, check_tolerations, missing_class
from reprieve.manifests.lost_work import check_lost_work
from reprieve.manifests.problems import Finding, did_you_mean, found, one_of

_FIELDS = ("provider", "region", "zone")


def check_cluster(cluster: karmada.Cluster, _: Neighbours) -> Iterator[Finding]:
    yield from check_taints("$.spec.taints", cluster.spec.taints)
    if cluster.spec.zone and cluster.spec.zones:
        yield Finding("$.spec.zone", "set beside zones", "allowed: zones, which replaces it")


def check_policy(policy: karmada.PropagationPolicy, neighbours: Neighbours) -> Iterator[Finding]:
    for index, selector in enumerate(policy.spec.resource_selectors):
        for name, value in (("apiVersion", selector.api_version), ("kind", selector.kind)):
            if not value:
                yield Finding(f"$.spec.resourceSelectors[{index}].{name}", "empty", "it must be text")
        yield from check_selector(f"$.spec.resourceSelectors[{index}].labelSelector", selector.label_selector)
        inside = policy.kind == "PropagationPolicy"
        if inside and selector.namespace and selector.namespace != policy.namespace:
            right = f"allowed: {policy.namespace}, the namespace of the policy"
            yield Finding(f"$.spec.resourceSelectors[{index}].namespace", found(selector.namespace), right)
    yield from _check_placement("$.spec.placement", policy.spec.placement)
    yield from without_effect.of_policy(policy.spec)
    if policy.spec.schedule_priority is not None:
        yield from _check_priority("$.spec.schedulePriority", policy.spec.schedule_priority, neighbours)


def _check_priority(path: str, priority: karmada.PolicySchedulePriority, neighbours: Neighbours) -> Iterator[Finding]:
    name, source = priority.priority_class_name, priority.priority_class_source
    if name:
        yield from check_dns_name(f"{path}.priorityClassName", name)
    if source == "PodPriorityClass" and name:
        right = "allowed with PodPriorityClass: nothing, the pod template names the class"
        yield Finding(f"{path}.priorityClassName", found(name), right)
    if source == "FederatedPriorityClass":
        message = f"{found(source)}, which no API defines yet"
        right = "allowed: KubePriorityClass, PodPriorityClass; priority 0 and Never are used"
        yield Finding(f"{path}.priorityClassSource", message, right, severity="warning")
        if not name:
            yield Finding(f"{path}.priorityClassName", "missing", "it must be named with FederatedPriorityClass")
    if source == "KubePriorityClass" and is_dns_name(name) and neighbours.classes.get(name) is None:
        yield _falls_back(missing_class(f"{path}.priorityClassName", name, neighbours), neighbours)


def _falls_back(finding: Finding, neighbours: Neighbours) -> Finding:
    """The design lets a binding with a missing class fall back rather than fail."""
    default = neighbours.classes.resolve("", "Never")
    right = f"priority {default.value} and {default.preemption_policy} are used"
    return Finding(finding.field, finding.message, right, finding.suggestion, "warning")


def _check_placement(path: str, placement: karmada.Placement) -> Iterator[Finding]:
    yield from without_effect.of_placement(path, placement)
    if placement.cluster_affinity is not None and placement.cluster_affinities:
        yield Finding(f"{path}.clusterAffinities", "set beside clusterAffinity", "allowed: one of them")
    names = [term.affinity_name for term in placement.cluster_affinities]
    yield from check_unique(f"{path}.clusterAffinities", names, "affinityName")
    if placement.cluster_affinity is not None:
        yield from _check_affinity(f"{path}.clusterAffinity", placement.cluster_affinity)
    for index, term in enumerate(placement.cluster_affinities):
        yield from _check_affinity(f"{path}.clusterAffinities[{index}]", term)
        if not term.affinity_name:
            yield Finding(f"{path}.clusterAffinities[{index}].affinityName", "empty", "it must be text")
    yield from check_tolerations(f"{path}.clusterTolerations", placement.cluster_tolerations)
    yield from _check_spread(f"{path}.spreadConstraints", placement.spread_constraints)
    if placement.replica_scheduling is not None:
        yield from _check_replicas(f"{path}.replicaScheduling", placement.replica_scheduling)


def _check_affinity(path: str, affinity: karmada.ClusterAffinity) -> Iterator[Finding]:
    yield from check_selector(f"{path}.labelSelector", affinity.label_selector)
    for field, names in (("clusterNames", affinity.cluster_names), ("exclude", affinity.exclude)):
        for index, name in enumerate(names):
            yield from check_dns_name(f"{path}.{field}[{index}]", name)
    expressions = affinity.field_selector.match_expressions if affinity.field_selector else ()
    for index, item in enumerate(expressions):
        place = f"{path}.fieldSelector.matchExpressions[{index}]"
        if item.key not in _FIELDS:
            yield Finding(f"{place}.key", found(item.key), one_of(_FIELDS), did_you_mean(item.key, _FIELDS))
        if item.operator not in ("In", "NotIn"):
            yield Finding(f"{place}.operator", found(item.operator), one_of(("In", "NotIn")))
        elif not item.values:
            yield Finding(f"{place}.values", "empty", f"at least one value with {item.operator}")


def _check_spread(path: str, constraints: tuple[karmada.SpreadConstraint, ...]) -> Iterator[Finding]:
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        if constraint.spread_by_field and constraint.spread_by_label:
            yield Finding(f"{place}.spreadByLabel", "set beside spreadByField", "allowed: one of them")
        if constraint.max_groups and constraint.min_groups > constraint.max_groups:
            right = f"allowed: at most maxGroups, {constraint.max_groups}"
            yield Finding(f"{place}.minGroups", found(constraint.min_groups), right)
    fields = {constraint.spread_by_field for constraint in constraints if constraint.spread_by_field}
    if fields and "cluster" not in fields:
        message = f"spread by {', '.join(sorted(fields))} only"
        yield Finding(path, message, "allowed: with a constraint spreadByField: cluster beside it")


def _check_replicas(path: str, scheduling: karmada.ReplicaScheduling) -> Iterator[Finding]:
    divided = scheduling.replica_scheduling_type == "Divided"
    if scheduling.replica_division_preference and not divided:
        message = found(scheduling.replica_division_preference)
        yield Finding(f"{path}.replicaDivisionPreference", message, "allowed only with Divided")
    weights = scheduling.weight_preference
    if weights is None:
        return
    for index, rule in enumerate(weights.static_weight_list):
        yield from _check_affinity(
            f"{path}.weightPreference.staticWeightList[{index}].targetCluster", rule.target_cluster
        )
    if scheduling.replica_division_preference != "Weighted":
        yield Finding(f"{path}.weightPreference", "set", "allowed only with replicaDivisionPreference Weighted")
    if weights.static_weight_list and weights.dynamic_weight:
        yield Finding(f"{path}.weightPreference.dynamicWeight", "set beside staticWeightList", "allowed: one of them")


def check_binding(binding: karmada.ResourceBinding, _: Neighbours) -> Iterator[Finding]:
    yield from check_lost_work(binding.metadata.annotations)
    reference = binding.spec.resource
    fields = (("apiVersion", reference.api_version), ("kind", reference.kind), ("name", reference.name))
    for name, value in fields:
        if not value:
            yield Finding(f"$.spec.resource.{name}", "missing", "it must be text")
    yield from check_unique("$.spec.clusters", [cluster.name for cluster in binding.spec.clusters])
    for index, target in enumerate(binding.spec.clusters):
        yield from check_dns_name(f"$.spec.clusters[{index}].name", target.name)
    if binding.spec.placement is not None:
        yield from _check_placement("$.spec.placement", binding.spec.placement)
    yield from _check_result(binding.spec)
    yield from without_effect.of_binding(binding.spec)
    carried = binding.spec.schedule_priority
    if carried is not None:
        yield from _check_carried("$.spec.schedulePriority", carried)
    if binding.kind == "ClusterResourceBinding" and carried and carried.preemption_policy == "PreemptLowerPriority":
        right = "Never is used: cluster-scoped bindings take no part in preemption"
        where = "$.spec.schedulePriority.preemptionPolicy"
        yield Finding(where, found(carried.preemption_policy), right, severity="warning")


def _check_carried(path: str, carried: karmada.BindingSchedulePriority) -> Iterator[Finding]:
    """Where a priority is given, both of its fields are."""
    if carried.priority is None:
        yield Finding(f"{path}.priority", "missing", "it must be a whole number of 32 bits; 0 is used")
    if carried.preemption_policy is None:
        right = (
            f"{one_of(('Never', 'PreemptLowerPriority'))}; that of its propagation policy's class is used, else Never"
        )
        yield Finding(f"{path}.preemptionPolicy", "missing", right)


def _check_result(spec: karmada.BindingSpec) -> Iterator[Finding]:
    """Divided replicas that are more in clusters than there are: somebody else has counted."""
    scheduling = spec.placement.replica_scheduling if spec.placement else None
    placed = sum(target.replicas for target in spec.clusters)
    if scheduling is not None and scheduling.replica_scheduling_type == "Divided" and placed > spec.replicas:
        right = f"allowed: together at most replicas, {spec.replicas}"
        yield Finding("$.spec.clusters", f"{placed} replicas", right, severity="warning")


RULES: dict[type, Any] = {
    karmada.Cluster: check_cluster,
    karmada.PropagationPolicy: check_policy,
    karmada.ResourceBinding: check_binding,
}
