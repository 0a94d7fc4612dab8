"""Who was overlooked, read plainly off the manifests: pods that wait although a node has room for them, or would have
without those that anybody may preempt.

It knows cpu, the number of pods, taints, cordons, selectors and priorities, and leaves out whoever needs more to be
known than that: groups, pods in queues, and pods that mind others or that others mind. Whom it names was overlooked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Dict = dict[str, Any]
OWN = ("reprieve", "default-scheduler", "yunikorn")
_TOLERATES = "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority"


def overlooked(objects: Iterable[Dict]) -> list[str]:
    kinds: dict[str, list[Dict]] = {}
    for item in objects:
        kinds.setdefault(item["kind"], []).append(item)
    if kinds.get("ConfigMap"):
        return []  # queues decide
    classes = {item["metadata"]["name"]: item for item in kinds.get("PriorityClass", [])}
    pods = [item for item in kinds.get("Pod", []) if item["status"].get("phase") not in ("Succeeded", "Failed")]
    return [
        f"{pod['metadata']['name']} {how} {node['metadata']['name']}"
        for pod in pods
        if _is_plain(pod, pods)
        for node in kinds.get("Node", [])
        for how in _could(pod, node, [one for one in pods if _place(one) == node["metadata"]["name"]], classes)
    ]


def _is_plain(pod: Dict, everybody: list[Dict]) -> bool:
    spec = pod["spec"]
    if _place(pod) or spec.get("schedulerName") not in OWN or "deletionTimestamp" in pod["metadata"]:
        return False
    if any(spec.get(name) for name in ("schedulingGates", "schedulingGroup", "workloadRef", "affinity")):
        return False
    return not any("podAntiAffinity" in (one["spec"].get("affinity") or {}) for one in everybody)


def _could(pod: Dict, node: Dict, there: list[Dict], classes: dict[str, Dict]) -> Iterator[str]:
    if not _reaches(pod, node):
        return
    if _fits(pod, node, there):
        yield "fits on"
    elif pod["spec"].get("preemptionPolicy") != "Never" and all(_is_known(one, classes) for one in there):
        stay = [one for one in there if one["spec"]["priority"] >= pod["spec"]["priority"]]
        if len(stay) < len(there) and _fits(pod, node, stay):
            yield "may preempt on"


def _is_known(pod: Dict, classes: dict[str, Dict]) -> bool:
    """Whether a pod is preempted by whoever is above it: its class is there and tolerates nobody, and it is alone."""
    found = classes.get(pod["spec"].get("priorityClassName", ""))
    said = (found or {}).get("metadata", {}).get("annotations") or {}
    alone = not any(pod["spec"].get(name) for name in ("schedulingGroup", "workloadRef"))
    return found is not None and _TOLERATES not in said and alone and "deletionTimestamp" not in pod["metadata"]


def _reaches(pod: Dict, node: Dict) -> bool:
    spec, labels = node.get("spec") or {}, node["metadata"].get("labels") or {}
    closed = spec.get("unschedulable") or any(
        taint["effect"] != "PreferNoSchedule" for taint in spec.get("taints") or ()
    )
    tolerates = any(
        item.get("operator") == "Exists" and "key" not in item for item in pod["spec"].get("tolerations") or ()
    )
    selected = (pod["spec"].get("nodeSelector") or {}).items() <= labels.items()
    return selected and (tolerates or not closed)


def _fits(pod: Dict, node: Dict, there: list[Dict]) -> bool:
    has = node["status"]["allocatable"]
    used = sum(map(_cpu, there)) + _cpu(pod)
    return used <= _milli(has["cpu"]) and len(there) + 1 <= int(has["pods"])


def _cpu(pod: Dict) -> int:
    return sum(_milli(one["resources"]["requests"]["cpu"]) for one in pod["spec"]["containers"])


def _milli(amount: str) -> int:
    return int(amount[:-1]) if amount.endswith("m") else 1000 * int(amount)


def _place(pod: Dict) -> str:
    name: str = pod["spec"].get("nodeName", "")
    return name
