"""Pods, nodes and budgets: what the API server's own validation and the Priority admission plugin say."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from reprieve.manifests import core, pods
from reprieve.manifests.admission import yunikorn_without_effect
from reprieve.manifests.admission.metadata import check_dns_label, check_labels, is_dns_label, is_label_key
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.admission.topology import WISHES, check_wishes
from reprieve.manifests.admission.yunikorn_task_groups import of_task_groups
from reprieve.manifests.admission.yunikorn_without_effect import of_pod
from reprieve.manifests.lost_work import ANNOTATIONS_OF_LOST_WORK, check_lost_work
from reprieve.manifests.meta import LabelSelector, Taint, Toleration
from reprieve.manifests.problems import Finding, did_you_mean, found, join_path, show
from reprieve.model.remembering import looked_up
from reprieve.model.resources import Resources, print_amount

_INTEGER = re.compile(r"-?\d+", re.ASCII)
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_ANNOTATIONS = WISHES | ANNOTATIONS_OF_LOST_WORK | yunikorn_without_effect.ANNOTATIONS
"""What is looked into on a pod. Of a hundred thousand pods hardly one has any."""
_Amounts = tuple[tuple[str, int], ...]


def check_pod(pod: pods.Pod, neighbours: Neighbours) -> Iterator[Finding]:
    yield from check_pod_spec("$.spec", pod.spec)
    annotated = not _ANNOTATIONS.isdisjoint(pod.metadata.annotations)
    if annotated:
        yield from check_wishes("$.metadata.annotations", pod.metadata.annotations)
        yield from check_lost_work(pod.metadata.annotations)
    if pod.spec.priority_class_name:  # the number without it may be that of a class that is not known here
        yield from check_new_priority(pod.spec, neighbours)
    if annotated:
        yield from of_pod(pod.metadata)
    if pod.spec.scheduling_group and not pod.spec.scheduling_group.pod_group_name:
        yield Finding("$.spec.schedulingGroup.podGroupName", "missing", "it must be the name of a PodGroup")
    if pod.spec.workload_ref and pod.spec.scheduling_group:
        yield Finding("$.spec.workloadRef", "set beside schedulingGroup", "allowed: one of them, a pod has one group")
    if pod.spec.node_name and pod.spec.scheduling_gates:
        yield Finding("$.spec.schedulingGates", "set on a pod that has a node", "allowed: only before it is scheduled")


def check_new_pod(pod: pods.Pod, neighbours: Neighbours) -> Iterator[Finding]:
    if not pod.spec.priority_class_name:
        yield from check_new_priority(pod.spec, neighbours)


def check_new_priority(spec: Any, neighbours: Neighbours) -> Iterator[Finding]:
    """Nobody gives himself a priority: a number or a policy on what is new is what its class gives, or nothing."""
    given = neighbours.classes.resolve(spec.priority_class_name)
    if not given.found:
        node = spec.node_name if isinstance(spec, pods.PodSpec) else ""
        where = f"while it is missing, no higher pod can preempt on {node}" if node else ""
        yield missing_class("$.spec.priorityClassName", spec.priority_class_name, neighbours, where)
        return
    whose = f"of {given.class_name}" if given.class_name else "without a PriorityClass"
    if spec.priority not in (None, given.value):
        right = f"allowed: {given.value}, the value {whose}, or nothing"
        yield Finding("$.spec.priority", found(spec.priority), right)
    if spec.preemption_policy not in (None, given.preemption_policy):
        right = f"allowed: {given.preemption_policy}, the policy {whose}, or nothing"
        yield Finding("$.spec.preemptionPolicy", found(spec.preemption_policy), right)


def missing_class(path: str, name: str, neighbours: Neighbours, cost: str = "") -> Finding:
    """`cost` is what it does to others."""
    known = neighbours.classes.names()
    return Finding(path, f"there is no PriorityClass {show(name)}", cost, did_you_mean(name, known))


def check_pod_spec(path: str, spec: pods.PodSpec) -> Iterator[Finding]:
    """What holds for pods and for the templates they are made from."""
    if not spec.containers:
        yield Finding(f"{path}.containers", "found []", "it must be a list of at least 1")
    if len(spec.containers) > 1 or spec.init_containers or not all(map(_is_sound, spec.containers)):
        yield from _check_containers(path, spec)
    if spec.resources.requests or spec.resources.limits:
        yield from _check_requests(f"{path}.resources", spec.resources)
    if spec.host_network:
        yield from _check_host_network(path, spec)
    if spec.tolerations:
        yield from check_tolerations(f"{path}.tolerations", spec.tolerations)
    if spec.node_selector:
        yield from check_labels(f"{path}.nodeSelector", spec.node_selector)
    if spec.affinity is not None:
        yield from _check_affinity(f"{path}.affinity", spec.affinity)
    if spec.topology_spread_constraints:
        yield from _check_spread(f"{path}.topologySpreadConstraints", spec.topology_spread_constraints)


def _check_container_names(path: str, spec: pods.PodSpec) -> Iterator[Finding]:
    """Containers and init containers share one set of names."""
    seen: set[str] = set()
    for group, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            if container.name in seen:
                place = f"{path}.{group}[{index}].name"
                yield Finding(place, f"{found(container.name)} a second time", "allowed: each name once")
            seen.add(container.name)


def _check_containers(path: str, spec: pods.PodSpec) -> Iterator[Finding]:
    yield from _check_container_names(path, spec)
    for group, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            if not _is_sound(container):
                place = f"{path}.{group}[{index}]"
                yield from check_dns_label(f"{place}.name", container.name)
                yield from _check_requests(f"{place}.resources", container.resources)


@looked_up(4096)
def _odd_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names that no resource of a container can have: without a domain there are only Kubernetes' own."""
    return tuple(
        name
        for name in names
        if name not in _NATIVE and not name.startswith("hugepages-") and not ("/" in name and is_label_key(name))
    )


