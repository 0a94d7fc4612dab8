"""Jobs in queues: each has a Workload that asks for quota for it, and runs only while that is admitted.

1. A Job that names a queue gets a Workload, and is kept suspended as long as that is not admitted.
2. While it waits, the Workload follows the Job: template, parallelism, queue, priority.
3. Admitted: the Job is sent to its flavors and unsuspended in one write, if it is still what was admitted.
4. While it runs, pods that need not run again give their quota back: the Workload says how many
   (status.reclaimablePods). A Job that has to ask again asks for the others only.
5. Evicted: the Job is suspended; when all its pods are gone the template is restored; only then is the quota free.
   Evicted for good, because it asked to end when it is preempted: the Job is told to fail, and then it is over.
6. Finished, or deleted: the quota is free when no pod is left.

Each step looks only at what stands in the store, so that a new start goes on wherever the last one ended. A Job that a
propagation policy selects is a template for member clusters, and is left alone.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.owners import ClassName, QuotaOwners, class_named
from reprieve.controllers.runner import OWNED, controller_key, own_key
from reprieve.manifests.kinds import JOBS, PODS, QUOTA_WORKLOADS
from reprieve.model.clock import Clock
from reprieve.model.conditions import has_condition, set_condition, true_condition
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, controller_uid, is_leaving
from reprieve.texts import controllers as texts

Data = dict[str, Any]


class QuotaJobs(QuotaOwners):
    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._jobs = self.watch(JOBS, own_key, {"class": _class_of})
        self._workloads = self.watch(QUOTA_WORKLOADS, controller_key("Job"), {"owner": controller_key("Job")})
        self._pods = self.watch(PODS, controller_key("Job"), {"owner": by_controller}, concern=_ended, mark=OWNED)
        self.watch_policies(self._jobs)

    def naming(self, class_name: ClassName) -> Iterable[Hashable]:
        return [job.key for job in self._jobs.by("class", class_name)]

    def on_flavor(self, name: str) -> Iterable[Hashable]:
        admitted = (workload for workload in self._workloads if name in shapes.flavors_of(workload))
        return [key for workload in admitted for key in controller_key("Job")(workload)]

    async def reconcile(self, key: tuple[str, str]) -> None:
        job = self._jobs.get(key[1], key[0])
        workload = None
        for each in self._workloads.by("owner", key):
            if job is not None and controller_uid(each) == job.uid and not is_leaving(job):
                workload = each
            elif not self._unfinished(controller_uid(each)):
                await self.let_go(each)
        if job is not None and not is_leaving(job):
            await self._bring_right(job, workload)

    async def _bring_right(self, job: Record, workload: Record | None) -> None:
        done = true_condition(job.data, "Complete", "Failed").get("type")
        if workload is None:
            if not done and self._is_ours(job):
                await self._queue(job)
        elif done or standing.is_finished(workload):
            if not self._unfinished(job.uid):
                await self.finish(workload, texts.finished(job.name, failed=done == "Failed"))
        elif is_leaving(workload):
            if await self._stop(job, workload, texts.NOT_ADMITTED):
                await self.let_go(workload)
        elif not standing.holds_quota(workload):
            await self._ask_for_quota(job, workload)
        else:
            workload = await self._follow_always(job, workload)
            await self._with_quota(job, workload)

    def _is_ours(self, job: Record) -> bool:
        """Whether it is in a queue, and no template for member clusters."""
        return bool(shapes.queue_of(job)) and not self.is_federated(job)

    def _unfinished(self, job_uid: str) -> bool:
        """Whether a Job has a pod that has not ended."""
        return any(not is_finished(pod) for pod in self._pods.by("owner", job_uid))

    # It waits

    async def _queue(self, job: Record) -> None:
        job = await self._hold(job, texts.NOT_ADMITTED)
        rank = await self.rank(job, class_named(job, job.data["spec"]["template"]["spec"]))
        if rank is not None:
            await self.ask(job, shapes.job_workload(job, rank))

    async def _ask_for_quota(self, job: Record, workload: Record) -> None:
        if not self._is_ours(job):
            return await self.let_go(workload)
        job = await self._hold(job, texts.NOT_ADMITTED)
        workload = await self._follow_always(job, workload)

        def follow(data: Data) -> None:
            if standing.status_of(data).get("admission") is not None:
                return  # admitted meanwhile: what was admitted is compared when the Job starts
            spec = data["spec"]
            spec["queueName"] = shapes.queue_of(job)
            longest = shapes.limits(job).get("maximumExecutionTimeSeconds")
            shapes.set_or_drop(spec, "maximumExecutionTimeSeconds", longest)
            if not shapes.same(spec["podSets"], [wanted := shapes.job_pod_set(job)]):
                spec["podSets"] = [wanted]

        await self.modify(workload, follow)

    async def _follow_always(self, job: Record, workload: Record) -> Record:
        """What may change whether it holds quota or not: who is more important, and what it says about preemption."""
        rank = await self.rank(job, class_named(job, shapes.original(workload)["template"]["spec"]))
        followed = await self.modify(workload, shapes.follow_owner(job, rank))
        done = shapes.pods_done(job.data, shapes.original(followed)["count"])
        return await self.modify(followed, standing.reclaim({shapes.MAIN: done}), subresource="status")

    async def _hold(self, job: Record, why: str) -> Record:
        if job.data["spec"].get("suspend"):
            return job
        held = await self.modify(job, _suspend)
        await self.tell(held, "Suspended", why)
        return held

    # It has quota

    async def _with_quota(self, job: Record, workload: Record) -> None:
        if standing.ends(workload):
            await self._fail(job, workload)
        elif standing.is_evicted(workload):
            if await self._stop(job, workload, standing.why_evicted(workload)[1]):
                await self.modify(workload, standing.release(self.clock()), subresource="status")
        elif standing.may_run(workload):
            place = await self.placement(job, workload, shapes.MAIN)
            if place is not None:
                await self._start(job, workload, place)
        else:
            await self._hold(job, texts.NOT_ADMITTED)

    async def _start(self, job: Record, workload: Record, place: shapes.JobPlacement) -> None:
        if not self._is_what_was_admitted(job, workload, place):
            evict = standing.evict("JobChanged", texts.CHANGED_WHILE_ADMITTED, self.clock())
            await self.modify(workload, evict, subresource="status")
            return None
        if shapes.same(job.data["spec"]["template"], shapes.placed_template(job, workload, place)):
            return await self._let_run(job, workload, place)
        held = await self._hold(job, texts.NOT_ADMITTED)
        if held is job and (rested := await self._at_rest(held)) is not None:
            await self._let_run(rested, workload, place)

    def _is_what_was_admitted(self, job: Record, workload: Record, place: shapes.JobPlacement) -> bool:
        """Somebody may have changed the Job between its admission and its start, or while it runs."""
        pod_set, spec = shapes.original(workload), job.data["spec"]
        allowed = place.pods if place.pods is not None and not _suspended(job.data) else pod_set["count"]
        known = pod_set["template"], shapes.placed_template(job, workload, place)
        return shapes.pods_left(job.data) <= allowed and any(shapes.same(spec["template"], each) for each in known)

    async def _let_run(self, job: Record, workload: Record, place: shapes.JobPlacement) -> None:
        pod_set = shapes.original(workload)

        def start(data: Data) -> None:
            if data["spec"].get("suspend") and shapes.same(data["spec"], job.data["spec"]):
                shapes.placed_job(data, pod_set, place)
                data["spec"]["suspend"] = False

        if not _suspended(job.data):
            return
        running = await self.modify(job, start)
        if not running.data["spec"].get("suspend"):
            await self.tell_started(running, workload, shapes.job_count(running.data["spec"]))

    # It has to leave

    async def _stop(self, job: Record, workload: Record, why: str) -> bool:
        """Suspend a Job and, when its pods are gone, make it what it was; whether all that is done."""
        held = await self._hold(job, texts.stopped(why))
        if held is not job:
            return False  # whoever makes and ends its pods has to see it first
        rested = await self._at_rest(held)
        if rested is None:
            return False
        admitted = shapes.assignment_of(workload, shapes.MAIN).get("count")
        pod_set, updates = shapes.original(workload), shapes.updates_of(workload, shapes.MAIN)

        def restore(data: Data) -> None:
            if _suspended(data):
                shapes.restored_job_spec(data["spec"], pod_set, admitted, updates)

        return _suspended((await self.modify(rested, restore)).data)

    async def _fail(self, job: Record, workload: Record) -> None:
        """Whoever runs Jobs ends its pods for that, and only then says that it has failed: its time to live begins, and
        no pod outlives it."""
        why = standing.why_evicted(workload)[1]

        def doom(status: Data) -> None:
            if not true_condition({"status": status}, "FailureTarget", "Complete", "Failed"):
                set_condition(status, "FailureTarget", "True", "Preempted", why, now=self.clock())

        await self.modify_status(job, doom)

    async def _at_rest(self, job: Record) -> Record | None:
        """A suspended Job of which nothing runs, as one that has not started: only then can its template be changed."""
        status = job.data.get("status", {})
        seen = "startTime" not in status or has_condition(job.data, "Suspended")
        if not seen or status.get("active") or self._unfinished(job.uid):
            return None
        return await self.modify_status(job, _not_started)


def _ended(pod: Record) -> tuple[Any, ...]:
    """All about a pod that its Job's quota depends on."""
    return is_finished(pod), pod.metadata.get("ownerReferences")


def _class_of(job: Record) -> Iterable[Hashable]:
    return (class_named(job, job.data["spec"]["template"]["spec"]),) if shapes.queue_of(job) else ()


def _suspended(data: Data) -> bool:
    return data["spec"].get("suspend") is True


def _suspend(data: Data) -> None:
    data["spec"]["suspend"] = True


def _not_started(status: Data) -> None:
    status.pop("startTime", None)
