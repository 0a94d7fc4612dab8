"""Kueue's objects as the quota policy sees them: the tree with all workloads in it, brought up to date in place."""

from bisect import insort
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from fractions import Fraction
from hashlib import sha256
from typing import Any

from reprieve.configuration import Settings
from reprieve.engine.quota_tree import FlavorQuota, FlavorResource, QuotaNode, link, settle
from reprieve.manifests import kueue
from reprieve.manifests.core import Namespace
from reprieve.manifests.kueue_annotations import boost
from reprieve.manifests.meta import find_condition
from reprieve.manifests.scheduling import PriorityClass
from reprieve.model.names import Key
from reprieve.model.resources import CPU, Quantity
from reprieve.policies.quota.workloads import CandidateOrder, WorkloadFacts, backs_off, head_order
from reprieve.world import World, microseconds

_STRUCTURE = (
    kueue.ClusterQueue,
    kueue.Cohort,
    kueue.ResourceFlavor,
    kueue.LocalQueue,
    kueue.WorkloadPriorityClass,
    PriorityClass,
    Namespace,
)


class QuotaWorld:
    """The quota tree with all admitted workloads in it, and all that wait; each queue's kept in order.

    It follows the world's journal: a workload that comes, goes or is admitted costs the depth of the tree.
    """

    def __init__(self, world: World, settings: Settings, now: int = 0) -> None:
        self.world = world
        self.settings = settings
        self.now = now
        self.order = CandidateOrder(settings, now)
        self._version = 0
        self._rebuild()

    def sync(self) -> None:
        """Catch up with the world."""
        changes = self.world.changes_since(self._version)
        if changes is None or any(change.kind in _STRUCTURE for change in changes):
            return self._rebuild()
        for change in changes:
            if change.kind is kueue.QuotaWorkload:
                if change.old is not None:
                    self._withdraw(change.key)
                if change.new is not None:
                    self._place(change.new)
        self._version = self.world.version
        return None

    def _rebuild(self) -> None:
        world = self.world
        self.specs: dict[str, kueue.ClusterQueueSpec] = {}
        self.queues: dict[str, QuotaNode] = {}
        self.flavors: dict[str, kueue.ResourceFlavor] = {item.name: item for item in world.all(kueue.ResourceFlavor)}
        self._plant()
        self.closed = {name for name, spec in self.specs.items() if not self._open(spec)}
        """Queues that are stopped or name a flavor that is not there: they admit nobody and give nobody."""
        self.admitted: dict[str, list[WorkloadFacts]] = {name: [] for name in self.queues}
        self.waiting: dict[str, list[WorkloadFacts]] = {name: [] for name in self.queues}
        self.stranded: list[WorkloadFacts] = []
        """Workloads that wait in a queue that is not there, or that is closed."""
        self._known: dict[Key, tuple[WorkloadFacts, list[WorkloadFacts]]] = {}
        for workload in world.all(kueue.QuotaWorkload):
            self._place(workload)
        self._version = world.version

    # The tree

    def _plant(self) -> None:
        cohorts: dict[str, QuotaNode] = {}
        objects = {cohort.name: cohort for cohort in self.world.all(kueue.Cohort)}
        for queue in sorted(self.world.all(kueue.ClusterQueue), key=_name):
            node = QuotaNode(queue.name, queue=True, weight=_weight(queue.spec.fair_sharing))
            node.quotas = dict(_quotas(queue.spec.resource_groups))
            self.queues[queue.name] = node
            self.specs[queue.name] = queue.spec
            if queue.spec.cohort_name:
                link(node, _cohort(queue.spec.cohort_name, cohorts, objects))
        for name in sorted(objects):
            _cohort(name, cohorts, objects)
        for node in {id(node.root): node.root for node in (*self.queues.values(), *cohorts.values())}.values():
            settle(node)

    def _open(self, spec: kueue.ClusterQueueSpec) -> bool:
        named = (flavor.name for group in spec.resource_groups for flavor in group.flavors)
        return spec.stop_policy == "None" and all(name in self.flavors for name in named)

    # Workloads

    def _place(self, workload: kueue.QuotaWorkload) -> None:
        finished = find_condition(workload.status.conditions, "Finished")
        if finished is not None and finished.status == "True":
            return
        if workload.status.admission is not None:
            queue = self.queues.get(workload.status.admission.cluster_queue)
            facts = self._facts(workload, queue)
            if queue is not None:
                queue.add(facts.usage)
                self._keep(facts, self.admitted[queue.name], self.order)
        elif workload.spec.active:
            queue = self._queue_of(workload)
            facts = self._facts(workload, queue)
            self._keep(facts, self.stranded if queue is None else self.waiting[queue.name], head_order)

    def _keep(
        self, facts: WorkloadFacts, where: list[WorkloadFacts], order: Callable[[WorkloadFacts], tuple[Any, ...]]
    ) -> None:
        insort(where, facts, key=order)
        self._known[facts.key] = facts, where

    def _withdraw(self, key: Key) -> None:
        facts, where = self._known.pop(key, (None, None))
        if facts is None or where is None:
            return
        where.remove(facts)
        if facts.workload.status.admission is not None and facts.queue is not None:
            facts.queue.remove(facts.usage)

    def candidates(self, queue: str) -> list[WorkloadFacts]:
        """The admitted workloads of a queue, in the order in which they are asked at this moment."""
        workloads = self.admitted[queue]
        return workloads if self.order.lasting else sorted(workloads, key=self.order)

    def heads(self, parked: Container[str] = (), held: Collection[str] = ()) -> Iterator[WorkloadFacts]:
        """The first of each queue that does not wait to be queued again; and those for whom somebody has made way.

        `parked` are units for which there was no place when they were last tried, and nothing has changed since: where
        a queue is strict, one at its head holds up those behind it; elsewhere they are passed over. `held` are units
        that have preempted: they keep their turn, wherever they stand in their queue.
        """
        for name, waiting in self.waiting.items():
            strict = self.specs[name].queueing_strategy == "StrictFIFO"
            ready = (facts for facts in waiting if not backs_off(facts, self.now))
            head = next((facts for facts in ready if strict or facts.unit not in parked), None)
            if head is not None and head.unit not in parked and self.takes(head):
                yield head
            if held:
                yield from (facts for facts in waiting if facts.unit in held and facts is not head)

    def requeued_at(self) -> int | None:
        """When the next workload that waits for its time is queued again."""
        states = (facts.workload.status.requeue_state for waiting in self.waiting.values() for facts in waiting)
        moments = [microseconds(state.requeue_at) for state in states if state is not None and state.requeue_at]
        return min((moment for moment in moments if moment > self.now), default=None)

    def takes(self, facts: WorkloadFacts) -> bool:
        """Whether its queue takes workloads of its namespace; one that it does not take holds up those behind it."""
        selector = self.specs[facts.queue.name].namespace_selector if facts.queue is not None else None
        namespace = self.world.get(Namespace, facts.key[0])
        return selector is not None and selector.matches(namespace.metadata.labels if namespace is not None else {})

    def at(self, now: int) -> None:
        """Look at the world at another moment."""
        self.now = now
        self.order = CandidateOrder(self.settings, now)

    def fingerprint(self) -> str:
        """A digest of what every queue and cohort uses."""
        nodes = {node for queue in self.queues.values() for node in (queue, *queue.path())}
        used = sorted((node.name, node.queue, sorted(node.usages().items())) for node in nodes)
        return sha256(repr(used).encode()).hexdigest()

    def find(self, key: Key) -> WorkloadFacts | None:
        known = self._known.get(key)
        return None if known is None else known[0]

    def _facts(self, workload: kueue.QuotaWorkload, queue: QuotaNode | None) -> WorkloadFacts:
        more = boost(workload.metadata.annotations) if self.settings.gate("PriorityBoost") else 0
        return WorkloadFacts(workload, self._priority(workload), more, queue)

    def _priority(self, workload: kueue.QuotaWorkload) -> int:
        spec = workload.spec
        if spec.priority is not None or spec.priority_class_ref is None:
            return spec.priority or 0
        if spec.priority_class_ref.kind == "PriorityClass":
            return self.world.classes.resolve(spec.priority_class_ref.name).value
        found = self.world.get(kueue.WorkloadPriorityClass, spec.priority_class_ref.name)
        return found.value if found is not None else 0

    def _queue_of(self, workload: kueue.QuotaWorkload) -> QuotaNode | None:
        """The queue that a workload waits in, if it is there and open."""
        local = self.world.get(kueue.LocalQueue, workload.spec.queue_name, workload.namespace)
        if local is None or local.spec.stop_policy != "None":
            return None
        name = local.spec.cluster_queue
        return None if name in self.closed else self.queues.get(name)


