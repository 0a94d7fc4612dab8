"""Kueue's queues, cohorts, flavors and workloads."""

from collections.abc import Iterator, Mapping
from typing import Any

from reprieve.manifests import core, kueue, kueue_versions
from reprieve.manifests.admission import kep83
from reprieve.manifests.admission.metadata import check_dns_label, check_labels, check_unique
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.admission.pods import check_pod_spec, check_selector, check_taints, check_tolerations
from reprieve.manifests.admission.topology import check_flavor_topology, check_request, check_topology, check_wishes
from reprieve.manifests.kueue_annotations import unreadable
from reprieve.manifests.kueue_topology import Topology
from reprieve.manifests.lost_work import check_lost_work
from reprieve.manifests.problems import Finding, did_you_mean, found, join_path, show


def check_cluster_queue(
    queue: kueue.ClusterQueue | kueue_versions.ClusterQueueV1beta1, neighbours: Neighbours
) -> Iterator[Finding]:
    spec = queue.spec
    cohort = spec.cohort_name if isinstance(spec, kueue.ClusterQueueSpec) else spec.cohort
    limits = "" if cohort else "allowed only in a cohort"
    yield from _check_groups("$.spec.resourceGroups", spec.resource_groups, neighbours, limits)
    yield from check_selector("$.spec.namespaceSelector", spec.namespace_selector)
    yield from _check_preemption("$.spec.preemption", spec.preemption)
    yield from kep83.check_queue_alternatives(spec)
    yield from _check_checks(spec, neighbours)


def _check_checks(
    spec: kueue.ClusterQueueSpec | kueue_versions.ClusterQueueSpecV1beta1, neighbours: Neighbours
) -> Iterator[Finding]:
    """Checks that a queue names: in one form, each once, for flavors that it has."""
    rules, path = spec.admission_checks_strategy.admission_checks, "$.spec.admissionChecksStrategy.admissionChecks"
    places = [(rule.name, f"{path}[{index}].name") for index, rule in enumerate(rules)]
    if isinstance(spec, kueue_versions.ClusterQueueSpecV1beta1) and spec.admission_checks:
        places += ((name, f"$.spec.admissionChecks[{index}]") for index, name in enumerate(spec.admission_checks))
        if rules:
            yield Finding("$.spec.admissionChecksStrategy", "found beside admissionChecks", "allowed: one of the two")
    yield from check_unique(path, [name for name, _ in places])
    flavors = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
    for index, rule in enumerate(rules):
        for number, name in enumerate(rule.on_flavors):
            if name not in flavors:
                right = f"allowed: a flavor of this queue: {', '.join(flavors)}"
                yield Finding(f"{path}[{index}].onFlavors[{number}]", found(name), right, did_you_mean(name, flavors))
    known = neighbours.names("AdmissionCheck")
    for name, place in places if known else ():
        if name not in known:
            message = f"there is no AdmissionCheck {show(name)}, so nothing is admitted by this queue"
            yield Finding(place, message, "", did_you_mean(name, known), "warning")


def check_queued(manifest: Any) -> Iterator[Finding]:
    """Kinds whose label says that they are in a queue, and that get no Workload here."""
    if isinstance(manifest, core.Controller) and manifest.kind in ("DaemonSet", "ReplicaSet"):
        said, queued = (labels.get(kueue.QUEUE_NAME_LABEL) for labels in _labels(manifest))
        if said and not queued:
            place = join_path("$.metadata.labels", kueue.QUEUE_NAME_LABEL)
            message = f"a {manifest.kind} asks for no quota itself, so its pods run without"
            right = "the label on the template of the pods queues each of them"
            yield Finding(place, message, right, "", "warning")


def _labels(manifest: core.Controller) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return manifest.metadata.labels, manifest.spec.template.metadata.labels


_ELSEWHERE = {
    "kueue.x-k8s.io/provisioning-request": "ProvisioningRequests",
    "kueue.x-k8s.io/multikueue": "MultiKueue",
}


def check_admission_check(check: kueue.AdmissionCheck, _: Neighbours) -> Iterator[Finding]:
    """The checks that come with Kueue are made by controllers of its own, which are not here."""
    what = _ELSEWHERE.get(check.spec.controller_name)
    if what is not None:
        message = f"{what} are not made here: another controller has to set the condition Active and the states"
        yield Finding("$.spec.controllerName", message, "", "", "warning")


