"""What stands in the status of queues: who waits, who holds quota, how much of it, and whether they admit anybody.

1. The numbers come from the same tree that decisions are made over.
2. Changes are gathered for a moment; then each queue whose numbers have changed is written once, and no other.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Any

from reprieve.configuration import Settings
from reprieve.controllers.runner import BaseController
from reprieve.engine.quota_tree import FlavorQuota, FlavorResource
from reprieve.manifests import kinds
from reprieve.manifests.kueue import LocalQueue
from reprieve.manifests.meta import find_condition
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.model.conditions import set_condition
from reprieve.model.resources import print_amount
from reprieve.policies.quota import checks
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import controllers as texts
from reprieve.texts.quota import checks_unusable
from reprieve.world import World

_GATHER = 0.5
"""For how many seconds changes are gathered before they are counted."""
_ALL = "all"
LocalKey = tuple[str, str]
"""Namespace and name of a LocalQueue."""


class QueueUsage:
    """What one queue has: reserved is what has quota, admitted what may also run."""

    def __init__(self) -> None:
        self.pending = self.reserving = self.admitted = 0
        self._reserved: Counter[FlavorResource] = Counter()
        self._used: Counter[FlavorResource] = Counter()

    def add_holding(self, facts: WorkloadFacts) -> None:
        self.reserving += 1
        self._reserved.update(facts.usage)
        condition = find_condition(facts.workload.status.conditions, "Admitted")
        if condition is not None and condition.status == "True":
            self.admitted += 1
            self._used.update(facts.usage)

    def status(self, nominal: Mapping[FlavorResource, FlavorQuota], *, borrowed: bool) -> dict[str, Any]:
        """As the status of a queue says it; in a LocalQueue nobody borrows."""
        return {
            "pendingWorkloads": self.pending,
            "reservingWorkloads": self.reserving,
            "admittedWorkloads": self.admitted,
            "flavorsReservation": _flavors(self._reserved, nominal, borrowed=borrowed),
            "flavorsUsage": _flavors(self._used, nominal, borrowed=borrowed),
        }


class QuotaStatus(BaseController):
    component = "reprieve-quota"

    def __init__(self, store: Store, clock: Clock, settings: Settings | None = None) -> None:
        super().__init__(store, clock)
        self._world = World()
        self._quota = QuotaWorld(self._world, settings or Settings())
        self._cluster_queues = self.watch_changes(kinds.CLUSTER_QUEUES, self._changed)
        self._local_queues = self.watch_changes(kinds.LOCAL_QUEUES, self._changed)
        classes = kinds.WORKLOAD_PRIORITY_CLASSES, kinds.PRIORITY_CLASSES
        for resource in (
            kinds.ADMISSION_CHECKS,
            kinds.COHORTS,
            kinds.RESOURCE_FLAVORS,
            kinds.TOPOLOGIES,
            *classes,
            kinds.QUOTA_WORKLOADS,
        ):
            self.watch_changes(resource, self._changed)
        self._wanted: dict[tuple[Resource, str, str], dict[str, Any]] = {}

    def _changed(self, before: Record | None, after: Record | None) -> None:
        if after is None and before is not None:
            self._world.delete(type(before.manifest), before.name, before.namespace, called=before.resource.kind)
        elif after is not None and not _only_status(before, after):
            self._world.put(after.manifest)
        self.queue.add_at(_ALL, asyncio.get_running_loop().time() + _GATHER)

    async def reconcile(self, key: Any) -> None:
        if key == _ALL:
            self._count()
        else:
            await self._write(*key)

    def _count(self) -> None:
        """Work out all numbers, and queue those whose status says something else."""
        self._quota.sync()
        by_queue, by_local = _queue_figures(self._quota, self._world)
        for queue in self._cluster_queues:
            status = by_queue[queue.name].status(self._quota.queues[queue.name].quotas, borrowed=True)
            self._want(queue, status | {"active": self._cluster_queue_active(queue, by_queue[queue.name].reserving)})
        for local in self._local_queues:
            node = self._quota.queues.get(local.manifest.spec.cluster_queue)
            status = by_local[local.key].status(node.quotas if node is not None else {}, borrowed=False)
            self._want(local, status | {"active": self._local_queue_active(local)})

    def _want(self, queue: Record, status: dict[str, Any]) -> None:
        key = queue.resource, queue.namespace, queue.name
        self._wanted[key] = status
        known = queue.data.get("status", {})
        filled = dict(known)
        self._fill(filled, queue, status)
        if filled != known:
            self.enqueue(key)

    async def _write(self, resource: Resource, namespace: str, name: str) -> None:
        wanted = self._wanted.get((resource, namespace, name))
        queue = self._caches[resource].get(name, namespace)
        if queue is None:
            self._wanted.pop((resource, namespace, name), None)
        elif wanted is not None:
            await self.modify_status(queue, lambda status: self._fill(status, queue, wanted))

    def _fill(self, status: dict[str, Any], queue: Record, wanted: dict[str, Any]) -> None:
        """The numbers, and the one condition that goes with them."""
        active, reason, message = wanted["active"]
        status |= {name: value for name, value in wanted.items() if name != "active"}
        generation = {"observedGeneration": queue.metadata["generation"]} if "generation" in queue.metadata else {}
        set_condition(status, "Active", str(active), reason, message, now=self.clock(), **generation)

    def _cluster_queue_active(self, queue: Record, reserving: int) -> tuple[bool, str, str]:
        spec = queue.manifest.spec
        if is_leaving(queue):
            return False, "Terminating", texts.queue_terminating(reserving)
        names = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
        missing = [name for name in names if name not in self._quota.flavors]
        if spec.stop_policy != "None":
            return False, "Stopped", texts.QUEUE_STOPPED
        if missing:
            return False, "FlavorNotFound", texts.flavors_missing(missing)
        if topologies := self._quota.missing_topologies(names):
            return False, "TopologyNotFound", texts.topologies_missing(topologies)
        absent, idle = (find(spec, self._quota.checks) for find in (checks.missing, checks.inactive))
        if absent or idle:
            reason = "AdmissionCheckNotFound" if absent else "AdmissionCheckInactive"
            return False, reason, texts.checks_unusable(checks_unusable(absent, idle))
        return True, "Ready", texts.CAN_ADMIT

    def _local_queue_active(self, local: Record) -> tuple[bool, str, str]:
        name = local.manifest.spec.cluster_queue
        if local.manifest.spec.stop_policy != "None":
            return False, "Stopped", texts.QUEUE_STOPPED
        if name not in self._quota.queues:
            return False, "ClusterQueueDoesNotExist", texts.cluster_queue_missing(name)
        if name in self._quota.closed:
            return False, "ClusterQueueIsInactive", texts.cluster_queue_inactive(name)
        return True, "Ready", texts.CAN_ADMIT


def _only_status(before: Record | None, after: Record) -> bool:
    """Whether only the status of a queue has changed, as this controller itself does; the tree need not know."""
    if before is None or after.resource not in (kinds.CLUSTER_QUEUES, kinds.LOCAL_QUEUES):
        return False
    same = before.uid == after.uid and is_leaving(before) == is_leaving(after)
    return bool(same and before.manifest.spec == after.manifest.spec)


def _flavors(
    amounts: Mapping[FlavorResource, int], nominal: Mapping[FlavorResource, FlavorQuota], *, borrowed: bool
) -> list[dict[str, Any]]:
    """All flavors and resources that there is quota for, in their order; then what is still used beyond these."""
    flavors: dict[str, list[dict[str, str]]] = {}
    beyond = sorted(key for key, amount in amounts.items() if amount and key not in nominal)
    for key in (*nominal, *beyond):
        flavor, resource = key
        used = amounts.get(key, 0)
        line = {"name": resource, "total": print_amount(resource, used)}
        if borrowed:
            more = used - nominal[key].nominal if key in nominal else used
            line["borrowed"] = print_amount(resource, max(0, more))
        flavors.setdefault(flavor, []).append(line)
    return [{"name": flavor, "resources": lines} for flavor, lines in flavors.items()]


def _queue_figures(
    quota: QuotaWorld, world: World
) -> tuple[defaultdict[str, QueueUsage], defaultdict[LocalKey, QueueUsage]]:
    """Who waits in each ClusterQueue and each LocalQueue, and who holds how much of its quota."""
    by_queue: defaultdict[str, QueueUsage] = defaultdict(QueueUsage)
    by_local: defaultdict[LocalKey, QueueUsage] = defaultdict(QueueUsage)
    for name, holding in quota.admitted.items():
        for facts in holding:
            by_queue[name].add_holding(facts)
            by_local[_local(facts)].add_holding(facts)
    for key, number in Counter(map(_local, chain(quota.stranded, *quota.waiting.values()))).items():
        by_local[key].pending += number
        local: LocalQueue | None = world.get(LocalQueue, key[1], key[0])
        if local is not None:
            by_queue[local.spec.cluster_queue].pending += number
    return by_queue, by_local


def _local(facts: WorkloadFacts) -> LocalKey:
    return facts.workload.namespace, facts.workload.spec.queue_name
