"""What a node itself allows: taints, selectors, node affinity, ports and resources."""

from __future__ import annotations

from reprieve.model.resources import amount
from tests.reference.cluster import REQUIRED, Cluster, Dict, labels_of

PASSES, UNSCHEDULABLE, UNRESOLVABLE = "passes", "unschedulable", "unresolvable"
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


# Taints, selectors and node affinity


def tolerations(pod: Dict) -> list[Dict]:
    return list(pod["spec"].get("tolerations", []))


def cordoned(node: Dict, pod: Dict) -> bool:
    unschedulable = bool(node.get("spec", {}).get("unschedulable"))
    return unschedulable and not any(tolerates(item, CORDON) for item in tolerations(pod))


def tolerates(toleration: Dict, taint: Dict) -> bool:
    same_effect = toleration.get("effect", "") in ("", taint["effect"])
    same_key = toleration.get("key", "") in ("", taint["key"])
    same_value = toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")
    return same_effect and same_key and same_value


def taints_tolerated(node: Dict, pod: Dict) -> bool:
    hard = [taint for taint in node.get("spec", {}).get("taints", []) if taint["effect"] != "PreferNoSchedule"]
    return all(any(tolerates(item, taint) for item in tolerations(pod)) for taint in hard)


def node_affinity(node: Dict, pod: Dict) -> bool:
    labels = labels_of(node)
    if any(labels.get(key) != value for key, value in pod["spec"].get("nodeSelector", {}).items()):
        return False
    required = affinity_of(pod, "nodeAffinity").get(REQUIRED)
    return required is None or any(node_term(term, node) for term in required["nodeSelectorTerms"])


def node_term(term: Dict, node: Dict) -> bool:
    expressions, fields = term.get("matchExpressions", []), term.get("matchFields", [])
    named = {"metadata.name": node["metadata"]["name"]}
    return bool(expressions or fields) and (
        all(holds(item, labels_of(node)) for item in expressions) and all(holds(item, named) for item in fields)
    )


def holds(requirement: Dict, labels: dict[str, str]) -> bool:
    """One requirement of any selector."""
    value, values = labels.get(requirement["key"]), requirement.get("values", [])
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            if value is None or not value.lstrip("-").isdigit():
                return False
            return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def selects(selector: Dict | None, labels: dict[str, str]) -> bool:
    """A selector that is not there selects nothing, an empty one everything."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        holds(item, labels) for item in selector.get("matchExpressions", [])
    )


def affinity_of(pod: Dict, kind: str) -> Dict:
    found: Dict = pod["spec"].get("affinity", {}).get(kind, {})
    return found


# Ports and resources


def host_ports(pod: Dict) -> list[tuple[str, str, int]]:
    """What it holds as long as it runs: init containers count only where they are sidecars."""
    spec = pod["spec"]
    sidecars = [item for item in spec.get("initContainers", []) if item.get("restartPolicy") == "Always"]
    return [
        (port.get("hostIP", "") or "0.0.0.0", port.get("protocol", "TCP"), port["hostPort"])  # noqa: S104
        for item in [*spec["containers"], *sidecars]
        for port in item.get("ports", [])
        if port.get("hostPort")
    ]


def conflict(one: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or "0.0.0.0" in (one[0], other[0]))  # noqa: S104


def requests(pod: Dict) -> dict[str, int]:
    """Containers and sidecars together, or an init container beside the sidecars before it; and overhead."""
    spec = pod["spec"]
    sidecars: dict[str, int] = {}
    starting: list[dict[str, int]] = []
    for item in spec.get("initContainers", []):
        if item.get("restartPolicy") == "Always":
            sidecars = added(sidecars, amounts(item))
            starting.append(sidecars)
        else:
            starting.append(added(sidecars, amounts(item)))
    total = sidecars
    for item in spec["containers"]:
        total = added(total, amounts(item))
    for moment in starting:
        total = {name: max(total.get(name, 0), moment.get(name, 0)) for name in {*total, *moment}}
    return added(total, whole(spec.get("overhead", {})))


def amounts(container: Dict) -> dict[str, int]:
    return whole(container.get("resources", {}).get("requests", {}))


def whole(quantities: Dict) -> dict[str, int]:
    return {name: amount(name, text) for name, text in quantities.items()}


def added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}


def resources_fit(cluster: Cluster, pod: Dict, name: str, here: list[Dict]) -> str:
    """Only what the pod asks for is looked at; what the whole node could not hold, no preemption makes fit."""
    sizes = cluster.nodes[name]["status"]
    offered = whole(sizes.get("allocatable") or sizes["capacity"])
    answer = PASSES if len(here) < offered.get("pods", 0) else UNSCHEDULABLE
    for resource, wanted in requests(pod).items():
        used = sum(requests(other).get(resource, 0) for other in here)
        if wanted > 0 and wanted > offered.get(resource, 0) - used:
            if wanted > offered.get(resource, 0):
                return UNRESOLVABLE
            answer = UNSCHEDULABLE
    return answer
