"""Jobs in queues: as `suspended` says it of all that have a switch, and one pod set, which may be made smaller.

A Job that a JobSet in a queue has made is in that queue with its JobSet, and asks for nothing itself.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.suspended import QuotaSuspended, is_suspended
from reprieve.controllers.runner import OWNED, controller_key
from reprieve.manifests.kinds import JOB_SETS, JOBS, PODS
from reprieve.model.clock import Clock
from reprieve.model.conditions import has_condition
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, controller_of
from reprieve.texts import controllers as texts

Data = dict[str, Any]


class QuotaJobs(QuotaSuspended):
    resource = JOBS
    ends = ("Complete", "Failed")
    dooms = "FailureTarget"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._pods = self.watch(PODS, controller_key("Job"), {"owner": by_controller}, concern=_ended, mark=OWNED)
        self._job_sets = self.watch(JOB_SETS, self._of_job_set, concern=lambda record: bool(shapes.queue_of(record)))

    def _of_job_set(self, job_set: Record) -> Iterable[Hashable]:
        return [job.key for job in self._objects if (controller_of(job) or {}).get("uid") == job_set.uid]

    def is_ours(self, owner: Record) -> bool:
        if not super().is_ours(owner):
            return False
        above = controller_of(owner) or {}
        if above.get("kind") != JOB_SETS.kind:
            return True
        job_set = self._job_sets.get(above["name"], owner.namespace)
        return job_set is None or not shapes.queue_of(job_set)

    def pod_sets(self, owner: Record) -> list[Data]:
        return [shapes.job_pod_set(owner)]

    def workload_for(self, owner: Record, rank: Data) -> Data:
        return shapes.job_workload(owner, rank)

    def has_unfinished_pods(self, uid: str) -> bool:
        return any(not is_finished(pod) for pod in self._pods.by("owner", uid))

    def pods_done(self, owner: Record, workload: Record) -> Mapping[str, int]:
        return {shapes.MAIN: shapes.pods_done(owner.data, shapes.original(workload)["count"])}

    # It has quota

    async def start(self, owner: Record, workload: Record) -> None:
        place = await self.placement(owner, workload, shapes.MAIN)
        if place is None:
            return None
        if not self._is_what_was_admitted(owner, workload, place):
            evict = standing.evict("JobChanged", texts.CHANGED_WHILE_ADMITTED, self.clock())
            await self.modify(workload, evict, subresource="status")
            return None
        if shapes.same(owner.data["spec"]["template"], shapes.placed_template(owner, workload, place)):
            return await self._let_run(owner, workload, place)
        held = await self.hold(owner, texts.NOT_ADMITTED)
        if held is owner and (rested := await self._at_rest(held)) is not None:
            await self._let_run(rested, workload, place)

    def _is_what_was_admitted(self, job: Record, workload: Record, place: shapes.JobPlacement) -> bool:
        """Somebody may have changed the Job between its admission and its start, or while it runs."""
        pod_set, spec = shapes.original(workload), job.data["spec"]
        allowed = place.pods if place.pods is not None and not is_suspended(job.data) else pod_set["count"]
        known = pod_set["template"], shapes.placed_template(job, workload, place)
        return shapes.pods_left(job.data) <= allowed and any(shapes.same(spec["template"], each) for each in known)

    async def _let_run(self, job: Record, workload: Record, place: shapes.JobPlacement) -> None:
        pod_set = shapes.original(workload)

        def start(data: Data) -> None:
            if data["spec"].get("suspend") and shapes.same(data["spec"], job.data["spec"]):
                shapes.placed_job(data, pod_set, place)
                data["spec"]["suspend"] = False

        if not is_suspended(job.data):
            return
        running = await self.modify(job, start)
        if not running.data["spec"].get("suspend"):
            await self.tell_started(running, workload, shapes.job_count(running.data["spec"]))

    # It has to leave

    async def stop(self, owner: Record, workload: Record, why: str) -> bool:
        held = await self.hold(owner, texts.stopped(why))
        if held is not owner:
            return False  # whoever makes and ends its pods has to see it first
        rested = await self._at_rest(held)
        if rested is None:
            return False
        admitted = shapes.assignment_of(workload, shapes.MAIN).get("count")
        pod_set, updates = shapes.original(workload), shapes.updates_of(workload, shapes.MAIN)

        def restore(data: Data) -> None:
            if is_suspended(data):
                shapes.restored_job_spec(data["spec"], pod_set, admitted, updates)

        return is_suspended((await self.modify(rested, restore)).data)

    async def _at_rest(self, job: Record) -> Record | None:
        """A suspended Job of which nothing runs, as one that has not started: only then can its template be changed."""
        status = job.data.get("status", {})
        seen = "startTime" not in status or has_condition(job.data, "Suspended")
        if not seen or status.get("active") or self.has_unfinished_pods(job.uid):
            return None
        return await self.modify_status(job, _not_started)


def _ended(pod: Record) -> tuple[Any, ...]:
    """All about a pod that its Job's quota depends on."""
    return is_finished(pod), pod.metadata.get("ownerReferences")


def _not_started(status: Data) -> None:
    status.pop("startTime", None)
