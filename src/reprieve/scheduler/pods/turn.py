"""One turn for a unit on nodes: a pod, or a group of pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from reprieve.cli.figures import Waiting
from reprieve.engine.nodes.trial import Gang
from reprieve.engine.plan import Plan
from reprieve.model.clock import Clock
from reprieve.scheduler.decision_log import Journal
from reprieve.scheduler.holds import HeldVictim, Hold, hold_of
from reprieve.scheduler.pods.effects import PodEffects
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.stores.records import Record
from reprieve.texts import events as loop
from reprieve.world import PodFacts, microseconds

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
        if not self._shadow:
            await self._effects.finish(waiting.unit)
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
                if waiting.group is not None and plan.outcome == "Unschedulable":
                    await self._dissolve(waiting, waiting.group.gang)
                await self._effects.refuse(waiting, plan, number, keep=bool(plan.waiting_for))
                self._journal.acted(plan, number)
                self._set_aside(unit, plan)

    async def _dissolve(self, waiting: Waiting, gang: Gang) -> None:
        """Pods that were chosen together and bound while others of them lost their places: none of them runs alone."""
        for hold in (hold_of(self._effects.record(facts)) for facts in (*gang.bound, *waiting.pods)):
            if hold is None or not _chosen(hold, self._records(waiting.pods)):
                continue
            chosen = _chosen(hold, self._records(gang.bound))
            message = loop.group_dissolved(waiting.unit)
            victims = [HeldVictim(record.unit, record.uid, message) for record in chosen]
            if victims and len(gang.bound) == len(chosen):
                await self._effects.evict(Hold(preemptor=waiting.unit, victims=victims))
            return

    def _records(self, pods: Iterable[PodFacts]) -> list[Record]:
        return [record for facts in pods if (record := self._effects.record(facts)) is not None]

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


def _chosen(hold: Hold, records: list[Record]) -> list[Record]:
    """Those of some pods that a hold has chosen: these, and no later ones of the same names."""
    return [record for record in records if hold.members.get(record.unit) == record.uid]
