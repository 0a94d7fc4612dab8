"""One turn of the quota policy: a cycle over the heads of all queues, again as long as that changes anything.

A workload for which there is no quota is parked: it is passed over until something frees quota or changes the queues.
One that has preempted keeps its turn until it is admitted, or there is no place for it any more.
"""

from __future__ import annotations

import asyncio
from math import inf

from reprieve import texts
from reprieve.engine.plan import Plan
from reprieve.model.clock import Clock
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import Sizes
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.scheduler.decision_log import Journal
from reprieve.scheduler.quota.effects import QuotaEffects
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.stores.errors import Conflict, NotFound
from reprieve.texts import events as loop
from reprieve.world import microseconds

CYCLE = "Quota//cycle"
"""What stands in the scheduling queue for all quota workloads: their own queues say whose turn it is."""
_SECOND = 1_000_000


class AdmitWorkloads:
    """Runs quota cycles, and has their plans carried out."""

    def __init__(
        self,
        policy: QuotaPolicy,
        queue: SchedulingQueue,
        effects: QuotaEffects,
        journal: Journal,
        clock: Clock,
        *,
        shadow: bool,
    ) -> None:
        self._policy = policy
        self._queue = queue
        self._effects = effects
        self._journal = journal
        self._clock = clock
        self._shadow = shadow
        self._parked: set[str] = set()
        self._held: dict[str, Sizes] = {}

    async def resume(self) -> None:
        """After a restart: finish what was begun, and keep the turn of those for whom somebody has made way."""
        self._held = dict(await self._effects.resume())

    def wake(self) -> None:
        """There is somebody new, or something has changed."""
        self._queue.push(CYCLE, self._importance())

    def _importance(self) -> int:
        """That of the most important workload that waits: more important pods have their turn between two cycles."""
        waiting = self._policy.quota.waiting.values()
        return max((queue[0].boosted for queue in waiting if queue), default=0)

    def unpark(self, unit: str = "") -> None:
        """Quota became free, or the queues changed: all are worth another try; or this one, which changed itself."""
        if unit:
            self._parked.discard(unit)
        else:
            self._parked.clear()
        self.wake()

    def pending(self) -> dict[str, int]:
        """How many wait in each cluster queue."""
        return {name: len(waiting) for name, waiting in self._policy.quota.waiting.items()}

    async def turn(self) -> None:
        started = asyncio.get_running_loop().time()
        self._policy.quota.at(microseconds(self._clock()))
        plans = cycle(self._policy, self._parked, self._held)
        seconds = asyncio.get_running_loop().time() - started
        numbers = [self._journal.decided(plan, seconds) for plan in plans]
        done = [await self._carry_out(plan, number) for plan, number in zip(plans, numbers, strict=True)]
        if any(refused is None for refused in done):
            return self._queue.failed(CYCLE)
        if any(done):
            self._queue.done(CYCLE)
            return self.wake()
        if not self._shadow:
            await self._tell_the_rest()
        return self._queue.unschedulable(CYCLE, self._next_moment(plans))

    async def _carry_out(self, plan: Plan, number: int) -> bool | None:
        """Whether another cycle may come to other plans; None: the store refused, so it has to be decided again."""
        try:
            return self._shadowed(plan) if self._shadow else await self._act(plan, number)
        except (Conflict, NotFound):
            return None

    def _shadowed(self, plan: Plan) -> bool:
        self._parked.add(plan.preemptor)
        return True

    async def _act(self, plan: Plan, number: int) -> bool:
        unit = plan.preemptor
        match plan.outcome:
            case "Fits":
                await self._effects.admit(plan, number)
                self._held.pop(unit, None)
            case "Preempt":
                self._held[unit] = (await self._effects.preempt(plan, number)).counts
            case "Unschedulable":
                await self._effects.refuse(plan, number, gives_up=True)
                self._held.pop(unit, None)
                self._parked.add(unit)
            case _:
                await self._effects.refuse(plan, number)
        self._journal.acted(plan, number)
        return plan.outcome in ("Fits", "Unschedulable")

    async def _tell_the_rest(self) -> None:
        """Those who have no queue, or whose turn has not come, are told so: nobody waits without a reason."""
        quota = self._policy.quota
        for facts in list(quota.stranded):
            await self._effects.say_pending(facts.unit, _no_queue(facts))
        waiting = [facts for queue in quota.waiting.values() for facts in queue]
        for facts in waiting:
            if facts.queue is not None and not self._effects.has_said_why(facts.unit):
                turn = loop.waits_for_its_turn(facts.unit, facts.queue.name)
                await self._effects.say_pending(facts.unit, turn if quota.takes(facts) else _no_queue(facts))

    def _next_moment(self, plans: list[Plan]) -> float:
        moments = [plan.until for plan in plans if plan.until is not None]
        requeued = self._policy.quota.requeued_at()
        if requeued is not None:
            moments.append(requeued)
        return min(moments) / _SECOND if moments else inf


def _no_queue(facts: WorkloadFacts) -> str:
    return texts.no_queue(facts.unit, facts.workload.spec.queue_name)
