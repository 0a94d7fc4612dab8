"""One turn for a unit on nodes: a pod, or a group of pods."""

from __future__ import annotations

import asyncio

from reprieve.clock import Clock
from reprieve.deciding import Deciding, Waiting
from reprieve.engine.plan import Plan
from reprieve.scheduler.effects_pods import PodEffects
from reprieve.scheduler.journal import Journal
from reprieve.scheduler.pending import PendingUnits
from reprieve.scheduler.queue import SchedulingQueue
from reprieve.texts import loop
from reprieve.world import microseconds

_SECOND = 1_000_000


class PlacePods:
    """Decides for the units of the pod, podgroup and queue policies, and has it done."""

    def __init__(
        self,
        deciding: Deciding,
        pending: PendingUnits,
        queue: SchedulingQueue,
        effects: PodEffects,
        journal: Journal,
        clock: Clock,
        *,
        shadow: bool,
    ) -> None:
        self._deciding = deciding
        self._pending = pending
        self._queue = queue
        self._effects = effects
        self._journal = journal
        self._clock = clock
        self._shadow = shadow

    async def turn(self, unit: str) -> None:
        waiting = self._pending.waiting(unit)
        if waiting is None:
            return await self._no_group(unit)
        started = asyncio.get_running_loop().time()
        plan = self._deciding.decide(waiting, microseconds(self._clock()))
        seconds = asyncio.get_running_loop().time() - started
        number = self._journal.decided(plan, seconds, never=waiting.never_preempts)
        if self._shadow:
            return self._set_aside(unit, plan)
        return await self._commit(unit, waiting, plan, number)

    async def _no_group(self, unit: str) -> None:
        """Pods that name a group which is not there wait for it."""
        pods = self._pending.pods(unit)
        if not pods:
            return self._queue.done(unit)
        if not self._shadow:
            missing = Waiting(unit, pods, 0, never_preempts=False, created=0)
            plan = Plan(unit, "podgroup", "Unschedulable", loop.group_missing(unit, len(pods)))
            await self._effects.refuse(missing, plan)
        return self._queue.unschedulable(unit)

    async def _commit(self, unit: str, waiting: Waiting, plan: Plan, number: int) -> None:
        units = [facts.unit for facts in waiting.pods if facts.unit in plan.placement]
        match plan.outcome:
            case "Fits":
                failed = await self._effects.bind(waiting, plan, number)
                self._journal.acted(plan, number, units)
                self._after_binding(unit, waiting, plan, failed=bool(failed))
            case "Preempt":
                await self._effects.preempt(waiting, plan, number)
                self._journal.acted(plan, number, units)
                self._queue.unschedulable(unit)
            case _:
                await self._effects.refuse(waiting, plan, number, keep=bool(plan.waiting_for))
                self._journal.acted(plan, number)
                self._set_aside(unit, plan)

    def _after_binding(self, unit: str, waiting: Waiting, plan: Plan, *, failed: bool) -> None:
        if failed:
            self._queue.failed(unit)
        elif len(plan.placement) < len(waiting.pods):
            self._queue.unschedulable(unit)  # the rest of a group, for which there was no room
        else:
            self._queue.done(unit)

    def _set_aside(self, unit: str, plan: Plan) -> None:
        if plan.until is None:
            self._queue.unschedulable(unit)
        else:
            self._queue.unschedulable(unit, plan.until / _SECOND)
