"""The lane of quota workloads. Their own queues say whose turn it is, so one unit stands for all of them.

Every change that a cycle could go by brings about another one, at once, and in it the most important has the first
turn, however often it was refused: what is inadmissible does not back off.
"""

from typing import NamedTuple

from reprieve.manifests.kinds import (
    ADMISSION_CHECKS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_WORKLOADS,
    RUNTIME_CLASSES,
)
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.kueue_topology import TAS_LABEL
from reprieve.manifests.meta import find_condition
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.scheduler.lanes import Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.quota.effects import QuotaEffects
from reprieve.scheduler.quota.gauges import QuotaGauges
from reprieve.scheduler.quota.metrics import QuotaCounts
from reprieve.scheduler.quota.resume import resume
from reprieve.scheduler.quota.turn import CYCLE, AdmitWorkloads, most_important
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import events as loop

_OTHERS = (PRIORITY_CLASSES, NAMESPACES, ADMISSION_CHECKS, LIMIT_RANGES, RUNTIME_CLASSES)
"""Whatever changes about one of these may change what a cycle comes to."""


class QuotaLane(Lane):
    """Wakes the cycle as quota is asked for and given back."""

    kinds = frozenset({"Quota"})
    reads = frozenset({QUOTA_WORKLOADS.group})

    def __init__(self, services: Services) -> None:
        self._context = services.context
        self._queue = services.queue
        self._policy = services.policies[QuotaEntry.name].policy
        self._counts = QuotaCounts(services.registry, self._policy.quota)
        self._effects = QuotaEffects(services.context, self._counts)
        self._admit = AdmitWorkloads(services, self._effects, self._counts)
        services.registry.register(QuotaGauges(self._policy.quota, self._admit.is_inadmissible))
        self._woken = False

    async def turn(self, unit: str) -> None:  # noqa: ARG002 - there is but one
        if await self._admit.turn():
            self._wake()

    async def resume(self) -> None:
        await resume(self._context, self._effects)

    def pending(self) -> dict[str, int]:
        """How many wait in each cluster queue."""
        return {name: len(waiting) for name, waiting in self._policy.quota.waiting.items()}

    async def react(self, seen: Seen) -> None:
        self._counts.react(seen)
        if seen.resource == QUOTA_WORKLOADS:
            self._workload(seen)
        elif (
            seen.resource in _OTHERS
            or (seen.resource.group == QUOTA_WORKLOADS.group and spec_of(seen.old) != spec_of(seen.new))
            or self._moves_places(seen)
        ):
            self._wake()

    def _moves_places(self, seen: Seen) -> bool:
        """Whether nodes of topologies may have more room, or less. What pods take is taken note of with the world."""
        if self._policy.quota.topology is None or seen.resource not in (NODES, PODS):
            return False
        return seen.resource == NODES or _on_node(seen.old) != _on_node(seen.new)

    def _workload(self, seen: Seen) -> None:
        old, new = state_of(seen.old), state_of(seen.new)
        if new != old:
            self._wake()
        if new.waits and not old.waits:
            unit = seen.record.unit
            self._context.log.history.note(unit, "queued", loop.found_pending(unit), uid=seen.record.uid)
        if old.waits and not new.waits:
            self._admit.over(seen.record.unit)

    def _wake(self) -> None:
        self._woken = True

    def settle(self) -> None:
        """The cycle is queued, with the rank that it has as things are now."""
        if not self._woken:
            return
        self._woken = False
        try:
            self._policy.quota.sync()
        finally:
            self._queue.push(CYCLE, most_important(self._policy.quota))


# What counts of a quota workload


class QuotaState(NamedTuple):
    """What a cycle goes by; nothing of one that is over, or not there."""

    waits: bool = False
    uses: bool = False
    evicted: bool = False
    asks: object = None
    """Its spec, and what annotations say beside it."""
    requeued_at: object = None
    admission: object = None
    done: object = ()
    """How many of its pods have done their work."""
    ready: bool = False
    gates: object = ()
    """Which of its preemption gates are open."""


NOTHING = QuotaState()


def state_of(record: Record | None) -> QuotaState:
    if record is None:
        return NOTHING
    workload: QuotaWorkload = record.manifest
    if _is(workload, "Finished"):
        return NOTHING
    admission, again = workload.status.admission, workload.status.requeue_state
    return QuotaState(
        waits=admission is None and workload.spec.active and not _is(workload, "Requeued", "False"),
        uses=admission is not None,
        evicted=_is(workload, "Evicted"),
        asks=(workload.spec, workload.metadata.annotations),
        requeued_at=again.requeue_at if again is not None else None,
        admission=admission,
        done=workload.status.reclaimable_pods,
        ready=_is(workload, "PodsReady"),
        gates=workload.status.preemption_gates,
    )


def _is(workload: QuotaWorkload, kind: str, status: str = "True") -> bool:
    found = find_condition(workload.status.conditions, kind)
    return found is not None and found.status == status


def _on_node(pod: Record | None) -> str:
    """The node on which a pod takes room of its own."""
    if pod is not None and TAS_LABEL in pod.labels:
        return (
            str(pod.manifest.status.phase) if pod.manifest.finished else ""
        )  # its workload takes room for it until then
    if pod is None or pod.manifest.finished:
        return ""
    return str(pod.manifest.spec.node_name)


def spec_of(record: Record | None) -> object:
    """All of a queue or a flavor that counts; one that is deleted, and kept as long as it is in use, admits nobody."""
    if record is None:
        return None
    return is_leaving(record), {k: v for k, v in record.data.items() if k not in ("metadata", "status")}
