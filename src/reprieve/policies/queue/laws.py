"""The laws of preemption between queues, for one request and one queue or pod.

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
from functools import cached_property

from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue.pods import application, held
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts

Gone = Mapping[int, Mapping[str, int]]
"""What has left each queue, by its number, while a search lasts."""
NOBODY_GONE: Gone = {}
OPEN = 2**62
"""Behind a priority fence that lets a request in, priorities inside do not matter."""
CLOSED = -OPEN
"""Behind a priority fence that keeps a request out, nobody makes way."""


class Ask:
    """What a pending pod asks for, and from where."""

    def __init__(self, facts: PodFacts, queue: QueueNode) -> None:
        self.facts = facts
        self.queue = queue
        self.request = held(facts)
        self.application = application(facts)
        self.promised = {node.number: node.promised_to(facts) for node in queue.path if node.promised}
        """What the queues on its path have promised to others."""
        self.capped = [node for node in queue.path if node.maximum is not None]

    @cached_property
    def blocked(self) -> list[QueueNode]:
        """Queues whose maximum stands in the way, as things are."""
        return [node for node in self.capped if over_maximum(node, self)]

    @cached_property
    def top(self) -> QueueNode:
        """Law 7: the top of what it may look into: its fence, or a queue whose maximum it would exceed, or root."""
        blocked = self.blocked
        return next((node for node in self.queue.path if node.fenced or node in blocked), self.queue.path[-1])

    def below(self, common: QueueNode) -> tuple[QueueNode, ...]:
        """The queues on its path below a common one, from its own up."""
        return self.queue.path[: self.queue.path.index(common)]

    def common(self, queue: QueueNode) -> QueueNode:
        """The lowest queue above, or equal to, both."""
        return next(node for node in self.queue.path if node in queue.path)


def over_maximum(node: QueueNode, ask: Ask, gone: Gone = NOBODY_GONE) -> bool:
    """Whether a queue's maximum stands in the way of a request."""
    free, promised = gone.get(node.number, NOTHING), ask.promised.get(node.number, NOTHING)
    return any(
        node.used.get(name, 0) - free.get(name, 0) + promised.of(name) + ask.request[name] > units
        for name, units in (node.maximum or NOTHING).items()
        if ask.request.of(name)
    )


# Law 4


def own_guarantee(ask: Ask, gone: Gone) -> dict[str, int]:
    """What an asking queue may still claim: for each type the lowest queue that guarantees it decides."""
    left: dict[str, int] = {}
    for node in ask.queue.path:
        free, promised = gone.get(node.number, NOTHING), ask.promised.get(node.number, NOTHING)
        for name, units in (node.guaranteed or NOTHING).items():
            left.setdefault(name, units - node.kept.get(name, 0) - promised.of(name) + free.get(name, 0))
    return left


def under_guarantee(ask: Ask, gone: Gone = NOBODY_GONE) -> bool:
    """Law 4: some type it asks for is guaranteed, and every such type holds the whole request.

    Where the guarantee stands above the queue, those who leave below it make room in it.
    """
    left = own_guarantee(ask, gone)
    asked = [name for name in ask.request if name in left]
    return bool(asked) and all(ask.request[name] <= left[name] for name in asked)


def could_be_under_guarantee(ask: Ask) -> bool:
    """Law 4, if everybody else below the guarantee left."""
    own = Resources(ask.queue.kept)
    return under_guarantee(ask, {node.number: Resources(node.kept) - own for node in ask.queue.above()})


# Law 5


def over_guarantee(queue: QueueNode, ask: Ask) -> bool:
    """Law 5: it uses more than its guarantee of some type that is asked for."""
    return any(left_of_guarantee(queue, ask, name) < 0 for name in ask.request)


def left_of_guarantee(queue: QueueNode, ask: Ask, name: str) -> int:
    """What is left of a queue's guarantee of a type, or of those above it, whichever is least.

    Queues above both do not protect a sibling with what they have left, where the asking queue has its own guarantee.
    """
    common = ask.common(queue)
    own = any(name in (node.guaranteed or NOTHING) for node in ask.below(common))
    limits = [
        node.guaranteed[name] - node.kept.get(name, 0)
        for node in queue.path
        if node.guaranteed is not None and name in node.guaranteed and not (own and node in common.path)
    ]
    return min(limits, default=-queue.kept.get(name, 0))


# Law 2


def stays_at_guarantee(facts: PodFacts, queue: QueueNode, ask: Ask, gone: Gone = NOBODY_GONE) -> bool:
    """Law 2: without the pod, and those that are gone, no queue below the common one falls under its guarantee."""
    amount = held(facts)
    for node in queue.path[: queue.path.index(ask.common(queue))]:
        free = gone.get(node.number, NOTHING)
        for name, units in (node.guaranteed or NOTHING).items():
            if amount.of(name) and node.kept.get(name, 0) - free.get(name, 0) - amount.of(name) < units:
                return False
    return True


# Law 6


def priority_towards(ask: Ask, common: QueueNode) -> int:
    """Law 6, going up: each queue adds its offset to a request, or replaces its priority at a priority fence."""
    priority = ask.facts.priority
    for node in ask.below(common):
        priority = node.offset if node.priority_fence else priority + node.offset
    return priority


def priority_bound(queue: QueueNode, ask: Ask) -> int:
    """Law 6, going down: what a victim's priority may be at most in a queue."""
    common = ask.common(queue)
    bound = priority_towards(ask, common)
    for node in reversed(queue.path[: queue.path.index(common)]):
        if node.priority_fence:
            return OPEN if node.offset <= bound else CLOSED
        bound -= node.offset
    return bound
