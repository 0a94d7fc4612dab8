"""Pods that ask for nothing of a resource: counted for scores, node by node, so that they do not all land on one."""

import numpy as np

from reprieve.engine.arrays import Ints, resized
from reprieve.engine.nodes.columns import NodeColumns
from reprieve.model.resources import CPU

SCORED = (CPU, "memory")


class SilentPods:
    """How many there are on each node, for each resource; looked at again only where something has changed."""

    def __init__(self) -> None:
        self._counts: Ints = np.zeros((len(SCORED), 0), dtype=np.int64)
        self._epoch = -1
        self._seen = 0

    def on_nodes(self, table: NodeColumns) -> Ints:
        """By resource and node."""
        known = self._counts.shape[1]
        if self._epoch != table.epoch or known > table.size or self._seen > len(table.log):
            changed = set(range(table.size))
        else:
            changed = {*table.log[self._seen :], *range(known, table.size)}
        if changed:
            self._counts = resized(self._counts[:, : table.size], (len(SCORED), table.size), 0)
            nodes = np.array(sorted(changed), dtype=np.int64)
            alone = (table.ranked("count", nodes) > 0) & (table.ranked("group", nodes) == 0)
            for place, name in enumerate(SCORED):
                asked = table.requests[: table.depth, table.row(name)][:, nodes]
                self._counts[place, nodes] = (alone & (asked == 0)).sum(axis=0)
            self._add_groups(table, nodes)
        self._epoch, self._seen = table.epoch, len(table.log)
        return self._counts

    def _add_groups(self, table: NodeColumns, nodes: Ints) -> None:
        """Groups are asked pod by pod: several of one may stand together."""
        for rank, place in np.argwhere(table.ranked("group", nodes) > 0).tolist():
            for facts in table.residents[nodes[place]][rank].pods:
                self._counts[:, nodes[place]] += [not facts.requests.of(name) for name in SCORED]
