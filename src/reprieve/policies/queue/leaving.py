"""Pods on their way out that make enough room by themselves: then nobody else has to go."""

import numpy as np

from reprieve.model.names import UnitName
from reprieve.policies.queue import laws
from reprieve.policies.queue.columns import QueueColumns
from reprieve.policies.queue.view import QueueView
from reprieve.world import PodFacts


def leaving_enough(columns: QueueColumns, view: QueueView) -> tuple[str, list[UnitName]]:
    """The node that will have room once they are gone, and who they are; nobody: others have to make way."""
    leaves = columns.column("leaves") > 0
    if not leaves.any() or not _queues_let_it_in(view):
        return "", []
    possible = np.flatnonzero(view.roomy)
    for node in sorted(possible.tolist(), key=lambda node: _order(view, node)):
        leaving = waited_for(view, columns, node)
        if leaving:
            return view.nodes.table.names[node], [facts.unit for facts in leaving]
    return "", []


def _queues_let_it_in(view: QueueView) -> bool:
    """Without those that leave, no maximum is in the way and law 4 lets it preempt."""
    over = any(laws.over_maximum(queue, view, laws.NOBODY_GONE) for queue in view.capped)
    return laws.under_guarantee(view) and not over


def _order(view: QueueView, node: int) -> tuple[bool, int]:
    """The node it was promised first."""
    return view.nodes.table.names[node] != view.facts.nominated, int(view.nodes.table.tie_break()[node])


def waited_for(view: QueueView, columns: QueueColumns, node: int) -> list[PodFacts]:
    """Who leaves the node, where it has no room yet; and who leaves a queue whose maximum is in the way."""
    table, blocked = view.nodes.table, {id(queue) for queue in view.blocked}
    return [
        facts
        for place in (_left_by_somebody(view, columns) if blocked else [node])
        for share in table.residents[place]
        for facts in share.pods
        if facts.pod.terminating
        and (
            (place == node and not view.nodes.fits[node])
            or any(id(queue) in blocked for queue in columns.tree.queue_of(facts).path)
        )
    ]


def _left_by_somebody(view: QueueView, columns: QueueColumns) -> list[int]:
    """The nodes that pods may be leaving, in one order however nodes were written; groups are asked pod by pod."""
    leaving = np.flatnonzero(((columns.column("leaves") > 0) | (columns.column("grouped") > 0)).any(axis=0))
    ties = view.nodes.table.tie_break()
    return sorted(leaving.tolist(), key=lambda place: int(ties[place]))
