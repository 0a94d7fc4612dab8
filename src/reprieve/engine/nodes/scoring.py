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
from reprieve.engine.nodes.columns import SCORED
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.reach import tolerates
from reprieve.engine.nodes.scoring_neighbours import NeighbourScores, Points
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
_ASSUMED_OF_EACH = np.array([[_ASSUMED[name]] for name in SCORED])


def best_node(table: NodeTable, labels: NodeLabels, facts: PodFacts, nodes: Ints, strategy: Strategy) -> int:
    """The node of the highest score; ties end on creation time, then name."""
    scores = score(table, labels, facts, nodes, strategy)
    best = nodes[scores == scores.max()]
    return int(best[np.argmin(table.tie_break()[best])])


def score(table: NodeTable, labels: NodeLabels, facts: PodFacts, nodes: Ints, strategy: Strategy) -> Ints:
    """The sum of what all plugins give each of some nodes, on all of which the pod fits."""
    neighbours = NeighbourScores(table, labels, facts, nodes)
    rows = np.array([table.row(name) for name in SCORED])[:, None]
    has, used = table.allocatable[rows, nodes], table.used[rows, nodes]
    points: dict[str, Points] = {
        "TaintToleration": BEST - _normal(_unwanted_taints(table, facts, nodes)),
        "NodeAffinity": _normal(_preferred_nodes(labels, facts, nodes)),
        "PodTopologySpread": neighbours.spread(),
        "InterPodAffinity": neighbours.affinity(),
        "NodeResourcesFit": _room(has, used + _assumed_use(table, nodes), facts, strategy),
        "NodeResourcesBalancedAllocation": _balance(has, used, facts),
        "ImageLocality": _images(table, facts, nodes),
    }
    return np.asarray(sum(WEIGHTS[name] * given for name, given in points.items()))


# Resources: a row for each that is scored, a column for each node


def _room(has: Ints, used: Ints, facts: PodFacts, strategy: Strategy) -> Ints:
    """How empty, or how full, each node would be: the mean over those resources that it has at all."""
    taken = used + np.array([[facts.requests.of(name) or _ASSUMED[name]] for name in SCORED])
    wanted = taken if strategy == "MostAllocated" else has - taken
    there = has > 0
    each = np.where(there & (taken <= has), np.maximum(wanted, 0) * BEST // np.maximum(has, 1), 0)
    return np.asarray(each.sum(axis=0) // np.maximum(there.sum(axis=0), 1))


def _assumed_use(table: NodeTable, nodes: Ints) -> Ints:
    """What pods that ask for nothing count for, as if they did."""
    return np.asarray(table.silent[:, nodes] * _ASSUMED_OF_EACH)


def _balance(has: Ints, used: Ints, facts: PodFacts) -> Points:
    """How alike the shares of all resources are that would be used; a pod that asks for none tips no scale."""
    asked = [[facts.requests.of(name)] for name in SCORED]
    if not any(units for (units,) in asked):
        return 0
    shares = np.where(has > 0, np.minimum((used + np.array(asked)) / np.maximum(has, 1), 1.0), 0.0)
    return np.asarray((1 - abs(shares[0] - shares[1]) / 2) * BEST).astype(np.int64)


# What nodes say of themselves


def _unwanted_taints(table: NodeTable, facts: PodFacts, nodes: Ints) -> Points:
    tolerations = facts.pod.spec.tolerations
    counts = [
        sum(
            taint.effect == "PreferNoSchedule" and not any(tolerates(item, taint) for item in tolerations)
            for taint in taints or ()
        )
        for taints in table.taints.items
    ]
    return np.array(counts, dtype=np.int64)[table.taint_set[nodes]] if any(counts) else 0


def _preferred_nodes(labels: NodeLabels, facts: PodFacts, nodes: Ints) -> Points:
    affinity = facts.pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity and affinity.node_affinity else ()
    return sum((item.weight * labels.meant(item.preference)[nodes] for item in preferred), 0)


def _images(table: NodeTable, facts: PodFacts, nodes: Ints) -> Points:
    if not table.images.matter_to(facts.pod.spec):
        return 0
    return table.images.points(facts.pod.spec, nodes, len(table.nodes) - int(table.gone.sum()))


def _normal(points: Points) -> Points:
    most = int(np.max(points, initial=0)) if isinstance(points, np.ndarray) else 0
    return points * BEST // most if most > 0 else 0
