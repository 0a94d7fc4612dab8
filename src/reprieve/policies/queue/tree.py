"""YuniKorn's queues as the queue policy sees them: guarantees, maxima, fences, and what runs in each.

1. What a queue says of itself counts for it alone, but `disabled`: that holds below it until a queue says otherwise.
   On root neither a fence nor `disabled` has an effect.
2. Placement rules say which queue a pod goes to (`placement`), else it names one. One that is not configured is made
   for it; it gets what the nearest template above it says. Queues made on the way there get nothing.
3. What no rule gives a queue to and runs all the same counts in `root.@recovery@`, for which nothing is configured.
   `pods` is a resource like any other, wherever a queue guarantees or limits it: each pod counts as one.
4. Pods that stay out of queues count nowhere: neither in a queue nor as a part of an application.
5. The tree follows the world's journal: a pod that comes or goes changes the queues from its own up to root.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from reprieve.configuration import QueueSettings
from reprieve.engine.claims import Claim
from reprieve.engine.queue_claims import NotPlaced
from reprieve.manifests.core import Namespace
from reprieve.manifests.yunikorn import (
    DEFAULT_PARTITION,
    ROOT,
    Bounds,
    ChildTemplate,
    Partition,
    Queue,
    QueueConfiguration,
    parse_duration,
    preemption_delay,
    used_partition,
)
from reprieve.model.resources import NOTHING, PODS, Resources
from reprieve.policies.queue.node_order import node_order
from reprieve.policies.queue.placement import PARENT_QUEUE, PlacementRules, Unplaced
from reprieve.policies.queue.pods import Applications, held, queue_name, stays_out
from reprieve.policies.queue.user_limits import UserLimits, counted_application
from reprieve.world import Change, PodFacts, World

RECOVERY = f"{ROOT}.@recovery@"
"""Where pods count that run, and that no placement rule gives a queue to."""
_SORT_PRIORITY = "application.sort.priority"
_MOST = 2**31
"""Priorities are numbers of 32 bits; larger offsets mean no more."""


class QueueNode:
    """A queue; `used` counts all that runs in it and below it, `kept` what of that is not on its way out."""

    def __init__(
        self, tree: "QueueTree", name: str, parent: "QueueNode | None", bounds: Bounds, properties: dict[str, str]
    ) -> None:
        self.tree = tree
        self.number = len(tree.queues)
        self.name = name
        self.parent = parent
        self.path: tuple[QueueNode, ...] = (self, *(parent.path if parent else ()))
        """From the queue itself up to root."""
        self.children: dict[str, QueueNode] = {}
        self.guaranteed: Resources | None = bounds.guaranteed
        self.maximum: Resources | None = bounds.max
        self.template: ChildTemplate | None = None
        self.used: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        self.pods: dict[tuple[str, str], PodFacts] = {}
        """What runs in the queue itself."""
        self.promised: dict[tuple[str, str], PodFacts] = {}
        """Pods of the queue and below it that have been nominated to a node, and do not run yet."""
        self.promises: dict[str, int] = {}
        """What they ask for together."""
        policy = properties.get("preemption.policy", "").lower() if parent else ""
        self.fenced = policy == "fence"
        self.disabled: bool = policy == "disabled" if policy else parent is not None and parent.disabled
        """Whether its pods are nobody's victims."""
        self.delay = preemption_delay(properties)
        """Seconds that a request in it waits before it may preempt."""
        self.quota_delay = max(0.0, parse_duration(properties.get("quota.preemption.delay", "")) or 0.0)
        self.fair = properties.get("application.sort.policy", "").lower() == "fair"
        """Whether applications in it take turns by what they have; else by their age."""
        self.by_application: dict[str, dict[str, int]] = {}
        """What each application has, where they do."""
        above: dict[str, int] = parent.most if parent is not None else {}
        own = {name: min(units, above.get(name, units)) for name, units in (bounds.max or NOTHING).items()}
        self.most: dict[str, int] = {**above, **own}
        """The smallest maximum of each resource, from the queue up."""
        self.offset = _integer(properties.get("priority.offset", "0"))
        self.priority_fence = properties.get("priority.policy", "").lower() == "fence"

    @property
    def names(self) -> list[str]:
        """From the queue itself up to root."""
        return [node.name for node in self.path]

    def above(self) -> "tuple[QueueNode, ...]":
        return self.path[1:]

    def move(self, facts: PodFacts, sign: int) -> None:
        """A pod comes (1) or goes (-1)."""
        amount = self.tree.held(facts).items()
        for node in self.path:
            for name, units in amount:
                node.used[name] = node.used.get(name, 0) + sign * units
                if not facts.pod.terminating:
                    node.kept[name] = node.kept.get(name, 0) + sign * units
        if self.fair:
            has = self.by_application.setdefault(counted_application(facts), {})
            for name, units in amount:
                has[name] = has.get(name, 0) + sign * units

    def promise(self, facts: PodFacts) -> None:
        """A pod has been nominated, in this queue or below."""
        self.promised[facts.key] = facts
        for name, units in self.tree.held(facts).items():
            self.promises[name] = self.promises.get(name, 0) + units

    def release(self, facts: PodFacts) -> None:
        """It runs, or is promised nothing any more."""
        promised = self.promised.pop(facts.key, None)
        if promised is not None:
            for name, units in self.tree.held(promised).items():
                self.promises[name] -= units

    def promised_to(self, others_than: PodFacts) -> Resources:
        """What is promised to other pods: as good as used for those who come after."""
        own = self.promised.get(others_than.key)
        return Resources(self.promises) if own is None else Resources(self.promises) - self.tree.held(own)


