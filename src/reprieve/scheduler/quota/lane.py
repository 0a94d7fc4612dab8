"""The lane of quota workloads. Their own queues say whose turn it is, so one unit stands for all of them."""

from reprieve.manifests.kinds import NAMESPACES, PRIORITY_CLASSES, QUOTA_WORKLOADS
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.meta import find_condition
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.quota.effects import QuotaEffects
from reprieve.scheduler.quota.resume import resume
from reprieve.scheduler.quota.turn import CYCLE, AdmitWorkloads
from reprieve.stores.records import Record
from reprieve.texts import events as loop


class QuotaLane(Lane):
    """Wakes the cycle, and parked workloads, as quota is asked for and given back."""

    kinds = frozenset({"Quota"})

    def __init__(self, services: Services) -> None:
        self._context = services.context
        self._queue = services.queue
        self._policy = services.policies[QuotaEntry.name].policy
        self._effects = QuotaEffects(services.context)
        self._admit = AdmitWorkloads(services, self._effects)

    async def turn(self, unit: str) -> None:  # noqa: ARG002 - there is but one
        if await self._admit.turn():
            self._wake()

    async def resume(self) -> None:
        self._admit.held.update(await resume(self._context, self._effects))

    def pending(self) -> dict[str, int]:
        """How many wait in each cluster queue."""
        return {name: len(waiting) for name, waiting in self._policy.quota.waiting.items()}

    async def react(self, seen: Seen) -> None:
        if seen.resource == QUOTA_WORKLOADS:
            self._workload(seen)
        elif seen.resource in (PRIORITY_CLASSES, NAMESPACES) or (
            seen.resource.group == QUOTA_WORKLOADS.group and spec_of(seen.old) != spec_of(seen.new)
        ):
            self._retry_all()

    def _workload(self, seen: Seen) -> None:
        old, new = QuotaState(seen.old), QuotaState(seen.new)
        unit = seen.record.unit
        if old.uses and (not new.uses or new.evicted != old.evicted):
            self._retry_all()
        elif new.waits and (not old.waits or generation(seen.old) != generation(seen.new)):
            self._admit.parked.discard(unit)
            self._wake()
            if not old.waits:
                self._context.log.history.note(unit, "queued", loop.found_pending(unit))
        elif old.waits and not new.waits:
            self._wake()

    def _retry_all(self) -> None:
        """Quota became free, or the queues changed: all are worth another try."""
        self._admit.parked.clear()
        self._wake()

    def _wake(self) -> None:
        """By the most important that waits: pods that are more important have their turn between two cycles."""
        waiting = self._policy.quota.waiting.values()
        self._queue.push(CYCLE, max((queue[0].boosted for queue in waiting if queue), default=0))


# What counts of a quota workload


class QuotaState:
    """What counts of a quota workload: whether it waits, uses quota, or has been told to go."""

    __slots__ = ("evicted", "uses", "waits")

    def __init__(self, record: Record | None) -> None:
        self.waits = self.uses = self.evicted = False
        if record is None:
            return
        workload: QuotaWorkload = record.manifest
        over = _is(workload, "Finished")
        admitted = workload.status.admission is not None
        self.uses = admitted and not over
        self.waits = not admitted and not over and workload.spec.active and not _is(workload, "Requeued", "False")
        self.evicted = _is(workload, "Evicted")


def _is(workload: QuotaWorkload, kind: str, status: str = "True") -> bool:
    found = find_condition(workload.status.conditions, kind)
    return found is not None and found.status == status


def generation(record: Record | None) -> object:
    return record.metadata.get("generation") if record is not None else None


def spec_of(record: Record | None) -> object:
    return None if record is None else {k: v for k, v in record.data.items() if k not in ("metadata", "status")}
