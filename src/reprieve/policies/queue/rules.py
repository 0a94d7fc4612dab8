"""Who may not be asked to leave by a pod in a queue: the laws about candidates, as rules over all pods at once.

1. Who was not placed by queues is none of their business; and who goes only with its whole group stays, because queues
   preempt single pods. Nor is another scheduler's pod asked where only own ones may be, nor what mirrors a static one.
2. About its queue: the own one (law 3), outside the fence (law 7), preemption disabled, not over its guarantee (law 5),
   behind a priority fence (law 6).
3. About itself: it must run on its node, leaves already, is of the same application (law 3), only shares the guarantee
   that is claimed (law 4), ranks above what may be asked there (law 6), holds nothing of what is asked for; or its
   queue, or one above it, would have less of its guarantee without it (law 2).
"""

from collections.abc import Callable

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.pool import NodeRule, Ranked, Resident
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.engine.nodes.whose import Own, whose_rules
from reprieve.engine.reasons import QueueLaw, Reason
from reprieve.model.resources import NOTHING
from reprieve.policies.queue.columns import QueueColumns
from reprieve.policies.queue.laws import NOBODY_GONE, Gone, falls_below
from reprieve.policies.queue.standing import QUEUE_LAWS, QueueStanding
from reprieve.policies.queue.tree import QueueNode
from reprieve.policies.queue.view import QueueView
from reprieve.world import PodFacts

BELOW_GUARANTEE = "NeverBelowGuarantee"
SAME_GUARANTEE = "SameGuarantee"
WITHIN_GUARANTEE = "WithinGuarantee"
Protects = Callable[[QueueColumns], Mask]


_ABOUT_UNITS: dict[str, Protects] = {
    "WholeGroup": lambda pool: pool.column("grouped") > 0,
    "OutsideQueues": lambda pool: pool.column("outside") > 0,
}


class QueueRule:
    """One law, under the name that explanations quote."""

    def __init__(self, kind: str, protects: Protects, reason: Callable[[str, PodFacts], Reason]) -> None:
        self.kind = kind
        self._protects = protects
        self._reason = reason

    def protects(self, pool: QueueColumns) -> Mask:
        return self._protects(pool)

    def reason(self, unit: PodFacts) -> Reason:
        return self._reason(self.kind, unit)


def queue_rules(
    view: QueueView, columns: QueueColumns, standing: QueueStanding, own: Own | None = None
) -> list[QueueRule]:
    """The rules for one claim, in the order in which they are asked."""
    laws: dict[tuple[str, str, int], QueueLaw] = {}  # the same is said of many

    def reason(kind: str, facts: PodFacts) -> QueueLaw:
        queue = columns.tree.queue_of(facts)
        if kind == BELOW_GUARANTEE:
            return below_guarantee(view, columns, facts)
        if kind == WITHIN_GUARANTEE:
            return within_guarantee(view, queue)
        key = kind, queue.name, facts.priority
        if key not in laws:
            top = view.claimed if kind == SAME_GUARANTEE and view.claimed is not None else view.top
            laws[key] = QueueLaw(kind, queue.name, top.name, facts.priority, int(standing.bound[queue.number]))
        return laws[key]

    masks = {**_about_queues(columns, standing), **_about_pods(view, standing)}
    return [
        *(QueueRule(kind, protects, reason) for kind, protects in _ABOUT_UNITS.items()),
        *(_whose(rule, view.nodes.table) for rule in whose_rules(view.nodes.table, own)),
        *(QueueRule(kind, protects, reason) for kind, protects in masks.items()),
    ]


def _whose(rule: NodeRule, table: NodeTable) -> QueueRule:
    """A rule over the table of nodes, for those who go one by one."""

    def protects(pool: QueueColumns) -> Mask:
        mask = rule.protects(Ranked(table, slice(0, table.size), table.depth))
        return np.zeros(pool.column("queue").shape, dtype=np.bool_) if mask is None else mask

    def reason(_: str, facts: PodFacts) -> Reason:
        return rule.reason(Resident(Unit(table.units.of(facts), [facts]), facts))

    return QueueRule(rule.name, protects, reason)


def _about_queues(columns: QueueColumns, standing: QueueStanding) -> dict[str, Protects]:
    """Worked out for all queues, and looked up for their pods once for all of these rules."""
    why = standing.why[columns.column("queue")]

    def rule(number: int) -> Protects:
        return lambda _: np.asarray(why == number)

    return {kind: rule(number) for number, kind in enumerate(QUEUE_LAWS, 1)}


def _about_pods(view: QueueView, standing: QueueStanding) -> dict[str, Protects]:
    return {
        "RequiredNode": lambda pool: pool.column("fixed") > 0,
        "Leaving": lambda pool: pool.column("leaves") > 0,
        "SameApplication": lambda pool: pool.of_application(view.application),
        SAME_GUARANTEE: lambda pool: _only_shares(pool, standing),
        "HigherPriority": lambda pool: pool.column("priority") > standing.bound[pool.column("queue")],
        "NothingShared": lambda pool: ~_shares(pool, view),
        BELOW_GUARANTEE: lambda pool: _falls_below(pool, standing),
    }


def _shares(pool: QueueColumns, view: QueueView) -> Mask:
    shares = np.zeros(pool.column("queue").shape, dtype=np.bool_)
    for name in view.request:
        shares |= pool.amounts(name) > 0
    return shares


def _only_shares(pool: QueueColumns, standing: QueueStanding) -> Mask:
    """Law 4: it is below the queue that is claimed, and claims none below the common one itself."""
    shares = standing.claimed[pool.column("queue")]
    for name in standing.spare:
        shares &= (pool.amounts(name) == 0) | standing.shares_guarantee(name)[pool.column("queue")]
    return shares


def _falls_below(pool: QueueColumns, standing: QueueStanding) -> Mask:
    """Law 2, as things are: a pod alone is more than its queue may lose."""
    falls = np.zeros(pool.column("queue").shape, dtype=np.bool_)
    for name, spare in standing.spare.items():
        amounts = pool.amounts(name)
        falls |= (amounts > 0) & (amounts > spare[pool.column("queue")])
    return falls


def within_guarantee(view: QueueView, queue: QueueNode) -> QueueLaw:
    """Law 5, with the queue, or one above it, that is not over its guarantee: of what is asked for, or at all."""
    path = queue.path[: queue.path.index(view.common(queue))]
    for name in view.request:
        for node in path if queue.kept.get(name, 0) else ():
            if name in (node.guaranteed or NOTHING) and not _over(node, name):
                return QueueLaw(WITHIN_GUARANTEE, node.name, view.top.name, resource=name)
    within = (node for node in path if node.guaranteed and not any(_over(node, name) for name in node.guaranteed))
    return QueueLaw(WITHIN_GUARANTEE, next(within, queue).name, view.top.name)


def _over(node: QueueNode, name: str) -> bool:
    return node.kept.get(name, 0) > (node.guaranteed or NOTHING)[name]


def below_guarantee(view: QueueView, columns: QueueColumns, facts: PodFacts, gone: Gone = NOBODY_GONE) -> QueueLaw:
    """Law 2, with the queue that would be left below its guarantee."""
    queue = columns.tree.queue_of(facts)
    alone = falls_below(facts, queue, view)
    fallen = alone or falls_below(facts, queue, view, gone) or queue
    return QueueLaw(BELOW_GUARANTEE, fallen.name, view.top.name, others_gone=alone is None)
