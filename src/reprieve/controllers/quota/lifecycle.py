"""What makes a quota workload leave other than preemption, and what becomes of one that nobody owns.

1. One that is made inactive is evicted, and queued again when it is made active again. Who was put off when it left is
   queued again when its time has come.
2. One that runs for longer than it may is made inactive.
3. A queue that is stopped with HoldAndDrain evicts all that it has admitted.
4. A workload without an owner has no pods to wait for: evicted, it gives its quota back at once.
"""

from collections.abc import Hashable, Iterable

from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota.leaving import QuotaLeaving
from reprieve.controllers.runner import own_key
from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, QUOTA_WORKLOADS
from reprieve.model.clock import Clock
from reprieve.model.conditions import condition_of, has_condition
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving, owner_references
from reprieve.texts import controllers as texts

Cause = tuple[str, str]
"""Reason and message."""


class QuotaLifecycle(QuotaLeaving):
    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        indexes = {"cluster queue": cluster_queue_of, "local queue": _local_queue}
        self._workloads = self.watch(QUOTA_WORKLOADS, own_key, indexes)
        self._cluster_queues = self.watch(CLUSTER_QUEUES, self._admitted_by)
        self._local_queues = self.watch(LOCAL_QUEUES, self._admitted_through)

    def _admitted_by(self, queue: Record) -> Iterable[Hashable]:
        return [workload.key for workload in self._workloads.by("cluster queue", queue.name)] if _drains(queue) else ()

    def _admitted_through(self, queue: Record) -> Iterable[Hashable]:
        return [workload.key for workload in self._workloads.by("local queue", queue.key)] if _drains(queue) else ()

    async def reconcile(self, key: tuple[str, str]) -> float | None:
        workload = self._workloads.get(key[1], key[0])
        if workload is None or standing.is_finished(workload) or is_leaving(workload):
            return None
        if not standing.holds_quota(workload):
            return await self._queue_again(workload)
        if not standing.is_evicted(workload):
            return await self._check(workload)
        if not owner_references(workload):
            await self.modify(workload, standing.release(self.clock()), subresource="status")
        return None

    async def _check(self, workload: Record) -> float | None:
        cause = self._cause(workload)
        if cause is not None:
            await self.evict(workload, *cause)
            return None
        left = self._seconds_left(workload)
        if left is None or left > 0:
            return left
        most = workload.data["spec"]["maximumExecutionTimeSeconds"]
        await self.deactivate(workload, standing.TOO_LONG, texts.ran_too_long(most))
        return None

    def _cause(self, workload: Record) -> Cause | None:
        """Why a workload has to leave."""
        if not standing.is_active(workload.data):
            return _why_inactive(workload)
        queue = self._cluster_queues.get((standing.admission_of(workload) or {}).get("clusterQueue", ""))
        if queue is not None and _drains(queue):
            return "ClusterQueueStopped", texts.queue_drained("ClusterQueue", queue.name)
        local = self._local_queues.get(workload.data["spec"].get("queueName", ""), workload.namespace)
        if local is not None and _drains(local):
            return "LocalQueueStopped", texts.queue_drained("LocalQueue", local.name)
        return None

    def _seconds_left(self, workload: Record) -> float | None:
        """How long it may still run; None: as long as it likes."""
        most = workload.data["spec"].get("maximumExecutionTimeSeconds")
        if most is None or not has_condition(workload.data, "Admitted"):
            return None
        return float(most) - standing.seconds_run(workload.data, self.clock())

    async def _queue_again(self, workload: Record) -> float | None:
        """What is active again starts anew: what made it inactive, and how long it ran before, no longer counts.

        Who was put off is queued when its time has come.
        """
        now = self.clock()
        if standing.backs_off(workload):
            left = ((standing.requeued_at(workload.data) or now) - now).total_seconds()
            if left > 0:
                return left
            await self.modify(workload, standing.queue_again(texts.BACK_OFF_OVER, now), subresource="status")
        elif condition_of(workload.data, "Requeued").get("status") == "False":
            await self.modify(workload, standing.reactivate(texts.REACTIVATED, now), subresource="status")
        return None


def _why_inactive(workload: Record) -> Cause:
    target = condition_of(workload.data, "DeactivationTarget")
    if target.get("status") != "True":
        return standing.DEACTIVATED, texts.DEACTIVATED
    return f"{standing.DEACTIVATED}DueTo{target['reason']}", target.get("message", "")


def _drains(queue: Record) -> bool:
    return bool(queue.data.get("spec", {}).get("stopPolicy") == "HoldAndDrain")


def cluster_queue_of(workload: Record) -> Iterable[Hashable]:
    admission = standing.admission_of(workload)
    return () if admission is None else (admission.get("clusterQueue"),)


def _local_queue(workload: Record) -> Iterable[Hashable]:
    return ((workload.namespace, workload.data["spec"].get("queueName", "")),)
