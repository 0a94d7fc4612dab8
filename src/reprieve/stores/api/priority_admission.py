"""What a new pod's priority class makes of it: its priority and whether it preempts, written into the pod.

Nobody gives himself a priority: a number that is not that of the class is refused.
"""

from typing import Any

from reprieve.manifests.kinds import PODS
from reprieve.manifests.pods import PodSpec
from reprieve.manifests.priorities import PriorityClasses
from reprieve.manifests.problems import did_you_mean
from reprieve.manifests.resource import Resource
from reprieve.stores.api.refusals import forbidden


def resolve_priority(pod: dict[str, Any], spec: PodSpec, classes: PriorityClasses) -> None:
    name = pod["metadata"]["name"]
    resolved = classes.resolve(spec.priority_class_name)
    if not resolved.found:
        near = did_you_mean(spec.priority_class_name, classes.names())
        why = f'there is no PriorityClass "{spec.priority_class_name}"'
        raise forbidden(PODS, name, f"{why}; {near}" if near else why)
    source = f'the PriorityClass "{resolved.class_name}"' if resolved.class_name else "no PriorityClass"
    if spec.priority not in (None, resolved.value):
        raise forbidden(
            PODS,
            name,
            f"spec.priority is {spec.priority}, but {source} gives {resolved.value}: "
            "name a class of that value, or leave the number out",
        )
    if spec.preemption_policy not in (None, resolved.preemption_policy):
        raise forbidden(
            PODS,
            name,
            f"spec.preemptionPolicy is {spec.preemption_policy}, but {source} gives {resolved.preemption_policy}",
        )
    given = pod["spec"]
    given["priority"] = resolved.value
    given["preemptionPolicy"] = resolved.preemption_policy
    if resolved.class_name:
        given["priorityClassName"] = resolved.class_name


def keep_priority(resource: Resource, new: dict[str, Any], before: dict[str, Any]) -> None:
    """A pod that is replaced without saying its priority keeps it: the class was asked once, when it was made."""
    if resource is PODS and isinstance(new.get("spec"), dict):
        for field in ("priorityClassName", "priority", "preemptionPolicy"):
            if field in before["spec"]:
                new["spec"].setdefault(field, before["spec"][field])
