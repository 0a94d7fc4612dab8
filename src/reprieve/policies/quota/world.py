"""Kueue's objects as the quota policy sees them: the tree with all workloads in it, brought up to date in place."""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from reprieve.configuration import Settings
from reprieve.engine.quota_tree import QuotaNode, dissolve
from reprieve.manifests import kueue
from reprieve.manifests.core import Namespace
from reprieve.manifests.kueue_topology import Topology
from reprieve.manifests.limits import LimitRange, RuntimeClass
from reprieve.manifests.meta import find_condition, is_true
from reprieve.manifests.pods import Pod
from reprieve.manifests.scheduling import PriorityClass
from reprieve.model.names import Key, UnitName, key_of
from reprieve.policies.quota.census import Census
from reprieve.policies.quota.queue_specs import as_written
from reprieve.policies.quota.repetition import hash_of
from reprieve.policies.quota.rules import LongRunners
from reprieve.policies.quota.topology import TopologyLedger, done_for
from reprieve.policies.quota.tree import plant
from reprieve.policies.quota.workload_facts import WorkloadReader
from reprieve.policies.quota.workloads import CandidateOrder, WorkloadFacts, backs_off, head_order
from reprieve.world import NEVER, Change, World, microseconds

_DIGESTS = 2**64
_STRUCTURE = (
    kueue.ClusterQueue,
    kueue.Cohort,
    kueue.ResourceFlavor,
    Topology,
    kueue.LocalQueue,
    kueue.AdmissionCheck,
    LimitRange,
    RuntimeClass,
    kueue.WorkloadPriorityClass,
    PriorityClass,
    Namespace,
)


class Line(NamedTuple):
    """A queue, and those who may have their turn in it."""

    queue: QuotaNode
    strict: bool
    ready: Iterator[WorkloadFacts]
    """In their order: higher priority, older."""
    held: list[WorkloadFacts]
    """Who has preempted keeps its turn, wherever it stands in its queue."""