def _name(item: Any) -> str:
    return str(item.name)


def _cohort(name: str, cohorts: dict[str, QuotaNode], objects: dict[str, kueue.Cohort]) -> QuotaNode:
    """A cohort with all above it; it exists by being named, and gets quota where an object gives it some."""
    known = cohorts.get(name)
    if known is not None:
        return known
    cohort = objects.get(name)
    node = cohorts[name] = QuotaNode(name, queue=False, weight=_weight(cohort.spec.fair_sharing if cohort else None))
    if cohort is not None:
        node.quotas = dict(_quotas(cohort.spec.resource_groups))
        if cohort.spec.parent_name:
            parent = _cohort(cohort.spec.parent_name, cohorts, objects)
            if parent.root is not node:  # cohorts that go in a circle are cut open: admission refuses them
                link(node, parent)
    return node


def _weight(sharing: kueue.FairSharing | None) -> Fraction:
    return Fraction(1) if sharing is None else Fraction(sharing.weight.nano, 10**9)


def _quotas(groups: Iterable[kueue.ResourceGroup]) -> Iterable[tuple[FlavorResource, FlavorQuota]]:
    for group in groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                amounts = (quota.nominal_quota, quota.borrowing_limit, quota.lending_limit)
                nominal, borrowing, lending = (_units(quota.name, amount) for amount in amounts)
                yield (flavor.name, quota.name), FlavorQuota(nominal or 0, borrowing, lending)


def _units(resource: str, quantity: Quantity | None) -> int | None:
    if quantity is None:
        return None
    return quantity.milli if resource == CPU else quantity.value
