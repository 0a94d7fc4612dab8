"""The lane of bindings, which go to member clusters."""

from typing import Any

from reprieve.engine.holds import HOLD_ANNOTATION
from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTERS,
    PRIORITY_CLASSES,
    PROPAGATION_POLICIES,
)
from reprieve.model.conditions import has_condition
from reprieve.policies.federation.bindings import FINISHED
from reprieve.scheduler.context import annotations_of
from reprieve.scheduler.federation.resume import resume
from reprieve.scheduler.federation.turn import ScheduleBindings
from reprieve.scheduler.lanes import Helps, Lane, Services
from reprieve.scheduler.mirror import Seen
from reprieve.stores.records import Record
from reprieve.texts import events as loop

_HELPING = (CLUSTERS, PRIORITY_CLASSES, PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES)
"""Where there is room, and who may preempt."""


class BindingLane(Lane):
    """Puts bindings into the queue as they change; all of them are woken when a cluster changes or is left, or when
    another policy or class may let them preempt."""

    kinds = frozenset({BINDINGS.kind, CLUSTER_BINDINGS.kind})
    reads = frozenset({BINDINGS.group, CLUSTERS.group, PROPAGATION_POLICIES.group})

    def __init__(self, services: Services) -> None:
        self._services = services
        self._context = services.context
        self._queue = services.queue
        self._schedule = ScheduleBindings(services)
        self._stirred = False

    async def turn(self, unit: str) -> None:
        await self._schedule.turn(unit)

    async def resume(self) -> None:
        await resume(self._context, self._services.names)

    def stirred(self) -> bool:
        return self._stirred

    def whom_it_helps(self) -> Helps:
        self._stirred = False
        return lambda _: True

    async def react(self, seen: Seen) -> None:
        if seen.resource in (BINDINGS, CLUSTER_BINDINGS):
            self._binding(seen)
        elif seen.resource in _HELPING:
            self._stirred = True

    def _binding(self, seen: Seen) -> None:
        unit = seen.record.unit
        facts = self._schedule.find(unit)
        silent = self._schedule.silent(unit)
        if facts is None or not (silent or self._schedule.waits(facts)):
            self._queue.delete(unit)
        elif silent or _asks_anew(seen):
            waiting = self._schedule.preemptor(facts)
            self._queue.push(unit, waiting.priority, (waiting.created, unit))
        if seen.old is not None and (seen.new is None or _used(seen.old) != _used(seen.new)):
            self._stirred = True
        if seen.old is None and facts is not None and facts.pending:
            self._context.log.history.note(unit, "queued", loop.found_pending(unit), uid=seen.record.uid)


def _asks_anew(seen: Seen) -> bool:
    old, new = seen.old, seen.new
    return old is None or new is None or old.metadata.get("generation") != new.metadata.get("generation")


def _used(record: Record) -> tuple[Any, ...]:
    """What it takes from others: its places and those it leaves, so many of what size, unless it is over; its hold,
    unless it is suspended."""
    spec = record.data.get("spec", {})
    size = spec.get("replicaRequirements")
    held = annotations_of(record).get(HOLD_ANNOTATION), spec.get("suspension")
    return spec.get("clusters"), spec.get("gracefulEvictionTasks"), size, has_condition(record.data, FINISHED), *held
