"""Which node a pod in a queue goes to where several have room, if the partition has a `nodesortpolicy`.

1. `fair` takes the node of which the least is used, `binpacking` the one of which the most is: before the pod is there.
2. How much is used is the mean of what is used of each resource, by the weights in `resourceweights`; without these of
   cpu and memory alike. Resources without a weight do not count.
3. Of nodes that are used alike, the oldest, then by name. What a pod prefers has no say in it, as with YuniKorn.

Without one, nodes are scored as kube-scheduler does it.
"""

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.yunikorn import VCORE, NodeSortPolicy
from reprieve.model.resources import CPU

_EVENLY = {VCORE: 1.0, "memory": 1.0}
_WHOLE = 1_000_000
_GRAIN = 1_000
"""Weights are whole numbers of thousandths."""


class NodeOrder:
    """How the nodes of a partition are sorted."""

    def __init__(self, policy: NodeSortPolicy) -> None:
        self._packs = policy.type.lower() == "binpacking"
        weights = policy.resourceweights or _EVENLY
        self._weights = {CPU if name == VCORE else name: round(weight * _GRAIN) for name, weight in weights.items()}

    def best(self, table: NodeTable, nodes: Ints) -> int:
        used = self.used(table, nodes)
        best = nodes[used == (used.max() if self._packs else used.min())]
        return int(best[np.argmin(table.tie_break()[best])])

    def used(self, table: NodeTable, nodes: Ints) -> Ints:
        """What is used of each node, in millionths."""
        total = np.zeros(len(nodes), dtype=np.int64)
        for name, weight in self._weights.items():
            has, taken = (amounts[table.row(name), nodes] for amounts in (table.allocatable, table.used))
            total += weight * np.where(has > 0, (taken / np.maximum(has, 1) * _WHOLE).astype(np.int64), 0)
        return total // max(1, sum(self._weights.values()))


def node_order(policy: NodeSortPolicy) -> NodeOrder | None:
    """None: the partition says nothing about it."""
    return NodeOrder(policy) if policy.type or policy.resourceweights else None
