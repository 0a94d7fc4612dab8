"""What other pods make of a node's score: preferred neighbours, and spreading that is wished for but not required.

They are counted as kube-scheduler's InterPodAffinity and PodTopologySpread do, which differ in what the highest score
means: the most liked node gets all points of the one, and of the other the node with the fewest of the pod's like.
"""

import math

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.pod_counts import PodCounter, counted_nodes, per_domain
from reprieve.engine.nodes.pod_terms import matcher, merged, term_matches
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.wishers import preferences
from reprieve.manifests.pods import TopologySpreadConstraint
from reprieve.world import PodFacts

_BEST = 100
_HOST = "kubernetes.io/hostname"
Points = Ints | int
"""For each of some nodes; one number where it is the same for all."""


class NeighbourScores(PodCounter):
    """Scores of some nodes for one pod, by who is there and around."""

    def __init__(self, table: NodeTable, labels: NodeLabels, facts: PodFacts, nodes: Ints) -> None:
        super().__init__(table)
        self._labels = labels
        self._facts = facts
        self._nodes = nodes

    # InterPodAffinity

    def affinity(self) -> Points:
        """From the least to the most liked node, over the whole scale; no points where nobody cares."""
        if self._facts.pod.spec.affinity is None and not self.table.wishers:
            return 0
        points = self._own_wishes() + self._wishes_of_others()
        points = points[self._nodes]
        least, most = int(points.min()), int(points.max())
        return (points - least) * _BEST // (most - least) if most > least else 0

    def _own_wishes(self) -> Ints:
        points = np.zeros(self.table.size, dtype=np.int64)
        affinity = self._facts.pod.spec.affinity
        for weight, term in preferences(affinity) if affinity is not None else ():
            codes, _ = self._labels.column(term.topology_key)
            here = self.here(term_matches(self.table, term, self._facts)).sum(axis=0)
            points += weight * per_domain(codes, here)
        return points

    def _wishes_of_others(self) -> Ints:
        points = np.zeros(self.table.size, dtype=np.int64)
        namespace, labels = self._facts.key[0], self._facts.pod.metadata.labels
        for kind, where in self.table.wishers.kinds():
            for weight, term in kind.terms:
                if matcher(self.table, term, kind.namespace, kind.labels)(namespace, labels):
                    codes, _ = self._labels.column(term.topology_key)
                    points += weight * per_domain(codes, self._number_on_each(where))
        return points

    def _number_on_each(self, where: list[str]) -> Ints:
        nodes = [self.table.index[name] for name in where if name in self.table.index]
        return np.bincount(np.array(nodes, dtype=np.int64), minlength=self.table.size)

    # PodTopologySpread

    def spread(self) -> Points:
        """The fewer of its like there are, the more points; none where a node lacks a topology key."""
        constraints = self._facts.pod.spec.topology_spread_constraints
        soft = [item for item in constraints if item.when_unsatisfiable == "ScheduleAnyway"]
        if not soft:
            return 0
        keyed = np.ones(self.table.size, dtype=np.bool_)
        for constraint in soft:
            keyed &= self._labels.column(constraint.topology_key)[0] != 0
        scored = keyed[self._nodes]
        if not scored.any():
            return 0
        costs = sum(self._crowd(constraint, keyed) for constraint in soft)
        costs = np.floor(np.asarray(costs) + 0.5).astype(np.int64)
        least, most = int(costs[scored].min()), int(costs[scored].max())
        points = (most + least - costs) * _BEST // most if most else np.full_like(costs, _BEST)
        return np.where(scored, points, 0)

    def _crowd(self, constraint: TopologySpreadConstraint, keyed: Mask) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """How many of its like are in the domain of each node, weighed by how many domains there are."""
        own, namespace = self._facts.pod.metadata.labels, self._facts.key[0]
        selector = merged(constraint.label_selector, constraint.match_label_keys, own)
        here = self.here(lambda other, labels: other == namespace and selector.matches(labels), staying=True).sum(
            axis=0
        )
        codes, _ = self._labels.column(constraint.topology_key)
        if constraint.topology_key == _HOST:
            size, counts = int(keyed[self._nodes].sum()), here
        else:
            counted = keyed & counted_nodes(self.table, self._labels, self._facts, constraint)
            size, counts = len(np.unique(codes[self._nodes][keyed[self._nodes]])), per_domain(codes, here * counted)
        return np.asarray(counts[self._nodes] * math.log(size + 2) + (constraint.max_skew - 1))
