"""Whom a pod means: the terms of its affinity and anti-affinity, its ports, and what follows for two pods."""

from collections.abc import Callable

from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.core import Namespace
from reprieve.manifests.meta import LabelSelector, SelectorRequirement
from reprieve.manifests.pods import PodAffinityTerm
from reprieve.world import ANY_ADDRESS, PodFacts

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""A label that every namespace has, whether its manifest says so or not."""
Matches = Callable[[str, dict[str, str]], bool]


def topology_keys(facts: PodFacts) -> set[str]:
    """Over which domains a pod minds others."""
    spec = facts.pod.spec
    keys = {constraint.topology_key for constraint in spec.topology_spread_constraints}
    if spec.affinity is not None:
        for rules in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
            keys |= {term.topology_key for term in rules.required} if rules else set()
    return keys


def counts_others(facts: PodFacts) -> bool:
    """Whether more pods elsewhere can make its place invalid: by spreading, or by others to be near to."""
    spec = facts.pod.spec
    near = spec.affinity is not None and spec.affinity.pod_affinity is not None
    return near or bool(spec.topology_spread_constraints)


def clashing_keys(table: NodeTable, one: PodFacts, other: PodFacts) -> set[str]:
    """The topology keys over which either of two pods keeps the other away."""
    return {
        term.topology_key
        for owner, meant in ((one, other), (other, one))
        for term in anti_affinity(owner)
        if term_matches(table, term, owner)(meant.key[0], meant.pod.metadata.labels)
    }


def anti_affinity(facts: PodFacts) -> tuple[PodAffinityTerm, ...]:
    affinity = facts.pod.spec.affinity
    return affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()


def ports_conflict(one: PodFacts, other: PodFacts) -> bool:
    return any(
        port == port2 and protocol == protocol2 and (address == address2 or ANY_ADDRESS in (address, address2))
        for address, protocol, port in one.host_ports
        for address2, protocol2, port2 in other.host_ports
    )


def term_matches(table: NodeTable, term: PodAffinityTerm, owner: PodFacts) -> Matches:
    return matcher(table, term, owner.key[0], owner.pod.metadata.labels)


def could_mean(term: PodAffinityTerm, labels: dict[str, str]) -> bool:
    """Whether the labels that a term names are those of a pod: asked first, since each pod is asked about all terms."""
    selector = term.label_selector
    if selector is None:
        return False
    for key, value in selector.match_labels.items():  # noqa: SIM110 - a generator costs more than the question
        if labels.get(key) != value:
            return False
    return True


def matcher(table: NodeTable, term: PodAffinityTerm, namespace: str, own: dict[str, str]) -> Matches:
    """Whether a term means a pod of some namespace with some labels."""
    selector = merged(term.label_selector, term.match_label_keys, own, term.mismatch_label_keys)
    named = term.namespaces or (() if term.namespace_selector is not None else (namespace,))

    def in_scope(other: str) -> bool:
        if other in named:
            return True
        if term.namespace_selector is None:
            return False
        found = table.world.get(Namespace, other)
        return term.namespace_selector.matches({NAMESPACE_NAME: other, **(found.metadata.labels if found else {})})

    return lambda other, labels: in_scope(other) and selector.matches(labels)


_NOBODY = LabelSelector(match_expressions=(SelectorRequirement(key="", operator="Exists"),))


def merged(
    selector: LabelSelector | None,
    match_keys: tuple[str, ...],
    own: dict[str, str],
    mismatch_keys: tuple[str, ...] = (),
) -> LabelSelector:
    """A selector with the newcomer's own labels mixed in; none at all means nobody."""
    if selector is None:
        return _NOBODY
    extra = [SelectorRequirement(key=key, operator="In", values=(own[key],)) for key in match_keys if key in own]
    extra += (SelectorRequirement(key=key, operator="NotIn", values=(own[key],)) for key in mismatch_keys if key in own)
    if not extra:
        return selector
    return LabelSelector(match_labels=selector.match_labels, match_expressions=(*selector.match_expressions, *extra))
