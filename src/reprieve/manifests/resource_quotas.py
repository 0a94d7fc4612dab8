"""ResourceQuota: what may be created in a namespace, all of it or some pods of it.

1. `pods` and what containers ask for and are limited to (`requests.cpu`, `cpu`, `limits.memory`,
   `requests.nvidia.com/gpu`) count pods that have not ended; `count/pods` and `count/jobs.batch` count all objects of a
   kind.
2. Scopes choose the pods that count: by their PriorityClass, or by whether they ask for anything. Where there are
   several, all have to fit.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from reprieve.manifests import meta
from reprieve.manifests.pods import Pod, pod_requests
from reprieve.model.resources import CPU, NOTHING, Quantity, Resources

PRIORITY_CLASS = "PriorityClass"
SCOPES = ("BestEffort", "NotBestEffort", PRIORITY_CLASS)
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
COMPUTE = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
"""What every container has to say, where a quota limits it."""
_NANO, _NANO_OF_MILLI = 10**9, 10**6
ENDED = ("Succeeded", "Failed")
Amounts = dict[str, int]
"""Of each resource as quotas call it, in billionths."""


class ScopeRequirement(meta.Model):
    scope_name: str
    operator: str
    values: tuple[str, ...] = ()


class ScopeSelector(meta.Model):
    match_expressions: tuple[ScopeRequirement, ...] = ()


class ResourceQuotaSpec(meta.Model):
    hard: dict[str, Quantity] = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector = ScopeSelector()


class ResourceQuota(meta.Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["ResourceQuota"] = "ResourceQuota"
    spec: ResourceQuotaSpec = ResourceQuotaSpec()


def selects(spec: ResourceQuotaSpec, pod: Pod) -> bool:
    """Whether a pod counts for a quota."""
    wanted = [ScopeRequirement(scope_name=name, operator="Exists") for name in spec.scopes]
    return all(_in_scope(each, pod) for each in (*wanted, *spec.scope_selector.match_expressions))


def is_scoped(spec: ResourceQuotaSpec) -> bool:
    """Whether only pods count, and only some."""
    return bool(spec.scopes or spec.scope_selector.match_expressions)


def _in_scope(wanted: ScopeRequirement, pod: Pod) -> bool:
    match wanted.scope_name:
        case "PriorityClass":
            return _matches(wanted, pod.spec.priority_class_name or "")
        case "BestEffort":
            return not _asks(pod)
        case "NotBestEffort":
            return _asks(pod)
    return False


def _matches(wanted: ScopeRequirement, name: str) -> bool:
    """As a label selector: without a name, only what asks for a name does not match."""
    match wanted.operator:
        case "In":
            return bool(name) and name in wanted.values
        case "NotIn":
            return name not in wanted.values
        case "Exists":
            return bool(name)
    return not name


def _asks(pod: Pod) -> bool:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any(each.resources.requests or each.resources.limits for each in containers)


def usage(pod: Pod) -> Amounts:
    """What a pod that has not ended counts for, under all names that quotas have for it."""
    limits = NOTHING
    for container in pod.spec.containers:
        limits += container.resources.limits
    asked = pod_requests(pod.spec)
    named = {f"requests.{name}": amount for name, amount in _nano(asked)}
    plain = {name: amount for name, amount in _nano(asked) if name in ("cpu", "memory", "ephemeral-storage")}
    return {"pods": _NANO, **plain, **named, **{f"limits.{name}": amount for name, amount in _nano(limits)}}


def _nano(amounts: Resources) -> Iterator[tuple[str, int]]:
    return ((name, amount * (_NANO_OF_MILLI if name == CPU else _NANO)) for name, amount in amounts.items())


def unsaid(hard: Mapping[str, Quantity], pod: Pod) -> list[str]:
    """What containers have to say and do not, in Kubernetes' words."""
    missing: dict[str, list[str]] = {}
    for name in sorted(set(hard) & set(COMPUTE)):
        kind, _, resource = name.rpartition(".")
        for container in pod.spec.containers:
            said = container.resources.limits if kind == "limits" else container.resources.effective
            if resource not in said:
                missing.setdefault(name, []).append(container.name)
    return [f"{name} for: {','.join(sorted(containers))}" for name, containers in missing.items()]