class QuotaWorld:
    """The quota tree with all admitted workloads in it, and all that wait; each queue's kept in order.

    It follows the world's journal: a workload that comes, goes or is admitted costs the depth of the tree.
    """

    def __init__(self, world: World, settings: Settings, now: int = 0) -> None:
        self.world = world
        self.settings = settings
        self._version = 0
        self.queues: dict[str, QuotaNode] = {}
        self.at(now)
        self._rebuild()

    def sync(self) -> None:
        """Catch up with the world."""
        changes = self.world.changes_since(self._version)
        if changes is None or any(change.kind in _STRUCTURE for change in changes):
            return self._rebuild()
        for change in changes:
            if self.topology is not None:
                self.topology.follow(change)
                self._free_places(change)
            if change.kind is kueue.QuotaWorkload:
                if change.old is not None:
                    self._withdraw(change.key)
                if change.new is not None:
                    self._place(change.new)
        self._version = self.world.version
        return None

    def _rebuild(self) -> None:
        world = self.world
        self.flavors: dict[str, kueue.ResourceFlavor] = {item.name: item for item in world.all(kueue.ResourceFlavor)}
        self.checks: dict[str, kueue.AdmissionCheck] = {item.name: item for item in world.all(kueue.AdmissionCheck)}
        self._reader = WorkloadReader(world, self.settings)
        self._stamps: dict[QuotaNode, int] = {}
        self._members: dict[QuotaNode, int] = {}
        """A digest of who is in each tree, be it admitted or not: a sum, which follows as they come and go."""
        self._structure: dict[QuotaNode, int] = {}
        self._census: dict[QuotaNode, tuple[int, Census]] = {}
        self._topologies: dict[str, Topology] = {item.name: item for item in world.all(Topology)}
        asking = any(flavor.spec.topology_name for flavor in self.flavors.values())
        self.topology = TopologyLedger(world, self.flavors, self._topologies) if asking else None
        """Where the pods of flavors with a topology have room; None: no flavor has one."""
        for root in {queue.root for queue in self.queues.values()}:
            dissolve(root)
        self.queues = plant(world)
        self.specs = {queue.name: self._spec(queue.spec) for queue in world.all(kueue.ClusterQueue)}
        self.closed = {queue.name for queue in world.all(kueue.ClusterQueue) if not self._open(queue)}
        """Queues that are deleted or stopped, or name a flavor or a check that is not there: they admit nobody and give
        nobody."""
        self.admitted: dict[str, list[WorkloadFacts]] = {name: [] for name in self.queues}
        self.waiting: dict[str, list[WorkloadFacts]] = {name: [] for name in self.queues}
        self.stranded: list[WorkloadFacts] = []
        """Workloads that wait in a queue that is not there, or that is closed."""
        self._known: dict[Key, tuple[WorkloadFacts, list[WorkloadFacts]]] = {}
        for workload in world.all(kueue.QuotaWorkload):
            self._place(workload)
        self._version = world.version

    def _free_places(self, change: Change) -> None:
        """A pod has done its work: where it was may be free now, if its workload has said so already."""
        key = done_for(change.new) if change.kind is Pod and change.new is not None else None
        facts = self.find(key) if key is not None else None
        if facts is not None and facts.workload.status.reclaimable_pods:
            self._withdraw(facts.key)
            self._place(facts.workload)

    # The tree

    def _spec(self, spec: kueue.ClusterQueueSpec) -> kueue.ClusterQueueSpec:
        return as_written(spec) if self.settings.quota.as_written else spec

    def _open(self, queue: kueue.ClusterQueue) -> bool:
        spec = queue.spec
        if queue.metadata.deletion_timestamp is not None:
            return False
        if any(rule.name not in self.checks or not self.checks[rule.name].active for rule in spec.checks()):
            return False
        named = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
        there = spec.stop_policy == "None" and all(name in self.flavors for name in named)
        return there and not self.missing_topologies(named)

    def missing_topologies(self, flavors: Iterable[str]) -> list[str]:
        """Topologies that these flavors name and that are not there."""
        named = (self.flavors[name].spec.topology_name for name in flavors if name in self.flavors)
        return [name for name in dict.fromkeys(named) if name and name not in self._topologies]

    # Workloads

    def _place(self, workload: kueue.QuotaWorkload) -> None:
        finished = find_condition(workload.status.conditions, "Finished")
        if finished is not None and finished.status == "True":
            return
        if workload.status.admission is not None:
            queue = self.queues.get(workload.status.admission.cluster_queue)
            facts = self._reader.facts(workload, queue)
            if queue is not None:
                if self.topology is not None:
                    facts.topology, facts.places = self.topology, self.topology.places_of(workload)
                self._use(queue, facts, 1)
                self._keep(facts, self.admitted[queue.name], self.order)
        elif workload.spec.active:
            queue = self._queue_of(workload)
            facts = self._reader.facts(workload, queue)
            self._keep(facts, self.stranded if queue is None else self.waiting[queue.name], head_order)

    def _keep(
        self, facts: WorkloadFacts, where: list[WorkloadFacts], order: Callable[[WorkloadFacts], tuple[Any, ...]]
    ) -> None:
        insort(where, facts, key=order)
        self._known[facts.key] = facts, where
        self._count(facts, 1)

    def _count(self, facts: WorkloadFacts, sign: int) -> None:
        if facts.queue is not None:
            root = facts.queue.root
            self._members[root] = self._members.get(root, 0) + sign * facts.digest

    def _withdraw(self, key: Key) -> None:
        facts, where = self._known.pop(key, (None, None))
        if facts is None or where is None:
            return
        where.remove(facts)
        self._count(facts, -1)
        if facts.workload.status.admission is not None and facts.queue is not None:
            self._use(facts.queue, facts, -1)

    def _use(self, queue: QuotaNode, facts: WorkloadFacts, sign: int) -> None:
        """Who is admitted has changed in a tree."""
        (queue.add if sign > 0 else queue.remove)(facts.usage)
        if facts.topology is not None and facts.places:
            facts.topology.settle(facts.places, sign)
        self._stamps[queue.root] = self._stamps.get(queue.root, 0) + 1

    def stamp(self, queue: QuotaNode | None) -> tuple[int, int]:
        """Another one whenever anything has changed for those who are admitted in a tree, or in topologies."""
        places = self.topology.version if self.topology is not None else 0
        return (self._stamps.get(queue.root, 0) if queue is not None else 0), places

    def census(self, root: QuotaNode) -> Census:
        """Who is admitted in a tree, counted once for all who are refused."""
        stamp = self._stamps.get(root, 0)
        known = self._census.get(root)
        if known is None or known[0] != stamp:
            there = (workloads for name, workloads in self.admitted.items() if self.queues[name].root is root)
            known = self._census[root] = stamp, Census(there, self.closed)
        return known[1]

    def candidates(self, queue: str, order: CandidateOrder | None = None) -> list[WorkloadFacts]:
        """The admitted workloads of a queue, in the order in which they are asked at this moment."""
        workloads, order = self.admitted[queue], order or self.order
        return workloads if order.kept else sorted(workloads, key=order)

    def order_of(self, queue: str) -> CandidateOrder:
        """In which order those are asked who could make way for a workload of a queue."""
        criteria = self.specs[queue].preemption.workload_sorting
        if not criteria:
            return self.order
        if criteria not in self._orders:
            self._orders[criteria] = CandidateOrder(criteria, self.now, keeps=False)
        return self._orders[criteria]

    def lines(self) -> "Iterator[Line]":
        """Each queue in which anybody waits."""
        for name, waiting in self.waiting.items():
            if waiting:
                strict = self.specs[name].queueing_strategy == "StrictFIFO"
                ready = self._strict(waiting) if strict else self._best_effort(waiting)
                held = [facts for facts in waiting if facts.hold is not None and self.takes(facts)]
                yield Line(self.queues[name], strict, ready, held)

    def _strict(self, waiting: list[WorkloadFacts]) -> Iterator[WorkloadFacts]:
        """The head of a strict queue stays its head, also while it waits to be queued again."""
        return (facts for facts in waiting[:1] if not backs_off(facts, self.now) and self.takes(facts))

    def _best_effort(self, waiting: list[WorkloadFacts]) -> Iterator[WorkloadFacts]:
        """Those who wait to be queued again are passed over; one that the queue does not take holds up the others."""
        return takewhile(self.takes, (facts for facts in waiting if not backs_off(facts, self.now)))

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
        self.order = CandidateOrder(self.settings.quota.candidate_order, now)
        self._orders: dict[tuple[kueue.Sorting, ...], CandidateOrder] = {}

    @property
    def long_runners(self) -> LongRunners | None:
        """Who has run too long to be preempted, where the settings say so."""
        seconds = self.settings.quota.protect_after_seconds
        return LongRunners(seconds, self.now) if seconds else None

    def protected_at(self) -> int | None:
        """When the next one has run too long to be preempted: whoever counted on it has to find another way."""
        protects = self.long_runners
        if protects is None:
            return None
        moments = (protects.until(facts) for workloads in self.admitted.values() for facts in workloads)
        return min((moment for moment in moments if self.now < moment < NEVER), default=None)

    def outside(self, queue: QuotaNode) -> str:
        """A digest of all about the tree of a queue that preemption does not change."""
        root = queue.root
        if root not in self._structure:
            self._structure[root] = hash_of(*sorted(self._objects(root)))
        return f"{(self._members.get(root, 0) + self._structure[root]) % _DIGESTS:016x}"

    def _objects(self, root: QuotaNode) -> Iterator[tuple[object, ...]]:
        """What a tree is made of."""
        queues = {queue.name for queue in root.queues()} | {root.name}
        for kind in (kueue.ClusterQueue, kueue.Cohort, kueue.ResourceFlavor):
            for item in self.world.all(kind):
                if kind is not kueue.ClusterQueue or item.name in queues:
                    yield kind.__name__, item.name, item.metadata.uid, item.metadata.generation

    def fingerprint(self) -> str:
        """A digest of what every queue and cohort uses."""
        nodes = {node for queue in self.queues.values() for node in (queue, *queue.path())}
        used = sorted((node.name, node.queue, sorted(node.usages().items())) for node in nodes)
        return sha256(repr((used, self.topology and self.topology.fingerprint())).encode()).hexdigest()

    def find(self, key: Key) -> WorkloadFacts | None:
        known = self._known.get(key)
        return None if known is None else known[0]

    def leaving_for(self, facts: WorkloadFacts) -> Iterator[WorkloadFacts]:
        """Who is about to leave a tree because a workload of it has preempted."""
        hold = facts.hold
        for victim in (*hold.victims, *hold.leaving) if hold is not None else ():
            one = self.find(key_of(victim.unit))
            if one is not None and one.is_leaving(victim) and _root(one) is _root(facts):
                yield one

    def not_ready(self) -> list[UnitName]:
        """Who has quota, and not all of its pods are ready."""
        holding = (facts for queue in self.admitted.values() for facts in queue)
        return [facts.unit for facts in holding if not is_true(facts.workload.status.conditions, "PodsReady")]

    def carried(self) -> Iterator[kueue.QuotaWorkload]:
        """Workloads that only name a class, with what it says now."""
        for workload in self.world.all(kueue.QuotaWorkload):
            if workload.spec.priority is None:
                spec = msgspec.structs.replace(workload.spec, priority=self._reader.priority(workload))
                yield msgspec.structs.replace(workload, spec=spec)

    def _queue_of(self, workload: kueue.QuotaWorkload) -> QuotaNode | None:
        """The queue that a workload waits in, if it is there and open."""
        local = self.world.get(kueue.LocalQueue, workload.spec.queue_name, workload.namespace)
        if local is None or local.spec.stop_policy != "None":
            return None
        name = local.spec.cluster_queue
        return None if name in self.closed else self.queues.get(name)


def _root(facts: WorkloadFacts) -> QuotaNode | None:
    return facts.queue.root if facts.queue is not None else None
