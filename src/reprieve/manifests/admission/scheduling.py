"""Priority classes, workloads and pod groups."""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests import scheduling
from reprieve.manifests.admission.metadata import check_dns_label, check_one, check_unique
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.admission.pods import missing_class
from reprieve.manifests.lost_work import check_lost_work
from reprieve.manifests.priorities import BUILT_IN, HIGHEST_USER_PRIORITY, SYSTEM_PREFIX, parse_integer
from reprieve.manifests.problems import Finding, did_you_mean, found, join_path, show

_CLASS_NAMES = {
    "priorityClassName": "priority_class_name",
    "preemptionPriorityClassName": "preemption_priority_class_name",
}
_IMMUTABLE = (("value", "value"), ("preemptionPolicy", "preemption_policy"), ("globalDefault", "global_default"))


def check_priority_class(item: scheduling.PriorityClass, neighbours: Neighbours) -> Iterator[Finding]:
    built_in = BUILT_IN.get(item.name)
    if built_in is not None:
        if item.value != built_in.value:
            yield Finding("$.value", found(item.value), f"allowed for {item.name}: {built_in.value}")
    elif item.name.startswith(SYSTEM_PREFIX):
        right = f"allowed: a name that does not start with {SYSTEM_PREFIX}, which is reserved"
        yield Finding("$.metadata.name", found(item.name), right)
    elif item.value > HIGHEST_USER_PRIORITY:
        yield Finding("$.value", found(item.value), f"allowed: at most {HIGHEST_USER_PRIORITY}")
    yield from _check_annotations(item)
    defaults = neighbours.classes.defaults
    if item.global_default and defaults and defaults[0].name != item.name:
        smallest = min(each.value for each in defaults)
        message = f"the PriorityClass {defaults[0].name} is the global default already"
        right = f"only one can be; of several that are there all the same, the smallest value counts: {smallest}"
        yield Finding("$.globalDefault", message, right)


def _check_annotations(item: scheduling.PriorityClass) -> Iterator[Finding]:
    annotations = item.metadata.annotations
    known = {scheduling.MINIMUM_PREEMPTABLE_PRIORITY: 32, scheduling.TOLERATION_SECONDS: 64}
    for key, bits in known.items():
        text = annotations.get(key)
        if text is not None and parse_integer(text, bits) is None:
            right = f'allowed: a whole number of {bits} bits in quotes, such as "10000"'
            yield Finding(join_path("$.metadata.annotations", key), found(text), right)
    for key in annotations:
        if key.startswith(scheduling.TOLERATION_PREFIX) and key not in known:
            path = join_path("$.metadata.annotations", key)
            yield Finding(path, "no such property", f"allowed: {', '.join(known)}", did_you_mean(key, known))
        elif key.startswith(scheduling.TOLERATION_PREFIX_BEFORE):
            right = f"the prefix today is {scheduling.TOLERATION_PREFIX}"
            yield Finding(join_path("$.metadata.annotations", key), "it has no effect", right, severity="warning")
    text = annotations.get(scheduling.ALLOW_PREEMPTION)
    if text is not None and text not in ("true", "false"):
        path = join_path("$.metadata.annotations", scheduling.ALLOW_PREEMPTION)
        yield Finding(path, found(text), 'allowed: "true", "false"', did_you_mean(text, ("true", "false")))


def check_update(new: Any, old: Any) -> Iterator[Finding]:
    """Of a priority class only the description may change: running pods would otherwise mean another class."""
    if isinstance(new, scheduling.Workload) and isinstance(old, scheduling.Workload):
        yield from _check_class_names(new, old)
    if not isinstance(new, scheduling.PriorityClass) or not isinstance(old, scheduling.PriorityClass):
        return
    for name, attribute in _IMMUTABLE:
        before, after = getattr(old, attribute), getattr(new, attribute)
        if before != after:
            right = f"allowed: {show(before)}, as before; of a PriorityClass only the description may change"
            yield Finding(f"$.{name}", found(after), right)


def _check_class_names(new: scheduling.Workload, old: scheduling.Workload) -> Iterator[Finding]:
    """The classes of a Workload stay what they are. The first is filled in when it is made, and may be left out."""
    for name, attribute in _CLASS_NAMES.items() if old.holds_groups and new.holds_groups else ():
        before, after = getattr(old, attribute), getattr(new, attribute)
        if before != after and (after or name != "priorityClassName"):
            was = show(before) if before else "not set"
            yield Finding(
                f"$.spec.{name}", found(after) if after else "missing", f"the field cannot be changed: it was {was}"
            )


def check_inline_workload(workload: scheduling.WorkloadV1alpha1, neighbours: Neighbours) -> Iterator[Finding]:
    yield from check_lost_work(workload.metadata.annotations)
    spec = workload.spec
    yield from check_unique("$.spec.podGroups", [group.name for group in spec.pod_groups])
    for index, group in enumerate(spec.pod_groups):
        place = f"$.spec.podGroups[{index}]"
        yield from check_dns_label(f"{place}.name", group.name)
        yield from check_one(f"{place}.policy", "basic", group.policy.basic, "gang", group.policy.gang)
    own, to_preempt = spec.priority_class_name, spec.preemption_priority_class_name
    for field, name in (("priorityClassName", own), ("preemptionPriorityClassName", to_preempt)):
        if name and neighbours.classes.get(name) is None:
            yield missing_class(f"$.spec.{field}", name, neighbours)
    yield from _check_preemption_priority(spec, neighbours)


def _check_preemption_priority(spec: scheduling.WorkloadSpecV1alpha1, neighbours: Neighbours) -> Iterator[Finding]:
    """A workload that is easier to preempt than it preempts would go back and forth with its like for ever."""
    own = neighbours.classes.resolve(spec.priority_class_name)
    named = neighbours.classes.get(spec.preemption_priority_class_name)
    if named is not None and named.value < own.value:
        message = f"{found(named.name)} of value {named.value}"
        right = f"allowed: a class of at least {own.value}, the workload's own priority"
        yield Finding("$.spec.preemptionPriorityClassName", message, right)


RULES: dict[type, Any] = {
    scheduling.PriorityClass: check_priority_class,
    scheduling.WorkloadV1alpha1: check_inline_workload,
}
