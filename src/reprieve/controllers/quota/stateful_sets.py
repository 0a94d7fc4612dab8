"""StatefulSets in queues: one Workload for all pods of each, which are held by a gate until it is admitted.

1. The Workload is made as soon as the StatefulSet is there, for as many pods as it wants: in their order, the first of
   them has to run before the others are made at all.
2. Admitted: pods are sent to the nodes of their flavors and let go as they come, also those that take the place of
   others.
3. Evicted: pods that were let go are told why and deleted; when they are gone, the quota is free and the Workload waits
   again, with the pods that the StatefulSet has made meanwhile.
4. A StatefulSet that asks for something else than was admitted has to ask again. Pods that wait with an old template
   are made anew.
5. Scaled to zero, or deleted: the Workload goes when no pod is left that was let go. It serves, and never finishes.

Its template says all that, since admission has written it there: whose its pods are, and their group.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from reprieve.controllers.pods.stateful_sets import INDEX, REVISION
from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import pod_groups as groups
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.held_pods import HeldPods
from reprieve.controllers.quota.owners import ClassName, class_named
from reprieve.controllers.runner import controller_key, own_key
from reprieve.manifests.kinds import PODS, QUOTA_WORKLOADS, STATEFUL_SETS
from reprieve.manifests.kueue import SUSPENDING_PARENT
from reprieve.model.clock import Clock
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, controller_uid, is_leaving, together
from reprieve.texts import controllers as texts

_MARK = SUSPENDING_PARENT.encode()
_OF_SET = controller_key(STATEFUL_SETS.kind)
Data = dict[str, Any]


class QuotaStatefulSets(HeldPods):
    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._sets = self.watch(STATEFUL_SETS, own_key, {"class": _class_of})
        self._workloads = self.watch(QUOTA_WORKLOADS, _OF_SET, {"owner": _OF_SET})
        self._pods = self.watch(PODS, _OF_SET, {"owner": by_controller}, concern=_concern, mark=_MARK)
        self.watch_policies(self._sets)

    def naming(self, class_name: ClassName) -> Iterable[Hashable]:
        return [each.key for each in self._sets.by("class", class_name)]

    def on_flavor(self, name: str) -> Iterable[Hashable]:
        admitted = (workload for workload in self._workloads if name in shapes.flavors_of(workload))
        return [key for workload in admitted for key in _OF_SET(workload)]

    async def reconcile(self, key: tuple[str, str]) -> None:
        stateful_set = self._sets.get(key[1], key[0])
        asks = stateful_set is not None and self._asks(stateful_set)
        workload = None
        for each in self._workloads.by("owner", key):
            if asks and stateful_set is not None and controller_uid(each) == stateful_set.uid:
                workload = each
            elif not self._let_go(controller_uid(each)):
                await self.let_go(each)
        if stateful_set is None or not asks:
            return
        if workload is None:
            await self._queue(stateful_set)
        else:
            await self._bring_right(stateful_set, workload)

    def _asks(self, stateful_set: Record) -> bool:
        """Whether it is in a queue, wants pods, and is no template for member clusters."""
        wants = bool(stateful_set.data["spec"].get("replicas", 1)) and not is_leaving(stateful_set)
        return bool(shapes.queue_of(stateful_set)) and wants and not self.is_federated(stateful_set)

    def _left(self, uid: str) -> list[Record]:
        """Its pods that have not ended, in their order."""
        pods = (pod for pod in self._pods.by("owner", uid) if groups.of_stateful_set(pod) and not is_finished(pod))
        return sorted(pods, key=_ordinal)

    def _let_go(self, uid: str) -> list[Record]:
        """Those of them that may be running."""
        return [pod for pod in self._left(uid) if not groups.is_gated(pod)]

    async def _queue(self, stateful_set: Record) -> None:
        rank = await self.rank(stateful_set, _class(stateful_set))
        if rank is not None:
            await self.ask(stateful_set, shapes.stateful_set_workload(stateful_set, rank))

    async def _bring_right(self, stateful_set: Record, workload: Record) -> None:
        if standing.is_finished(workload):
            return
        if is_leaving(workload):
            if await self._end_all(stateful_set, "WorkloadDeleted", texts.WORKLOAD_DELETED):
                await self.let_go(workload)
            return
        rank = await self.rank(stateful_set, _class(stateful_set))
        workload = await self.modify(workload, shapes.follow_owner(stateful_set, rank))
        if standing.holds_quota(workload):
            await self._with_quota(stateful_set, workload)
        else:
            await self._without_quota(stateful_set, workload)

    async def _without_quota(self, stateful_set: Record, workload: Record) -> None:
        # Somebody may have removed a gate by hand: such a pod cannot be held again.
        if not await self._end_all(stateful_set, "NotAdmitted", texts.POD_NOT_ADMITTED):
            return

        def follow(data: Data) -> None:
            if standing.status_of(data).get("admission") is None:
                data["spec"]["queueName"] = shapes.queue_of(stateful_set)
                wanted = [shapes.stateful_set_pods(stateful_set)]
                if not shapes.same(data["spec"]["podSets"], wanted):
                    data["spec"]["podSets"] = wanted

        await self.modify(workload, follow)
        await together(self.delete(pod) for pod in self._left(stateful_set.uid) if _is_old(pod, stateful_set))

    async def _with_quota(self, stateful_set: Record, workload: Record) -> None:
        if standing.is_evicted(workload):
            if await self._end_all(stateful_set, *standing.why_evicted(workload)):
                await self.modify(workload, standing.release(self.clock()), subresource="status")
        elif not _is_what_was_admitted(stateful_set, workload):
            # What holds quota cannot ask for something else: it goes, and another one asks.
            if await self._end_all(stateful_set, "StatefulSetChanged", texts.STATEFUL_SET_CHANGED):
                await self.let_go(workload)
        elif standing.may_run(workload):
            await self.let_run(workload, self._left(stateful_set.uid))

    async def _end_all(self, stateful_set: Record, reason: str, message: str) -> bool:
        """Whether none is left of those that were let go."""
        running = self._let_go(stateful_set.uid)
        await together(self.end_pod(pod, reason, message) for pod in running)
        return not running


def _class(stateful_set: Record) -> ClassName:
    return class_named(stateful_set, stateful_set.data["spec"]["template"]["spec"])


def _class_of(stateful_set: Record) -> Iterable[Hashable]:
    return (_class(stateful_set),) if shapes.queue_of(stateful_set) else ()


def _ordinal(pod: Record) -> tuple[int, str]:
    index = pod.labels.get(INDEX, "")
    return int(index) if index.isdecimal() else 0, pod.name


def _is_old(pod: Record, stateful_set: Record) -> bool:
    """Whether it waits with a template that its StatefulSet no longer has."""
    status = stateful_set.data.get("status", {})
    current = status.get("observedGeneration") == stateful_set.metadata.get("generation")
    return bool(current and not is_leaving(pod) and pod.labels.get(REVISION) != status.get("updateRevision"))


def _is_what_was_admitted(stateful_set: Record, workload: Record) -> bool:
    was, now = shapes.original(workload), shapes.stateful_set_pods(stateful_set)
    specs = (each["template"]["spec"] for each in (was, now))
    return bool(was["count"] == now["count"] and len(set(map(groups.shape_of_spec, specs))) == 1)


def _concern(pod: Record) -> tuple[Any, ...]:
    """All about a pod that its quota depends on."""
    return groups.is_gated(pod), is_finished(pod), is_leaving(pod), pod.metadata.get("ownerReferences")
