"""The laws of preemption between queues.

1. Preemption policies are strong suggestions: who opted out, or leads its application, goes last (see `policy`).
2. Preemption never leaves a queue below its guarantee: no queue, from that of a victim up to root, has less of it than
   before. Where the task comes to a queue, too, what it brings counts.
3. A task does not preempt tasks of its own application; nor, as only queues preempt each other, of its own queue.
4. A task preempts only if its queue is under its guarantee; with the task it may be above. The guarantee of a type is
   that of the lowest queue, from its own up, which names it; the lowest of these is the queue that the task *claims*.
   A setting offers what YuniKorn does: the guarantee holds the whole task.
5. A task is preempted only if its queue is over its guarantee. It is when, of some type, every queue naming it, from
   its own up to the common one, uses more than it guarantees, and each of these queues that guarantees anything uses
   more than that of something; and also when none of them guarantees anything. A type that a guarantee does not name is
   not guaranteed: nobody is under or over because of it, and who is over may lose all of it.
6. A task preempts only tasks of lower or equal priority, as queues on the way shift and fence priorities.
7. A task does not preempt outside its fence; from outside, a fence is no obstacle.

What a task claims it takes from other queues. Within the queue it claims, a guarantee that is shared would only change
hands: two leaves that only share their parent's do not take from each other. There it takes from tasks that claim a
queue below the one they have in common, and which is over that guarantee; never from both sides at once.

**Peace.** In a closed world, where nothing arrives or is deleted and controllers make victims again, these laws end all
preemption. Of each guarantee look at what its queue has: what is used or promised, and no more than the guarantee.

- Who comes without preempting lowers that nowhere, and no preemption does (law 2). One from outside raises it for the
  claimed queue (law 4), of each type that is claimed: by the request, or until it is full, and then for good. With C
  for the guarantee of a queue in terms of the smallest requests, each type rounded up and all types together, and X for
  evictions that are nobody's claim (DaemonSets, lowered maxima, priorities of pods outside), it is claimed so at most
  C x (1 + X) times.
- A preemption from within adds a task that claims this queue, and takes such that claim one further down. Seen from
  root down there are ever more tasks, and there is an end to that, too: with N for all tasks that claim the queue, A
  for preemptions from within queues above it, and P for all from outside, at most N x (1 + X + P + A).

The rule about the claimed queue is ours, and the least that will do: `docs/queues.md` has a circle that the seven laws
permit without it.

Here are those that are asked while a search goes on, about one claim and one queue or pod: 2 and 4, and maxima. Those
about candidates (2, 3, 5, 6, 7) are in `rules`; what every queue is to a claim is worked out at once in `standing`.
"""

from collections.abc import Mapping

from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts

Gone = Mapping[int, Mapping[str, int]]
"""What has left each queue, by its number, while a search lasts."""
NOBODY_GONE: Gone = {}


class QueueClaim:
    """What a pending pod claims of its queues."""

    def __init__(self, facts: PodFacts, queue: QueueNode) -> None:
        self.facts = facts
        self.queue = queue
        self.request = queue.tree.held(facts)
        self.promised = {node.number: node.promised_to(facts) for node in queue.path if node.promised}
        """What the queues on its path have promised to others."""
        self.capped = [node for node in queue.path if node.maximum is not None]
        self.claimed = next((node for node in queue.path if _names_any(node, self.request)), None)
        """Law 4: the queue whose guarantee it claims; None: nobody guarantees any of what it asks for."""

    def comes(self, name: str) -> int:
        """What it brings of a type to the queues on its path."""
        return self.request.of(name)

    def within(self, queue: QueueNode) -> bool:
        """Whether another queue is below the one that is claimed."""
        return self.claimed is not None and self.claimed in queue.path

    def common(self, queue: QueueNode) -> QueueNode:
        """The lowest queue above, or equal to, both."""
        return next(node for node in self.queue.path if node in queue.path)


def _names_any(node: QueueNode, request: Resources) -> bool:
    return any(name in request for name in node.guaranteed or NOTHING)


