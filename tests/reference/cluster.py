"""What a scheduler sees when it starts to look, straight from manifests, and the small questions asked about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Dict = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass
class Cluster:
    """The state as a scheduler sees it when it starts to look."""

    nodes: dict[str, Dict] = field(default_factory=dict)
    running: dict[str, list[Dict]] = field(default_factory=dict)
    nominated: dict[str, list[Dict]] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    classes: dict[str, Dict] = field(default_factory=dict)
    budgets: list[Dict] = field(default_factory=list)

    def everywhere(self, name: str, here: list[Dict]) -> Iterator[tuple[Dict, Dict]]:
        """Every pod with its node, if `here` were the pods of the node `name`."""
        for other, node in self.nodes.items():
            yield from ((node, pod) for pod in (here if other == name else self.running.get(other, [])))


def read(objects: Iterable[Dict]) -> Cluster:
    """A cluster from manifests; pods that have finished hold nothing."""
    cluster = Cluster()
    for item in objects:
        name = item["metadata"]["name"]
        match item["kind"]:
            case "Node":
                cluster.nodes[name] = item
            case "Namespace":
                cluster.namespaces[name] = labels_of(item)
            case "PriorityClass":
                cluster.classes[name] = item
            case "PodDisruptionBudget":
                cluster.budgets.append(item)
            case "Pod":
                _place(cluster, item)
    cluster.budgets.sort(key=lambda item: (item["metadata"]["namespace"], item["metadata"]["name"]))
    return cluster


def _place(cluster: Cluster, pod: Dict) -> None:
    status = pod.get("status", {})
    if status.get("phase") in ("Succeeded", "Failed"):
        return
    if pod["spec"].get("nodeName"):
        cluster.running.setdefault(pod["spec"]["nodeName"], []).append(pod)
    elif status.get("nominatedNodeName"):
        cluster.nominated.setdefault(status["nominatedNodeName"], []).append(pod)


def labels_of(item: Dict) -> dict[str, str]:
    labels: dict[str, str] = item["metadata"].get("labels", {})
    return labels


def namespace_of(pod: Dict) -> str:
    return str(pod["metadata"]["namespace"])


def unit_of(pod: Dict) -> str:
    return f"Pod/{namespace_of(pod)}/{pod['metadata']['name']}"


def priority_of(cluster: Cluster, pod: Dict) -> int:
    """Its own number, else that of its class, else of the global default, else 0."""
    return int(_of_class(cluster, pod, "priority", "value", 0))


def policy_of(cluster: Cluster, pod: Dict) -> str:
    return str(_of_class(cluster, pod, "preemptionPolicy", "preemptionPolicy", "PreemptLowerPriority"))


def _of_class(cluster: Cluster, pod: Dict, own: str, of_class: str, otherwise: object) -> Any:
    if pod["spec"].get(own) is not None:
        return pod["spec"][own]
    defaults = [item for item in cluster.classes.values() if item.get("globalDefault")]
    default = min(defaults, key=lambda item: (item["value"], item["metadata"]["name"]), default={})
    return cluster.classes.get(pod["spec"].get("priorityClassName", ""), default).get(of_class, otherwise)


def condition(pod: Dict, kind: str) -> Dict | None:
    return next((item for item in pod.get("status", {}).get("conditions", []) if item["type"] == kind), None)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
