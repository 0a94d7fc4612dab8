"""What of pod groups and Workloads may not change once they exist, as Kubernetes 1.37 has it.

1. Of a group only `minCount` or `minGroupCount` may change. What admission fills in may be left out.
2. Of a Workload the same holds for each template. Templates are neither added nor removed.

Both sides may be written in different versions: what they become inside is compared.
"""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests.problems import Finding, found, show
from reprieve.manifests.scheduling import GroupPolicy, GroupTemplate, PodGroup, Workload

_CHANGED = "the field cannot be changed: it was {was}"
_FILLED_IN = ("priority", "priority_class_name", "preemption_policy")
_FIELDS = {
    "unit": "disruptionMode",
    "topology_key": "schedulingConstraints",
    "priority": "priority",
    "priority_class_name": "priorityClassName",
    "preemption_policy": "preemptionPolicy",
    "resource_claims": "resourceClaims",
}


def check_update(new: Any, old: Any) -> Iterator[Finding]:
    """All that has changed and may not."""
    if isinstance(new, PodGroup) and isinstance(old, PodGroup):
        yield from _check_group(new, old)
    if isinstance(new, Workload) and isinstance(old, Workload) and not old.holds_groups:
        yield from _check_workload(new, old)


def _check_group(new: PodGroup, old: PodGroup) -> Iterator[Finding]:
    yield from _check_policy("$.spec", new.policy, old.policy)
    yield from _fixed("$.spec.parentCompositePodGroupName", new.parent, old.parent)
    made_from = [(group.workload_name, group.template_name) for group in (new, old)]
    yield from _fixed("$.spec.workloadRef", *map("/".join, made_from))


def _check_policy(path: str, new: GroupPolicy, old: GroupPolicy) -> Iterator[Finding]:
    was, now = ("basic" if policy.min_count is None else "gang" for policy in (old, new))
    if was != now:
        right = f"a group cannot change from {was} to {now}; of a gang the smallest number can be changed"
        yield Finding(f"{path}.schedulingPolicy.{now}", "it was not set before", right)
    for attribute, name in _FIELDS.items():
        value, before = getattr(new, attribute), getattr(old, attribute)
        if value or attribute not in _FILLED_IN:
            yield from _fixed(f"{path}.{name}", value, before)


def _check_workload(new: Workload, old: Workload) -> Iterator[Finding]:
    if new.controller_ref != old.controller_ref:
        yield Finding("$.spec.controllerRef", "it has changed", "the field cannot be changed")
    templates, before = _by_name(new), _by_name(old)
    for key in (*before, *(key for key in templates if key not in before)):
        if key not in templates:
            place = before[key].place.rpartition("[")[0]
            yield Finding(f"$.spec.{place}", f"{key[1]} is missing", "templates cannot be removed")
        elif key not in before:
            yield Finding(f"$.spec.{templates[key].place}", f"{key[1]} is new", "templates cannot be added")
        else:
            yield from _check_policy(f"$.spec.{templates[key].place}", templates[key].policy, before[key].policy)


def _by_name(workload: Workload) -> dict[tuple[str, str], GroupTemplate]:
    return {(template.above, template.name): template for template in workload.templates}


def _fixed(path: str, value: Any, before: Any) -> Iterator[Finding]:
    if value != before:
        yield Finding(path, found(value) if value else "missing", _CHANGED.format(was=_shown(before)))


def _shown(value: Any) -> str:
    return show(value) if isinstance(value, str | int) and value else "set otherwise" if value else "not set"
