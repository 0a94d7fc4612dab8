"""Queues that use more than their maximum, because that was lowered: who goes, and when.

Since when a queue is above its maximum is written to the ConfigMap of the queues: a restart does not begin it anew.
"""

from datetime import datetime, timedelta
from math import inf

import msgspec

from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.model.clock import precise_timestamp
from reprieve.model.names import key_of, parts_of
from reprieve.policies.queue.entry import LimitEntry, QueueEntry
from reprieve.policies.queue.policy import QueuePolicy
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
SINCE = "reprieve.scheduling/above-maximum-since"


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
        policy = self._services.policies[QueueEntry.name].policy
        record = self._configurations.source()
        if policy is None or record is None:
            return self._queue.done(LIMITS)
        now = self._context.clock()
        plans: list[Plan] = self._services.policies[LimitEntry.name].plans(microseconds(now))
        above = {plan.preemptor: plan for plan in plans}
        since = await self._note(record, set(above))
        due = {unit: since[unit] + timedelta(seconds=_delay(policy, unit)) for unit in above}
        for unit, plan in above.items():
            if due[unit] <= now and plan.outcome == "Preempt":
                await self._act(self._own(plan))
        later = [moment.timestamp() for moment in due.values() if moment > now]
        return self._queue.unschedulable(LIMITS, min(later, default=inf))

    def _own(self, plan: Plan) -> Plan:
        """Of the victims those that are this scheduler's: what another one has placed is for that one to take."""
        pods, names = self._services.world.pods, self._services.names
        found = [(victim, pods.get(key_of(victim.unit))) for victim in plan.victims]
        plan.victims = [victim for victim, facts in found if facts and facts.pod.spec.scheduler_name in names]
        return plan

    async def _act(self, plan: Plan) -> None:
        if not plan.victims:
            return
        number = self._context.log.decided(plan, 0.0)
        if not self._services.shadow:
            await self._evictions.evict(hold_of_plan(self._pods, plan, number))
            self._context.log.acted(plan, number)

    async def _note(self, record: Record, above: set[str]) -> dict[str, datetime]:
        """Since when each queue is above its maximum; written where that has changed."""
        written = annotations_of(record).get(SINCE, "")
        try:
            known = msgspec.json.decode(written, type=dict[str, datetime]) if written else {}
        except msgspec.MsgspecError:
            known = {}
        now = self._context.clock()
        since = {unit: known.get(unit, now) for unit in sorted(above)}
        if set(since) != set(known) and not self._services.shadow:
            text = msgspec.json.encode({unit: precise_timestamp(at) for unit, at in since.items()}).decode()
            patch = {"metadata": {"annotations": {SINCE: text if since else None}}}
            changed = await self._context.store.patch(CONFIG_MAPS, record.name, record.namespace, patch, uid=record.uid)
            self._context.absorb(changed)
        return since


def _delay(policy: QueuePolicy, unit: str) -> float:
    name = parts_of(unit).name
    return next((queue.quota_delay for queue in policy.tree.queues if queue.name == name), 0.0)
