"""kube-scheduler's scores for nodes on which a pod fits, as plainly as they can be written: pod by pod, in floats."""

from __future__ import annotations

import math

from tests.reference.cluster import Cluster, Dict, labels_of, namespace_of
from tests.reference.neighbours import counts_for, means, spread_selector
from tests.reference.nodes import node_term, requests, selects, tolerates, whole

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
ASSUMED = {"cpu": 100, "memory": 200 * 2**20}


def scores(cluster: Cluster, pod: Dict, names: list[str]) -> dict[str, int]:
    """The weighted sum for each of some nodes."""
    parts = [
        (3, taints(cluster, pod, names)),
        (2, preferred_nodes(cluster, pod, names)),
        (2, spread(cluster, pod, names)),
        (2, neighbours(cluster, pod, names)),
        (1, {name: least_allocated(cluster, pod, name) for name in names}),
        (1, {name: balanced(cluster, pod, name) for name in names}),
        (1, {name: images(cluster, pod, name) for name in names}),
    ]
    return {name: sum(weight * given[name] for weight, given in parts) for name in names}


def _allocatable(cluster: Cluster, name: str) -> Dict:
    return whole(cluster.nodes[name]["status"]["allocatable"])


def least_allocated(cluster: Cluster, pod: Dict, name: str) -> int:
    has, given = _allocatable(cluster, name), []
    for resource, assumed in ASSUMED.items():
        if not has.get(resource):
            continue
        everybody = [*cluster.running.get(name, []), pod]
        taken = sum(requests(each).get(resource, 0) or assumed for each in everybody)
        given.append((has[resource] - taken) * 100 // has[resource] if taken <= has[resource] else 0)
    return sum(given) // len(given) if given else 0


def balanced(cluster: Cluster, pod: Dict, name: str) -> int:
    has, shares = _allocatable(cluster, name), []
    if not any(requests(pod).get(resource, 0) for resource in ASSUMED):
        return 0
    for resource in ASSUMED:
        taken = sum(requests(each).get(resource, 0) for each in [*cluster.running.get(name, []), pod])
        shares.append(min(taken / has[resource], 1.0) if has.get(resource) else 0.0)
    return int((1 - abs(shares[0] - shares[1]) / 2) * 100)


def images(cluster: Cluster, pod: Dict, name: str) -> int:
    """By what is on the node, image after image of the pod."""
    spec = pod["spec"]
    wanted = [container.get("image", "") for container in spec.get("initContainers", []) + spec["containers"]]
    wanted += [volume["image"]["reference"] for volume in spec.get("volumes", []) if "image" in volume]
    found = 0
    for image in wanted:
        tagged = image if ":" in image.split("/")[-1] else image + ":latest"
        sizes = {node: size for node in cluster.nodes for size in [_size_on(cluster, node, tagged)] if size is not None}
        if name in sizes:
            found += int(max(sizes.values()) * (len(sizes) / len(cluster.nodes)))
    low, high = 23 * 1024 * 1024, 1000 * 1024 * 1024 * len(wanted)
    return 100 * (min(max(found, low), high) - low) // (high - low)


def _size_on(cluster: Cluster, node: str, image: str) -> int | None:
    listed = cluster.nodes[node]["status"].get("images", [])
    return max((each.get("sizeBytes", 0) for each in listed if image in each["names"]), default=None)


def taints(cluster: Cluster, pod: Dict, names: list[str]) -> dict[str, int]:
    tolerations = pod["spec"].get("tolerations", [])
    counts = {
        name: sum(
            taint["effect"] == "PreferNoSchedule" and not any(tolerates(item, taint) for item in tolerations)
            for taint in cluster.nodes[name].get("spec", {}).get("taints", [])
        )
        for name in names
    }
    most = max(counts.values())
    return {name: 100 - (count * 100 // most if most else 0) for name, count in counts.items()}


def preferred_nodes(cluster: Cluster, pod: Dict, names: list[str]) -> dict[str, int]:
    terms = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(PREFERRED, [])
    counts = {
        name: sum(term["weight"] for term in terms if node_term(term["preference"], cluster.nodes[name]))
        for name in names
    }
    most = max(counts.values())
    return {name: count * 100 // most if most else 0 for name, count in counts.items()}


def neighbours(cluster: Cluster, pod: Dict, names: list[str]) -> dict[str, int]:
    points = dict.fromkeys(names, 0)
    for node, others in cluster.running.items():
        for other in others if node in cluster.nodes else ():
            for weight, term, owner, meant in [*_wishes(pod, other, own=True), *_wishes(other, pod, own=False)]:
                if not means(cluster, term, owner)(meant):
                    continue
                domain = labels_of(cluster.nodes[node]).get(term["topologyKey"])
                for name in names:
                    if domain is not None and labels_of(cluster.nodes[name]).get(term["topologyKey"]) == domain:
                        points[name] += weight
    least, most = min(points.values()), max(points.values())
    return {name: (each - least) * 100 // (most - least) if most > least else 0 for name, each in points.items()}


def _wishes(owner: Dict, meant: Dict, *, own: bool) -> list[tuple[int, Dict, Dict, Dict]]:
    """What a pod would like of another; of those who run, what they require counts for one."""
    affinity = owner["spec"].get("affinity", {})
    found = [
        (sign * item["weight"], item["podAffinityTerm"], owner, meant)
        for sign, kind in ((1, "podAffinity"), (-1, "podAntiAffinity"))
        for item in affinity.get(kind, {}).get(PREFERRED, [])
    ]
    if not own:
        found += [(1, term, owner, meant) for term in affinity.get("podAffinity", {}).get(REQUIRED, [])]
    return found


def spread(cluster: Cluster, pod: Dict, names: list[str]) -> dict[str, int]:
    soft = [
        item
        for item in pod["spec"].get("topologySpreadConstraints", [])
        if item["whenUnsatisfiable"] == "ScheduleAnyway"
    ]
    keyed = [
        name for name in cluster.nodes if all(item["topologyKey"] in labels_of(cluster.nodes[name]) for item in soft)
    ]
    scored = [name for name in names if name in keyed]
    if not soft or not scored:
        return dict.fromkeys(names, 0)
    costs = dict.fromkeys(scored, 0.0)
    for item in soft:
        key = item["topologyKey"]
        domains = {labels_of(cluster.nodes[name])[key] for name in scored}
        size = len(scored) if key == HOST else len(domains)
        for name in scored:
            inside = [name] if key == HOST else _domain(cluster, pod, name, item, keyed)
            count = sum(_like_it(pod, other, item) for node in inside for other in cluster.running.get(node, []))
            costs[name] += count * math.log(size + 2) + item["maxSkew"] - 1
    whole_costs = {name: math.floor(cost + 0.5) for name, cost in costs.items()}
    least, most = min(whole_costs.values()), max(whole_costs.values())
    points = {name: (most + least - cost) * 100 // most if most else 100 for name, cost in whole_costs.items()}
    return {name: points.get(name, 0) for name in names}


def _domain(cluster: Cluster, pod: Dict, name: str, item: Dict, keyed: list[str]) -> list[str]:
    key = item["topologyKey"]
    value = labels_of(cluster.nodes[name])[key]
    return [
        other
        for other in keyed
        if labels_of(cluster.nodes[other])[key] == value and counts_for(item, cluster.nodes[other], pod)
    ]


def _like_it(pod: Dict, other: Dict, item: Dict) -> bool:
    leaving = "deletionTimestamp" in other["metadata"]
    same = namespace_of(other) == namespace_of(pod)
    return not leaving and same and selects(spread_selector(item, pod), labels_of(other))
