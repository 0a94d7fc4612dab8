"""Pod groups, composite groups, and the Workloads that they are made from: what Kubernetes 1.37 refuses in them."""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests import core, scheduling, scheduling_v1alpha2, workload_templates
from reprieve.manifests.admission.metadata import check_dns_label, check_one
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.admission.pods import check_new_priority, check_template, missing_class
from reprieve.manifests.lost_work import check_lost_work
from reprieve.manifests.problems import Finding, found
from reprieve.manifests.workload_templates import DEEPEST, AnyCompositeTemplate, templates_in

_PARENT = "$.spec.parentCompositePodGroupName"


# Workloads


def check_workload(workload: Any, neighbours: Neighbours) -> Iterator[Finding]:
    spec = workload.spec
    yield from check_lost_work(workload.metadata.annotations)
    yield from _check_either(spec)
    named: dict[str, str] = {}
    for place, template, _ in templates_in(spec):
        path = f"$.spec.{place}"
        yield from _check_name(path, template.name, named)
        yield from _check_group(path, template, neighbours)
        if isinstance(template, AnyCompositeTemplate):
            yield from _check_below(path, template)
    yield from _check_one_priority(spec)


def _check_either(spec: Any) -> Iterator[Finding]:
    plain, composite = spec.pod_group_templates, spec.composite_pod_group_templates
    if not plain and not composite:
        right = "it must be a list of at least 1, or there must be compositePodGroupTemplates"
        yield Finding("$.spec.podGroupTemplates", "missing", right)
    if plain and composite:
        message = "podGroupTemplates and compositePodGroupTemplates: both set"
        yield Finding("$.spec", message, "allowed: exactly one of podGroupTemplates, compositePodGroupTemplates")


def _check_name(path: str, name: str, named: dict[str, str]) -> Iterator[Finding]:
    """Groups name the template they are made from, wherever it stands."""
    yield from check_dns_label(f"{path}.name", name)
    if name in named:
        yield Finding(f"{path}.name", found(name), f"it must be unique, and {named[name]} has it too")
    named.setdefault(name, path)


def _check_below(path: str, template: Any) -> Iterator[Finding]:
    below = template.composite_pod_group_templates
    if not template.pod_group_templates and not below:
        yield Finding(f"{path}.podGroupTemplates", "missing", "a composite template must have groups below it")
    if isinstance(template, workload_templates.InnermostCompositeTemplate) and below:
        right = f"allowed: {DEEPEST} groups above each other, the pod group at the bottom included"
        yield Finding(f"{path}.compositePodGroupTemplates", "too deep", right)


def _check_one_priority(spec: Any) -> Iterator[Finding]:
    """All groups of a Workload have one priority: they are preempted for each other's sake."""
    first = None
    for place, template, _ in templates_in(spec):
        for field, value in (("priorityClassName", template.priority_class_name), ("priority", template.priority)):
            before = getattr(first, _ATTRIBUTES[field]) if first is not None else value
            if before != value:
                right = f"allowed: {before or 'nothing'}, as in the other templates of this Workload"
                yield Finding(f"$.spec.{place}.{field}", found(value) if value else "missing", right)
        first = first or template


_ATTRIBUTES = {"priorityClassName": "priority_class_name", "priority": "priority"}


# Jobs that say how their pods are scheduled


def check_job(job: core.Job, neighbours: Neighbours) -> Iterator[Finding]:
    yield from check_template(job, neighbours)
    said, path = job.spec.scheduling, "$.spec.scheduling"
    if said is None:
        return
    policy, mode = said.scheduling_policy, said.disruption_mode
    if mode is not None:
        yield from check_one(f"{path}.disruptionMode", "single", mode.single, "all", mode.all)
    if policy is None:
        return
    yield from check_one(f"{path}.schedulingPolicy", "basic", policy.basic, "gang", policy.gang)
    least = policy.gang.min_count if policy.gang else None
    if least is not None and least > job.spec.parallelism:
        right = f"allowed: at most {job.spec.parallelism}, the parallelism"
        yield Finding(f"{path}.schedulingPolicy.gang.minCount", found(least), right)


# Groups


def check_pod_group(group: Any, neighbours: Neighbours) -> Iterator[Finding]:
    yield from _check_group("$.spec", group.spec, neighbours)
    yield from check_lost_work(group.metadata.annotations)
    today = group.internal()
    if not today.workload_name and (today.parent or today.kind == "CompositePodGroup"):
        why = "a group in a tree of groups" if today.parent else "a composite group"
        yield Finding("$.spec.workloadRef", "missing", f"{why} names the Workload and the template it is made from")
    if today.parent:
        yield from _check_tree(today, neighbours)


def _check_tree(group: scheduling.PodGroup, neighbours: Neighbours) -> Iterator[Finding]:
    circle = neighbours.group_circle(group) if group.kind == "CompositePodGroup" else []
    if circle:
        yield Finding(_PARENT, f"goes in a circle: {' → '.join(circle)}", "allowed: a tree")
        return
    path = neighbours.groups_above(group)
    if len(path) >= DEEPEST + (group.kind == "PodGroup"):
        right = f"allowed: {DEEPEST} groups above each other, the pod group at the bottom included"
        yield Finding(_PARENT, f"too deep: {' → '.join(path)}", right)


def _check_group(path: str, spec: Any, neighbours: Neighbours) -> Iterator[Finding]:
    policy, mode = spec.scheduling_policy, spec.disruption_mode
    yield from check_one(f"{path}.schedulingPolicy", "basic", policy.basic, "gang", policy.gang)
    if isinstance(mode, scheduling.DisruptionMode):
        yield from check_one(f"{path}.disruptionMode", "single", mode.single, "all", mode.all)
    for index, claim in enumerate(getattr(spec, "resource_claims", ())):
        named, template = claim.resource_claim_name or None, claim.resource_claim_template_name or None
        place = f"{path}.resourceClaims[{index}]"
        yield from check_one(place, "resourceClaimName", named, "resourceClaimTemplateName", template)
    yield from _check_priority(path, spec, neighbours)


def _check_priority(path: str, spec: Any, neighbours: Neighbours) -> Iterator[Finding]:
    name = spec.priority_class_name
    item = neighbours.classes.get(name) if name else None
    if name and item is None:
        yield missing_class(f"{path}.priorityClassName", name, neighbours)
    if item is not None and spec.priority not in (None, item.value):
        yield Finding(f"{path}.priority", found(spec.priority), f"allowed: {item.value}, the value of {name}")


def check_new_group(group: Any, neighbours: Neighbours) -> Iterator[Finding]:
    """As with pods: nobody gives a group a priority but its class. Where it names one, that was looked at already."""
    if not group.spec.priority_class_name:
        yield from check_new_priority(group.spec, neighbours)


RULES: dict[type, Any] = {
    core.Job: check_job,
    workload_templates.WorkloadManifest: check_workload,
    scheduling_v1alpha2.WorkloadV1alpha2: check_workload,
    scheduling.PodGroupManifest: check_pod_group,
    scheduling_v1alpha2.PodGroupV1alpha2: check_pod_group,
    scheduling.CompositePodGroupManifest: check_pod_group,
}
GROUPS = (scheduling.PodGroupManifest, scheduling_v1alpha2.PodGroupV1alpha2, scheduling.CompositePodGroupManifest)
WHEN_NEW: dict[type, Any] = dict.fromkeys(GROUPS, check_new_group)