def _check_groups(
    path: str, groups: tuple[kueue.ResourceGroup, ...], neighbours: Neighbours, limits: str
) -> Iterator[Finding]:
    """`limits` says when borrowing and lending could be limited; it is empty when they can."""
    flavors: set[str] = set()
    resources: set[str] = set()
    for index, group in enumerate(groups):
        place = f"{path}[{index}]"
        for number, resource in enumerate(group.covered_resources):
            if resource in resources:
                right = "allowed: each resource in one group"
                yield Finding(f"{place}.coveredResources[{number}]", f"{found(resource)} a second time", right)
            resources.add(resource)
        for number, flavor in enumerate(group.flavors):
            if flavor.name in flavors:
                right = "allowed: each flavor in one group"
                yield Finding(f"{place}.flavors[{number}].name", f"{found(flavor.name)} a second time", right)
            flavors.add(flavor.name)
            yield from _check_flavor(f"{place}.flavors[{number}]", flavor, group, neighbours)
            yield from _check_quotas(f"{place}.flavors[{number}].resources", flavor, limits)


def _check_flavor(
    path: str, flavor: kueue.FlavorQuotas, group: kueue.ResourceGroup, neighbours: Neighbours
) -> Iterator[Finding]:
    names = tuple(quota.name for quota in flavor.resources)
    if names != group.covered_resources:
        right = f"allowed: the covered resources in their order: {', '.join(group.covered_resources)}"
        yield Finding(f"{path}.resources", f"found {', '.join(names)}", right)
    known = neighbours.names("ResourceFlavor")
    if known and flavor.name not in known:
        message = f"there is no ResourceFlavor {show(flavor.name)}, so nothing is admitted on it"
        yield Finding(f"{path}.name", message, "", did_you_mean(flavor.name, known), "warning")


def _check_quotas(path: str, flavor: kueue.FlavorQuotas, limits: str) -> Iterator[Finding]:
    for index, quota in enumerate(flavor.resources):
        for name, limit in (("borrowingLimit", quota.borrowing_limit), ("lendingLimit", quota.lending_limit)):
            if limit is not None and limits:
                yield Finding(f"{path}[{index}].{name}", found(str(limit)), limits)
        if not limits and quota.lending_limit is not None and quota.nominal_quota < quota.lending_limit:
            right = f"allowed: at most the nominal quota, {quota.nominal_quota}"
            yield Finding(f"{path}[{index}].lendingLimit", found(str(quota.lending_limit)), right)


def _check_preemption(path: str, preemption: kueue.Preemption) -> Iterator[Finding]:
    borrow = preemption.borrow_within_cohort
    if borrow is None:
        return
    if borrow.policy != "Never" and preemption.reclaim_within_cohort in (None, "Never"):
        right = "allowed: Never, or with a reclaimWithinCohort other than Never"
        yield Finding(f"{path}.borrowWithinCohort.policy", found(borrow.policy), right)
    if borrow.policy == "Never" and borrow.max_priority_threshold is not None:
        message = found(borrow.max_priority_threshold)
        right = "allowed only with the policy LowerPriority"
        yield Finding(f"{path}.borrowWithinCohort.maxPriorityThreshold", message, right)


def check_first_cluster_queue(queue: kueue_versions.ClusterQueueV1alpha2, _: Neighbours) -> Iterator[Finding]:
    yield from check_selector("$.spec.namespaceSelector", queue.spec.namespace_selector)
    yield from kep83.check_old_policies(queue.spec.preemption)
    yield from kep83.check_queue_alternatives(queue.spec)
    yield from check_unique("$.spec.resources", [resource.name for resource in queue.spec.resources])
    for index, resource in enumerate(queue.spec.resources):
        place = f"$.spec.resources[{index}].flavors"
        yield from check_unique(place, [flavor.name for flavor in resource.flavors])
        for number, flavor in enumerate(resource.flavors):
            if flavor.quota.max is not None and flavor.quota.max < flavor.quota.min:
                right = f"allowed: at least the minimum, {flavor.quota.min}"
                yield Finding(f"{place}[{number}].quota.max", found(str(flavor.quota.max)), right)


def check_cohort(cohort: kueue.Cohort, neighbours: Neighbours) -> Iterator[Finding]:
    limits = "" if cohort.spec.parent_name else "allowed only below a parent"
    yield from _check_groups("$.spec.resourceGroups", cohort.spec.resource_groups, neighbours, limits)
    circle = neighbours.cohort_circle(cohort.name)
    if circle:
        yield Finding("$.spec.parentName", f"goes in a circle: {' → '.join(circle)}", "allowed: a tree")
    elif (height := neighbours.cohorts_in_a_row(cohort.name)) > kueue.DEEPEST_COHORTS:
        right = f"allowed: at most {kueue.DEEPEST_COHORTS}"
        yield Finding("$.spec.parentName", f"{height} cohorts above each other", right)


def check_local_queue(queue: kueue.LocalQueue, neighbours: Neighbours) -> Iterator[Finding]:
    known = neighbours.names("ClusterQueue")
    name = queue.spec.cluster_queue
    if known and name not in known:
        message = f"there is no ClusterQueue {show(name)}, so nothing is admitted through this queue"
        yield Finding("$.spec.clusterQueue", message, "", did_you_mean(name, known), "warning")
    yield from kep83.check_costs(queue.spec.preemption)