def over_maximum(node: QueueNode, claim: QueueClaim, gone: Gone | None = None) -> bool:
    """Whether a queue's maximum stands in the way of a claim: as things are, or with those `gone` and everybody who is
    leaving already."""
    free, promised = (gone or NOBODY_GONE).get(node.number, NOTHING), claim.promised.get(node.number, NOTHING)
    used = node.used if gone is None else node.kept
    return any(
        used.get(name, 0) - free.get(name, 0) + promised.of(name) + claim.request[name] > units
        for name, units in (node.maximum or NOTHING).items()
        if claim.request.of(name)
    )


def blocked(claim: QueueClaim) -> list[QueueNode]:
    """Queues whose maximum stands in the way, as things are."""
    return [node for node in claim.capped if over_maximum(node, claim)]


# Law 6


def priorities(priority: int, queue: QueueNode) -> list[int]:
    """A priority as it is seen in a queue, and in each above it: on the way up each adds its offset, or puts it in its
    place where it fences priorities."""
    seen = []
    for node in queue.path:
        seen.append(priority)
        priority = node.offset if node.priority_fence else priority + node.offset
    return seen


# Law 4


def left_of_guarantee(claim: QueueClaim, gone: Gone) -> dict[str, int]:
    """What an asking queue may still claim: for each type the lowest queue that guarantees it decides."""
    left: dict[str, int] = {}
    for node in claim.queue.path:
        free, promised = gone.get(node.number, NOTHING), claim.promised.get(node.number, NOTHING)
        for name, units in (node.guaranteed or NOTHING).items():
            left.setdefault(name, units - node.kept.get(name, 0) - promised.of(name) + free.get(name, 0))
    return left


def under_guarantee(claim: QueueClaim, gone: Gone = NOBODY_GONE) -> bool:
    """Law 4: some type it asks for is guaranteed, and of every such type some is left.

    Where the guarantee stands above the queue, those who leave below it make room in it.
    """
    left = left_of_guarantee(claim, gone)
    asked = [name for name in claim.request if name in left]
    return bool(asked) and all(is_left(claim, name, left[name]) for name in asked)


def too_little_left(claim: QueueClaim, gone: Gone = NOBODY_GONE) -> QueueNode | None:
    """Law 4: the queue whose guarantee has not enough left of the first such type; None: there is none."""
    left = left_of_guarantee(claim, gone)
    for name in claim.request:
        if name in left and not is_left(claim, name, left[name]):
            return guarantor(claim, name)
    return None


def guarantor(claim: QueueClaim, name: str) -> QueueNode:
    """Law 4: the lowest queue that guarantees a type, which some queue does."""
    return next(node for node in claim.queue.path if name in (node.guaranteed or NOTHING))


def is_left(claim: QueueClaim, name: str, left: int) -> bool:
    """Law 4: whether so much of a guarantee is enough to preempt: any, or as much as is asked for."""
    return left >= claim.request[name] if claim.queue.tree.settings.request_within_guarantee else left > 0


def could_be_under_guarantee(claim: QueueClaim) -> bool:
    """Law 4, if everybody else below the guarantee left."""
    return under_guarantee(claim, others_gone(claim))


def others_gone(claim: QueueClaim) -> Gone:
    """All that runs in the queues above the claim's own, and not in it."""
    own = Resources(claim.queue.kept)
    return {node.number: Resources(node.kept) - own for node in claim.queue.above()}


# Law 2


def falls_below(facts: PodFacts, queue: QueueNode, claim: QueueClaim, gone: Gone = NOBODY_GONE) -> QueueNode | None:
    """Law 2: the first queue that would have less of its guarantee than before, without a pod and those gone; those
    above both count the request, which comes to them."""
    amount = queue.tree.held(facts)
    shared = queue.path.index(claim.common(queue))
    for place, node in enumerate(queue.path):
        free = gone.get(node.number, NOTHING)
        for name in node.guaranteed or NOTHING:
            spare = spare_of(node, name, claim.comes(name) if place >= shared else None)
            if amount.of(name) and free.get(name, 0) + amount.of(name) > spare:
                return node
    return None


def spare_of(node: QueueNode, name: str, comes: int | None) -> int:
    """Law 2: what may leave a queue of a type that it guarantees; `comes` is what the request brings to it, where it
    holds the asking queue, too."""
    above = node.kept.get(name, 0) - (node.guaranteed or NOTHING)[name]
    return above if comes is None else max(above, 0) + comes
