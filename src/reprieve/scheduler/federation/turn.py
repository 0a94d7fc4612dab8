"""One turn for a binding: which member clusters its replicas go to, and who makes way there."""

from __future__ import annotations

import asyncio

from reprieve.engine.preemption import decide
from reprieve.model.names import UnitName
from reprieve.policies.federation.bindings import FINISHED, BindingFacts
from reprieve.policies.federation.holds import HOLD_ANNOTATION
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.scheduler.context import Context
from reprieve.scheduler.decision_log import Journal
from reprieve.scheduler.federation import effects as effects_federation
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.stores.records import Record
from reprieve.world import microseconds


class ScheduleBindings:
    """Decides for bindings, and has it done."""

    def __init__(
        self,
        policy: FederationPolicy,
        queue: SchedulingQueue,
        context: Context,
        journal: Journal,
        names: frozenset[str],
        *,
        shadow: bool,
    ) -> None:
        self._policy = policy
        self._queue = queue
        self._context = context
        self._journal = journal
        self._names = names
        self._shadow = shadow

    def changed(self, old: Record | None, new: Record | None) -> bool:
        """A binding has changed: queue it if it waits; whether it has left something that others could use."""
        record = new or old
        if record is None:
            return False
        facts = self._find(record.unit)
        if facts is None or not facts.pending or facts.binding.spec.scheduler_name not in self._names:
            self._queue.delete(record.unit)
        elif old is None or new is None or old.metadata.get("generation") != new.metadata.get("generation"):
            self._queue.push(facts.unit, self._priority(facts))
        return old is not None and (new is None or _used(old) != _used(new))

    def _find(self, unit: str) -> BindingFacts | None:
        self._policy.federation.refresh()
        return self._policy.federation.find(UnitName(unit))

    def _priority(self, facts: BindingFacts) -> int:
        return facts.priority if self._policy.settings.gate("PriorityBasedScheduling") else 0

    async def turn(self, unit: str) -> None:
        facts = self._find(unit)
        if facts is None or not facts.pending:
            return self._queue.done(unit)
        started = asyncio.get_running_loop().time()
        plan = decide(self._policy, facts, microseconds(self._context.clock()))
        number = self._journal.decided(plan, asyncio.get_running_loop().time() - started)
        if self._shadow:
            return self._queue.unschedulable(unit)
        await effects_federation.commit(self._context, plan)
        self._journal.acted(plan, number)
        if plan.outcome == "Fits":
            return self._queue.done(unit)
        return self._queue.unschedulable(unit)


def _used(record: Record) -> tuple[object, ...]:
    """What it takes from others: its places and those it leaves, so many of what size, unless it is over; its hold."""
    spec = record.data.get("spec", {})
    held = (record.metadata.get("annotations") or {}).get(HOLD_ANNOTATION)
    size = spec.get("replicaRequirements")
    return spec.get("clusters"), spec.get("gracefulEvictionTasks"), size, _finished(record), held


def _finished(record: Record) -> bool:
    conditions = record.data.get("status", {}).get("conditions") or ()
    return any(item.get("type") == FINISHED and item.get("status") == "True" for item in conditions)
