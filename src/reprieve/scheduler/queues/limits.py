"""Queues that use more than their maximum, because that was lowered: who goes, and when.

Since when a queue is above its maximum is written to the ConfigMap of the queues: a restart does not begin it anew.
"""

from math import inf

import msgspec

from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.model.clock import precise_timestamp
from reprieve.policies.queue.entry import LimitEntry, QueueEntry
from reprieve.policies.queue.limits import ABOVE_SINCE, read_since
from reprieve.scheduler.context import annotations_of
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.pods.effects import hold_of_plan
from reprieve.scheduler.pods.evictions import PodEvictions
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.scheduler.queues.configuration import QueueConfigurations
from reprieve.stores.records import Record
from reprieve.world import microseconds

LIMITS = "Queue//limits"
"""What stands in the scheduling queue for all queues that are watched."""
_SECOND = 1_000_000


class EnforceLimits:
    """Watches queues whose maximum may have been lowered."""

    def __init__(self, services: Services, configurations: QueueConfigurations, evictions: PodEvictions) -> None:
        self._services = services
        self._context = services.context
        self._queue = services.queue
        self._configurations = configurations
        self._evictions = evictions
        self._pods = PodWriter(services.context)

    async def turn(self) -> None:
        record = self._configurations.source()
        if self._services.policies[QueueEntry.name].policy is None or record is None:
            return self._queue.done(LIMITS)
        noted = await self._note(record, {plan.preemptor for plan in self._plans()})
        plans = [plan for plan in self._plans() if plan.preemptor in noted]
        for plan in plans:
            if plan.outcome == "Preempt":
                await self._act(plan)
        later = [plan.until / _SECOND for plan in plans if plan.until is not None]
        return self._queue.unschedulable(LIMITS, min(later, default=inf))

    def _plans(self) -> list[Plan]:
        limits: LimitEntry = self._services.policies[LimitEntry.name]
        return limits.plans(microseconds(self._context.clock()))

    async def _act(self, plan: Plan) -> None:
        number = self._context.log.decided(plan, 0.0)
        if not self._services.shadow:
            await self._evictions.evict(hold_of_plan(self._pods, plan, number))
            self._context.log.acted(plan, number)

    async def _note(self, record: Record, above: set[str]) -> set[str]:
        """Since when each queue is above its maximum, written where that has changed; those that are noted. A shadow
        goes by what others have noted."""
        known = read_since(annotations_of(record).get(ABOVE_SINCE, ""))
        if self._services.shadow or set(known) == above:
            return above & set(known)
        now = self._context.clock()
        text = msgspec.json.encode({unit: precise_timestamp(known.get(unit, now)) for unit in sorted(above)}).decode()
        patch = {"metadata": {"annotations": {ABOVE_SINCE: text if above else None}}}
        changed = await self._context.store.patch(CONFIG_MAPS, record.name, record.namespace, patch, uid=record.uid)
        self._context.absorb(changed)
        return above
