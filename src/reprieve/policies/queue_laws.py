"""The laws of preemption between queues, as far as they speak of queues and priorities.

1. Preemption policies are strong suggestions: who opted out, or leads its application, goes last (see `queue`).
2. Preemption never leaves a queue below its guarantee.
3. A task does not preempt tasks of its own application; nor, as only queues preempt each other, of its own queue.
4. A task preempts only if its queue is under its guarantee, also with the task.
5. A task is preempted only if its queue is over its guarantee.
6. A task preempts only tasks of lower or equal priority, as queues on the way shift and fence priorities.
7. A task does not preempt outside its fence; from outside, a fence is no obstacle.
"""

from __future__ import annotations

from collections.abc import Mapping

from reprieve.policies.queue_tree import QueueNode, held, queue_path
from reprieve.resources import NOTHING, Resources
from reprieve.world import PodFacts


def own_guarantee(queue: QueueNode, gone: Mapping[str, Resources]) -> dict[str, int]:
    """What an asking queue may still claim: for each type the lowest queue that guarantees it decides."""
    left: dict[str, int] = {}
    for node in queue_path(queue):
        for name, units in (node.guaranteed or {}).items():
            left.setdefault(name, units - node.kept.of(name) + gone.get(node.name, NOTHING).of(name))
    return left


def under_guarantee(queue: QueueNode, request: Resources, gone: Mapping[str, Resources]) -> bool:
    """Law 4: some type it asks for is guaranteed, and every such type holds the whole request.

    Where the guarantee stands above the queue, those who leave below it make room in it.
    """
    left = own_guarantee(queue, gone)
    asked = [name for name in request if name in left]
    return bool(asked) and all(request[name] <= left[name] for name in asked)


def could_be_under_guarantee(queue: QueueNode, request: Resources) -> bool:
    """Law 4, if everybody else below the guarantee left."""
    others = {node.name: node.kept - queue.kept for node in queue.above()}
    return under_guarantee(queue, request, others)


def reach(queue: QueueNode, request: Resources) -> QueueNode:
    """Law 7: the top of what a request may look into: its fence, or a queue whose maximum it would exceed, or root."""
    for node in queue_path(queue):
        if node.fenced or over_maximum(node, request) or node.parent is None:
            return node
    return queue


def over_maximum(node: QueueNode, request: Resources, freed: Resources | None = None) -> bool:
    """Whether a queue's maximum stands in the way of a request."""
    if node.maximum is None:
        return False
    used = node.used if freed is None else node.used - freed
    return any(used.of(name) + request[name] > units for name, units in node.maximum.items() if request.of(name))


def over_guarantee(queue: QueueNode, asking: QueueNode, request: Resources) -> bool:
    """Law 5: it uses more than its guarantee of some type that is asked for.

    Queues above both do not protect a sibling with what they have left, where the asking queue has its own guarantee.
    """
    shared = [node for node in asking.above() if node in queue_path(queue)]
    own = {name for node in queue_path(asking) if node not in shared for name in node.guaranteed or ()}
    for name in request:
        limits = [
            node.guaranteed[name] - node.kept.of(name)
            for node in queue_path(queue)
            if node.guaranteed is not None and name in node.guaranteed and not (node in shared and name in own)
        ]
        if min(limits, default=-queue.kept.of(name)) < 0:
            return True
    return False


def stays_at_guarantee(facts: PodFacts, queue: QueueNode, asking: QueueNode, gone: Mapping[str, Resources]) -> bool:
    """Law 2: without the pod, and those that are gone, no queue below the common one falls under its guarantee."""
    amount = held(facts)
    above_asking = {id(node) for node in asking.above()}
    for node in queue_path(queue):
        if id(node) in above_asking:
            break
        left = node.kept - gone.get(node.name, NOTHING) - amount
        if any(left.of(name) < units for name, units in (node.guaranteed or {}).items() if amount.of(name)):
            return False
    return True


def priority_towards(asking: QueueNode, top: QueueNode, priority: int) -> int:
    """Law 6, going up: each queue adds its offset to a request, or replaces its priority at a priority fence."""
    for node in queue_path(asking):
        if node is top:
            break
        priority = node.offset if node.priority_fence else priority + node.offset
    return priority


def priority_bound(queue: QueueNode, top: QueueNode, priority: int) -> int | None:
    """Law 6, going down: what a victim's priority may be at most in a queue; None: it is closed to this request."""
    way: list[QueueNode] = []
    for node in queue_path(queue):
        if node is top:
            break
        way.append(node)
    bound = priority
    for node in reversed(way):
        if node.priority_fence:
            return OPEN if node.offset <= bound else None
        bound -= node.offset
    return bound


OPEN = 2**62
"""Behind a priority fence that lets a request in, priorities inside do not matter."""
