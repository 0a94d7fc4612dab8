"""Jobs: so many pods at a time until enough have succeeded, or too many have failed.

1. A pod that ended is counted once, and only then let go (see `job_tally`).
2. A pod that is deleted or made way for others is replaced at once and held against nobody; with podReplacementPolicy
   Failed it is replaced when it has ended.
3. A pod that failed is replaced after a while that grows with each failure.
4. A suspended Job has no pods; its time runs only while it is not suspended.
5. A Job that a propagation policy selects, or that names another manager, is left alone.
6. One look makes no more than 250 pods, in batches that double; what is left is for the next look. No more than 5,000
   of a Job's pods wait for a node at a time, unless they are a group, which needs all of them.
7. A Job that says how it is scheduled gets a group, which its pods name (see `job_groups`).
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from reprieve.controllers.pods import job_status, templates
from reprieve.controllers.pods.job_groups import group_of
from reprieve.controllers.pods.job_status import write_status
from reprieve.controllers.pods.job_tally import TRACKING, Tally, index_of, with_index
from reprieve.controllers.runner import earliest, own_key, patience_for
from reprieve.manifests.kinds import JOBS, PODS
from reprieve.model.clock import Clock
from reprieve.stores import writing
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record

_JOB_NAME = "batch.kubernetes.io/job-name"
_MARK = _JOB_NAME.encode()
_MANAGER = "kubernetes.io/job-controller"


class JobController(templates.TemplateController):
    component = "job-controller"

    def __init__(self, store: Store, clock: Clock, *, groups: bool = False) -> None:
        """`groups`: whether what Jobs say of their scheduling counts."""
        super().__init__(store, clock)
        self._groups = groups
        self._jobs = self.watch(JOBS, own_key)
        self._pods = self.watch(
            PODS, _jobs_of, {"job": _jobs_of}, concern=templates.standing, patience=self._patience, mark=_MARK
        )
        self.watch_policies(self._jobs)

    async def reconcile(self, key: Any) -> float | None:
        job = self._jobs.get(key[1], key[0])
        await self._release_orphans(key, job)
        if job is None or self._is_not_ours(job):
            return None
        if writing.is_leaving(job):
            await self._release([pod for pod in self._pods_of(job) if not templates.is_active(pod)])
            return None
        if job_status.ended_at(job) is not None:
            return await self._clean_up(job)
        return await self._advance(job)

    def _patience(self, key: Any) -> float:
        return patience_for(self._pods.count("job", key))

    def _is_not_ours(self, job: Record) -> bool:
        return job.data["spec"].get("managedBy", _MANAGER) != _MANAGER or self.is_federated(job)

    def _pods_of(self, job: Record) -> list[Record]:
        return [pod for pod in self._pods.by("job", job.key) if writing.controller_uid(pod) == job.uid]

    async def _advance(self, job: Record) -> float | None:
        """Bring a Job forward: its pods first, then what its status says, then those that were counted are let go."""
        now = self.clock()
        tally = Tally(job, self._pods_of(job))
        verdict = job_status.verdict_of(job, tally, now)
        wait = None
        if verdict is None and not job_status.is_suspended(job):
            wait = await self._bring_to_size(job, tally)
        elif verdict is None or job_status.is_written(job, verdict):
            await writing.together(self.delete(pod) for pod in tally.active)
        tally = Tally(job, self._pods_of(job))
        written = await self.modify_status(job, lambda status: write_status(status, job, tally, verdict, now), tries=1)
        await self._release(tally.to_release)
        for kind, reason, message in job_status.news(job, written):
            await self.tell(written, reason, message, kind=kind)
        return earliest(wait, job_status.seconds_left(written, now) if verdict is None else None)

    async def _bring_to_size(self, job: Record, tally: Tally) -> float | None:
        """Delete the pods that are too many, or create those that are missing; seconds to wait when it is too early."""
        group = await group_of(self, job, started=_has_started(job, tally)) if self._groups else ""
        stay = _worth_keeping(tally)
        wanted = _wanted(job, tally)
        kept = sorted(stay, key=templates.first_to_go)[max(0, len(stay) - wanted) :]
        leave = {pod.uid for pod in tally.active} - {pod.uid for pod in kept}
        await writing.together(self.delete(pod) for pod in tally.active if pod.uid in leave)
        held = tally.terminating if job.data["spec"].get("podReplacementPolicy") == "Failed" else []
        missing = wanted - len(kept) - len(held)
        if missing <= 0:
            return None
        wait = templates.wait_after_failures(tally.pods, tally.failed, self.clock())
        if wait > 0:
            return wait
        makeable = missing if group else templates.makeable(kept, missing)
        await self.create_pods(job, _new_pods(job, tally, [*kept, *held], min(makeable, templates.AT_ONCE), group))
        return 0.0 if makeable > templates.AT_ONCE else None

    async def _clean_up(self, job: Record) -> float | None:
        """A Job that is over: nothing of it runs or is held, and when its time to live is over it goes."""
        await writing.together(self.delete(pod) for pod in self._pods_of(job) if templates.is_active(pod))
        await self._release(self._pods_of(job))
        ended, lives = job_status.ended_at(job), job.data["spec"].get("ttlSecondsAfterFinished")
        if lives is None or ended is None:
            return None
        remaining = float(lives) - (self.clock() - ended).total_seconds()
        if remaining > 0:
            return remaining
        await self.delete(job)
        return None

    async def _release_orphans(self, key: Any, job: Record | None) -> None:
        """Nobody counts the pods of a Job that is gone; they are not to be held for ever."""
        uid = job.uid if job is not None else None
        orphans = [pod for pod in self._pods.by("job", key) if writing.controller_uid(pod) != uid and _is_held(pod)]
        if orphans:
            now = await self.find(JOBS, *key)
            await self._release([pod for pod in orphans if now is None or writing.controller_uid(pod) != now.uid])

    async def _release(self, pods: list[Record]) -> None:
        await writing.together(self.drop_finalizer(pod, TRACKING) for pod in pods if _is_held(pod))


def _jobs_of(pod: Record) -> Iterator[tuple[str, str]]:
    """The Job that a pod belongs to, or did before it was orphaned."""
    owner = writing.controller_of(pod)
    if owner is not None and owner["kind"] == JOBS.kind:
        yield pod.namespace, owner["name"]
    elif owner is None and _is_held(pod):
        yield pod.namespace, pod.labels.get(_JOB_NAME, "")


def _is_held(pod: Record) -> bool:
    return TRACKING in writing.finalizers_of(pod)


def _wanted(job: Record, tally: Tally) -> int:
    """How many pods are to be active."""
    parallelism: int = job.data["spec"].get("parallelism", 1)
    if tally.completions is not None:
        return min(parallelism, max(0, tally.completions - tally.succeeded))
    return min(parallelism, len(tally.active)) if tally.succeeded else parallelism


def _worth_keeping(tally: Tally) -> list[Record]:
    """The active pods that are of use; of several with the same index, that is the oldest."""
    if not tally.indexed:
        return tally.active
    oldest = {index_of(pod): pod for pod in reversed(writing.oldest_first(tally.active))}
    useful = range(tally.completions or 0)
    return [pod for index, pod in oldest.items() if index in useful and index not in tally.completed]


def _has_started(job: Record, tally: Tally) -> bool:
    status = job.data.get("status", {})
    return bool(tally.pods) or any(status.get(name) for name in ("startTime", "succeeded", "failed"))


def pods_to_come(job: Record, pods: list[Record]) -> list[dict[str, Any]]:
    """The pods that are made next for a Job which has these."""
    tally = Tally(job, pods)
    wanted = 0 if job_status.is_suspended(job) else _wanted(job, tally)
    kept = _worth_keeping(tally)
    return list(_new_pods(job, tally, kept, templates.makeable(kept, max(0, wanted - len(kept))), ""))


def _new_pods(job: Record, tally: Tally, present: list[Record], number: int, group: str) -> Iterator[dict[str, Any]]:
    if not tally.indexed:
        return (_new_pod(job, group) for _ in range(number))
    taken = tally.completed | {index_of(pod) for pod in present}
    free = (index for index in range(tally.completions or 0) if index not in taken)
    return (with_index(_new_pod(job, group), index) for index in islice(free, number))


def _new_pod(job: Record, group: str) -> dict[str, Any]:
    labels = {_JOB_NAME: job.name, "job-name": job.name}
    labels |= {"batch.kubernetes.io/controller-uid": job.uid, "controller-uid": job.uid}
    pod = templates.make_pod(job, job.data["spec"]["template"], labels=labels, finalizers=[TRACKING])
    pod["spec"].setdefault("restartPolicy", "Never")
    if group:
        pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    return pod
