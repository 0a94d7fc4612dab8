"""JobSets: Jobs that begin, fail and end together.

1. Each replicated job comes to Jobs called NAME-JOB-0, NAME-JOB-1 and so on. With startupPolicyOrder InOrder, and with
   dependsOn, they are made when those before are ready or complete.
2. Suspended: so are its Jobs. Resumed: they get the template as it is now, and go on.
   One that is in a queue, while its JobSet is in none, is resumed when that queue admits it.
3. A Job that fails makes all begin anew, failurePolicy.maxRestarts times; after that the JobSet has failed.
4. It is complete when its Jobs are, as successPolicy says: all or any, of all replicated jobs or of some.
5. Over: Jobs that still run are deleted; after ttlSecondsAfterFinished it goes.
6. One that names another manager, or that a propagation policy selects, is left alone.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from reprieve.controllers.pods import job_status, templates
from reprieve.controllers.pods.templates import AT_ONCE, MOST_WAITING
from reprieve.controllers.runner import controller_key, own_key
from reprieve.manifests.job_sets import GROUP, NAME, REPLICATED_JOB, UID, JobSet, ReplicatedJob
from reprieve.manifests.kinds import JOB_SETS, JOBS
from reprieve.manifests.kueue import QUEUE_NAME_LABEL
from reprieve.model.clock import Clock, moment_of
from reprieve.model.conditions import has_condition, set_condition, true_condition
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, is_leaving, owner_reference, together
from reprieve.texts import controllers as texts

_MANAGER = "jobset.sigs.k8s.io/jobset-controller"
ATTEMPT, INDEX = f"{GROUP}/restart-attempt", f"{GROUP}/job-index"
_DIRECTIONS = ("nodeSelector", "tolerations", "schedulingGates")
Data = dict[str, Any]


class JobSetController(templates.TemplateController):
    component = "jobset-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._sets = self.watch(JOB_SETS, own_key)
        self._jobs = self.watch(JOBS, controller_key(JOB_SETS.kind), {"owner": by_controller})
        self.watch_policies(self._sets)

    async def reconcile(self, key: Any) -> float | None:
        job_set = self._sets.get(key[1], key[0])
        if job_set is None or is_leaving(job_set) or self._is_not_ours(job_set):
            return None
        if ended := true_condition(job_set.data, "Completed", "Failed"):
            return await self._clean_up(job_set, ended)
        turn = JobSetTurn(job_set, self._jobs.by("owner", job_set.uid))
        await together(self.delete(job) for job in turn.old)
        if turn.over() is None:
            await self._bring_right(turn)
        now = JobSetTurn(job_set, self._jobs.by("owner", job_set.uid))
        await self.modify_status(job_set, lambda status: now.write_status(status, self.clock()))
        return None

    def _is_not_ours(self, job_set: Record) -> bool:
        return (job_set.manifest.spec.managed_by or _MANAGER) != _MANAGER or self.is_federated(job_set)

    async def _bring_right(self, turn: "JobSetTurn") -> None:
        suspended = turn.spec.suspend
        await together(self._hold(job) if suspended else self._resume(turn, job) for job in turn.unfinished())
        await together(self.create(JOBS, job) for job in islice(turn.missing(), turn.makeable))

    async def _hold(self, job: Record) -> None:
        await self.modify(job, lambda data: data["spec"].update(suspend=True))

    async def _resume(self, turn: "JobSetTurn", job: Record) -> None:
        """Send a suspended Job where its template says now, and let it go on; first it has to have come to rest."""
        status = job.data.get("status", {})
        waits_alone = QUEUE_NAME_LABEL in job.labels and QUEUE_NAME_LABEL not in turn.job_set.labels
        if not job.data["spec"].get("suspend") or waits_alone:
            return
        if "startTime" in status:
            if status.get("active") or not has_condition(job.data, "Suspended"):
                return
            job = await self.modify_status(job, lambda data: data.pop("startTime", None))
        wanted = turn.template_of(job)["spec"]["template"]

        def resume(data: Data) -> None:
            spec, template = data["spec"], data["spec"]["template"]
            for field in _DIRECTIONS:
                if wanted["spec"].get(field):
                    template["spec"][field] = wanted["spec"][field]
                else:
                    template["spec"].pop(field, None)
            metadata = template.setdefault("metadata", {})
            for field in ("labels", "annotations"):
                if said := (wanted.get("metadata") or {}).get(field):
                    metadata[field] = {**(metadata.get(field) or {}), **said}
            spec["suspend"] = False

        await self.modify(job, resume)

    async def _clean_up(self, job_set: Record, ended: Mapping[str, Any]) -> float | None:
        jobs = self._jobs.by("owner", job_set.uid)
        await together(self.delete(job) for job in jobs if job_status.ended_at(job) is None and not is_leaving(job))
        lives = job_set.manifest.spec.ttl_seconds_after_finished
        if lives is None:
            return None
        left = float(lives) - (self.clock() - moment_of(ended["lastTransitionTime"])).total_seconds()
        if left > 0:
            return left
        await self.delete(job_set)
        return None


class JobSetTurn:
    """One look at a JobSet and its Jobs: those of this attempt, and `old` ones, which go."""

    def __init__(self, job_set: Record, jobs: list[Record]) -> None:
        manifest: JobSet = job_set.manifest
        self.job_set, self.spec, self._restarts = job_set, manifest.spec, manifest.status.restarts
        attempt = str(self._restarts)
        self.old = [job for job in jobs if job.labels.get(ATTEMPT) != attempt and not is_leaving(job)]
        self._jobs = {job.name: job for job in jobs if job.labels.get(ATTEMPT) == attempt and not is_leaving(job)}
        self._names = {job.name for job in jobs}

    @property
    def makeable(self) -> int:
        """How many Jobs may be made now; those that come bring about the next look."""
        waiting = sum(not job.data.get("status", {}).get("ready") for job in self.unfinished())
        return max(0, min(AT_ONCE, MOST_WAITING - waiting))

    def unfinished(self) -> list[Record]:
        return [job for job in self._jobs.values() if job_status.ended_at(job) is None]

    def _of(self, name: str) -> list[Record]:
        return [job for job in self._jobs.values() if job.labels.get(REPLICATED_JOB) == name]

    # Which Jobs there are to be

    def missing(self) -> Iterator[Data]:
        for position, each in enumerate(self.spec.replicated_jobs):
            if self._may_begin(position, each):
                for index in range(each.replicas):
                    name = f"{self.job_set.name}-{each.name}-{index}"
                    if name not in self._names:  # one of before has to be gone first
                        yield self._job(name, position, index)

    def _may_begin(self, position: int, job: ReplicatedJob) -> bool:
        if self.spec.suspend:
            return True  # they are made suspended, and nobody waits for anybody
        before = self.spec.replicated_jobs[:position] if self.spec.startup_policy.order == "InOrder" else ()
        ready = all(self._begun(each) for each in before)
        by_name = {each.name: each for each in self.spec.replicated_jobs}
        needs = [(by_name[each.name], each.status) for each in job.depends_on if each.name in by_name]
        return ready and all(self._begun(each) if how == "Ready" else self._complete(each) for each, how in needs)

    def _begun(self, each: ReplicatedJob) -> bool:
        counted = self._counts(each.name)
        return counted["ready"] + counted["succeeded"] >= each.replicas

    def _complete(self, each: ReplicatedJob) -> bool:
        return self._counts(each.name)["succeeded"] >= each.replicas

    def template_of(self, job: Record) -> Data:
        """What the JobSet says of it now; where that was taken out of it, what the Job itself says."""
        name, there = job.labels.get(REPLICATED_JOB), self.job_set.data["spec"].get("replicatedJobs") or []
        return dict(next((each["template"] for each in there if each["name"] == name), job.data))

    def _job(self, name: str, position: int, index: int) -> Data:
        replicated = self.job_set.data["spec"]["replicatedJobs"][position]
        template = replicated["template"]
        said = template.get("metadata") or {}
        labels = {NAME: self.job_set.name, UID: self.job_set.uid, REPLICATED_JOB: replicated["name"]}
        labels |= {f"{GROUP}/replicatedjob-replicas": str(replicated.get("replicas", 1)), INDEX: str(index)}
        labels[ATTEMPT] = str(self._restarts)
        pods = template["spec"]["template"]
        metadata = pods.get("metadata") or {}
        pods = {**pods, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}}
        mode = {"completionMode": "Indexed"} if "completions" in template["spec"] else {}
        spec = {**mode, **template["spec"], "template": pods, "suspend": self.spec.suspend}
        about: Data = {
            "name": name,
            "namespace": self.job_set.namespace,
            "labels": {**(said.get("labels") or {}), **labels},
        }
        if said.get("annotations"):
            about["annotations"] = said["annotations"]
        about["ownerReferences"] = [owner_reference(self.job_set)]
        return {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "metadata": about, "spec": spec}

    # How it stands

    def _counts(self, name: str) -> dict[str, int]:
        jobs = self._of(name)
        running = [job for job in jobs if job_status.ended_at(job) is None]
        return {
            "ready": sum(map(_ready, running)),
            "succeeded": sum(has_condition(job.data, "Complete") for job in jobs),
            "failed": sum(has_condition(job.data, "Failed") for job in jobs),
            "active": sum(bool(job.data.get("status", {}).get("active")) for job in running),
            "suspended": sum(job.data["spec"].get("suspend") is True for job in running),
        }

    def over(self) -> tuple[str, str, str] | None:
        """Whether it has failed for good or is complete: condition, reason and message."""
        failed = sorted(job.name for job in self._jobs.values() if has_condition(job.data, "Failed"))
        if failed:
            most = self.spec.failure_policy.max_restarts
            return ("Failed", "FailedJobs", texts.job_failed(failed[0], most)) if self._restarts >= most else None
        policy = self.spec.success_policy
        targets = [
            each
            for each in self.spec.replicated_jobs
            if not policy.target_replicated_jobs or each.name in policy.target_replicated_jobs
        ]
        done = [self._counts(each.name)["succeeded"] for each in targets]
        enough = any(done) if policy.operator == "Any" else all(map(self._complete, targets))
        return ("Completed", "AllJobsCompleted", texts.JOB_SET_COMPLETE) if enough and targets else None

    def write_status(self, status: Data, now: datetime) -> None:
        names = [each.name for each in self.spec.replicated_jobs]
        status["replicatedJobsStatus"] = [{"name": name, **self._counts(name)} for name in names]
        suspended = self.spec.suspend
        if suspended or "Suspended" in (each["type"] for each in status.get("conditions") or ()):
            reason = "SuspendedJobs" if suspended else "ResumeJobs"
            message = texts.JOB_SET_SUSPENDED if suspended else texts.JOB_SET_RESUMED
            set_condition(status, "Suspended", str(suspended), reason, message, now=now)
        ended = self.over()
        if ended is not None:
            set_condition(status, ended[0], "True", *ended[1:], now=now)
            status["terminalState"] = ended[0]
        elif any(has_condition(job.data, "Failed") for job in self._jobs.values()):
            status["restarts"] = self._restarts + 1


def _ready(job: Record) -> bool:
    """Whether as many of its pods as it runs at a time are ready or have succeeded."""
    status, spec = job.data.get("status", {}), job.data["spec"]
    wanted = min(spec.get("parallelism", 1), spec.get("completions", spec.get("parallelism", 1)))
    running = not spec.get("suspend") and bool(status.get("active") or status.get("succeeded"))
    return bool(running and status.get("ready", 0) + status.get("succeeded", 0) >= wanted)
