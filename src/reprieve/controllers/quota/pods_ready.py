"""Workloads whose pods do not all get ready in time give their quota back, as Kueue's waitForPodsReady has it.

1. A workload that is admitted says whether all its pods are ready or have succeeded (condition PodsReady), and whether
   it waits for the start or for some that were ready before.
2. Where that takes too long it is evicted, and queued again after a time that doubles; how often is in its status
   (requeueState). After the last of these times it is made inactive.
3. What is no longer admitted waits for its start again.
"""

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import Any

from reprieve.configuration import WaitForPodsReady
from reprieve.controllers.pods.templates import has_succeeded, is_finished, is_ready
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import pod_groups as groups
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.leaving import QuotaLeaving
from reprieve.controllers.runner import controller_key, own_key
from reprieve.manifests.job_sets import JobSet
from reprieve.manifests.kinds import JOB_SETS, JOBS, PODS, QUOTA_WORKLOADS, STATEFUL_SETS
from reprieve.manifests.kueue import QUEUE_NAME_LABEL
from reprieve.model.clock import Clock, moment_of, timestamp
from reprieve.model.conditions import condition_of
from reprieve.policies.quota.workloads import NOT_READY
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import Change, controller_of, is_leaving
from reprieve.texts import controllers as texts

KIND = "PodsReady"
START, RECOVERY, STARTED, RECOVERED = "WaitForStart", "WaitForRecovery", "Started", "Recovered"
LIMIT = "RequeuingLimitExceeded"
_MARK = QUEUE_NAME_LABEL.encode()
_KINDS = ("Job", "StatefulSet", "JobSet")


class QuotaPodsReady(QuotaLeaving):
    def __init__(self, store: Store, clock: Clock, settings: WaitForPodsReady) -> None:
        super().__init__(store, clock)
        self._settings = settings
        self._workloads = self.watch(QUOTA_WORKLOADS, own_key, {kind: controller_key(kind) for kind in _KINDS})
        self._jobs = self.watch(JOBS, self._owned_by("Job"), concern=_of_job_concern)
        self._sets = self.watch(STATEFUL_SETS, self._owned_by("StatefulSet"), concern=_set_ready)
        self._job_sets = self.watch(JOB_SETS, self._owned_by("JobSet"), concern=_job_set_ready)
        self._pods = self.watch(PODS, groups.workload_of, {"workload": groups.workload_of}, concern=_state, mark=_MARK)

    def _owned_by(self, kind: str) -> Callable[[Record], Iterable[Hashable]]:
        return lambda owner: [workload.key for workload in self._workloads.by(kind, owner.key)]

    async def reconcile(self, key: tuple[str, str]) -> float | None:
        workload = self._workloads.get(key[1], key[0])
        if workload is None or standing.is_finished(workload) or is_leaving(workload):
            return None
        admitted = standing.may_run(workload)
        ready = admitted and self._all_ready(workload)
        say = _say(ready=ready, admitted=admitted, now=self.clock())
        workload = await self.modify(workload, say, subresource="status")
        return await self._look(workload) if admitted and not ready else None

    def _all_ready(self, workload: Record) -> bool:
        owner = controller_of(workload)
        if owner is not None:
            known = (self._jobs, _job_ready), (self._sets, _set_ready), (self._job_sets, _job_set_ready)
            if owner["kind"] not in _KINDS:
                return False  # nobody here knows when that is
            cache, ready = dict(zip(_KINDS, known, strict=True))[owner["kind"]]
            found = cache.get(owner["name"], workload.namespace)
            return found is not None and found.uid == owner["uid"] and ready(found)
        wanted = groups.members_of(workload)
        pods = [pod for pod in self._pods.by("workload", workload.key) if pod.uid in wanted]
        return len(pods) == len(wanted) and all(has_succeeded(pod) or is_ready(pod) for pod in pods)

    async def _look(self, workload: Record) -> float | None:
        """Whether it is still in time; seconds that it has left."""
        seconds, since = self._allowed(workload)
        if not seconds:
            return None
        left = seconds - (self.clock() - since).total_seconds()
        if left > 0:
            return left
        await self._too_late(workload, seconds)
        return None

    def _allowed(self, workload: Record) -> tuple[float, datetime]:
        """How long it may take, and from when on."""
        waits, admitted = condition_of(workload.data, KIND), condition_of(workload.data, "Admitted")
        if waits.get("reason") == RECOVERY:
            return self._settings.recovery_seconds, moment_of(waits["lastTransitionTime"])
        return self._settings.start_seconds, moment_of(admitted["lastTransitionTime"])

    async def _too_late(self, workload: Record, seconds: float) -> None:
        strategy = self._settings.requeuing_strategy
        state = standing.status_of(workload.data).get("requeueState") or {}
        times = (state.get("count") or 0) + 1
        if strategy.backoff_limit_count is not None and times > strategy.backoff_limit_count:
            await self.deactivate(workload, LIMIT, texts.queued_too_often(strategy.backoff_limit_count))
            return
        later = self.clock() + timedelta(seconds=strategy.wait(times))
        requeue = {"count": times, "requeueAt": timestamp(later)}
        recovering = condition_of(workload.data, KIND).get("reason") == RECOVERY
        await self.evict(workload, NOT_READY, texts.not_ready_in_time(seconds, recovering=recovering), requeue)


def _say(*, ready: bool, admitted: bool, now: datetime) -> Change:
    def change(data: dict[str, Any]) -> None:
        known = condition_of(data, KIND)
        was_ready = known.get("status") == "True"
        if not admitted and not known:
            return
        if ready:
            reason = known["reason"] if was_ready else RECOVERED if known.get("reason") == RECOVERY else STARTED
            standing.set_condition(data, KIND, "True", reason, texts.PODS_READY, now)
        else:
            recovers = admitted and (was_ready or known.get("reason") == RECOVERY)
            standing.set_condition(data, KIND, "False", RECOVERY if recovers else START, texts.PODS_NOT_READY, now)

    return change


def _job_ready(job: Record) -> bool:
    """Whether as many of its pods as it runs at a time are ready or have succeeded."""
    status = job.data.get("status", {})
    running = not job.data["spec"].get("suspend")
    return running and status.get("succeeded", 0) + status.get("ready", 0) >= shapes.job_count(job.data["spec"])


def _set_ready(stateful_set: Record) -> bool:
    ready: int = stateful_set.data.get("status", {}).get("readyReplicas", 0)
    return bool(ready >= stateful_set.data["spec"].get("replicas", 1))


def _job_set_ready(job_set: Record) -> bool:
    manifest: JobSet = job_set.manifest
    wanted = sum(each.replicas for each in manifest.spec.replicated_jobs)
    ready = sum(each.ready + each.succeeded for each in manifest.status.replicated_jobs_status)
    return not manifest.spec.suspend and ready >= wanted


def _of_job_concern(job: Record) -> tuple[Any, ...]:
    status, spec = job.data.get("status", {}), job.data["spec"]
    return status.get("ready"), status.get("succeeded"), spec.get("suspend"), spec.get("parallelism"), job.uid


def _state(pod: Record) -> tuple[bool, ...]:
    return is_ready(pod), is_finished(pod), has_succeeded(pod)
