"""Why a pod in a queue gets no place, with numbers: a maximum, a guarantee, nodes, and whom the laws protect."""

from collections.abc import Iterator

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import AtMaximum, Claim, GuaranteeUsed, InReach, NoGuarantee, NotTogether, Protected
from reprieve.engine.nodes.obstacles import NodeObstacles, most_first
from reprieve.engine.nodes.pool import Ranked
from reprieve.engine.reasons import QueueLaw
from reprieve.model.resources import NOTHING
from reprieve.policies.queue import laws
from reprieve.policies.queue.candidates import QueueCandidates
from reprieve.policies.queue.laws import QueueClaim
from reprieve.policies.queue.rules import BELOW_GUARANTEE
from reprieve.policies.queue.search import QueueSearch
from reprieve.policies.queue.view import QueueView

ONE_SIDE = "OneSide"
"""Law 4: victims are from outside of the queue whose guarantee is claimed, or all from within."""
ABOVE_GUARANTEE = "AboveGuarantee"
"""Law 4: without all who would have to go, of some guarantee there is still not enough left."""


def at_maximum(asking: QueueClaim) -> Iterator[AtMaximum]:
    """Each maximum that is in the way as things are, from the pod's own queue up."""
    for queue in laws.blocked(asking):
        promised = asking.promised.get(queue.number, NOTHING)
        for name, most in (queue.maximum or NOTHING).items():
            used, needed = queue.used.get(name, 0) + promised.of(name), asking.request.of(name)
            if needed and used + needed > most:
                yield AtMaximum(queue=queue.name, resource=name, used=used, maximum=most, needed=needed)


def above_guarantee(asking: QueueClaim, *, alone: bool) -> NoGuarantee | GuaranteeUsed | None:
    """Law 4: of what a guarantee has not enough left, also if all others below it left (`alone`); None: of nothing."""
    left = laws.left_of_guarantee(asking, laws.others_gone(asking) if alone else laws.NOBODY_GONE)
    guaranteed = [name for name in asking.request if name in left]
    if not guaranteed:
        return NoGuarantee(queue=asking.queue.name)
    for name in guaranteed:
        if not laws.is_left(asking, name, left[name]):
            queue = laws.guarantor(asking, name)
            units = (queue.guaranteed or NOTHING)[name]
            return GuaranteeUsed(
                queue=queue.name,
                asking=asking.queue.name if alone else queue.name,
                resource=name,
                used=units - left[name],
                guaranteed=units,
                needed=asking.request[name],
            )
    return None


class QueueObstacles:
    """Why nodes cannot take a pod of a queue: all at once, or node by node."""

    def __init__(self, view: QueueView, candidates: QueueCandidates, search: QueueSearch | None) -> None:
        self._view = view
        self._candidates = candidates
        self._refused = search.refused if search is not None else {}
        self._held = search.held_by_law_4 if search is not None else {}
        self._nodes = NodeObstacles(view.nodes, candidates.mask, when_left=True)

    def of(self, nodes: Ints) -> list[Claim]:
        found = self._nodes.of(nodes, self._stay)
        could_go = self._nodes.could_go(nodes)
        if len(could_go) and not self._view.blocked:
            found.append(self._not_together(could_go))
        return list(most_first(found))

    def in_reach(self) -> InReach:
        everywhere = np.arange(self._view.nodes.table.size)
        mask = self._candidates.mask
        pods = self._count(mask, everywhere)
        return InReach(top=self._view.top.name, candidates=pods, protected=tuple(self._stay(everywhere)))

    def _stay(self, nodes: Ints) -> list[Protected]:
        """How many pods each law protects, the most first."""
        protected = self._candidates.protected[:, nodes]
        numbers = np.unique(protected[protected > 0]).tolist()
        counts = [(self._count(protected == number, nodes), number) for number in numbers]
        rules = self._candidates.rules
        return [
            Protected(rules[number - 1].kind, count) for count, number in sorted(counts, key=lambda c: (-c[0], c[1]))
        ]

    def _count(self, mask: Mask, nodes: Ints) -> int:
        return Ranked(self._view.nodes.table, nodes, len(mask)).count(mask)

    def _not_together(self, nodes: Ints) -> NotTogether:
        here = nodes.tolist()
        held = [queue for node in here if node in self._held if (queue := self._too_little_left(node)) is not None]
        if held:
            return NotTogether(nodes=len(nodes), rule=ABOVE_GUARANTEE, queue=min(held))
        said = [reason for node in here for reason in self._refused.get(node, {}).values()]
        below = [reason.queue for reason in said if isinstance(reason, QueueLaw)]
        if below:
            return NotTogether(nodes=len(nodes), rule=BELOW_GUARANTEE, queue=min(below))
        return NotTogether(nodes=len(nodes), rule=ONE_SIDE)

    def _too_little_left(self, node: int) -> str | None:
        queue = laws.too_little_left(self._view, self._held[node])
        return None if queue is None else queue.name
