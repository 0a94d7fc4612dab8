"""Which of the nodes where a pod fits is the best: the scores kube-scheduler gives, with its weights."""

from typing import Literal

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.pod_terms import term_matches
from reprieve.engine.nodes.reach import tolerates
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.pods import PodAffinityTerm
from reprieve.model.resources import CPU
from reprieve.world import PodFacts

Strategy = Literal["LeastAllocated", "MostAllocated"]
BEST = 100
_WEIGHTS = {"taints": 3, "node affinity": 2, "pod affinity": 2, "resources": 1, "balance": 1}
_SCORED = (CPU, "memory")
# What a container that asks for nothing is taken to need, so that such pods do not all land on one node.
_ASSUMED = {CPU: 100, "memory": 200 * 2**20}


def best_node(table: NodeTable, labels: NodeLabels, facts: PodFacts, nodes: Ints, strategy: Strategy) -> int:
    """The node of the highest score; ties end on creation time, then name."""
    scores = score(table, labels, facts, nodes, strategy)
    best = nodes[scores == scores.max()]
    return int(best[np.argmin(table.tie_break()[best])])


def score(table: NodeTable, labels: NodeLabels, facts: PodFacts, nodes: Ints, strategy: Strategy) -> Ints:
    shares = _shares(table, facts, nodes)
    parts = {
        "resources": (shares if strategy == "MostAllocated" else BEST - shares).sum(axis=0) // len(_SCORED),
        "balance": BEST - abs(shares[0] - shares[1]) // 2,
        "taints": BEST - _normal(_unwanted_taints(table, facts, nodes)),
        "node affinity": _normal(_preferred_nodes(labels, facts, nodes)),
        "pod affinity": _spread_out(_preferred_neighbours(table, labels, facts)[nodes]),
    }
    total = np.zeros(len(nodes), dtype=np.int64)
    for name, points in parts.items():
        total += _WEIGHTS[name] * points
    return total


def _shares(table: NodeTable, facts: PodFacts, nodes: Ints) -> Ints:
    """How full each node would be, in hundredths, for the resources that are scored."""
    shares = np.zeros((len(_SCORED), len(nodes)), dtype=np.int64)
    for place, name in enumerate(_SCORED):
        row = table.row(name)
        allocatable = table.allocatable[row, nodes]
        wanted = table.used[row, nodes] + (facts.requests.of(name) or _ASSUMED[name])
        has = allocatable > 0
        shares[place, has] = np.minimum(wanted[has] // np.maximum(allocatable[has] // BEST, 1), BEST)
    return shares


def _unwanted_taints(table: NodeTable, facts: PodFacts, nodes: Ints) -> Ints:
    tolerations = facts.pod.spec.tolerations
    counts = [
        sum(
            taint.effect == "PreferNoSchedule" and not any(tolerates(item, taint) for item in tolerations)
            for taint in taints or ()
        )
        for taints in table.taints.items
    ]
    return np.array(counts, dtype=np.int64)[table.taint_set[nodes]]


def _preferred_nodes(labels: NodeLabels, facts: PodFacts, nodes: Ints) -> Ints:
    points = np.zeros(len(nodes), dtype=np.int64)
    affinity = facts.pod.spec.affinity
    for item in affinity.node_affinity.preferred if affinity and affinity.node_affinity else ():
        points += item.weight * labels.meant(item.preference)[nodes]
    return points


def _preferred_neighbours(table: NodeTable, labels: NodeLabels, facts: PodFacts) -> Ints:
    points = np.zeros(table.size, dtype=np.int64)
    affinity = facts.pod.spec.affinity
    if affinity is None:
        return points
    for wanted, rules in ((1, affinity.pod_affinity), (-1, affinity.pod_anti_affinity)):
        for item in rules.preferred if rules else ():
            points += wanted * item.weight * _matching_in_domain(table, labels, facts, item.pod_affinity_term)
    return points


def _matching_in_domain(table: NodeTable, labels: NodeLabels, facts: PodFacts, term: PodAffinityTerm) -> Ints:
    matches = term_matches(table, term, facts)
    kinds = [0 if kind is None else int(matches(kind[0], dict(kind[1]))) for kind in table.labels.items]
    on_node = np.array(kinds, dtype=np.int64)[table.ranked("labels", slice(0, table.size))].sum(axis=0)
    codes, values = labels.column(term.topology_key)
    totals = np.zeros(len(values) + 1, dtype=np.int64)
    np.add.at(totals, codes, on_node)
    totals[0] = 0
    return totals[codes]


def _normal(points: Ints) -> Ints:
    most = int(points.max(initial=0))
    return points * BEST // most if most > 0 else np.zeros_like(points)


def _spread_out(points: Ints) -> Ints:
    """From the least to the most, over the whole scale."""
    least, most = int(points.min(initial=0)), int(points.max(initial=0))
    return (points - least) * BEST // (most - least) if most > least else np.zeros_like(points)
