"""The laws of preemption between queues.

1. Preemption policies are strong suggestions: who opted out, or leads its application, goes last (see `policy`).
2. Preemption never leaves a queue below its guarantee.
3. A task does not preempt tasks of its own application; nor, as only queues preempt each other, of its own queue.
4. A task preempts only if its queue is under its guarantee, also with the task.
5. A task is preempted only if its queue is over its guarantee.
6. A task preempts only tasks of lower or equal priority, as queues on the way shift and fence priorities.
7. A task does not preempt outside its fence; from outside, a fence is no obstacle.

Here are those that are asked while a search goes on, about one claim and one queue or pod: 2 and 4, and maxima. Those
about candidates (2, 3, 5, 6, 7) are in `rules`; what every queue is to a claim is worked out at once in `standing`.
"""

from collections.abc import Mapping

from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue.pods import held
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts

Gone = Mapping[int, Mapping[str, int]]
"""What has left each queue, by its number, while a search lasts."""
NOBODY_GONE: Gone = {}


class Claim:
    """What a pending pod claims of its queues."""

    def __init__(self, facts: PodFacts, queue: QueueNode) -> None:
        self.facts = facts
        self.queue = queue
        self.request = held(facts)
        self.promised = {node.number: node.promised_to(facts) for node in queue.path if node.promised}
        """What the queues on its path have promised to others."""
        self.capped = [node for node in queue.path if node.maximum is not None]

    def below(self, common: QueueNode) -> tuple[QueueNode, ...]:
        """The queues on its path below a common one, from its own up."""
        return self.queue.path[: self.queue.path.index(common)]

    def common(self, queue: QueueNode) -> QueueNode:
        """The lowest queue above, or equal to, both."""
        return next(node for node in self.queue.path if node in queue.path)


def over_maximum(node: QueueNode, claim: Claim, gone: Gone = NOBODY_GONE) -> bool:
    """Whether a queue's maximum stands in the way of a claim."""
    free, promised = gone.get(node.number, NOTHING), claim.promised.get(node.number, NOTHING)
    return any(
        node.used.get(name, 0) - free.get(name, 0) + promised.of(name) + claim.request[name] > units
        for name, units in (node.maximum or NOTHING).items()
        if claim.request.of(name)
    )


# Law 4


def left_of_guarantee(claim: Claim, gone: Gone) -> dict[str, int]:
    """What an asking queue may still claim: for each type the lowest queue that guarantees it decides."""
    left: dict[str, int] = {}
    for node in claim.queue.path:
        free, promised = gone.get(node.number, NOTHING), claim.promised.get(node.number, NOTHING)
        for name, units in (node.guaranteed or NOTHING).items():
            left.setdefault(name, units - node.kept.get(name, 0) - promised.of(name) + free.get(name, 0))
    return left


def under_guarantee(claim: Claim, gone: Gone = NOBODY_GONE) -> bool:
    """Law 4: some type it asks for is guaranteed, and every such type holds the whole request.

    Where the guarantee stands above the queue, those who leave below it make room in it.
    """
    left = left_of_guarantee(claim, gone)
    asked = [name for name in claim.request if name in left]
    return bool(asked) and all(claim.request[name] <= left[name] for name in asked)


def could_be_under_guarantee(claim: Claim) -> bool:
    """Law 4, if everybody else below the guarantee left."""
    own = Resources(claim.queue.kept)
    return under_guarantee(claim, {node.number: Resources(node.kept) - own for node in claim.queue.above()})


# Law 2


def falls_below(facts: PodFacts, queue: QueueNode, claim: Claim, gone: Gone = NOBODY_GONE) -> QueueNode | None:
    """Law 2: the first queue below the common one that would be under its guarantee without a pod and those gone."""
    amount = held(facts)
    for node in queue.path[: queue.path.index(claim.common(queue))]:
        free = gone.get(node.number, NOTHING)
        for name, units in (node.guaranteed or NOTHING).items():
            if amount.of(name) and node.kept.get(name, 0) - free.get(name, 0) - amount.of(name) < units:
                return node
    return None
