"""How many pods of some kind there are: on each node, and in each topology domain."""

from collections.abc import Callable

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.pod_terms import Matches
from reprieve.engine.nodes.reach import affine, tolerated
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.pods import TopologySpreadConstraint
from reprieve.world import PodFacts


class PodCounter:
    """The pods of a table, counted by whom somebody means."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self._shares: list[list[int]] | None = None

    def ranked(self, name: str) -> Ints:
        return self.table.ranked(name, slice(0, self.table.size))

    def here(self, matches: Matches, *, staying: bool = False) -> Ints:
        """How many pods of each share are meant, leaving ones or not: asked once for each set of labels."""
        kinds = [0 if kind is None else int(matches(kind[0], dict(kind[1]))) for kind in self.table.labels.items]
        here = np.array(kinds, dtype=np.int64)[self.ranked("labels")]
        if staying:
            here *= self.ranked("leaves") == 0
        known: dict[object, int] = {}

        def weight(other: PodFacts) -> int:
            if staying and other.pod.terminating:
                return 0
            kind = (other.key[0], other.labels)
            if kind not in known:
                known[kind] = int(matches(other.key[0], other.pod.metadata.labels))
            return known[kind]

        self.add_groups(here, weight)
        return here

    def add_groups(self, here: Ints, weight: Callable[[PodFacts], int]) -> None:
        """Groups are asked pod by pod."""
        for rank, node in self._group_shares():
            here[rank, node] += sum(map(weight, self.table.residents[node][rank].pods))

    def _group_shares(self) -> list[list[int]]:
        """Rank and node of every share of a group, looked up once."""
        if self._shares is None:
            self._shares = np.argwhere(self.ranked("group") > 0).tolist()
        return self._shares


def per_domain(codes: Ints, counts: Ints) -> Ints:
    """For each node what all nodes of its domain have together; a node outside all domains has nothing."""
    totals = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(totals, codes, counts)
    totals[0] = 0
    return totals[codes]


def counted_nodes(table: NodeTable, labels: NodeLabels, facts: PodFacts, constraint: TopologySpreadConstraint) -> Mask:
    """Nodes that count for a pod that is to be spread, by the constraint's node policies."""
    mask = np.ones(table.size, dtype=np.bool_)
    if constraint.node_affinity_policy == "Honor":
        mask &= affine(labels, facts.pod.spec)
    if constraint.node_taints_policy == "Honor":
        mask &= tolerated(table, facts.pod.spec.tolerations)
    return mask