def check_first_flavor(flavor: kueue_versions.ResourceFlavorV1alpha2, _: Neighbours) -> Iterator[Finding]:
    yield from check_labels("$.nodeSelector", flavor.node_selector)
    yield from check_taints("$.taints", flavor.taints)


def check_flavor(flavor: kueue.ResourceFlavor, neighbours: Neighbours) -> Iterator[Finding]:
    yield from check_labels("$.spec.nodeLabels", flavor.spec.node_labels)
    yield from check_taints("$.spec.nodeTaints", flavor.spec.node_taints)
    yield from check_tolerations("$.spec.tolerations", flavor.spec.tolerations)
    yield from check_flavor_topology(flavor, neighbours)


_TEMPLATE, _ASSIGNMENTS = "template.spec", "$.status.admission.podSetAssignments"
_WORKLOADS: dict[type, tuple[str, str, str]] = {
    kueue.QuotaWorkload: (_TEMPLATE, _ASSIGNMENTS, "$.spec.priorityClassRef.name"),
    kueue_versions.QuotaWorkloadV1beta1: (_TEMPLATE, _ASSIGNMENTS, "$.spec.priorityClassName"),
    kueue_versions.QuotaWorkloadV1alpha2: ("spec", "$.spec.admission.podSetFlavors", "$.spec.priorityClassName"),
}
"""Where each version has the spec of a pod set's pods, what was assigned to pod sets, and the priority class."""


def check_workload(written: Any, neighbours: Neighbours) -> Iterator[Finding]:
    template, assignments, class_name = _WORKLOADS[type(written)]
    workload = written if isinstance(written, kueue.QuotaWorkload) else written.internal()
    pod_sets = workload.spec.pod_sets
    yield from check_unique("$.spec.podSets", [pod_set.name for pod_set in pod_sets])
    for index, pod_set in enumerate(pod_sets):
        place = f"$.spec.podSets[{index}]"
        yield from check_dns_label(f"{place}.name", pod_set.name)
        yield from check_pod_spec(f"{place}.{template}", pod_set.template.spec)
        yield from check_request(f"{place}.topologyRequest", pod_set.topology_request, pod_set.count)
        yield from check_wishes(f"{place}.template.metadata.annotations", pod_set.template.metadata.annotations)
        if pod_set.min_count is not None and pod_set.min_count > pod_set.count:
            right = f"allowed: at most the count, {pod_set.count}"
            yield Finding(f"{place}.minCount", found(pod_set.min_count), right)
    yield from _check_annotations(workload.metadata.annotations)
    yield from kep83.check_workload_alternatives(workload.spec)
    yield from _check_assignments(assignments, workload.status.admission, {pod_set.name for pod_set in pod_sets})
    yield from _check_class(class_name, workload.spec, neighbours)


def _check_annotations(annotations: Mapping[str, str]) -> Iterator[Finding]:
    yield from check_lost_work(annotations)
    for name, right in unreadable(annotations).items():
        if name != kueue.DISRUPTION_COST:
            yield Finding(join_path("$.metadata.annotations", name), found(annotations[name]), right)


def _check_class(path: str, spec: kueue.QuotaWorkloadSpec, neighbours: Neighbours) -> Iterator[Finding]:
    """A workload that has its number already does not need its class any more."""
    reference = spec.priority_class_ref
    if reference is None or spec.priority is not None:
        return
    own = reference.kind == "WorkloadPriorityClass"
    known = neighbours.names("WorkloadPriorityClass") if own else neighbours.classes.names()
    if reference.name not in known:
        message = f"there is no {reference.kind} {show(reference.name)}"
        yield Finding(path, message, "", did_you_mean(reference.name, known))


def _check_assignments(path: str, admission: kueue.Admission | None, names: set[str]) -> Iterator[Finding]:
    for index, assignment in enumerate(admission.pod_set_assignments if admission else ()):
        if assignment.name not in names:
            right = f"allowed: a pod set of the workload: {', '.join(sorted(names))}"
            suggestion = did_you_mean(assignment.name, names)
            yield Finding(f"{path}[{index}].name", found(assignment.name), right, suggestion)


RULES: dict[type, Any] = {
    kueue.ClusterQueue: check_cluster_queue,
    kueue_versions.ClusterQueueV1beta1: check_cluster_queue,
    kueue_versions.ClusterQueueV1alpha2: check_first_cluster_queue,
    kueue.Cohort: check_cohort,
    kueue.LocalQueue: check_local_queue,
    kueue.ResourceFlavor: check_flavor,
    Topology: check_topology,
    kueue.AdmissionCheck: check_admission_check,
    kueue_versions.ResourceFlavorV1alpha2: check_first_flavor,
    **dict.fromkeys(_WORKLOADS, check_workload),
}
