"""How YuniKorn's queues stand in a world: what each uses, waits for and is about to lose, and its applications.

A queue counts all that is in it and below it. What is counted is what pods ask for, their places on nodes (`pods`)
included. The queue of a pod is the one that the policy has it in.
"""

from collections.abc import Iterator

from reprieve.engine.nodes.reservations import is_reserved
from reprieve.manifests.core import Node
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import PREEMPTION_BY_SCHEDULER
from reprieve.manifests.yunikorn import Partition, Queue
from reprieve.model.names import UnitName
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue.entry import QueueEntry
from reprieve.policies.queue.names import configured_queues
from reprieve.policies.queue.pods import application
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.queue.tree import QueueNode, partition_of
from reprieve.policies.registry import Policies
from reprieve.world import PodFacts


class PodFigures:
    """What is counted of a queue or an application."""

    def __init__(self) -> None:
        self.used = self.pending = self.preempting = NOTHING
        self.running = self.waiting = self.leaving = 0

    def count(self, facts: PodFacts) -> None:
        if facts.node:
            self.used += facts.requests
            self.running += 1
            if is_preempted(facts):
                self.preempting += facts.requests
                self.leaving += 1
        elif facts.pending:
            self.pending += facts.requests
            self.waiting += 1


class ApplicationFigures(PodFigures):
    """The pods of one application in one queue, the oldest first."""

    def __init__(self, name: str, queue: str) -> None:
        super().__init__()
        self.name = name
        self.queue = queue
        self.pods: list[PodFacts] = []

    @property
    def active(self) -> bool:
        return bool(self.running or self.waiting)

    @property
    def state(self) -> str:
        """In YuniKorn's words."""
        if self.running:
            return "Running"
        if self.waiting:
            return "Accepted"
        return "Failed" if any(facts.pod.status.phase == "Failed" for facts in self.pods) else "Completed"

    @property
    def reservations(self) -> list[str]:
        return sorted({facts.nominated for facts in self.pods if is_reserved(facts)})


class QueueFigures(PodFigures):
    """One queue; `configured` is what the configuration says of it, None for one that was made for a pod."""

    def __init__(self, node: QueueNode, configured: Queue | None) -> None:
        super().__init__()
        self.node = node
        self.configured = configured
        self.priority: int | None = None
        """The highest of those that wait in it."""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def leaf(self) -> bool:
        if self.configured is not None:
            return self.configured.leaf
        return not self.node.children  # one that was made for a pod


class QueueSurvey:
    """All queues of a world at one moment."""

    def __init__(self, policies: Policies, policy: QueuePolicy) -> None:
        entry: QueueEntry = policies[QueueEntry.name]
        policy.sync()
        world = policies.world
        self.nodes: list[Node] = sorted(world.all(Node), key=lambda node: node.name)
        self.partition: Partition = partition_of(world)
        self.total = NOTHING
        for node in self.nodes:
            self.total += node.allocatable
        self.applications: dict[tuple[str, str], ApplicationFigures] = {}
        self.on_node: dict[str, list[PodFacts]] = {}
        self.elsewhere: dict[str, Resources] = {}
        """By node: what pods hold there that are in no queue."""
        self.reserved: dict[str, list[UnitName]] = {}
        """By node: the pods for which a place there is held against everybody."""
        self._tree = policy.tree
        self.preemption = policy.tree.preemption
        mine = sorted(filter(entry.takes, world.pods.values()), key=_age)
        placed = [(facts, policy.tree.queue_of(facts)) for facts in mine]  # which may make a queue
        configured = configured_queues(self.partition)
        alive = configured.keys() | {node.name for _, queue in placed for node in queue.path}
        queues = (node for node in policy.tree.queues if node.name in alive)
        self.queues = {node.name: QueueFigures(node, configured.get(node.name)) for node in queues}
        """Those that are configured, and those that were made for pods which are still there."""
        for facts, queue in placed:
            self._count(facts, queue)
        for facts in world.pods.values():
            if facts.node and not entry.takes(facts):
                self.elsewhere[facts.node] = self.elsewhere.get(facts.node, NOTHING) + facts.requests

    def _count(self, facts: PodFacts, queue: QueueNode) -> None:
        name = application_of(facts)
        app = self.applications.setdefault((queue.name, name), ApplicationFigures(name, queue.name))
        app.pods.append(facts)
        app.count(facts)
        if is_reserved(facts):
            self.reserved.setdefault(facts.nominated, []).append(facts.unit)
        if facts.node:
            self.on_node.setdefault(facts.node, []).append(facts)
        for node in queue.path:
            figures = self.queues[node.name]
            figures.count(facts)
            if facts.pending:
                figures.priority = max(facts.priority, facts.priority if figures.priority is None else figures.priority)

    def leads(self, facts: PodFacts) -> bool:
        return self._tree.applications.leads(facts)

    def maximum(self, queue: QueueNode) -> Resources:
        """What a queue can use at most: the least of all maxima from it up, and of what the nodes have."""
        most = dict(self.total)
        for node in queue.path:
            for name, units in (node.maximum or NOTHING).items():
                most[name] = min(units, most.get(name, units))
        return Resources(most)

    def headroom(self, queue: QueueNode) -> Resources:
        """What a queue could still use: the least that is left of any maximum from it up."""
        left: dict[str, int] = {}
        for node in queue.path:
            used = self.queues[node.name].used
            for name, units in self.maximum(node).items():
                left[name] = max(0, min(units - used.of(name), left.get(name, units)))
        return Resources(left)

    def below(self, queue: QueueNode) -> Iterator[QueueFigures]:
        """The queues right below one, by name."""
        names = sorted(child.name for child in queue.children.values())
        return (self.queues[name] for name in names if name in self.queues)


def survey_queues(policies: Policies) -> QueueSurvey | None:
    """All queues of a world; None where there are none."""
    entry: QueueEntry = policies[QueueEntry.name]
    return QueueSurvey(policies, entry.policy) if entry.policy is not None else None


def application_of(facts: PodFacts) -> str:
    """What a pod belongs to; those that name nothing are together, by namespace, as in YuniKorn."""
    return application(facts) or f"yunikorn-{facts.key[0]}-autogen"


def is_preempted(facts: PodFacts) -> bool:
    """Whether a pod has been told to make way, and is still there."""
    told = find_condition(facts.pod.status.conditions, "DisruptionTarget")
    return told is not None and told.status == "True" and told.reason == PREEMPTION_BY_SCHEDULER


def _age(facts: PodFacts) -> tuple[int, tuple[str, str]]:
    return facts.created, facts.key
