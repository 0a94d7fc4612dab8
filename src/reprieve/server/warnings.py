"""What whoever writes should know, though the write is accepted: told in `Warning` headers, as Kubernetes does.

1. Deleting a PriorityClass that pods on nodes name: from then on pods above these cannot preempt there.
2. Writing what only counts with a feature gate on, while that is off.
3. A table of a kind whose name another API has, too, while there are objects of that one: which of the two it is.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from reprieve.manifests.kinds import PODS, PRIORITY_CLASSES, namesakes
from reprieve.server.requests import Call
from reprieve.stores.records import Record
from reprieve.texts import server as texts
from reprieve.texts.remarks import is_off

_GATES = {"PodGroup": "GenericWorkload", "CompositePodGroup": "CompositePodGroup"}
_POLICIES = ("PropagationPolicy", "ClusterPropagationPolicy")
_OF_POLICIES = ("PriorityBasedScheduling", "PriorityBasedPreemptiveScheduling")


async def of_deletion(call: Call, deleted: Iterable[Record]) -> list[str]:
    """Of these objects, those that others still need."""
    classes = [record.name for record in deleted if record.resource == PRIORITY_CLASSES]
    if not classes:
        return []
    pods = [record for record in (await call.plane.store.list(PODS)).records if _runs(record)]
    found = {name: [pod for pod in pods if pod.manifest.spec.priority_class_name == name] for name in classes}
    return [texts.class_in_use(name, *_units_and_nodes(using)) for name, using in found.items() if using]


async def of_table(call: Call) -> list[str]:
    """Of kinds with one name, the one that is shown, where somebody may have meant the other."""
    shown = call.target.resource
    others = [
        other
        for other in namesakes(shown)
        if (await call.plane.store.list(other, call.target.namespace if other.namespaced else "")).records
    ]
    return [texts.which_of_two(shown.full_name, other.full_name) for other in others]


def _runs(pod: Record) -> bool:
    return bool(pod.manifest.spec.node_name) and not pod.manifest.finished


def _units_and_nodes(pods: list[Record]) -> tuple[list[str], list[str]]:
    return [pod.unit for pod in pods], sorted({pod.manifest.spec.node_name for pod in pods})


def of_write(call: Call, data: Mapping[str, Any]) -> list[str]:
    """Features that an object asks for and that are switched off."""
    kind, settings = call.target.resource.kind, call.plane.settings
    needed = [_GATES[kind]] if kind in _GATES else []
    spec = data.get("spec")
    if kind in _POLICIES and isinstance(spec, dict) and spec.get("schedulePriority"):
        needed += _OF_POLICIES
    return [texts.without_gate(kind, is_off(gate)) for gate in needed if not settings.gate(gate)]