def _integer(text: str) -> int:
    try:
        return max(-_MOST, min(int(text), _MOST))
    except ValueError:
        return 0


class QueueTree:
    """All queues of a world's configuration, with the pods that run in them."""

    def __init__(self, world: World, settings: QueueSettings) -> None:
        partition = partition_of(world)
        self.settings = settings
        self._pods = any(_counts_pods(queue) for queue in partition.queues)
        self.preemption = partition.preemption.enabled is not False
        self.quota_preemption = partition.preemption.quotapreemptionenabled
        self.queues: list[QueueNode] = []
        """By number; a queue always stands after its parent."""
        self._by_name: dict[str, QueueNode] = {}
        self.changed: set[int] = set()
        """Numbers of the queues whose use has changed since somebody last emptied this."""
        self.node_order = node_order(partition.nodesortpolicy)
        self.limits = UserLimits()
        self._configured: dict[str, Literal["leaf", "parent"]] = {ROOT: "parent"}
        rules = partition.placementrules
        self._placement = PlacementRules(rules, self._configured.get, world) if rules else None
        named = [queue for queue in partition.queues if queue.name.lower() == ROOT]
        self.priorities_last = bool(named) and named[0].properties.get(_SORT_PRIORITY, "").lower() == "disabled"
        self._of_partition = partition.limits
        self.root = self._plant(named[0] if named else Queue(name=ROOT, queues=partition.queues), None)
        self.applications = Applications()
        for facts in sorted(world.pods.values(), key=lambda facts: (facts.created, facts.key)):
            self._put(facts)

    def _plant(self, queue: Queue, parent: QueueNode | None) -> QueueNode:
        name = f"{parent.name}.{queue.name.lower()}" if parent else ROOT
        node = self._add(name, parent, queue.resources, queue.properties)
        node.template = queue.childtemplate
        self.limits.limit(name, queue.limits if parent else (*queue.limits, *self._of_partition), queue.maxapplications)
        self._configured.setdefault(name, "leaf" if queue.leaf else "parent")
        for child in queue.queues:
            self._plant(child, node)
        return node

    def _add(self, name: str, parent: QueueNode | None, bounds: Bounds, properties: dict[str, str]) -> QueueNode:
        node = QueueNode(self, name, parent, bounds, properties)
        self.queues.append(node)
        if parent is not None:
            parent.children[name.rpartition(".")[2]] = node
        return node

    def held(self, facts: PodFacts) -> Resources:
        """What a pod asks for of all that queues count."""
        return held(facts, pods=self._pods)

    def queue_of(self, facts: PodFacts) -> QueueNode:
        """The queue that a pod goes to, or names; one that is not configured is made."""
        placed = self._placed(facts)
        name = RECOVERY if isinstance(placed, Unplaced) else placed
        known = self._by_name.get(name)
        if known is None:
            known = self._by_name[name] = self._find(name.lower().split("."))
        return known

    def _placed(self, facts: PodFacts) -> str | Unplaced:
        return queue_name(facts.pod.metadata) if self._placement is None else self._placement.place(facts)

    def unplaced(self, facts: PodFacts) -> Unplaced | None:
        """Why a pod has no queue; None: it has one."""
        placed = self._placed(facts)
        return placed if isinstance(placed, Unplaced) else None

    def _find(self, path: list[str]) -> QueueNode:
        node = self.root
        steps = path[1:] if path[:1] == [ROOT] else path
        for place, name in enumerate(steps):
            child = node.children.get(name)
            node = child if child is not None else self._dynamic(name, node, leaf=place == len(steps) - 1)
        return node

    def _dynamic(self, name: str, parent: QueueNode, *, leaf: bool) -> QueueNode:
        template = next((node.template for node in parent.path if node.template is not None), None)
        if template is None or not leaf:
            return self._add(f"{parent.name}.{name}", parent, Bounds(), {})
        self.limits.limit(f"{parent.name}.{name}", (), template.maxapplications)
        return self._add(f"{parent.name}.{name}", parent, template.resources, template.properties)

    # Following the world

    def is_another_after(self, change: Change) -> bool:
        """Whether pods that are there may be in other queues now."""
        if change.kind is not Namespace or self._placement is None:
            return False
        old, new = (item.metadata.annotations if item is not None else {} for item in (change.old, change.new))
        return bool(old.get(PARENT_QUEUE) != new.get(PARENT_QUEUE))

    def follow(self, change: Change) -> set[str]:
        """A pod has changed; tells the nodes on which somebody else became the first of its application, or ceased."""
        led: set[str] = set()
        if change.old is not None:
            led |= self._take(change.old)
        if change.new is not None:
            led |= self._put(change.new)
        return led

    def _put(self, facts: PodFacts) -> set[str]:
        if stays_out(facts):
            return set()
        if facts.node or facts.nominated:
            queue = self.queue_of(facts)
            if facts.node:
                queue.pods[facts.key] = facts
                queue.move(facts, 1)
                self.changed.update(node.number for node in queue.path)
            else:
                for node in queue.path:
                    node.promise(facts)
            if self.limits:
                self.limits.put(facts, queue.names)
        return self.applications.put(facts)

    def _take(self, facts: PodFacts) -> set[str]:
        if stays_out(facts):
            return set()
        if facts.node or facts.nominated:
            queue = self.queue_of(facts)
            if queue.pods.pop(facts.key, None) is not None:
                queue.move(facts, -1)
                self.changed.update(node.number for node in queue.path)
            for node in queue.path:
                node.release(facts)
            if self.limits:
                self.limits.take(facts, queue.names)
        return self.applications.take(facts)


def partition_of(world: World) -> Partition:
    """The default partition, or else the first."""
    configuration: QueueConfiguration | None = next(iter(world.all(QueueConfiguration)), None)
    used = used_partition(configuration) if configuration is not None else None
    return used or Partition(name=DEFAULT_PARTITION)


def _counts_pods(queue: Queue) -> bool:
    """Whether a queue, one below it or one made by its template guarantees pods, or limits them."""
    bounds = [queue.resources, *([queue.childtemplate.resources] if queue.childtemplate else [])]
    named = (resources for one in bounds for resources in (one.guaranteed, one.max) if resources is not None)
    return any(PODS in resources for resources in named) or any(_counts_pods(child) for child in queue.queues)


def below(queue: QueueNode) -> Iterator[QueueNode]:
    """A queue and all below it, each before its children."""
    yield queue
    for child in queue.children.values():
        yield from below(child)


def limited(tree: QueueTree, facts: PodFacts) -> Sequence[Claim]:
    """What lets a pod into no queue, or not now, whoever leaves."""
    unplaced = tree.unplaced(facts)
    if unplaced is not None:
        return [NotPlaced(rules=unplaced.rules)]
    return tree.limits.in_the_way(facts, tree.queue_of(facts).names) if tree.limits else ()
