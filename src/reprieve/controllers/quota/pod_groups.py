"""The Workload of plain pods: of one, or of a group that is admitted whole.

1. A pod of its own has a Workload of its own, and so has each pod of a Deployment or a ReplicaSet.
2. Pods with the label kueue.x-k8s.io/pod-group-name share one, as soon as there are as many as the annotation
   kueue.x-k8s.io/pod-group-total-count says. Pods of the same shape make one pod set.
3. Whom a Workload is for stands in its owner references, and does not change.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from reprieve.controllers.quota.shapes import MAIN, make_workload, queue_of
from reprieve.manifests.kueue import (
    ADMISSION_GATE,
    GROUP_LABEL,
    STATEFUL_SET,
    SUSPENDING_PARENT,
    TOTAL_COUNT,
    workload_name,
)
from reprieve.manifests.priorities import parse_integer
from reprieve.stores.records import Record
from reprieve.stores.writing import controller_of, owner_reference, owner_references

POD_SET_LABEL = "kueue.x-k8s.io/podset"
"""Of a pod that was let go: the pod set that it is one of."""
MOST_SHAPES = 8
_SHAPE = ("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints")
_SHAPE_OF_CONTAINERS = ("resources", "ports", "restartPolicy")
_HASH = 8
Data = dict[str, Any]


def group_of(pod: Record) -> str:
    return pod.labels.get(GROUP_LABEL, "")


def of_stateful_set(pod: Record) -> bool:
    """Whether a StatefulSet in a queue has the Workload of a pod."""
    return pod.annotations.get(SUSPENDING_PARENT) == STATEFUL_SET


def total_of(pod: Record) -> int | None:
    """How many pods its group has; a pod of its own is all there is."""
    if not group_of(pod):
        return 1
    total = parse_integer(pod.annotations.get(TOTAL_COUNT, ""), 32)
    return total if total is not None and total > 0 else None


def workload_of(pod: Record) -> Iterable[tuple[str, str]]:
    """The key of the Workload that a pod in a queue belongs to, unless its owner has one: a Job, a StatefulSet."""
    if queue_of(pod) and (controller_of(pod) or {}).get("kind") != "Job" and not of_stateful_set(pod):
        yield pod.namespace, group_of(pod) or workload_name("pod", pod.name, pod.uid)


def members_of(workload: Record) -> set[str]:
    """The uids of the pods that a Workload is for; none: it is not one of pods."""
    return {owner["uid"] for owner in owner_references(workload) if owner.get("kind") == "Pod"}


def is_gated(pod: Record) -> bool:
    return any(gate["name"] == ADMISSION_GATE for gate in pod.data["spec"].get("schedulingGates") or ())


def shape_of(pod: Record) -> str:
    return shape_of_spec(pod.data["spec"])


def shape_of_spec(spec: Mapping[str, Any]) -> str:
    """Pods with the same shape ask for the same of the same nodes; what they run there may differ."""
    shape = {name: spec.get(name) for name in (*_SHAPE, "overhead", "resources", "resourceClaims")}
    for group in ("containers", "initContainers"):
        shape[group] = [[each.get(name) for name in _SHAPE_OF_CONTAINERS] for each in spec.get(group) or ()]
    return hashlib.sha256(msgspec.json.encode(shape, order="sorted")).hexdigest()[:_HASH]


def pod_set_of(pod: Record, workload: Record) -> str:
    """The pod set of a Workload that a pod is in: its label says so once it is let go, which changes its shape."""
    names = [each.get("name", MAIN) for each in workload.data["spec"]["podSets"]]
    shape = pod.labels.get(POD_SET_LABEL) or shape_of(pod)
    return shape if shape in names else names[0]


def _template(pod: Record) -> Data:
    """The pod as it would be made anew, without the gate that holds it."""
    metadata = {name: pod.metadata[name] for name in ("labels", "annotations") if pod.metadata.get(name)}
    spec = dict(pod.data["spec"])
    drop_gate(spec)
    return {"metadata": metadata, "spec": spec}


def _pod_sets(pods: list[Record]) -> list[Data]:
    if len(pods) == 1 and not group_of(pods[0]):
        return [{"name": MAIN, "count": 1, "template": _template(pods[0])}]
    shapes: dict[str, list[Record]] = {}
    for pod in pods:
        shapes.setdefault(shape_of(pod), []).append(pod)
    return [{"name": name, "count": len(same), "template": _template(same[0])} for name, same in shapes.items()]


def pods_workload(name: str, pods: list[Record], rank: Data) -> Data:
    """The Workload of pods that wait; the first of them speaks for all."""
    workload = make_workload(name, pods[0], _pod_sets(pods), rank)
    workload["metadata"]["ownerReferences"] = [owner_reference(pod, controller=False) for pod in pods]
    return workload


def drop_gate(spec: Data) -> None:
    gates = [gate for gate in spec.pop("schedulingGates", ()) if gate["name"] != ADMISSION_GATE]
    if gates:
        spec["schedulingGates"] = gates
