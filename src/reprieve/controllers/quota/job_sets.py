"""JobSets in queues: as `suspended` says it of all that have a switch, with a pod set for each replicated job.

1. The Workload of a JobSet asks for all its pods: of each replicated job as many as its Jobs run at a time.
2. Its switch is that of its Jobs: whoever runs JobSets suspends and resumes these, and they ask for nothing themselves.
3. A Job that is complete gives the quota of its pods back.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.suspended import QuotaSuspended, is_suspended
from reprieve.manifests.job_sets import NAME, UID, JobSet
from reprieve.manifests.kinds import JOB_SETS, PODS
from reprieve.model.clock import Clock
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.texts import controllers as texts

_MARK = UID.encode()
Data = dict[str, Any]
Places = dict[str, shapes.JobPlacement]


class QuotaJobSets(QuotaSuspended):
    resource = JOB_SETS
    ends = ("Completed", "Failed")
    dooms = "Failed"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._pods = self.watch(PODS, _named, {"set": _set_uid}, concern=is_finished, mark=_MARK)

    def pod_sets(self, owner: Record) -> list[Data]:
        return [shapes.replicated_job_pods(each) for each in _replicated(owner.data)]

    def workload_for(self, owner: Record, rank: Data) -> Data:
        return shapes.job_set_workload(owner, self.pod_sets(owner), rank)

    def has_unfinished_pods(self, uid: str) -> bool:
        return any(not is_finished(pod) for pod in self._pods.by("set", uid))

    def pods_done(self, owner: Record, workload: Record) -> Mapping[str, int]:
        manifest: JobSet = owner.manifest
        complete = {each.name: each.succeeded for each in manifest.status.replicated_jobs_status}
        jobs = {each["name"]: each for each in _replicated(owner.data)}
        done = {name: complete.get(name, 0) * shapes.job_count(each["template"]["spec"]) for name, each in jobs.items()}
        most = {each["name"]: each["count"] for each in workload.data["spec"]["podSets"]}
        return {name: min(number, most.get(name, 0)) for name, number in done.items()}

    # It has quota

    async def start(self, owner: Record, workload: Record) -> None:
        places = await self._places(owner, workload)
        if places is None:
            return
        if not _is_what_was_admitted(owner, workload, places):
            # What holds quota cannot ask for something else: it goes, and another one asks.
            if await self.stop(owner, workload, texts.JOB_SET_CHANGED):
                await self.let_go(workload)
        elif is_suspended(owner.data) and not self.has_unfinished_pods(owner.uid):
            await self._let_run(owner, workload, places)

    async def _places(self, owner: Record, workload: Record) -> Places | None:
        places: Places = {}
        for each in workload.data["spec"]["podSets"]:
            place = await self.placement(owner, workload, each["name"])
            if place is None:
                return None
            places[each["name"]] = place
        return places

    async def _let_run(self, owner: Record, workload: Record, places: Places) -> None:
        def start(data: Data) -> None:
            if is_suspended(data) and shapes.same(data["spec"], owner.data["spec"]):
                for each in _replicated(data):
                    was = shapes.original(workload, each["name"])["template"]
                    places[each["name"]].into(each["template"]["spec"]["template"], was)
                data["spec"]["suspend"] = False

        running = await self.modify(owner, start)
        if not is_suspended(running.data):
            pods = sum(each["count"] for each in workload.data["spec"]["podSets"])
            await self.tell_started(running, workload, pods)

    async def stop(self, owner: Record, workload: Record, why: str) -> bool:
        held = await self.hold(owner, texts.stopped(why))
        if held is not owner or self.has_unfinished_pods(owner.uid):
            return False

        def restore(data: Data) -> None:
            known = {each["name"]: each for each in workload.data["spec"]["podSets"]}
            for each in _replicated(data) if is_suspended(data) else ():
                if each["name"] in known:
                    updates = shapes.updates_of(workload, each["name"])
                    shapes.restored_job_spec(each["template"]["spec"], known[each["name"]], None, updates)

        return is_suspended((await self.modify(held, restore)).data)


def _replicated(data: Data) -> list[Data]:
    return data["spec"].get("replicatedJobs") or []


def _is_what_was_admitted(owner: Record, workload: Record, places: Places) -> bool:
    """Somebody may have changed the JobSet between its admission and its start, or while it runs."""
    was = {each["name"]: each for each in workload.data["spec"]["podSets"]}
    now = {each["name"]: each for each in map(shapes.replicated_job_pods, _replicated(owner.data))}
    if was.keys() != now.keys() or any(was[name]["count"] != now[name]["count"] for name in was):
        return False
    return all(
        shapes.same(now[name]["template"], was[name]["template"])
        or shapes.same(now[name]["template"], shapes.placed(now[name]["template"], was[name]["template"], places[name]))
        for name in was
    )


def _named(pod: Record) -> Iterable[Hashable]:
    name = pod.labels.get(NAME)
    return ((pod.namespace, name),) if name else ()


def _set_uid(pod: Record) -> Iterable[Hashable]:
    uid = pod.labels.get(UID)
    return (uid,) if uid else ()
