"""Does a request fit on a node, and under its queues' maxima, while pods leave and come back?

Who is leaving already counts as gone: nobody else has to leave for room that is about to be free.
"""

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.reasons import Reason
from reprieve.model.names import Key
from reprieve.model.resources import Resources
from reprieve.policies.queue import laws
from reprieve.policies.queue.columns import QueueCandidate, QueueColumns
from reprieve.policies.queue.rules import below_guarantee
from reprieve.policies.queue.view import QueueView


class OneNode:
    """One node alone, for a pod that must run there: it does not ask queues."""

    def __init__(self, view: QueueView, node: int) -> None:
        self.view = view
        self.node = node
        self._slack = view.slack[:, node].copy()
        self._weights = view.nodes.weights_on(node)

    def fits(self) -> bool:
        return self.fits_node()

    def fits_node(self) -> bool:
        """By all filters: room, ports, affinity, spreading."""
        return self._enough(self._slack)

    def _enough(self, slack: Ints) -> bool:
        return bool(self.view.nodes.enough(slack[:, None])[0])

    def helps(self, candidate: QueueCandidate) -> bool:
        """Whether a pod frees anything that is missing on the node, and takes away nothing that is needed."""
        if candidate.node != self.node:
            return False
        weight = self._weights[candidate.rank]
        return bool(((weight > 0) & (self._slack < 0)).any()) and not self._is_needed(weight)

    def _is_needed(self, weight: Ints) -> bool:
        """Whether without a pod the request would lose a neighbour that it requires and has."""
        if not (weight < 0).any():
            return False
        roomy = np.maximum(self._slack, 0)
        return not self._enough(np.where(weight < 0, self._slack + weight, roomy))

    def remove(self, unit: QueueCandidate) -> None:
        self._move(unit, 1)

    def give_back(self, unit: QueueCandidate) -> None:
        self._move(unit, -1)

    def _move(self, candidate: QueueCandidate, sign: int) -> None:
        if candidate.node == self.node:
            self._slack = self._slack + sign * self._weights[candidate.rank]


class QueueLedger(OneNode):
    """A node and the queues on the way from the claim's own up to root."""

    def __init__(self, columns: QueueColumns, view: QueueView, node: int) -> None:
        super().__init__(view, node)
        self._columns = columns
        self._queues = columns.tree.queues
        self.gone: dict[int, dict[str, int]] = {}
        self.refused: dict[Key, Reason] = {}
        """Whom law 2 protected when it would have been its turn, because of those who had gone by then."""
        self._left: dict[Key, QueueCandidate] = {}
        self._crowded_out: dict[tuple[int, Resources], QueueCandidate] = {}

    def fits(self) -> bool:
        """On the node, and below every maximum. Law 4 is no reason for anybody to leave: see `under_guarantee`."""
        return self.fits_node() and not any(
            laws.over_maximum(queue, self.view, self.gone) for queue in self.view.capped
        )

    def under_guarantee(self) -> bool:
        """Law 4, with those gone who have to leave."""
        return laws.under_guarantee(self.view, self.gone)

    def helps(self, candidate: QueueCandidate) -> bool:
        """Also where it frees something below a maximum that is in the way."""
        path = self._queues[candidate.queue].path
        return super().helps(candidate) or any(
            blocked in path and laws.over_maximum(blocked, self.view, self.gone) for blocked in self.view.blocked
        )

    def may_go(self, candidate: QueueCandidate) -> bool:
        """Law 2, at this moment; and only if it still frees something that is missing."""
        facts = candidate.facts
        if laws.falls_below(facts, self._queues[candidate.queue], self.view, self.gone) is not None:
            self.refused[facts.key] = below_guarantee(self.view, self._columns, facts, self.gone)
            self._note_size(candidate)
            return False
        return self.helps(candidate)

    def _note_size(self, candidate: QueueCandidate) -> None:
        """Somebody may not go any more: that matters, unless one as large has gone from its queue."""
        amount = self._columns.tree.held(candidate.facts)
        gone = (self._columns.tree.held(one.facts) for one in self._left.values() if one.queue == candidate.queue)
        if not any(all(other.of(name) >= units for name, units in amount.items()) for other in gone):
            self._crowded_out.setdefault((candidate.queue, amount), candidate)

    def crowded_out(self) -> list[QueueCandidate]:
        """Those law 2 kept only because others had gone; of those that are alike, the first."""
        return list(self._crowded_out.values())

    def _move(self, candidate: QueueCandidate, sign: int) -> None:
        super()._move(candidate, sign)
        if sign > 0:
            self._left[candidate.facts.key] = candidate
        else:
            self._left.pop(candidate.facts.key, None)
        amount = self._columns.tree.held(candidate.facts)
        for queue in self._queues[candidate.queue].path:
            gone = self.gone.setdefault(queue.number, {})
            for name, units in amount.items():
                gone[name] = gone.get(name, 0) + sign * units
