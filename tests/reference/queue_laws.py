"""Laws 5 and 6 for one queue, read plainly off the tree: what the columns over all queues are checked against."""

from __future__ import annotations

from reprieve.model.resources import NOTHING
from reprieve.policies.queue.laws import Claim
from reprieve.policies.queue.standing import CLOSED, OPEN
from reprieve.policies.queue.tree import QueueNode


def over_guarantee(queue: QueueNode, claim: Claim) -> bool:
    """Law 5: it uses more than its guarantee of some type that is asked for."""
    return any(left_of_guarantee(queue, claim, name) < 0 for name in claim.request)


def left_of_guarantee(queue: QueueNode, claim: Claim, name: str) -> int:
    """What is left of a queue's guarantee of a type, or of those above it, whichever is least.

    Queues above both do not protect a sibling with what they have left, where the asking queue has its own guarantee.
    """
    common = claim.common(queue)
    own = any(name in (node.guaranteed or NOTHING) for node in claim.below(common))
    limits = [
        node.guaranteed[name] - node.kept.get(name, 0)
        for node in queue.path
        if node.guaranteed is not None and name in node.guaranteed and not (own and node in common.path)
    ]
    return min(limits, default=-queue.kept.get(name, 0))


def priority_bound(queue: QueueNode, claim: Claim) -> int:
    """Law 6: up to the common queue each adds its offset or fences; down from there each takes its offset away."""
    common = claim.common(queue)
    bound = claim.facts.priority
    for node in claim.below(common):
        bound = node.offset if node.priority_fence else bound + node.offset
    for node in reversed(queue.path[: queue.path.index(common)]):
        if node.priority_fence:
            return OPEN if node.offset <= bound else CLOSED
        bound -= node.offset
    return bound
