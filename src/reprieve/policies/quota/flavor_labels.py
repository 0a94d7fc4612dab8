"""Whether pods may run on the nodes of a flavor, as far as its taints and labels tell."""

from reprieve.engine.nodes.labels import holds, means
from reprieve.engine.nodes.reach import tolerates
from reprieve.manifests.core import Node
from reprieve.manifests.kueue import ResourceFlavor
from reprieve.manifests.meta import Toleration
from reprieve.manifests.pods import NodeSelectorRequirement, NodeSelectorTerm, PodSpec


def suits(flavor: ResourceFlavor, spec: PodSpec) -> bool:
    """Every taint that keeps pods away is tolerated, by the pods or by the flavor itself, and no label contradicts."""
    tolerations = (*spec.tolerations, *flavor.spec.tolerations)
    for taint in flavor.spec.node_taints:
        if taint.effect != "PreferNoSchedule" and not any(tolerates(item, taint) for item in tolerations):
            return False
    return _labels_match(flavor, spec)


def _labels_match(flavor: ResourceFlavor, spec: PodSpec) -> bool:
    """Only labels that the flavor itself names are compared: the others are for the scheduler to look at."""
    labels = flavor.spec.node_labels
    if any(labels.get(key, value) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    terms = [
        [item for item in term.match_expressions if item.key in labels]
        for term in affinity.required.node_selector_terms
    ]
    if any(_says_nothing(term, kept) for term, kept in zip(affinity.required.node_selector_terms, terms, strict=True)):
        return True
    return any(all(holds(item, labels) for item in kept) for kept in terms)


def _says_nothing(term: NodeSelectorTerm, kept: list[NodeSelectorRequirement]) -> bool:
    return bool(term.match_expressions or term.match_fields) and not kept


def may_run_on(node: Node, spec: PodSpec, tolerations: tuple[Toleration, ...]) -> bool:
    """Whether a node takes pods, by its taints and by what they ask of its labels; `tolerations` are their flavor's."""
    known = (*spec.tolerations, *tolerations)
    for taint in node.spec.taints:
        if taint.effect != "PreferNoSchedule" and not any(tolerates(item, taint) for item in known):
            return False
    return means(node, spec)
