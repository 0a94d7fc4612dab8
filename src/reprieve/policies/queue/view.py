"""What a pending pod finds in its queues and on nodes: what it asks for, what is in its way, how far it may look."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import Claim
from reprieve.engine.nodes.view import NodeView
from reprieve.model.names import UnitName
from reprieve.policies.queue.laws import QueueClaim, blocked
from reprieve.policies.queue.pods import application
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts


class QueueView(QueueClaim):
    """One pod that waits in a queue, at one moment."""

    limited: Sequence[Claim] = ()
    """What lets it into no queue, or not now, whoever leaves: placement rules, limits of users and applications."""

    def __init__(self, facts: PodFacts, queue: QueueNode, nodes: NodeView, now: int) -> None:
        super().__init__(facts, queue)
        self.nodes = nodes
        self.now = now
        self.application = application(facts)

    @property
    def unit(self) -> UnitName:
        return self.facts.unit

    @cached_property
    def slack(self) -> Ints:
        """What is left beside it on each node, row by row, once everybody is gone who is leaving already."""
        return self.nodes.slack_when_left(slice(0, self.nodes.table.size))

    @cached_property
    def roomy(self) -> Mask:
        """The nodes that will have room for it then."""
        return np.asarray(self.nodes.enough(self.slack) & self.nodes.within_reach)

    @cached_property
    def blocked(self) -> list[QueueNode]:
        """Queues whose maximum stands in the way, as things are."""
        return blocked(self)

    @cached_property
    def top(self) -> QueueNode:
        """Law 7: the top of what it may look into: its fence, or a queue whose maximum it would exceed, or root."""
        blocked = self.blocked
        return next((node for node in self.queue.path if node.fenced or node in blocked), self.queue.path[-1])
