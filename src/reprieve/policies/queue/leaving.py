"""Pods on their way out that make enough room by themselves: then nobody else has to go."""

from __future__ import annotations

import numpy as np

from reprieve.engine.nodes.view import Outlook
from reprieve.model.resources import Resources
from reprieve.policies.queue import laws
from reprieve.policies.queue.candidates import QueueColumns
from reprieve.policies.queue.laws import Ask
from reprieve.world import PodFacts


def leaving_enough(columns: QueueColumns, outlook: Outlook, ask: Ask) -> tuple[str, list[str]]:
    """The node that will have room once they are gone, and who they are; nobody: others have to make way."""
    leaves = columns.column("leaves") > 0
    if not leaves.any() or not _queues_let_it_in(ask):
        return "", []
    possible = np.flatnonzero(outlook.when_all_left(ask.facts))
    for node in sorted(possible.tolist(), key=lambda node: _order(outlook, ask, node)):
        leaving = _waited_for(outlook, ask, columns, node)
        if leaving:
            return outlook.table.names[node], [facts.unit for facts in leaving]
    return "", []


def _queues_let_it_in(ask: Ask) -> bool:
    """Without those that leave, no maximum is in the way and the guarantee holds the request."""
    gone = {queue.number: Resources(queue.used) - Resources(queue.kept) for queue in ask.capped}
    return laws.under_guarantee(ask) and not any(laws.over_maximum(queue, ask, gone) for queue in ask.capped)


def _order(outlook: Outlook, ask: Ask, node: int) -> tuple[bool, int]:
    """The node it was promised first."""
    return outlook.table.names[node] != ask.facts.nominated, int(outlook.table.tie_break()[node])


def _waited_for(outlook: Outlook, ask: Ask, columns: QueueColumns, node: int) -> list[PodFacts]:
    """Who leaves the node, where it has no room yet; and who leaves a queue whose maximum is in the way."""
    blocked = {id(queue) for queue in ask.blocked}
    return [
        facts
        for place, shares in enumerate(outlook.table.residents)
        for share in shares
        for facts in share.pods
        if facts.pod.terminating
        and (
            (place == node and not outlook.fits[node])
            or any(id(queue) in blocked for queue in columns.tree.queue_of(facts).path)
        )
    ]
