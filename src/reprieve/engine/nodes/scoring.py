"""Which of the nodes where a pod fits is the best: kube-scheduler's plugins that score nodes, with its weights.

| plugin | weight | what it likes |
| --- | --- | --- |
| TaintToleration | 3 | few taints PreferNoSchedule that the pod does not tolerate |
| NodeAffinity | 2 | the node affinity that it prefers |
| PodTopologySpread | 2 | few pods of its like in the domain, by constraints with ScheduleAnyway |
| InterPodAffinity | 2 | preferred neighbours, both ways; and pods that require such as this one near them |
| NodeResourcesFit | 1 | much free cpu and memory, or little: LeastAllocated, MostAllocated |
| NodeResourcesBalancedAllocation | 1 | cpu and memory used alike |
| ImageLocality | 1 | images of the pod that are there already (`images.py`) |

Each gives 0 to 100 to every node. Not followed are the constraints that kube-scheduler adds by itself for the pods of
Services and controllers.
"""

from typing import Literal

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.reach import tolerates
from reprieve.engine.nodes.scoring_neighbours import NeighbourScores
from reprieve.engine.nodes.silent_pods import SCORED
from reprieve.engine.nodes.table import NodeTable
from reprieve.model.resources import CPU
from reprieve.world import PodFacts

Strategy = Literal["LeastAllocated", "MostAllocated"]
BEST = 100
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
# What a pod that asks for nothing is taken to need, so that such pods do not all land on one node.
_ASSUMED = {CPU: 100, "memory": 200 * 2**20}


def best_node(table: NodeTable, labels: NodeLabels, facts: PodFacts, nodes: Ints, strategy: Strategy) -> int:
    """The node of the highest score; ties end on creation time, then name."""
    scores = score(table, labels, facts, nodes, strategy)
    best = nodes[scores == scores.max()]
    return int(best[np.argmin(table.tie_break()[best])])


def score(table: NodeTable, labels: NodeLabels, facts: PodFacts, nodes: Ints, strategy: Strategy) -> Ints:
    """The sum of what all plugins give each of some nodes, on all of which the pod fits."""
    neighbours = NeighbourScores(table, labels, facts, nodes)
    points = {
        "TaintToleration": BEST - _normal(_unwanted_taints(table, facts, nodes)),
        "NodeAffinity": _normal(_preferred_nodes(labels, facts, nodes)),
        "PodTopologySpread": neighbours.spread(),
        "InterPodAffinity": neighbours.affinity(),
        "NodeResourcesFit": _room(table, facts, nodes, strategy),
        "NodeResourcesBalancedAllocation": _balance(table, facts, nodes),
        "ImageLocality": table.images.points(facts.pod.spec, nodes, len(table.nodes) - int(table.gone.sum())),
    }
    return np.asarray(sum(WEIGHTS[name] * given for name, given in points.items()))


# Resources


def _room(table: NodeTable, facts: PodFacts, nodes: Ints, strategy: Strategy) -> Ints:
    """How empty, or how full, each node would be: the mean over those resources that it has at all."""
    total, number = np.zeros((2, len(nodes)), dtype=np.int64)
    for name in SCORED:
        has = table.allocatable[table.row(name), nodes]
        taken = _assumed_use(table, name, nodes) + (facts.requests.of(name) or _ASSUMED[name])
        wanted = taken if strategy == "MostAllocated" else has - taken
        total += np.where((has > 0) & (taken <= has), np.maximum(wanted, 0) * BEST // np.maximum(has, 1), 0)
        number += has > 0
    return total // np.maximum(number, 1)


def _assumed_use(table: NodeTable, name: str, nodes: Ints) -> Ints:
    """What is used, where pods that ask for nothing count as if they did."""
    silent = table.silent.on_nodes(table)[SCORED.index(name), nodes]
    return np.asarray(table.used[table.row(name), nodes] + silent * _ASSUMED[name])


def _balance(table: NodeTable, facts: PodFacts, nodes: Ints) -> Ints:
    """How alike the shares of all resources are that would be used; a pod that asks for none tips no scale."""
    shares = []
    for name in SCORED:
        has = table.allocatable[table.row(name), nodes]
        taken = table.used[table.row(name), nodes] + facts.requests.of(name)
        shares.append(np.where(has > 0, np.minimum(taken / np.maximum(has, 1), 1.0), 0.0))
    if not any(facts.requests.of(name) for name in SCORED):
        return np.zeros(len(nodes), dtype=np.int64)
    return ((1 - abs(shares[0] - shares[1]) / 2) * BEST).astype(np.int64)


# What nodes say of themselves


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


def _normal(points: Ints) -> Ints:
    most = int(points.max(initial=0))
    return points * BEST // most if most > 0 else np.zeros_like(points)
