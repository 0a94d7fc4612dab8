"""Whose turn it is among pods in queues, beyond their priorities.

1. Priorities decide first, as each queue sees them from root down; where root has `application.sort.priority: disabled`
   they decide last.
2. Among equals, queues below one parent take turns by their shares: who has less of what is its own goes first. A share
   is the largest, over all resources, of what is used or promised in what is guaranteed; where nothing is, in the
   smallest maximum from the queue up; where there is none, in what all nodes have.
3. In a leaf, `application.sort.policy: fair` compares what applications have of all nodes in the same way; `fifo`, and
   `stateaware`, which is the same today, lets the application go first whose first pod is the oldest.
4. Then the older pod goes first.
"""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from reprieve.manifests.core import Node
from reprieve.model.resources import NOTHING
from reprieve.policies.queue.laws import priorities
from reprieve.policies.queue.tree import QueueNode, QueueTree
from reprieve.policies.queue.user_limits import counted_application
from reprieve.world import PodFacts, World

_WHOLE = 1_000_000
"""Shares are told in millionths: whole numbers, as all amounts are."""


class Turn(NamedTuple):
    """Where a pod stands among those who wait."""

    levels: tuple[int, ...] = ()
    """Its priority as each queue sees it, from root down."""
    shares: tuple[int, ...] = ()
    before_age: tuple[int, int] = (0, 0)
    """What decides before its own age, the less the earlier: when its application was made, in microseconds since
    1970, and its priority where that counts for no more."""
    line: Hashable = None
    """Who has the same shares, whatever they are."""


class TurnOrder:
    """The order of pods in the queues of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._version = -1
        self._total: Mapping[str, int] = NOTHING

    def turn(self, tree: QueueTree, facts: PodFacts) -> Turn:
        queue = tree.queue_of(facts)
        total = self._of_all_nodes()
        shares = [share(node, total) for node in reversed(queue.path[:-1])]
        line: Hashable = queue.name
        since = tree.applications.since(facts)
        if queue.fair:
            application = counted_application(facts)
            shares.append(_largest(queue.by_application.get(application, {}), total))
            line, since = (queue.name, application), facts.created
        levels = tuple(reversed(priorities(facts.priority, queue)))
        if tree.priorities_last:
            return Turn((0,), tuple(shares), (since, -levels[0]), line)
        return Turn(levels, tuple(shares), (since, 0), line)

    def _of_all_nodes(self) -> Mapping[str, int]:
        changes = self._world.changes_since(self._version)
        if self._version < 0 or changes is None or any(change.kind is Node for change in changes):
            total: dict[str, int] = {}
            for node in self._world.all(Node):
                for name, units in node.allocatable.items():
                    total[name] = total.get(name, 0) + units
            self._total = total
        self._version = self._world.version
        return self._total


def share(queue: QueueNode, total: Mapping[str, int]) -> int:
    """What a queue uses, and was promised, of what is its own."""
    used = dict(queue.used)
    for name, units in queue.promises.items():
        used[name] = used.get(name, 0) + units
    return _largest(used, {**total, **queue.most, **(queue.guaranteed or NOTHING)})


def _largest(used: Mapping[str, int], of: Mapping[str, int]) -> int:
    return max((units * _WHOLE // of[name] for name, units in used.items() if units > 0 and of.get(name)), default=0)
