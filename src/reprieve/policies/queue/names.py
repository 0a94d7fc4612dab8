"""Which queues are configured, and what is wrong with the one that a pod is in: a parent, or not configured."""

from typing import NamedTuple

from reprieve.manifests.yunikorn import ROOT, Partition, Queue, walk
from reprieve.policies.queue.pods import names_queue
from reprieve.policies.queue.tree import QueueNode
from reprieve.world import PodFacts


class Misplaced(NamedTuple):
    """A pod is in a queue that is not for pods (`ParentQueue`), or that nobody has configured (`UnknownQueue`)."""

    kind: str
    queue: str
    leaves: tuple[str, ...]
    """Where it could be: the leaves below a parent, or all of them."""


def configured_queues(partition: Partition) -> dict[str, Queue]:
    """By full name, root first; a root that is left out is above all."""
    named = any(queue.name.lower() == ROOT for queue in partition.queues)
    found = {name.lower(): queue for queue, name, _ in walk(partition.queues, "", "" if named else ROOT)}
    return {ROOT: Queue(name=ROOT, parent=True), **found}


class QueueNames:
    """The queues of one partition."""

    def __init__(self, partition: Partition) -> None:
        self._queues = configured_queues(partition)
        self._leaves = tuple(name for name, queue in self._queues.items() if queue.leaf)
        self._placed_by_rules = bool(partition.placementrules)

    def misplaced(self, facts: PodFacts, queue: QueueNode) -> Misplaced | None:
        """What is wrong with the queue of a pod; None: nothing. Who names none is in the default one, and a queue that
        a template above it is for may be made for whoever names it. Placement rules say themselves whom they refuse."""
        if self._placed_by_rules:
            return None
        configured = self._queues.get(queue.name)
        if configured is not None:
            below = tuple(name for name in self._leaves if name.startswith(f"{queue.name}."))
            return None if configured.leaf else Misplaced("ParentQueue", queue.name, below)
        made = any(node.template is not None for node in queue.above())
        return None if made or not names_queue(facts) else Misplaced("UnknownQueue", queue.name, self._leaves)
