"""What a change in the store means for those who wait: who is new, who is gone, whom it could help.

1. One change that fails holds up no other one; it is kept, and taken again a moment later.
2. However many pods of a group change together, the group is queued once.
3. A group is tried again when itself changes, and when a pod leaves it: it may have been refused because of that one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from reprieve.manifests.kinds import (
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
)
from reprieve.manifests.resource import Resource
from reprieve.scheduler.changes import (
    QuotaState,
    asks_anew,
    company,
    generation,
    keeps_away,
    node_of,
    nomination_of,
    offers,
    spec_of,
)
from reprieve.scheduler.federation.turn import ScheduleBindings
from reprieve.scheduler.history import History
from reprieve.scheduler.kept_changes import KeptChanges
from reprieve.scheduler.mirror import Seen, alike
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.wakeups import Wakeups
from reprieve.scheduler.queues.configuration import QueueConfigurations
from reprieve.scheduler.queues.limits import QueueLimits
from reprieve.scheduler.quota.turn import AdmitWorkloads
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.texts import events as loop

_log = logging.getLogger(__name__)

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
        clock: Callable[[], float],
    ) -> None:
        self._pending = pending
        self._queue = queue
        self._wakeups = wakeups
        self._workloads = workloads
        self._bindings = bindings
        self._configurations = configurations
        self._limits = limits
        self._history = history
        self._kept = KeptChanges(clock)
        self._changed: dict[str, None] = {}
        """Units that have changed, to be queued at the end of the batch."""
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
        for seen in (*self._kept.due(), *changes):
            await self._take(self._kept.with_earlier(seen))
        self._push()
        try:
            self._wakeups.wake()
        except Exception:
            _log.exception("those who wait could not be looked through, and are looked through again")

    def due_in(self) -> float:
        """Seconds until there is something to do here though nothing happens."""
        return min(self._wakeups.due_in(), self._kept.due_in())

    async def _take(self, seen: Seen) -> None:
        try:
            if seen.resource == CONFIG_MAPS:
                await self._config_map(seen)
            else:
                self._by_resource.get(seen.resource, self._other)(seen)
        except Exception:
            self._kept.failed(seen)
        else:
            self._kept.taken(seen)

    def _push(self) -> None:
        changed, self._changed = self._changed, {}
        for unit in changed:
            if unit in self._pending:
                self._queue.push(unit, self._pending.priority(unit))

    # Pods and nodes

    def _pod(self, seen: Seen) -> None:
        key = seen.record.key
        before, after = self._pending.update(key)
        if after and (after != before or asks_anew(seen)):
            self._changed[after] = None
        if before and before not in self._pending:
            self._queue.delete(before)
        elif before and before != after and not self._pending.has_place(key):
            self._changed[before] = None
        self._places(seen)
        self._tell(seen, after, before)

    def _places(self, seen: Seen) -> None:
        """Where there is more room than before, and whose company has changed."""
        old, new = node_of(seen.old), node_of(seen.new)
        left = {old, nomination_of(seen.old)} - {new, nomination_of(seen.new), ""}
        for node in left:
            self._wakeups.freed(node)
        other = seen.old is not None and seen.new is not None and company(seen.old) != company(seen.new)
        if (left or other) and seen.old is not None and keeps_away(seen.old):
            self._wakeups.everybody()
        if new and (new != old or other):
            self._wakeups.company()
        if new and new != old:
            self._limits.wake()

    def _tell(self, seen: Seen, after: str, before: str) -> None:
        if after and not before:
            self._history.note(seen.record.unit, "queued", loop.found_pending(seen.record.unit))
        elif seen.new is None:
            self._history.note(seen.record.unit, "gone", loop.gone(seen.record.unit))

    def _node(self, seen: Seen) -> None:
        if seen.new is None:
            self._wakeups.lost(seen.record.name)
        elif seen.old is None or offers(seen.old) != offers(seen.new):
            self._wakeups.freed(seen.record.name)
            if seen.old is not None and seen.old.manifest.metadata.labels != seen.new.manifest.metadata.labels:
                self._wakeups.everybody()  # who keeps others away there keeps them away from another place now

    # Quota

    def _quota_workload(self, seen: Seen) -> None:
        old, new = QuotaState(seen.old), QuotaState(seen.new)
        unit = seen.record.unit
        if old.uses and (not new.uses or new.evicted != old.evicted):
            self._workloads.unpark()
        elif new.waits and (not old.waits or generation(seen.old) != generation(seen.new)):
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
        if not QueueConfigurations.concerns(seen.record):
            return
        others = True  # where something could not be written, too: by then, others may be in force
        try:
            others = await self._configurations.changed(seen.new)
        finally:
            if others:
                self._wakeups.everybody()
                self._limits.wake()

    def _classes(self, _: Seen) -> None:
        self._wakeups.everybody()
        self._workloads.unpark()

    def _other(self, seen: Seen) -> None:
        if seen.resource.group == _QUOTA:
            if spec_of(seen.old) != spec_of(seen.new):
                self._workloads.unpark()
        elif seen.resource.kind in _GROUPING:
            self._group(seen)

    def _group(self, seen: Seen) -> None:
        """Its own units; where it is decided over in another way, its pods on nodes may be easier to preempt, too."""
        if seen.old is not None and seen.new is not None:
            if alike(seen.old.manifest, seen.new.manifest):
                return
            self._wakeups.everybody()
        self._changed |= dict.fromkeys(self._pending.of_group(seen.resource.kind, *seen.record.key))
