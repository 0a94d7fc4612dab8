"""What may not be changed once an object exists, kind by kind. Everything that may not is named at once."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from reprieve.manifests.core import Controller, Job
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.meta import Manifest
from reprieve.manifests.pods import Pod
from reprieve.manifests.problems import Finding, found, show
from reprieve.manifests.resource import Resource
from reprieve.model.conditions import has_condition
from reprieve.stores.errors import invalid

Data = dict[str, Any]


def check_update(resource: Resource, new: Data, before: Data) -> None:
    """Refuse a change of the spec that cannot be made."""
    rule = _RULES.get(resource.newest)
    findings = list(rule(new, before)) if rule is not None else []
    if findings:
        raise invalid(resource, before["metadata"]["name"], findings)


def _fixed(path: str, new: Data, before: Data, names: tuple[str, ...]) -> Iterator[Finding]:
    """Fields that stay as they are."""
    for name in names:
        if new.get(name) != before.get(name):
            value = found(new[name]) if name in new else "missing"
            was = show(before[name]) if name in before else "not set"
            yield Finding(f"{path}.{name}", value, f"the field cannot be changed: it was {was}")


# Pods


def _check_pod(new: Data, before: Data) -> Iterator[Finding]:
    """Images, a shorter deadline, more tolerations; behind a gate also a narrower choice of nodes; no more."""
    spec, old = new["spec"], before["spec"]
    handled: dict[str, Callable[[Data, Data], Iterator[Finding]]] = {
        "containers": _check_containers,
        "initContainers": partial(_check_containers, group="initContainers"),
        "tolerations": _check_tolerations,
        "activeDeadlineSeconds": _check_deadline,
        "terminationGracePeriodSeconds": _check_grace,
    }
    if old.get("schedulingGates"):
        handled |= {"schedulingGates": _check_gates, "nodeSelector": _check_node_selector, "affinity": _check_affinity}
    for name in sorted({*spec, *old}):
        if spec.get(name) != old.get(name):
            yield from handled[name](spec, old) if name in handled else _fixed("$.spec", spec, old, (name,))


def _check_containers(spec: Data, old: Data, group: str = "containers") -> Iterator[Finding]:
    containers, before = spec.get(group, []), old.get(group, [])
    if len(containers) != len(before):
        yield Finding(f"$.spec.{group}", f"found {len(containers)}", f"allowed: the {len(before)} it was made with")
        return
    for index, (container, was) in enumerate(zip(containers, before, strict=True)):
        names = tuple(sorted({*container, *was} - {"image"}))
        yield from _fixed(f"$.spec.{group}[{index}]", container, was, names)


def _check_tolerations(spec: Data, old: Data) -> Iterator[Finding]:
    """More of them, or for longer or shorter."""
    kept = [_timeless(toleration) for toleration in spec.get("tolerations", [])]
    if any(_timeless(toleration) not in kept for toleration in old.get("tolerations", [])):
        yield Finding("$.spec.tolerations", "one of them is missing", "allowed: all from before, and more")


def _timeless(toleration: Data) -> Data:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _check_deadline(spec: Data, old: Data) -> Iterator[Finding]:
    seconds, before = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if before is not None and (seconds is None or seconds > before):
        value = "missing" if seconds is None else found(seconds)
        yield Finding("$.spec.activeDeadlineSeconds", value, f"allowed: at most {before}, as before")


def _check_grace(spec: Data, old: Data) -> Iterator[Finding]:
    if not (old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1):
        yield from _fixed("$.spec", spec, old, ("terminationGracePeriodSeconds",))


def _check_gates(spec: Data, old: Data) -> Iterator[Finding]:
    for index, gate in enumerate(spec.get("schedulingGates", [])):
        if gate not in old["schedulingGates"]:
            place = f"$.spec.schedulingGates[{index}].name"
            yield Finding(place, found(gate.get("name")), "gates can only be removed")


def _check_node_selector(spec: Data, old: Data) -> Iterator[Finding]:
    selector = spec.get("nodeSelector", {})
    for key, value in old.get("nodeSelector", {}).items():
        if selector.get(key) != value:
            yield Finding("$.spec.nodeSelector", f"{key} is not {value}", "labels can only be added behind a gate")


def _check_affinity(spec: Data, old: Data) -> Iterator[Finding]:
    affinity, before = spec.get("affinity", {}), old.get("affinity", {})
    yield from _fixed("$.spec.affinity", affinity, before, ("podAffinity", "podAntiAffinity"))
    terms, were = _required_terms(affinity), _required_terms(before)
    if were and (len(terms) != len(were) or not all(map(_narrower, terms, were))):
        place = "$.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        yield Finding(place, "it asks for less than before", "requirements can only be added behind a gate")


def _required_terms(affinity: Data) -> list[Data]:
    required = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms: list[Data] = required.get("nodeSelectorTerms", [])
    return terms


def _narrower(term: Data, before: Data) -> bool:
    return all(
        requirement in term.get(name, [])
        for name in ("matchExpressions", "matchFields")
        for requirement in before.get(name, [])
    )


# Jobs and other controllers

_JOB_FIXED = ("completions", "completionMode", "selector", "manualSelector", "podFailurePolicy", "managedBy")
_DIRECTIVES = ("nodeSelector", "tolerations", "affinity", "schedulingGates")


def _check_job(new: Data, before: Data) -> Iterator[Finding]:
    """A template can only be directed to other nodes, and only while the Job is suspended and has not started."""
    spec, old = new["spec"], before["spec"]
    yield from _fixed("$.spec", spec, old, _JOB_FIXED)
    yield from _fixed("$.spec", _without_least(spec), _without_least(old), ("scheduling",))
    waiting = old.get("suspend") and "startTime" not in before.get("status", {})
    template, was = spec["template"], old["template"]
    if waiting:
        names = tuple(sorted({*template["spec"], *was["spec"]} - set(_DIRECTIVES)))
        yield from _fixed("$.spec.template.spec", template["spec"], was["spec"], names)
    elif template != was:
        right = "the template can be changed only while the Job is suspended and has not started"
        yield Finding("$.spec.template", "it has changed", right)


def _without_least(spec: Data) -> Data:
    """What a Job says of its scheduling, but for how many pods its gang needs: that may change."""
    said = spec.get("scheduling")
    if not said or "gang" not in (said.get("schedulingPolicy") or {}):
        return spec
    return {"scheduling": {**said, "schedulingPolicy": {"gang": {}}}}


def _check_controller(new: Data, before: Data) -> Iterator[Finding]:
    yield from _fixed("$.spec", new["spec"], before["spec"], ("selector",))


# Quota


def _check_quota_workload(new: Data, before: Data) -> Iterator[Finding]:
    """What quota was reserved for stays what it is."""
    if has_condition(before, "QuotaReserved"):
        yield from _fixed("$.spec", new["spec"], before["spec"], ("podSets", "queueName"))


_RULES: dict[type[Manifest], Callable[[Data, Data], Iterator[Finding]]] = {
    Pod: _check_pod,
    Job: _check_job,
    Controller: _check_controller,
    QuotaWorkload: _check_quota_workload,
}
