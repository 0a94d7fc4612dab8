"""Node labels in columns, and which nodes a selector means."""

from collections.abc import Iterable, Mapping

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.core import Node
from reprieve.manifests.pods import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec
from reprieve.manifests.priorities import parse_integer


class NodeLabels:
    """For each label key a column of numbers, one for each value; 0: the node does not have it."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._epoch = -1
        self._columns: dict[str, tuple[Ints, dict[str, int]]] = {}

    def column(self, key: str) -> tuple[Ints, dict[str, int]]:
        if self._epoch != self._table.epoch:
            self._epoch = self._table.epoch
            self._columns.clear()
        known = self._columns.get(key)
        if known is None:
            values: dict[str, int] = {}
            codes = [
                0
                if node is None or (value := node.metadata.labels.get(key)) is None
                else values.setdefault(value, len(values) + 1)
                for node in self._table.nodes
            ]
            known = self._columns[key] = np.array(codes, dtype=np.int64), values
        return known

    def matching(self, selector: dict[str, str]) -> Mask:
        """Nodes that have all these labels."""
        mask = self._everywhere()
        for key, value in selector.items():
            codes, values = self.column(key)
            mask &= codes == values.get(value, -1)
        return mask

    def selected(self, selector: NodeSelector) -> Mask:
        """Nodes that any of the terms means; a term that says nothing means none."""
        mask = np.zeros(self._table.size, dtype=np.bool_)
        for term in selector.node_selector_terms:
            mask |= self.meant(term)
        return mask

    def meant(self, term: NodeSelectorTerm) -> Mask:
        if not term.match_expressions and not term.match_fields:
            return np.zeros(self._table.size, dtype=np.bool_)
        mask = self._everywhere()
        for requirement in term.match_expressions:
            mask &= self._holds(requirement)
        for requirement in term.match_fields:
            named = self._named(requirement.values)
            mask &= named if requirement.operator == "In" else ~named
        return mask

    def _everywhere(self) -> Mask:
        return np.ones(self._table.size, dtype=np.bool_)

    def _named(self, names: Iterable[str]) -> Mask:
        mask = np.zeros(self._table.size, dtype=np.bool_)
        for name in names:
            index = self._table.index.get(name)
            if index is not None:
                mask[index] = True
        return mask

    def _holds(self, requirement: NodeSelectorRequirement) -> Mask:
        codes, values = self.column(requirement.key)
        match requirement.operator:
            case "In":
                return _any_of(codes, [values.get(value, -1) for value in requirement.values])
            case "NotIn":
                return ~_any_of(codes, [values.get(value, -1) for value in requirement.values])
            case "Exists":
                return np.asarray(codes != 0)
            case "DoesNotExist":
                return np.asarray(codes == 0)
            case "Gt" | "Lt":
                return _any_of(codes, [code for value, code in values.items() if _compares(requirement, value)])


def means(node: Node, spec: PodSpec) -> bool:
    """Whether pods ask for a node like this one, by selector and affinity; for who looks at single nodes."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    return any(_term_means(term, node) for term in affinity.required.node_selector_terms)


def _term_means(term: NodeSelectorTerm, node: Node) -> bool:
    """A term that says nothing means no node."""
    named = {"metadata.name": node.name}
    said = [holds(each, node.metadata.labels) for each in term.match_expressions]
    said += [holds(each, named) for each in term.match_fields]
    return bool(said) and all(said)


def holds(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    """Whether some labels are what a requirement asks for."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(requirement, value)


def _any_of(codes: Ints, wanted: list[int]) -> Mask:
    return np.isin(codes, np.array(wanted, dtype=np.int64))


def _compares(requirement: NodeSelectorRequirement, value: str) -> bool:
    """Whether a label is greater or less than the number asked for; what is no number is neither."""
    bound, number = parse_integer("".join(requirement.values[:1]), 64), parse_integer(value, 64)
    if bound is None or number is None:
        return False
    return number > bound if requirement.operator == "Gt" else number < bound
