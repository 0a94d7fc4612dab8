"""Who may be asked to make way, pod by pod, on all nodes at once."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.columns import NOBODY
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.reasons import Reason
from reprieve.policies.queue.columns import QueueCandidate, QueueColumns
from reprieve.policies.queue.laws import priorities
from reprieve.policies.queue.rules import QueueRule
from reprieve.policies.queue.standing import QueueStanding
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts


class QueueCandidates:
    """For one claim: every pod in the table, and the rule that says why it may not be asked."""

    def __init__(
        self, columns: QueueColumns, table: NodeTable, rules: Sequence[QueueRule], standing: QueueStanding
    ) -> None:
        self._columns = columns
        self.standing = standing
        self.rules = rules
        self.queue = columns.column("queue")
        self.protected = -(table.ranked("priority", slice(0, table.size)) == NOBODY).view(np.int8)
        """Ranks by nodes: the number of the first rule that protects the pod, from 1; 0: it may be asked; -1: nobody is
        there."""
        for number, rule in enumerate(rules, 1):
            protects = rule.protects(columns)
            if protects.any():
                np.putmask(self.protected, protects & (self.protected == 0), number)

    def reason(self, rank: int, node: int, facts: PodFacts) -> Reason | None:
        """What the rules said about a pod; None: it may be asked."""
        return self.said(int(self.protected[rank, node]), facts)

    def said(self, number: int, facts: PodFacts) -> Reason | None:
        """What the rule of that number in `protected` says about a pod."""
        return self.rules[number - 1].reason(facts) if number > 0 else None

    def tally(self) -> dict[str, int]:
        """How many pods each law protects, the most first."""
        numbers, counts = np.unique(self.protected[self.protected > 0], return_counts=True)
        pairs = sorted(zip(counts.tolist(), numbers.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))
        return {self.rules[number - 1].kind: count for count, number in pairs}

    @cached_property
    def mask(self) -> Mask:
        return np.asarray(self.protected == 0)

    @cached_property
    def importance(self) -> Ints:
        """Of those who may be asked, as they have their turns when they wait: by priority as root sees it; where that
        is equal as the queues below see it, down to their own."""
        priority, tree = self.column("priority"), self._columns.tree
        if not any(queue.offset or queue.priority_fence for queue in tree.queues):
            return priority  # all queues see the same
        pairs, place = np.unique(np.stack((self.queue[self.mask], priority[self.mask])), axis=1, return_inverse=True)
        depth = max(len(queue.path) for queue in tree.queues)
        seen = [_from_root_down(own, tree.queues[queue], depth) for queue, own in pairs.T.tolist()]
        numbers = {levels: number for number, levels in enumerate(sorted(set(seen)))}
        ranks = np.array([numbers[levels] for levels in seen], dtype=np.int64)
        importance = np.zeros(priority.shape, dtype=np.int64)
        importance[self.mask] = ranks[place.reshape(-1)]
        return importance

    def order(self, one: QueueCandidate) -> tuple[bool, bool, int, int, str]:
        """Law 1: who opted out last, then who leads its application; the least important first, then the youngest."""
        importance = int(self.importance[one.rank, one.node])
        return one.opted_out, one.leads, importance, -one.facts.created, one.facts.unit

    def column(self, name: str) -> Ints:
        return self._columns.column(name)

    def on(self, node: int) -> list[QueueCandidate]:
        """Those on one node, in the order in which they are asked."""
        ranks = np.flatnonzero(self.protected[:, node] == 0).tolist()
        return sorted(self._columns.candidates(ranks, node), key=self.order)

    def everywhere(self, queues: Mask) -> Iterator[QueueCandidate]:
        """Those in some queues, on all nodes, in the order in which they are asked; made one by one."""
        ranks, nodes = np.nonzero(self.mask & queues[self.queue])
        opted, leads, created = (self.column(name)[ranks, nodes] for name in ("opted_out", "leads", "created"))
        importance = self.importance[ranks, nodes]
        order = np.lexsort((-created, importance, leads, opted))
        keys = np.stack((opted, leads, importance, created))[:, order]
        ends = [*(np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1).tolist(), len(order)]
        start = 0
        for end in ends:
            alike = [self._columns.candidate(int(ranks[place]), int(nodes[place])) for place in order[start:end]]
            yield from sorted(alike, key=self.order)
            start = end


def _from_root_down(priority: int, queue: QueueNode, depth: int) -> tuple[int, ...]:
    """A priority as each queue sees it; its own stands for those that are not there."""
    seen = priorities(priority, queue)[::-1]
    return (*seen, *(priority for _ in range(depth - len(seen))))