def _check_names(path: str, amounts: Iterable[str]) -> Iterator[Finding]:
    for name in _odd_names(tuple(amounts)):
        right = f"allowed: {', '.join(_NATIVE)}, or a name with a domain such as example.com/gpu"
        yield Finding(join_path(path, name), "no such resource", right, did_you_mean(name, _NATIVE))


def _is_sound(container: pods.Container) -> bool:
    resources = container.resources
    asked = tuple(resources.requests.items()), tuple(resources.limits.items())
    return _are_sound_amounts(asked) and is_dns_label(container.name)


@looked_up(4096)
def _are_sound_amounts(asked: tuple[_Amounts, _Amounts]) -> bool:
    """Requests and limits. Most containers ask for what others ask for."""
    requests, limits = (Resources(dict(amounts)) for amounts in asked)
    resources = pods.ResourceRequirements(requests=requests, limits=limits)
    return not any(_check_requests("", resources))


def _check_requests(path: str, resources: pods.ResourceRequirements) -> Iterator[Finding]:
    if _odd_names((*resources.requests, *resources.limits)):
        # A limit without a request is one: what is wrong with the limit is not said twice.
        own = {name: units for name, units in resources.requests.items() if name not in resources.limits}
        yield from _check_names(f"{path}.requests", own)
        yield from _check_names(f"{path}.limits", resources.limits)
    if not resources.limits or resources.requests is resources.limits:
        return
    for name, units in resources.requests.items():
        limit = resources.limits.get(name)
        if limit is not None and units > limit:
            right = f"allowed: at most its limit, {print_amount(name, limit)}"
            yield Finding(join_path(f"{path}.requests", name), found(print_amount(name, units)), right)


def _check_host_network(path: str, spec: pods.PodSpec) -> Iterator[Finding]:
    for index, container in enumerate(spec.containers):
        for number, port in enumerate(container.ports):
            if port.host_port not in (0, port.container_port):
                place = f"{path}.containers[{index}].ports[{number}].hostPort"
                yield Finding(place, found(port.host_port), f"allowed with hostNetwork: {port.container_port}")


def check_tolerations(path: str, tolerations: Iterable[Toleration]) -> Iterator[Finding]:
    for index, toleration in enumerate(tolerations):
        exists = toleration.operator == "Exists"
        if not toleration.key and not exists:
            yield Finding(f"{path}[{index}].operator", found(toleration.operator), "allowed without a key: Exists")
        if exists and toleration.value:
            right = "allowed with the operator Exists: nothing"
            yield Finding(f"{path}[{index}].value", found(toleration.value), right)
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            right = "allowed beside tolerationSeconds: NoExecute"
            yield Finding(f"{path}[{index}].effect", found(toleration.effect), right)


def _check_affinity(path: str, rules: pods.Affinity) -> Iterator[Finding]:
    if rules.node_affinity is not None:
        yield from _check_node_affinity(f"{path}.nodeAffinity", rules.node_affinity)
    for name, pod_affinity in (("podAffinity", rules.pod_affinity), ("podAntiAffinity", rules.pod_anti_affinity)):
        for place, term in _pod_terms(f"{path}.{name}", pod_affinity):
            yield from _check_topology_key(f"{place}.topologyKey", term.topology_key)
            yield from check_selector(f"{place}.labelSelector", term.label_selector)
            yield from check_selector(f"{place}.namespaceSelector", term.namespace_selector)


def _pod_terms(path: str, rules: pods.PodAffinity | None) -> Iterator[tuple[str, pods.PodAffinityTerm]]:
    if rules is None:
        return
    for index, term in enumerate(rules.required):
        yield f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term
    for index, weighted in enumerate(rules.preferred):
        place = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm"
        yield place, weighted.pod_affinity_term


def _check_node_affinity(path: str, rules: pods.NodeAffinity) -> Iterator[Finding]:
    if rules.required is not None:
        place = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        if not rules.required.node_selector_terms:
            yield Finding(place, "found []", "it must be a list of at least 1")
        for index, term in enumerate(rules.required.node_selector_terms):
            yield from _check_node_term(f"{place}[{index}]", term)
    for index, preferred in enumerate(rules.preferred):
        place = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference"
        yield from _check_node_term(place, preferred.preference)


