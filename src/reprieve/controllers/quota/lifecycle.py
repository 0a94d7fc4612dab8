"""What makes a quota workload leave other than preemption, and what becomes of one that nobody owns.

1. One that is made inactive is evicted, and queued again when it is made active again.
2. One that runs for longer than it may is made inactive.
3. A queue that is stopped with HoldAndDrain evicts all that it has admitted.
4. A workload without an owner has no pods to wait for: evicted, it gives its quota back at once.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.runner import BaseController, own_key
from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, QUOTA_WORKLOADS
from reprieve.model.clock import Clock
from reprieve.model.conditions import condition_of, has_condition
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving, owner_references
from reprieve.texts import controllers as texts

Cause = tuple[str, str]
"""Reason and message."""


class QuotaLifecycle(BaseController):
    component = "reprieve-quota"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        indexes = {"cluster queue": _cluster_queue, "local queue": _local_queue}
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
            await self._queue_again(workload)
            return None
        if not standing.is_evicted(workload):
            return await self._check(workload)
        if not owner_references(workload):
            await self.modify(workload, standing.release(self.clock()), subresource="status")
        return None

    async def _check(self, workload: Record) -> float | None:
        cause = self._cause(workload)
        if cause is not None:
            reason, message = cause
            evicted = await self.modify(workload, standing.evict(*cause, self.clock()), subresource="status")
            await self.tell(evicted, f"EvictedDueTo{reason}", message)
            return None
        left = self._seconds_left(workload)
        if left is None or left > 0:
            return left
        await self._deactivate(workload)
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

    async def _deactivate(self, workload: Record) -> None:
        """First why, then what: whoever finds it inactive can say what made it so."""
        most = workload.data["spec"]["maximumExecutionTimeSeconds"]
        now = self.clock()

        def explain(data: dict[str, Any]) -> None:
            message = texts.ran_too_long(most)
            standing.set_condition(data, "DeactivationTarget", "True", standing.TOO_LONG, message, now)

        def deactivate(data: dict[str, Any]) -> None:
            data["spec"]["active"] = False

        explained = await self.modify(workload, explain, subresource="status")
        await self.modify(explained, deactivate)

    async def _queue_again(self, workload: Record) -> None:
        """What is active again starts anew: what made it inactive, and how long it ran before, no longer counts."""
        requeued = condition_of(workload.data, "Requeued")
        if requeued.get("status") == "False" and requeued.get("reason") == standing.DEACTIVATED:
            await self.modify(workload, standing.reactivate(texts.REACTIVATED, self.clock()), subresource="status")


def _why_inactive(workload: Record) -> Cause:
    target = condition_of(workload.data, "DeactivationTarget")
    if target.get("status") != "True":
        return standing.DEACTIVATED, texts.DEACTIVATED
    return f"{standing.DEACTIVATED}DueTo{target['reason']}", target.get("message", "")


def _drains(queue: Record) -> bool:
    return bool(queue.data.get("spec", {}).get("stopPolicy") == "HoldAndDrain")


def _cluster_queue(workload: Record) -> Iterable[Hashable]:
    admission = standing.admission_of(workload)
    return () if admission is None else (admission.get("clusterQueue"),)


def _local_queue(workload: Record) -> Iterable[Hashable]:
    return ((workload.namespace, workload.data["spec"].get("queueName", "")),)
