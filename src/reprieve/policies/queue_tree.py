"""YuniKorn's queues as the queue policy sees them: guarantees, maxima, fences, and what runs in each."""

from __future__ import annotations

from collections.abc import Iterator

from reprieve.objects.yunikorn import (
    ROOT,
    Bounds,
    ChildTemplate,
    Partition,
    Queue,
    QueueConfiguration,
    parse_duration,
    preemption_delay,
)
from reprieve.resources import NOTHING, PODS, Resources
from reprieve.world import PodFacts, World

QUEUE_LABEL = "queue"
APPLICATION_LABEL = "applicationId"
DEFAULT_QUEUE = "root.default"


class QueueNode:
    """A queue; `used` counts all that runs in it and below it, `leaving` what of that is on its way out."""

    def __init__(self, name: str, parent: QueueNode | None, bounds: Bounds, properties: dict[str, str]) -> None:
        self.name = name
        self.parent = parent
        self.children: dict[str, QueueNode] = {}
        self.guaranteed: Resources | None = bounds.guaranteed
        self.maximum: Resources | None = bounds.max
        self.properties = properties
        self.template: ChildTemplate | None = None
        self.used: Resources = NOTHING
        self.leaving: Resources = NOTHING
        self.pods: list[PodFacts] = []

    @property
    def policy(self) -> str:
        return self.properties.get("preemption.policy", "default").lower()

    @property
    def fenced(self) -> bool:
        return self.policy == "fence" and self.parent is not None

    @property
    def disabled(self) -> bool:
        """Whether its pods are nobody's victims; what a parent switches off is off below it."""
        return any(node.policy == "disabled" for node in (self, *self.above()))

    @property
    def delay(self) -> float:
        """Seconds that a request in it waits before it may preempt."""
        return preemption_delay(self.properties)

    @property
    def quota_delay(self) -> float | None:
        return parse_duration(self.properties.get("quota.preemption.delay", ""))

    @property
    def offset(self) -> int:
        try:
            return int(self.properties.get("priority.offset", "0"))
        except ValueError:
            return 0

    @property
    def priority_fence(self) -> bool:
        return self.properties.get("priority.policy", "default").lower() == "fence"

    @property
    def kept(self) -> Resources:
        """What runs in it and is not on its way out."""
        return self.used - self.leaving

    def above(self) -> Iterator[QueueNode]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def leaves(self) -> Iterator[QueueNode]:
        if not self.children:
            yield self
        for child in self.children.values():
            yield from child.leaves()

    def add(self, facts: PodFacts) -> None:
        amount = held(facts)
        for node in (self, *self.above()):
            node.used += amount
            if facts.pod.terminating:
                node.leaving += amount


def held(facts: PodFacts) -> Resources:
    """What a pod asks for, without its place among a node's pods: queues do not count those."""
    return Resources({name: units for name, units in facts.requests.items() if name != PODS and units})


class QueueTree:
    """All queues of a world's configuration, with the pods that run in them."""

    def __init__(self, world: World) -> None:
        configuration: QueueConfiguration | None = next(iter(world.all(QueueConfiguration)), None)
        partition = (
            configuration.partitions[0] if configuration and configuration.partitions else Partition(name="default")
        )
        self.preemption = partition.preemption.enabled is not False
        self.quota_preemption = partition.preemption.quotapreemptionenabled
        named = [queue for queue in partition.queues if queue.name.lower() == ROOT]
        top = named[0] if named else Queue(name=ROOT, queues=partition.queues)
        self.root = self._plant(top, None)
        self.originators: set[tuple[str, str]] = set()
        self._place(world)

    def _plant(self, queue: Queue, parent: QueueNode | None) -> QueueNode:
        name = f"{parent.name}.{queue.name.lower()}" if parent else ROOT
        node = QueueNode(name, parent, queue.resources, queue.properties)
        node.template = queue.childtemplate
        for child in queue.queues:
            node.children[child.name.lower()] = self._plant(child, node)
        return node

    def queue_of(self, facts: PodFacts) -> QueueNode:
        """The queue that a pod names; one that is not configured is made, by the nearest template above it."""
        path = facts.pod.metadata.labels.get(QUEUE_LABEL, DEFAULT_QUEUE).lower().split(".")
        node = self.root
        for name in path[1:] if path[:1] == [ROOT] else path:
            child = node.children.get(name)
            if child is None:
                child = node.children[name] = self._dynamic(name, node)
            node = child
        return node

    def _dynamic(self, name: str, parent: QueueNode) -> QueueNode:
        template = next((node.template for node in (parent, *parent.above()) if node.template is not None), None)
        bounds = template.resources if template else Bounds()
        return QueueNode(f"{parent.name}.{name}", parent, bounds, template.properties if template else {})

    def _place(self, world: World) -> None:
        first: dict[str, PodFacts] = {}
        for facts in sorted(world.pods.values(), key=lambda facts: (facts.created, facts.key)):
            application = facts.pod.metadata.labels.get(APPLICATION_LABEL)
            if application is not None and not facts.pod.finished:
                first.setdefault(application, facts)
            if facts.node:
                queue = self.queue_of(facts)
                queue.pods.append(facts)
                queue.add(facts)
        self.originators = {facts.key for facts in first.values()}


def queue_path(queue: QueueNode) -> list[QueueNode]:
    return [queue, *queue.above()]
