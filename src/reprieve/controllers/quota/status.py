"""What stands in the status of queues: who waits, who holds quota, how much of it, and whether they admit anybody.

1. The numbers come from the same tree that decisions are made over.
2. Changes are gathered for a moment; then each queue whose numbers have changed is written once, and no other.
"""

import asyncio
from typing import Any

from reprieve.configuration import Settings
from reprieve.controllers.quota.figures import Figures, queue_figures
from reprieve.controllers.runner import BaseController
from reprieve.manifests import kinds
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.model.conditions import set_condition
from reprieve.policies.quota.world import QuotaWorld
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.texts import controllers as texts
from reprieve.world import World

GATHER = 0.5
"""For how many seconds changes are gathered before they are counted."""
_ALL = "all"
_FOLLOWED = (
    kinds.COHORTS,
    kinds.RESOURCE_FLAVORS,
    kinds.WORKLOAD_PRIORITY_CLASSES,
    kinds.PRIORITY_CLASSES,
    kinds.QUOTA_WORKLOADS,
)


class QuotaStatus(BaseController):
    component = "reprieve-quota"

    def __init__(self, store: Store, clock: Clock, settings: Settings | None = None) -> None:
        super().__init__(store, clock)
        self._world = World()
        self._quota = QuotaWorld(self._world, settings or Settings())
        self._cluster_queues = self.watch_changes(kinds.CLUSTER_QUEUES, self._changed)
        self._local_queues = self.watch_changes(kinds.LOCAL_QUEUES, self._changed)
        for resource in _FOLLOWED:
            self.watch_changes(resource, self._changed)
        self._wanted: dict[tuple[Resource, str, str], dict[str, Any]] = {}

    def _changed(self, before: Record | None, after: Record | None) -> None:
        if after is None and before is not None:
            kind = type(before.manifest)
            self._world.delete(kind, before.name, before.namespace, called=before.resource.kind)
        elif after is not None and not _only_status(before, after):
            self._world.put(after.manifest)
        self.queue.add_at(_ALL, asyncio.get_running_loop().time() + GATHER)

    async def reconcile(self, key: Any) -> None:
        if key == _ALL:
            self._count()
        else:
            await self._write(*key)

    def _count(self) -> None:
        """Work out all numbers, and queue those whose status says something else."""
        self._quota.sync()
        by_queue, by_local = queue_figures(self._quota, self._world)
        for queue in self._cluster_queues:
            self._want(queue, self._cluster_queue(queue, by_queue.get(queue.name, Figures())))
        for local in self._local_queues:
            self._want(local, self._local_queue(local, by_local.get(local.key, Figures())))

    def _want(self, queue: Record, status: dict[str, Any]) -> None:
        key = queue.resource, queue.namespace, queue.name
        self._wanted[key] = status
        if self._differs(queue, status):
            self.enqueue(key)

    def _differs(self, queue: Record, status: dict[str, Any]) -> bool:
        known: dict[str, Any] = {}
        known |= queue.data.get("status", {})
        self._fill(known, queue, status)
        return bool(known != queue.data.get("status", {}))

    async def _write(self, resource: Resource, namespace: str, name: str) -> None:
        wanted = self._wanted.get((resource, namespace, name))
        cache = self._cluster_queues if resource is kinds.CLUSTER_QUEUES else self._local_queues
        queue = cache.get(name, namespace)
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

    # What a queue says

    def _cluster_queue(self, queue: Record, figures: Figures) -> dict[str, Any]:
        nominal = self._quota.queues[queue.name].quotas
        return figures.status(nominal, borrowed=True) | {"active": self._cluster_queue_active(queue)}

    def _cluster_queue_active(self, queue: Record) -> tuple[bool, str, str]:
        spec = queue.manifest.spec
        names = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
        missing = [name for name in names if name not in self._quota.flavors]
        if spec.stop_policy != "None":
            return False, "Stopped", texts.QUEUE_STOPPED
        if missing:
            return False, "FlavorNotFound", texts.flavors_missing(missing)
        return True, "Ready", texts.CAN_ADMIT

    def _local_queue(self, local: Record, figures: Figures) -> dict[str, Any]:
        node = self._quota.queues.get(local.manifest.spec.cluster_queue)
        nominal = node.quotas if node is not None else {}
        return figures.status(nominal, borrowed=False) | {"active": self._local_queue_active(local)}

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
    return bool(before.uid == after.uid and before.manifest.spec == after.manifest.spec)
