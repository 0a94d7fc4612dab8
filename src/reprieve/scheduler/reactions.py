"""What a change in the store means for those who wait: who is new, who is gone, whom it could help."""

from __future__ import annotations

from collections.abc import Callable

from reprieve.objects.meta import find_condition
from reprieve.scheduler.admit_workloads import AdmitWorkloads
from reprieve.scheduler.history import History
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.pending import PendingUnits
from reprieve.scheduler.queue import SchedulingQueue
from reprieve.scheduler.queue_configuration import QueueConfigurations
from reprieve.scheduler.queue_limits import QueueLimits
from reprieve.scheduler.schedule_bindings import ScheduleBindings
from reprieve.scheduler.wakeups import Wakeups
from reprieve.stores.records import Record
from reprieve.stores.resources import (
    BINDINGS,
    BUDGETS,
    CLUSTER_BINDINGS,
    CLUSTERS,
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_WORKLOADS,
    Resource,
)
from reprieve.texts import loop

_QUOTA = "kueue.x-k8s.io"
_GROUPING = ("PodGroup", "CompositePodGroup", "Workload")


class Reactions:
    """Takes changes one after the other; at the end of a batch, whoever could be helped is woken."""

    def __init__(
        self,
        pending: PendingUnits,
        queue: SchedulingQueue,
        wakeups: Wakeups,
        workloads: AdmitWorkloads,
        bindings: ScheduleBindings,
        configurations: QueueConfigurations,
        limits: QueueLimits,
        history: History,
    ) -> None:
        self._pending = pending
        self._queue = queue
        self._wakeups = wakeups
        self._workloads = workloads
        self._bindings = bindings
        self._configurations = configurations
        self._limits = limits
        self._history = history
        self._by_resource: dict[Resource, Callable[[Seen], None]] = {
            PODS: self._pod,
            NODES: self._node,
            QUOTA_WORKLOADS: self._quota_workload,
            BINDINGS: self._binding,
            CLUSTER_BINDINGS: self._binding,
            CLUSTERS: lambda _: self._wakeups.bindings(),
            BUDGETS: lambda _: self._wakeups.everybody(),
            PRIORITY_CLASSES: self._classes,
            NAMESPACES: self._classes,
        }

    async def take(self, changes: list[Seen]) -> None:
        for seen in changes:
            if seen.resource == CONFIG_MAPS:
                await self._config_map(seen)
                continue
            react = self._by_resource.get(seen.resource)
            if react is not None:
                react(seen)
            else:
                self._other(seen)
        self._wakeups.wake()

    # Pods and nodes

    def _pod(self, seen: Seen) -> None:
        record = seen.record
        before, after = self._pending.update(record.key)
        if after and (after != before or _asks_anew(seen)):
            self._queue.push(after, self._pending.priority(after))
        if before and before not in self._pending:
            self._queue.delete(before)
        old, new = _node_of(seen.old), _node_of(seen.new)
        held = _nomination_of(seen.old)
        for node in (old, held):
            if node and node not in (new, _nomination_of(seen.new)):
                self._wakeups.freed(node)
        if new and new != old:
            self._wakeups.company()
            self._limits.wake()
        self._tell(seen, after, before)

    def _tell(self, seen: Seen, after: str, before: str) -> None:
        if after and not before:
            self._history.note(seen.record.unit, "queued", loop.found_pending(seen.record.unit))
        elif seen.new is None:
            self._history.note(seen.record.unit, "gone", loop.gone(seen.record.unit))

    def _node(self, seen: Seen) -> None:
        if seen.new is None:
            self._wakeups.lost(seen.record.name)
        elif seen.old is None or _offers(seen.old) != _offers(seen.new):
            self._wakeups.freed(seen.record.name)

    # Quota

    def _quota_workload(self, seen: Seen) -> None:
        old, new = _quota_state(seen.old), _quota_state(seen.new)
        unit = seen.record.unit
        if old.uses and (not new.uses or new.evicted != old.evicted):
            self._workloads.unpark()
        elif new.waits and (not old.waits or _generation(seen.old) != _generation(seen.new)):
            self._workloads.unpark(unit)
            if not old.waits:
                self._history.note(unit, "queued", loop.found_pending(unit))
        elif old.waits and not new.waits:
            self._workloads.wake()

    # Bindings

    def _binding(self, seen: Seen) -> None:
        if self._bindings.changed(seen.old, seen.new):
            self._wakeups.bindings()
        if seen.old is None:
            self._history.note(seen.record.unit, "queued", loop.found_pending(seen.record.unit))

    # What others look at

    async def _config_map(self, seen: Seen) -> None:
        if QueueConfigurations.concerns(seen.record) and await self._configurations.changed(seen.new):
            self._wakeups.everybody()
            self._limits.wake()

    def _classes(self, _: Seen) -> None:
        self._wakeups.everybody()
        self._workloads.unpark()

    def _other(self, seen: Seen) -> None:
        if seen.resource.group == _QUOTA:
            if _spec(seen.old) != _spec(seen.new):
                self._workloads.unpark()
        elif seen.resource.kind in _GROUPING:
            for unit in self._pending.with_groups():
                self._queue.push(unit, self._pending.priority(unit))


class _QuotaState:
    """What counts of a quota workload: whether it waits, uses quota, or has been told to go."""

    __slots__ = ("evicted", "uses", "waits")

    def __init__(self, record: Record | None) -> None:
        self.waits = self.uses = self.evicted = False
        if record is None:
            return
        workload = record.manifest
        finished = find_condition(workload.status.conditions, "Finished")
        over = finished is not None and finished.status == "True"
        self.uses = workload.status.admission is not None and not over
        self.waits = workload.status.admission is None and not over and workload.spec.active
        evicted = find_condition(workload.status.conditions, "Evicted")
        self.evicted = evicted is not None and evicted.status == "True"


def _quota_state(record: Record | None) -> _QuotaState:
    return _QuotaState(record)


def _node_of(record: Record | None) -> str:
    """The node that a pod takes room on."""
    if record is None or record.manifest.finished:
        return ""
    name: str = record.manifest.spec.node_name
    return name


def _nomination_of(record: Record | None) -> str:
    """The node on which a pod that waits is promised a place."""
    if record is None or record.manifest.finished or record.manifest.spec.node_name:
        return ""
    name: str = record.manifest.status.nominated_node_name
    return name


def _asks_anew(seen: Seen) -> bool:
    """Whether a pod that waits asks for something else now; what the scheduler writes in its status is no reason."""
    if seen.old is None or seen.new is None:
        return True
    old, new = seen.old.manifest, seen.new.manifest
    return bool(old.spec != new.spec or old.metadata.labels != new.metadata.labels)


def _offers(record: Record) -> tuple[object, ...]:
    node = record.manifest
    return node.allocatable, node.metadata.labels, node.spec


def _generation(record: Record | None) -> object:
    return record.metadata.get("generation") if record is not None else None


def _spec(record: Record | None) -> object:
    return None if record is None else {k: v for k, v in record.data.items() if k not in ("metadata", "status")}
