"""Workloads and pod groups of scheduling.k8s.io: v1alpha1 and v1alpha2, seen from v1beta1. v1alpha3 is like that."""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests.conversion.translation import Translation, leave_out, rename, without_empty

Data = dict[str, Any]
_MODES = {"Pod": "single", "PodGroup": "all"}


# v1alpha1: groups inside the Workload, with one priority for all


def _workload_from_v1alpha1(data: Data) -> None:
    spec = data["spec"]
    name = spec.pop("priorityClassName", None)
    spec["podGroupTemplates"] = [_template(group, name) for group in spec.pop("podGroups", [])]
    leave_out(spec, "preemptionPriorityClassName")
    leave_out(data, "status")


def _template(group: Data, class_name: str | None) -> Data:
    policy = dict(group.pop("policy", {}))
    gang = dict(policy.get("gang") or {})
    mode = gang.pop("preemptionMode", None)
    if "gang" in policy:
        policy["gang"] = gang
    said = {
        "schedulingPolicy": policy,
        "disruptionMode": _mode(mode) if mode else None,
        "priorityClassName": class_name,
    }
    return {**group, **without_empty(said)}


def _workload_to_v1alpha1(data: Data) -> None:
    spec = data["spec"]
    templates = list(_leaves(spec))
    names = {template.get("priorityClassName", "") for template in templates}
    leave_out(spec, "podGroupTemplates", "compositePodGroupTemplates")
    spec["podGroups"] = [_inline(template) for template in templates]
    if len(names) == 1 and (name := names.pop()):
        spec["priorityClassName"] = name


def _inline(template: Data) -> Data:
    policy = dict(template.pop("schedulingPolicy", {}))
    mode = template.pop("disruptionMode", None)
    if "gang" in policy and mode:
        policy["gang"] = {**policy["gang"], "preemptionMode": _word(mode)}
    leave_out(template, "priorityClassName", "priority", "preemptionPolicy", "resourceClaims")
    return {**template, "policy": policy}


def _leaves(holder: Data) -> Iterator[Data]:
    """The templates of pod groups, those below composite ones too."""
    yield from holder.get("podGroupTemplates", ())
    for composite in holder.get("compositePodGroupTemplates", ()):
        yield from _leaves(composite)


# v1alpha2: a disruption mode is a word, a group names its template in another place, and there are no trees


def _workload_from_v1alpha2(data: Data) -> None:
    for template in data["spec"].get("podGroupTemplates", ()):
        _mode_as_object(template)


def _workload_to_v1alpha2(data: Data) -> None:
    spec = data["spec"]
    templates = list(_leaves(spec))
    leave_out(spec, "compositePodGroupTemplates")
    if templates:
        spec["podGroupTemplates"] = templates
    for template in templates:
        _mode_as_word(template)
        leave_out(template, "preemptionPolicy")


def _group_from_v1alpha2(data: Data) -> None:
    spec = data["spec"]
    _mode_as_object(spec)
    workload = (spec.pop("podGroupTemplateRef", None) or {}).get("workload")
    if workload:
        rename(workload, "podGroupTemplateName", "templateName")
        spec["workloadRef"] = workload


def _group_to_v1alpha2(data: Data) -> None:
    spec = data["spec"]
    _mode_as_word(spec)
    reference = spec.pop("workloadRef", None)
    if reference:
        rename(reference, "templateName", "podGroupTemplateName")
        spec["podGroupTemplateRef"] = {"workload": reference}
    leave_out(spec, "preemptionPolicy", "parentCompositePodGroupName")


def _mode_as_object(spec: Data) -> None:
    if isinstance(spec.get("disruptionMode"), str):
        spec["disruptionMode"] = _mode(spec["disruptionMode"])


def _mode_as_word(spec: Data) -> None:
    if isinstance(spec.get("disruptionMode"), dict):
        spec["disruptionMode"] = _word(spec["disruptionMode"])


def _mode(word: str) -> Data:
    return {_MODES[word]: {}}


def _word(mode: Data) -> str:
    return "PodGroup" if "all" in mode else "Pod"


TRANSLATIONS: dict[tuple[str, str], Translation] = {
    ("scheduling.k8s.io/v1alpha1", "Workload"): Translation(_workload_from_v1alpha1, _workload_to_v1alpha1),
    ("scheduling.k8s.io/v1alpha2", "Workload"): Translation(_workload_from_v1alpha2, _workload_to_v1alpha2),
    ("scheduling.k8s.io/v1alpha2", "PodGroup"): Translation(_group_from_v1alpha2, _group_to_v1alpha2),
}
