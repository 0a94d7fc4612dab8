"""Pods in queues that are no Job's: held by a scheduling gate until their Workload is admitted.

1. Admitted: each pod is sent to the nodes of its flavors and its gate is removed, in one write.
2. Evicted: pods that were let go are told why and deleted; such a pod does not come back, so its Workload ends with
   it: a ReplicaSet makes another pod, which asks anew. Of a group all go. Where nobody was let go yet, the quota is
   given back and they wait again.
3. Of a group, pods that have succeeded give their quota back while the others go on (status.reclaimablePods).
4. When all have finished, the Workload has; when all are gone, it goes.
5. A group to which no pod has come for five seconds, and that is not complete, is told that it waits for the others.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import timedelta
from typing import Any

from reprieve.controllers.pods.templates import has_succeeded, is_finished
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import pod_groups as groups
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.held_pods import HeldPods
from reprieve.controllers.quota.owners import ClassName, class_named
from reprieve.manifests.kinds import PODS, QUOTA_WORKLOADS
from reprieve.manifests.kueue import QUEUE_NAME_LABEL
from reprieve.model.clock import Clock, moment_of
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import finalizers_of, is_leaving, oldest_first, together
from reprieve.texts import controllers as texts

_MARK = QUEUE_NAME_LABEL.encode()
_PATIENCE = timedelta(seconds=5)
"""After the last pod of a group: its others are made one after the other."""


class QuotaPods(HeldPods):
    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        indexes = {"workload": groups.workload_of, "class": _class_of}
        self._pods = self.watch(PODS, groups.workload_of, indexes, concern=_concern, mark=_MARK)
        self._workloads = self.watch(QUOTA_WORKLOADS, _of_pods)

    def naming(self, class_name: ClassName) -> Iterable[Hashable]:
        return [key for pod in self._pods.by("class", class_name) for key in groups.workload_of(pod)]

    def on_flavor(self, name: str) -> Iterable[Hashable]:
        return [each.key for each in self._workloads if name in shapes.flavors_of(each) and groups.members_of(each)]

    async def reconcile(self, key: tuple[str, str]) -> float | None:
        workload = self._workloads.get(key[1], key[0])
        pods = oldest_first(self._pods.by("workload", key))
        if workload is None:
            waiting = [pod for pod in pods if groups.is_gated(pod) and not is_leaving(pod) and not is_finished(pod)]
            return await self._queue(key[1], waiting) if waiting else None
        uids = groups.members_of(workload)
        if uids:
            await self._bring_right(workload, [pod for pod in pods if pod.uid in uids], len(uids))
        else:
            for pod in pods:
                await self.warn(pod, "NameTaken", texts.name_taken(workload.unit))
        return None

    # They wait

    async def _queue(self, name: str, pods: list[Record]) -> float | None:
        """Ask for quota for pods that are all there."""
        total = groups.total_of(pods[0])
        wrong = _what_is_wrong(pods, total)
        if total is None or wrong:
            await self.warn(pods[0], "Inadmissible", wrong)
            return None
        if len(pods) < total:
            return await self._incomplete(name, pods, total)
        rank = await self.rank(pods[0], _class(pods[0]))
        if rank is not None:
            await self.ask(pods[0], groups.pods_workload(name, pods[:total], rank))
        return None

    async def _incomplete(self, name: str, pods: list[Record], total: int) -> float | None:
        """Say so once no pod has come for a while; seconds until then. The reason is Kueue's."""
        left = (moment_of(pods[-1].metadata["creationTimestamp"]) + _PATIENCE - self.clock()).total_seconds()
        if left > 0:
            return left
        await self.warn(pods[0], "ErrWorkloadCompose", texts.group_incomplete(name, len(pods), total))
        return None

    async def _bring_right(self, workload: Record, pods: list[Record], total: int) -> None:
        left = [pod for pod in pods if not is_finished(pod)]
        if not pods:
            await self.let_go(workload)
        elif not left:
            await self.finish(workload, texts.PODS_FINISHED)
        elif standing.is_finished(workload):
            return
        elif is_leaving(workload):
            await self._end_workload(workload, left)
        elif standing.holds_quota(workload):
            await self._with_quota(workload, pods, left, total)
        else:
            await self._without_quota(workload, left, total)

    async def _without_quota(self, workload: Record, left: list[Record], total: int) -> None:
        loose = [pod for pod in left if not groups.is_gated(pod)]
        if loose:  # somebody removed the gate by hand: a pod cannot be held again
            await together(self.end_pod(pod, "NotAdmitted", texts.POD_NOT_ADMITTED) for pod in loose)
        elif len([pod for pod in left if not is_leaving(pod)]) < total:
            await self.let_go(workload)  # one of a group has gone: it is made anew when they are whole again
        else:
            await self._follow(workload, left[0])

    async def _follow(self, workload: Record, first: Record) -> None:
        rank = await self.rank(first, _class(first))
        workload = await self.modify(workload, shapes.follow_owner(first, rank))

        def follow(data: dict[str, Any]) -> None:
            if standing.status_of(data).get("admission") is None:
                data["spec"]["queueName"] = shapes.queue_of(first)

        await self.modify(workload, follow)

    # They have quota

    async def _with_quota(self, workload: Record, pods: list[Record], left: list[Record], total: int) -> None:
        done = Counter(groups.pod_set_of(pod, workload) for pod in pods if has_succeeded(pod))
        workload = await self.modify(workload, standing.reclaim(done), subresource="status")
        if standing.is_evicted(workload):
            if len(pods) == total and all(groups.is_gated(pod) for pod in pods):
                await self.modify(workload, standing.release(self.clock()), subresource="status")
            else:
                reason, message = standing.why_evicted(workload)
                await together(self.end_pod(pod, reason, message) for pod in left)
        elif standing.may_run(workload):
            await self.let_run(workload, left)

    # They leave

    async def _end_workload(self, workload: Record, left: list[Record]) -> None:
        """Somebody deletes the Workload: what it let run has to end before its quota is free."""
        running = [pod for pod in left if not groups.is_gated(pod)]
        await together(self.end_pod(pod, "WorkloadDeleted", texts.WORKLOAD_DELETED) for pod in running)
        if not running:
            await self.let_go(workload)


def _class(pod: Record) -> ClassName:
    return class_named(pod, pod.data["spec"])


def _class_of(pod: Record) -> Iterable[Hashable]:
    return (_class(pod),) if shapes.queue_of(pod) else ()


def _of_pods(workload: Record) -> Iterable[Hashable]:
    return (workload.key,) if groups.members_of(workload) else ()


def _concern(pod: Record) -> tuple[Any, ...]:
    """All about a pod that its quota depends on."""
    said = pod.metadata.get("labels"), pod.metadata.get("annotations")
    return groups.is_gated(pod), is_finished(pod), has_succeeded(pod), is_leaving(pod), finalizers_of(pod), said


def _what_is_wrong(pods: list[Record], total: int | None) -> str:
    """Why pods cannot be queued together."""
    name = groups.group_of(pods[0])
    same = {(shapes.queue_of(pod), groups.total_of(pod)) for pod in pods}
    if len(same) > 1 or total is None:
        return texts.group_disagrees(name)
    kinds = len({groups.shape_of(pod) for pod in pods[:total]})
    most = groups.MOST_SHAPES
    return texts.too_many_shapes(name, kinds, most) if kinds > most else ""
