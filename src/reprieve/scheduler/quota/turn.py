"""One turn of the quota policy: a cycle over all queues, again as long as that changes anything.

All that a cycle goes by is in the objects; what is kept here only saves work.
"""

from math import inf

from reprieve.engine.plan import Plan
from reprieve.policies.quota.claims import out_of_queues
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.policies.quota.refusals import Refusals
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.quota.effects import QuotaEffects
from reprieve.stores.errors import Conflict, NotFound
from reprieve.texts import events as loop
from reprieve.texts import quota as texts
from reprieve.world import microseconds

CYCLE = "Quota//cycle"
"""What stands in the scheduling queue for all quota workloads: their own queues say whose turn it is."""
_SECOND = 1_000_000


class AdmitWorkloads:
    """Runs quota cycles, and has their plans carried out."""

    def __init__(self, services: Services, effects: QuotaEffects) -> None:
        self._services = services
        self._policy = services.policies[QuotaEntry.name].policy
        self._queue = services.queue
        self._log = services.context.log
        self._effects = effects
        self._known = Refusals()

    async def turn(self) -> bool:
        """Whether another cycle may come to other plans; else the cycle waits, or is tried again."""
        started = self._services.elapsed()
        self._policy.quota.at(microseconds(self._services.context.clock()))
        known, self._known = self._known, Refusals()  # until all have been told: else they are decided for again
        plans = cycle(self._policy, known)
        seconds = self._services.elapsed() - started
        numbers = [self._log.decided(plan, seconds) for plan in plans]
        done = [await self._carry_out(plan, number) for plan, number in zip(plans, numbers, strict=True)]
        if any(refused is None for refused in done):
            self._queue.failed(CYCLE)
            return False
        self._known = known
        if any(done):
            self._queue.done(CYCLE)
            return True
        if not self._services.shadow:
            await self._tell_the_rest()
        self._queue.unschedulable(CYCLE, self._next_moment(plans))
        return False

    async def _carry_out(self, plan: Plan, number: int) -> bool | None:
        """Whether another cycle may come to other plans; None: the store refused, so it has to be decided again."""
        try:
            return False if self._services.shadow else await self._act(plan, number)
        except (Conflict, NotFound):
            return None

    async def _act(self, plan: Plan, number: int) -> bool:
        again = plan.outcome == "Fits"
        match plan.outcome:
            case "Fits":
                await self._effects.admit(plan, number)
            case "Preempt":
                await self._effects.preempt(plan, number)
            case "Unschedulable":
                again = await self._effects.give_up(plan.preemptor)
                await self._effects.refuse(plan, number)
            case _:
                await self._effects.refuse(plan, number)
        self._log.acted(plan, number, fits="admitted")
        return again

    async def _tell_the_rest(self) -> None:
        """Those who have no queue, or whose turn has not come, are told so: nobody waits without a reason."""
        quota = self._policy.quota
        for facts in list(quota.stranded):
            await self._effects.say_pending(facts.unit, self._no_queue(facts))
        waiting = [facts for queue in quota.waiting.values() for facts in queue]
        for facts in waiting:
            if facts.queue is not None and not self._effects.has_said_why(facts.unit):
                turn = loop.waits_for_its_turn(facts.unit, facts.queue.name)
                await self._effects.say_pending(facts.unit, turn if quota.takes(facts) else self._no_queue(facts))

    def _next_moment(self, plans: list[Plan]) -> float:
        moments = [plan.until for plan in plans if plan.until is not None]
        requeued = self._policy.quota.requeued_at()
        if requeued is not None:
            moments.append(requeued)
        return min(moments) / _SECOND if moments else inf

    def _no_queue(self, facts: WorkloadFacts) -> str:
        return texts.no_queue(facts.unit, out_of_queues(self._policy.quota, facts))
