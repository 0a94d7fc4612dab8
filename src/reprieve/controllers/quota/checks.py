"""Admission checks of workloads that have quota: outside controllers say how they go, and here is done what follows.

1. A workload with quota lists the checks of its queue that are for its flavors, each Pending at first.
2. All of them Ready: it is admitted, and its pods get what the checks add to them.
3. One of them Retry: it is evicted and queued again, after the time that the check asks for. All checks begin anew.
4. One of them Rejected, or adding what contradicts its pods: it is made inactive.

The last two hold for one that runs already, too. No check is decided here: that of Kueue which provisions nodes, for
instance, needs its own controller.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.leaving import QuotaLeaving
from reprieve.controllers.quota.lifecycle import cluster_queue_of
from reprieve.controllers.runner import own_key
from reprieve.manifests.kinds import CLUSTER_QUEUES, QUOTA_WORKLOADS
from reprieve.model.clock import Clock, timestamp
from reprieve.model.conditions import has_condition
from reprieve.policies.quota.checks import checks_for, with_checks
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import controllers as texts

REASON = "AdmissionCheck"
State = Mapping[str, Any]


class QuotaChecks(QuotaLeaving):
    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._workloads = self.watch(QUOTA_WORKLOADS, own_key, {"cluster queue": cluster_queue_of})
        self._queues = self.watch(
            CLUSTER_QUEUES, self._holding_quota, concern=lambda queue: queue.manifest.spec.checks()
        )

    def _holding_quota(self, queue: Record) -> Iterable[Hashable]:
        return [workload.key for workload in self._workloads.by("cluster queue", queue.name)]

    async def reconcile(self, key: tuple[str, str]) -> None:
        workload = self._workloads.get(key[1], key[0])
        if workload is None or is_leaving(workload) or not standing.holds_quota(workload):
            return
        if standing.is_evicted(workload) or not standing.is_active(workload.data):
            return
        workload = await self._list(workload)
        states: list[State] = standing.status_of(workload.data).get("admissionChecks") or []
        refused = next(_contradictions(workload, states), "") if _all(states, "Ready") else ""
        if refused:
            await self.deactivate(workload, REASON, refused)
        elif rejected := _in(states, "Rejected"):
            await self.deactivate(workload, REASON, texts.checks_rejected(_names(rejected), _messages(rejected)))
        elif retry := _in(states, "Retry"):
            await self._try_again(workload, retry)
        elif _all(states, "Ready") and not has_condition(workload.data, "Admitted"):
            await self._admit(workload)

    async def _list(self, workload: Record) -> Record:
        """Bring the list of its checks in line with its queue."""
        queue = self._queues.get((standing.admission_of(workload) or {}).get("clusterQueue", ""))
        if queue is None:
            return workload
        names, now = checks_for(queue.manifest.spec, shapes.flavors_of(workload)), self.clock()

        def change(status: dict[str, Any]) -> None:
            if "admission" in status:
                shapes.set_or_drop(status, "admissionChecks", with_checks(status, names, now))

        return await self.modify_status(workload, change)

    async def _try_again(self, workload: Record, retry: list[State]) -> None:
        seconds = max(check.get("requeueAfterSeconds") or 0 for check in retry)
        known = standing.status_of(workload.data).get("requeueState") or {}
        later = timestamp(self.clock() + timedelta(seconds=seconds))
        requeue = {**known, "requeueAt": later} if seconds else None
        await self.evict(workload, REASON, texts.checks_retry(_names(retry), _messages(retry)), requeue)

    async def _admit(self, workload: Record) -> None:
        now = self.clock()

        def admit(data: dict[str, Any]) -> None:
            states = standing.status_of(data).get("admissionChecks") or []
            if (
                standing.status_of(data).get("admission")
                and not has_condition(data, "Evicted")
                and _all(states, "Ready")
            ):
                standing.set_condition(data, "Admitted", "True", "Admitted", texts.ADMITTED, now)

        admitted = await self.modify(workload, admit, subresource="status")
        await self.tell(admitted, "Admitted", texts.ADMITTED)


def _in(states: Iterable[State], state: str) -> list[State]:
    return [check for check in states if check.get("state") == state]


def _all(states: Iterable[State], state: str) -> bool:
    return all(check.get("state") == state for check in states)


def _names(states: Iterable[State]) -> list[str]:
    return [check["name"] for check in states]


def _messages(states: Iterable[State]) -> list[str]:
    return [check.get("message", "") for check in states]


def _contradictions(workload: Record, states: Iterable[State]) -> Iterator[str]:
    """Checks may add to pods, and change nothing that is there."""
    there = {each.get("name", shapes.MAIN): _said(each["template"]) for each in workload.data["spec"]["podSets"]}
    for check in states:
        for update in check.get("podSetUpdates") or ():
            said = there.get(update["name"], {})
            for key, value in _said({"metadata": update, "spec": update}).items():
                if said.setdefault(key, value) != value:
                    yield texts.check_contradicts(check["name"], update["name"], f"the {key[0]} {key[1]}")


def _said(template: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The labels, annotations and node selectors of a template."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    parts = {"label": metadata.get("labels"), "annotation": metadata.get("annotations")}
    parts["node selector"] = spec.get("nodeSelector")
    return {(kind, key): value for kind, items in parts.items() for key, value in (items or {}).items()}
