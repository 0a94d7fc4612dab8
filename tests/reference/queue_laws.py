"""Laws 4, 5 and 6 for one queue, read plainly off the tree: what the columns over all queues are checked against."""

from __future__ import annotations

from reprieve.model.resources import NOTHING
from reprieve.policies.queue.laws import QueueClaim
from reprieve.policies.queue.standing import CLOSED, OPEN
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts


def over_guarantee(queue: QueueNode, claim: QueueClaim) -> bool:
    """Law 5: it guarantees nothing, or is over its guarantee of something, as is each queue above it that guarantees
    anything; and it may give some of what is asked."""
    path = below_common(queue, claim)
    named = {name for node in path for name in node.guaranteed or NOTHING}
    over = not named or (any(has_spare(queue, claim, name) for name in named) and all(map(is_over, path)))
    return over and any(may_give(queue, claim, name) for name in claim.request)


def is_over(node: QueueNode) -> bool:
    """Of something that it guarantees; or it guarantees nothing."""
    said = node.guaranteed or NOTHING
    return not said or any(node.kept.get(name, 0) > units for name, units in said.items())


def may_give(queue: QueueNode, claim: QueueClaim, name: str) -> bool:
    """Whether it has any of a type, and nobody up to the common queue needs it."""
    return queue.kept.get(name, 0) > 0 and has_spare(queue, claim, name)


def has_spare(queue: QueueNode, claim: QueueClaim, name: str) -> bool:
    """Whether all queues up to the common one that guarantee a type have more than that, whoever below them has it."""
    return all(node.kept.get(name, 0) > guaranteed(node, name) for node in below_common(queue, claim))


def guaranteed(node: QueueNode, name: str) -> int:
    """What a queue guarantees of a type; nothing that it does not name stands in the way of anybody."""
    return (node.guaranteed or NOTHING).get(name, -1)


def below_common(queue: QueueNode, claim: QueueClaim) -> tuple[QueueNode, ...]:
    return queue.path[: queue.path.index(claim.common(queue))]


def only_shares(facts: PodFacts, queue: QueueNode, claim: QueueClaim) -> bool:
    """Law 4: it is below the queue that is claimed, and claims none below the common one."""
    if claim.claimed is None or claim.claimed not in queue.path:
        return False
    own = below_common(queue, claim)
    return not any(queue.tree.held(facts).of(name) for node in own for name in node.guaranteed or NOTHING)


def priority_bound(queue: QueueNode, claim: QueueClaim) -> int:
    """Law 6: up to the common queue each adds its offset or fences; down from there each takes its offset away."""
    common = claim.common(queue)
    bound = claim.facts.priority
    for node in claim.queue.path[: claim.queue.path.index(common)]:
        bound = node.offset if node.priority_fence else bound + node.offset
    for node in reversed(queue.path[: queue.path.index(common)]):
        if node.priority_fence:
            return OPEN if node.offset <= bound else CLOSED
        bound -= node.offset
    return bound
