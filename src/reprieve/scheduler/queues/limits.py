"""Queues that use more than their maximum, because that was lowered: who goes, and when.

Since when a queue is above its maximum is written to the ConfigMap of the queues: a restart does not begin it anew.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf

import msgspec

from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import CONFIG_MAPS
from reprieve.manifests.pods import Pod
from reprieve.model.clock import precise_timestamp
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.scheduler.context import Context
from reprieve.scheduler.decision_log import Journal
from reprieve.scheduler.pods.effects import PodEffects
from reprieve.scheduler.queues.configuration import QueueConfigurations
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.stores.records import Record

LIMITS = "Queue//limits"
"""What stands in the scheduling queue for all queues that are watched."""
SINCE = "reprieve.scheduling/above-maximum-since"
_FIRST = 2**31


class QueueLimits:
    """Watches queues whose maximum may have been lowered."""

    def __init__(
        self,
        deciding: Deciding,
        queue: SchedulingQueue,
        context: Context,
        effects: PodEffects,
        journal: Journal,
        configurations: QueueConfigurations,
        mine: Callable[[Pod], bool],
        *,
        shadow: bool,
    ) -> None:
        self._deciding = deciding
        self._queue = queue
        self._context = context
        self._effects = effects
        self._journal = journal
        self._configurations = configurations
        self._mine = mine
        self._shadow = shadow

    def wake(self) -> None:
        """Pods have come to nodes, or the queues have changed."""
        if self._deciding.queues is not None:
            self._queue.push(LIMITS, _FIRST)

    async def turn(self) -> None:
        policy = self._deciding.queues
        record = self._configurations.source()
        if policy is None or record is None:
            return self._queue.done(LIMITS)
        above = {plan.preemptor: plan for plan in quota_plans(policy) if plan.outcome != "Fits"}
        since = await self._note(record, set(above))
        now = self._context.clock()
        due = {unit: since[unit] + timedelta(seconds=_delay(policy, unit)) for unit in above}
        for unit, plan in above.items():
            if due[unit] <= now and plan.outcome == "Preempt":
                await self._act(self._own(plan))
        later = [moment.timestamp() for moment in due.values() if moment > now]
        return self._queue.unschedulable(LIMITS, min(later, default=inf))

    def _own(self, plan: Plan) -> Plan:
        """Of the victims those that are this scheduler's: what another one has placed is for that one to take."""
        pods = self._context.mirror.world.pods
        keys = {victim.unit: (victim.unit.split("/")[1], victim.unit.split("/")[2]) for victim in plan.victims}
        plan.victims = [
            victim for victim in plan.victims if (facts := pods.get(keys[victim.unit])) and self._mine(facts.pod)
        ]
        return plan

    async def _act(self, plan: Plan) -> None:
        if not plan.victims:
            return
        number = self._journal.decided(plan, 0.0)
        if not self._shadow:
            await self._effects.evict_all(plan, number)
            self._journal.acted(plan, number)

    async def _note(self, record: Record, above: set[str]) -> dict[str, datetime]:
        """Since when each queue is above its maximum; written where that has changed."""
        written = (record.metadata.get("annotations") or {}).get(SINCE, "")
        try:
            known = msgspec.json.decode(written, type=dict[str, datetime]) if written else {}
        except msgspec.MsgspecError:
            known = {}
        now = self._context.clock()
        since = {unit: known.get(unit, now) for unit in sorted(above)}
        if set(since) != set(known) and not self._shadow:
            text = msgspec.json.encode({unit: precise_timestamp(at) for unit, at in since.items()}).decode()
            patch = {"metadata": {"annotations": {SINCE: text if since else None}}}
            changed = await self._context.store.patch(CONFIG_MAPS, record.name, record.namespace, patch, uid=record.uid)
            self._context.absorb(changed)
        return since


def _delay(policy: QueuePolicy, unit: str) -> float:
    name = unit.removeprefix("Queue//")
    return next((queue.quota_delay for queue in policy.tree.queues if queue.name == name), 0.0)
