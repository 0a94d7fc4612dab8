"""What has a switch of its own (spec.suspend) in queues: Jobs and JobSets. Each has a Workload that asks for quota for
it, and runs only while that is admitted.

1. An object that names a queue gets a Workload, and is kept suspended as long as that is not admitted.
2. While it waits, the Workload follows it: templates, sizes, queue, priority.
3. Admitted: it is sent to its flavors and unsuspended in one write, if it is still what was admitted.
4. While it runs, pods that need not run again give their quota back: the Workload says how many
   (status.reclaimablePods). Who has to ask again asks for the others only.
5. Evicted: it is suspended; when all its pods are gone its templates are restored; only then is the quota free.
   Evicted for good, because it asked to end when it is preempted: it is told to fail, and then it is over.
6. Finished, or deleted: the quota is free when no pod is left.

Each step looks only at what stands in the store, so that a new start goes on wherever the last one ended. What a
propagation policy selects is a template for member clusters, and is left alone.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota import shapes
from reprieve.controllers.quota.owners import ClassName, QuotaOwners, class_named
from reprieve.controllers.runner import controller_key, own_key
from reprieve.manifests.kinds import QUOTA_WORKLOADS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.model.conditions import set_condition, true_condition
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import controller_uid, is_leaving
from reprieve.texts import controllers as texts

Data = dict[str, Any]


class QuotaSuspended(QuotaOwners):
    resource: ClassVar[Resource]
    ends: ClassVar[tuple[str, ...]]
    """The conditions that say that it is over; the last one: that it has failed."""
    dooms: ClassVar[str]
    """The condition that makes it fail."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._of_kind = controller_key(self.resource.kind)
        self._objects = self.watch(self.resource, own_key, {"class": self._class_of})
        self._workloads = self.watch(QUOTA_WORKLOADS, self._of_kind, {"owner": self._of_kind})
        self.watch_policies(self._objects)

    # What each kind says for itself

    def pod_sets(self, owner: Record) -> list[Data]:
        """What it asks for, as it is now."""
        raise NotImplementedError

    def workload_for(self, owner: Record, rank: Data) -> Data:
        raise NotImplementedError

    def has_unfinished_pods(self, uid: str) -> bool:
        raise NotImplementedError

    def pods_done(self, owner: Record, workload: Record) -> Mapping[str, int]:
        """Pods that need not run again, by pod set."""
        raise NotImplementedError

    async def start(self, owner: Record, workload: Record) -> None:
        """Let it run as it was admitted."""
        raise NotImplementedError

    async def stop(self, owner: Record, workload: Record, why: str) -> bool:
        """Suspend it and, when its pods are gone, make it what it was; whether all that is done."""
        raise NotImplementedError

    def is_ours(self, owner: Record) -> bool:
        """Whether it is in a queue, and no template for member clusters."""
        return bool(shapes.queue_of(owner)) and not self.is_federated(owner)

    # What is the same for all

    def _class(self, owner: Record, pod_sets: list[Data]) -> ClassName:
        """The first pods speak for all."""
        return class_named(owner, pod_sets[0]["template"]["spec"] if pod_sets else {})

    def _class_of(self, owner: Record) -> Iterable[Hashable]:
        return (self._class(owner, self.pod_sets(owner)),) if shapes.queue_of(owner) else ()

    def naming(self, class_name: ClassName) -> Iterable[Hashable]:
        return [owner.key for owner in self._objects.by("class", class_name)]

    def on_flavor(self, name: str) -> Iterable[Hashable]:
        admitted = (workload for workload in self._workloads if name in shapes.flavors_of(workload))
        return [key for workload in admitted for key in self._of_kind(workload)]

    async def reconcile(self, key: tuple[str, str]) -> None:
        owner = self._objects.get(key[1], key[0])
        workload = None
        for each in self._workloads.by("owner", key):
            if owner is not None and controller_uid(each) == owner.uid and not is_leaving(owner):
                workload = each
            elif not self.has_unfinished_pods(controller_uid(each)):
                await self.let_go(each)
        if owner is not None and not is_leaving(owner):
            await self._bring_right(owner, workload)

    async def _bring_right(self, owner: Record, workload: Record | None) -> None:
        done = true_condition(owner.data, *self.ends).get("type")
        if workload is None:
            if not done and self.is_ours(owner):
                await self._queue(owner)
        elif done or standing.is_finished(workload):
            if not self.has_unfinished_pods(owner.uid):
                said = texts.finished(self.resource.kind, owner.name, failed=done == self.ends[-1])
                await self.finish(workload, said)
        elif is_leaving(workload):
            if await self.stop(owner, workload, texts.NOT_ADMITTED):
                await self.let_go(workload)
        elif not standing.holds_quota(workload):
            await self._ask_for_quota(owner, workload)
        else:
            workload = await self._follow_always(owner, workload)
            await self._with_quota(owner, workload)

    async def _queue(self, owner: Record) -> None:
        owner = await self.hold(owner, texts.NOT_ADMITTED)
        rank = await self.rank(owner, self._class(owner, self.pod_sets(owner)))
        if rank is not None:
            await self.ask(owner, self.workload_for(owner, rank))

    async def _ask_for_quota(self, owner: Record, workload: Record) -> None:
        if not self.is_ours(owner):
            return await self.let_go(workload)
        owner = await self.hold(owner, texts.NOT_ADMITTED)
        workload = await self._follow_always(owner, workload)

        def follow(data: Data) -> None:
            if standing.status_of(data).get("admission") is not None:
                return  # admitted meanwhile: what was admitted is compared when it starts
            spec = data["spec"]
            spec["queueName"] = shapes.queue_of(owner)
            longest = shapes.limits(owner).get("maximumExecutionTimeSeconds")
            shapes.set_or_drop(spec, "maximumExecutionTimeSeconds", longest)
            if not shapes.same(spec["podSets"], wanted := self.pod_sets(owner)):
                spec["podSets"] = wanted

        await self.modify(workload, follow)

    async def _follow_always(self, owner: Record, workload: Record) -> Record:
        """What may change whether it holds quota or not: who is more important, and what it says about preemption."""
        rank = await self.rank(owner, self._class(owner, workload.data["spec"]["podSets"]))
        followed = await self.modify(workload, shapes.follow_owner(owner, rank))
        return await self.modify(followed, standing.reclaim(self.pods_done(owner, followed)), subresource="status")

    async def hold(self, owner: Record, why: str) -> Record:
        if is_suspended(owner.data):
            return owner
        held = await self.modify(owner, _suspend)
        await self.tell(held, "Suspended", why)
        return held

    async def _with_quota(self, owner: Record, workload: Record) -> None:
        if standing.ends(workload):
            await self._fail(owner, workload)
        elif standing.is_evicted(workload):
            if await self.stop(owner, workload, standing.why_evicted(workload)[1]):
                await self.modify(workload, standing.release(self.clock()), subresource="status")
        elif standing.may_run(workload):
            await self.start(owner, workload)
        else:
            await self.hold(owner, texts.NOT_ADMITTED)

    async def _fail(self, owner: Record, workload: Record) -> None:
        """Whoever runs it ends its pods for that, and only then says that it has failed: its time to live begins, and
        no pod outlives it."""
        why = standing.why_evicted(workload)[1]

        def doom(status: Data) -> None:
            if not true_condition({"status": status}, self.dooms, *self.ends):
                set_condition(status, self.dooms, "True", "Preempted", why, now=self.clock())

        await self.modify_status(owner, doom)


def is_suspended(data: Data) -> bool:
    return data["spec"].get("suspend") is True


def _suspend(data: Data) -> None:
    data["spec"]["suspend"] = True
