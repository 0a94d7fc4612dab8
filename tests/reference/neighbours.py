"""What other pods allow: topology spread, affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.cluster import REQUIRED, Cluster, Dict, labels_of, namespace_of
from tests.reference.nodes import (
    PASSES,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    affinity_of,
    node_affinity,
    selects,
    taints_tolerated,
)

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""A label that every namespace has."""


# Topology spread


def spread_evenly(cluster: Cluster, pod: Dict, name: str, here: list[Dict]) -> str:
    constraints = [
        item
        for item in pod["spec"].get("topologySpreadConstraints", [])
        if item["whenUnsatisfiable"] == "DoNotSchedule"
    ]
    for constraint in constraints:
        domain = labels_of(cluster.nodes[name]).get(constraint["topologyKey"])
        if domain is None:
            return UNRESOLVABLE
        counts = spread_counts(cluster, pod, constraint, constraints, name, here)
        least = min(counts.values(), default=0) if len(counts) >= constraint.get("minDomains", 1) else 0
        itself = int(selects(spread_selector(constraint, pod), labels_of(pod)))
        if counts.get(domain, 0) + itself - least > constraint["maxSkew"]:
            return UNSCHEDULABLE
    return PASSES


def spread_selector(constraint: Dict, pod: Dict) -> Dict | None:
    return with_keys(constraint.get("labelSelector"), constraint.get("matchLabelKeys", []), pod, "In")


def with_keys(selector: Dict | None, keys: list[str], pod: Dict, operator: str) -> Dict | None:
    """A selector with the pod's own labels of some keys mixed in."""
    if selector is None:
        return None
    own = labels_of(pod)
    extra = [{"key": key, "operator": operator, "values": [own[key]]} for key in keys if key in own]
    return {**selector, "matchExpressions": [*selector.get("matchExpressions", []), *extra]}


def spread_counts(
    cluster: Cluster, pod: Dict, constraint: Dict, constraints: list[Dict], name: str, here: list[Dict]
) -> dict[str, int]:
    """Matching pods of each domain that counts.

    Pods that are leaving are not counted, but one that is taken off its node is subtracted all the same.
    """
    selector = spread_selector(constraint, pod)

    def meant(other: Dict) -> bool:
        return namespace_of(other) == namespace_of(pod) and selects(selector, labels_of(other))

    counts: dict[str, int] = {}
    for other, node in cluster.nodes.items():
        if all(item["topologyKey"] in labels_of(node) for item in constraints) and counts_for(constraint, node, pod):
            domain = labels_of(node)[constraint["topologyKey"]]
            before = cluster.running.get(other, [])
            count = sum(meant(item) and "deletionTimestamp" not in item["metadata"] for item in before)
            if other == name:
                count += sum(map(meant, here)) - sum(map(meant, before))
            counts[domain] = counts.get(domain, 0) + count
    return counts


def counts_for(constraint: Dict, node: Dict, pod: Dict) -> bool:
    affine = constraint.get("nodeAffinityPolicy", "Honor") == "Ignore" or node_affinity(node, pod)
    return affine and (constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or taints_tolerated(node, pod))


# Affinity and anti-affinity between pods


def terms(pod: Dict, kind: str) -> list[Dict]:
    return list(affinity_of(pod, kind).get(REQUIRED, []))


def means(cluster: Cluster, term: Dict, owner: Dict) -> Callable[[Dict], bool]:
    """Whether a term of one pod means another."""
    selector = with_keys(term.get("labelSelector"), term.get("matchLabelKeys", []), owner, "In")
    selector = with_keys(selector, term.get("mismatchLabelKeys", []), owner, "NotIn")
    chosen, named = term.get("namespaceSelector"), term.get("namespaces", [])
    if chosen is None and not named:
        named = [namespace_of(owner)]

    def meant(other: Dict) -> bool:
        namespace = namespace_of(other)
        labels = {NAMESPACE_NAME: namespace, **cluster.namespaces.get(namespace, {})}
        return (namespace in named or selects(chosen, labels)) and selects(selector, labels_of(other))

    return meant


def same_domain(key: str, one: Dict, other: Dict) -> bool:
    return key in labels_of(one) and labels_of(one)[key] == labels_of(other).get(key)


def affinity_met(cluster: Cluster, pod: Dict, name: str, here: list[Dict]) -> str:
    """Somebody who matches all terms, in the domain of each; or nobody anywhere, and it would match itself."""
    wanted = terms(pod, "podAffinity")
    node = cluster.nodes[name]
    if any(term["topologyKey"] not in labels_of(node) for term in wanted):
        return UNRESOLVABLE
    all_mean = [means(cluster, term, pod) for term in wanted]
    friends = [
        where for where, other in cluster.everywhere(name, here) if wanted and all(meant(other) for meant in all_mean)
    ]
    if all(any(same_domain(term["topologyKey"], node, where) for where in friends) for term in wanted):
        return PASSES
    countable = [where for where in friends if any(term["topologyKey"] in labels_of(where) for term in wanted)]
    return PASSES if not countable and all(meant(pod) for meant in all_mean) else UNRESOLVABLE


def kept_away(cluster: Cluster, pod: Dict, name: str, here: list[Dict]) -> bool:
    """By its own anti-affinity, or by that of somebody who is there."""
    node = cluster.nodes[name]
    return any(
        any(same_domain(term["topologyKey"], node, where) and means(cluster, term, pod)(other) for term in own(pod))
        or any(
            same_domain(term["topologyKey"], node, where) and means(cluster, term, other)(pod) for term in own(other)
        )
        for where, other in cluster.everywhere(name, here)
    )


def own(pod: Dict) -> list[Dict]:
    return terms(pod, "podAntiAffinity")
