"""What is in use is kept: a ClusterQueue that is deleted goes when nobody holds its quota any more, a flavor or an
admission check when no queue names it any more.

1. Each of them gets a finalizer as soon as it is seen.
2. One that is to be deleted is kept while it is in use, and told so in an event. A ClusterQueue admits nobody any more,
   and says so in its condition Active (`QuotaStatus`).
3. Once nobody uses it any more, it goes by itself.

LocalQueues go at once, as in Kueue: whoever was admitted through one keeps its quota.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from reprieve.controllers.quota.conditions import FINALIZER, admission_of, holds_quota
from reprieve.controllers.runner import BaseController
from reprieve.manifests.kinds import ADMISSION_CHECKS, CLUSTER_QUEUES, QUOTA_WORKLOADS, RESOURCE_FLAVORS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import finalizers_of, is_leaving
from reprieve.texts import controllers as texts

Key = tuple[Resource, str]


class QuotaInUse(BaseController):
    component = "reprieve-quota"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._told: dict[str, str] = {}
        """What was last told to whom, by uid."""
        self._workloads = self.watch(QUOTA_WORKLOADS, _queue_of, {"queue": _queue_of})
        self._queues = self.watch(CLUSTER_QUEUES, _and_what_it_names, {"named": _named_by})
        for resource in (RESOURCE_FLAVORS, ADMISSION_CHECKS):
            self.watch(resource, _itself)

    async def reconcile(self, key: Key) -> None:
        resource, name = key
        record = self._caches[resource].get(name)
        if record is None:
            return
        if not is_leaving(record):
            await self.modify(record, _keep)
        elif FINALIZER in finalizers_of(record):
            await self._let_go_or_tell(key, record)

    async def _let_go_or_tell(self, key: Key, record: Record) -> None:
        users = sorted(self._users(key))
        if not users:
            self._told.pop(record.uid, None)
            await self.drop_finalizer(record, FINALIZER)
            return
        message = texts.kept_in_use(key[0].kind, record.name, users)
        if self._told.get(record.uid) != message:
            self._told[record.uid] = message
            await self.tell(record, "InUse", message)

    def _users(self, key: Key) -> Iterable[str]:
        if key[0] == CLUSTER_QUEUES:
            return [workload.unit for workload in self._workloads.by("queue", key)]
        return [f"ClusterQueue {queue.name}" for queue in self._queues.by("named", key)]


def _keep(data: dict[str, Any]) -> None:
    known = data["metadata"].get("finalizers") or []
    if FINALIZER not in known and "deletionTimestamp" not in data["metadata"]:
        data["metadata"]["finalizers"] = [*known, FINALIZER]


def _itself(record: Record) -> Iterable[Hashable]:
    return ((record.resource, record.name),)


def _queue_of(workload: Record) -> Iterable[Hashable]:
    """The ClusterQueue whose quota a workload holds."""
    admission = admission_of(workload)
    return ((CLUSTER_QUEUES, admission["clusterQueue"]),) if admission is not None and holds_quota(workload) else ()


def _named_by(queue: Record) -> Iterable[Hashable]:
    """The flavors and admission checks of a queue."""
    spec = queue.manifest.spec
    flavors = ((RESOURCE_FLAVORS, flavor.name) for group in spec.resource_groups for flavor in group.flavors)
    return {*flavors, *((ADMISSION_CHECKS, check.name) for check in spec.checks())}


def _and_what_it_names(queue: Record) -> Iterable[Hashable]:
    return (*_itself(queue), *_named_by(queue))