def _check_node_term(path: str, term: pods.NodeSelectorTerm) -> Iterator[Finding]:
    for index, requirement in enumerate(term.match_expressions):
        yield from _check_values(f"{path}.matchExpressions[{index}]", requirement.operator, requirement.values)
    for index, requirement in enumerate(term.match_fields):
        place = f"{path}.matchFields[{index}]"
        if requirement.key != "metadata.name":
            yield Finding(f"{place}.key", found(requirement.key), "allowed: metadata.name")
        if requirement.operator not in ("In", "NotIn"):
            yield Finding(f"{place}.operator", found(requirement.operator), "allowed: In, NotIn")


def _check_values(path: str, operator: str, values: tuple[str, ...]) -> Iterator[Finding]:
    if operator in ("In", "NotIn") and not values:
        yield Finding(f"{path}.values", "found []", f"allowed with the operator {operator}: at least one value")
    if operator in ("Exists", "DoesNotExist") and values:
        yield Finding(f"{path}.values", found(list(values)), f"allowed with the operator {operator}: none")
    if operator in ("Gt", "Lt") and not (len(values) == 1 and _INTEGER.fullmatch(values[0])):
        yield Finding(f"{path}.values", found(list(values)), f"allowed with the operator {operator}: one whole number")


def check_selector(path: str, selector: LabelSelector | None) -> Iterator[Finding]:
    if selector is None:
        return
    yield from check_labels(f"{path}.matchLabels", selector.match_labels)
    for index, requirement in enumerate(selector.match_expressions):
        yield from _check_values(f"{path}.matchExpressions[{index}]", requirement.operator, requirement.values)


def _check_topology_key(path: str, key: str) -> Iterator[Finding]:
    if not is_label_key(key):
        yield Finding(path, found(key), "allowed: the key of a node label, such as topology.kubernetes.io/zone")


def _check_spread(path: str, constraints: tuple[pods.TopologySpreadConstraint, ...]) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        yield from _check_topology_key(f"{place}.topologyKey", constraint.topology_key)
        yield from check_selector(f"{place}.labelSelector", constraint.label_selector)
        if constraint.min_domains is not None and constraint.when_unsatisfiable != "DoNotSchedule":
            yield Finding(f"{place}.minDomains", found(constraint.min_domains), "allowed only with DoNotSchedule")
        identity = (constraint.topology_key, constraint.when_unsatisfiable)
        if identity in seen:
            yield Finding(place, f"a second constraint on {identity[0]}, {identity[1]}", "allowed: one of each")
        seen.add(identity)


def check_taints(path: str, taints: tuple[Taint, ...]) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        if not is_label_key(taint.key):
            yield Finding(f"{path}[{index}].key", found(taint.key), "allowed: a label key")
        if (taint.key, taint.effect) in seen:
            yield Finding(f"{path}[{index}]", f"{taint.key}:{taint.effect} a second time", "allowed: each taint once")
        seen.add((taint.key, taint.effect))


def check_node(node: core.Node, _: Neighbours) -> Iterator[Finding]:
    yield from check_taints("$.spec.taints", node.spec.taints)


def check_budget(budget: core.PodDisruptionBudget, _: Neighbours) -> Iterator[Finding]:
    yield from check_selector("$.spec.selector", budget.spec.selector)
    if budget.spec.min_available is not None and budget.spec.max_unavailable is not None:
        yield Finding("$.spec.maxUnavailable", "set beside minAvailable", "allowed: one of them")
    for name, value in (("minAvailable", budget.spec.min_available), ("maxUnavailable", budget.spec.max_unavailable)):
        if isinstance(value, str) and not value.endswith("%"):
            right = "it must be a whole number from 0 to 2147483647 or a percentage such as 50%"
            yield Finding(f"$.spec.{name}", found(value), right, "write it without quotes")
        elif isinstance(value, str) and int(value.removesuffix("%")[:9]) > 100:
            yield Finding(f"$.spec.{name}", found(value), "allowed: at most 100%")


def check_template(manifest: core.Job | core.Controller, _: Neighbours) -> Iterator[Finding]:
    template = manifest.spec.template
    yield from check_pod_spec("$.spec.template.spec", template.spec)
    yield from check_wishes("$.spec.template.metadata.annotations", template.metadata.annotations)
    yield from check_lost_work(template.metadata.annotations, "$.spec.template.metadata.annotations")
    yield from of_task_groups(template.metadata, "$.spec.template.metadata.annotations")


RULES: dict[type, Any] = {
    pods.Pod: check_pod,
    core.Node: check_node,
    core.PodDisruptionBudget: check_budget,
    core.Controller: check_template,
}
WHEN_NEW: dict[type, Any] = {pods.Pod: check_new_pod}
"""What is asked of an object only when it is made."""
