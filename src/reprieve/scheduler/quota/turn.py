"""One turn of the quota policy: a cycle over all queues, again as long as that changes anything.

All that a cycle goes by is in the objects; what is kept here only saves work.

With a store far away the plans of a cycle are on their way while the next cycle is decided, over what they will have
done. A plan is put off as long as something is on its way for any workload that it is about; what the store refuses is
taken back, and the cycle is tried again after a back-off.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from math import inf

from reprieve.engine.plan import Plan
from reprieve.model.names import UnitName, kind_of
from reprieve.policies.quota.claims import out_of_queues
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.policies.quota.refusals import Refusals
from reprieve.policies.quota.workloads import WorkloadFacts, backs_off
from reprieve.policies.quota.world import QuotaWorld
from reprieve.scheduler.assuming import AssumedObjects, taking_back
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.quota.effects import Act, QuotaEffects
from reprieve.scheduler.quota.metrics import QuotaCounts
from reprieve.stores.errors import Conflict, NotFound
from reprieve.texts import events as loop
from reprieve.texts import quota as texts
from reprieve.world import microseconds

CYCLE = "Quota//cycle"
"""What stands in the scheduling queue for all quota workloads: their own queues say whose turn it is."""
_SECOND = 1_000_000
_ACTING = ("Fits", "Preempt")
_MOMENT = 0.001
"""Seconds: the same moment by two clocks differs by less."""
_TELLING = 0.05
"""Seconds for each who was told a new reason, until anybody is told another one: many may wait, and the numbers in
their reasons change whenever one of them comes or goes."""


class AdmitWorkloads:
    """Runs quota cycles, and has their plans carried out."""

    def __init__(self, services: Services, effects: QuotaEffects, counts: QuotaCounts) -> None:
        self._services = services
        self._policy = services.policies[QuotaEntry.name].policy
        self._queue = services.queue
        self._log = services.context.log
        self._writes = services.context.writes
        self._effects = effects
        self._counts = counts
        self._known = Refusals()
        self._over: dict[str, None] = {}
        self._failures = 0
        self._failed = False
        self._tells_again = 0.0
        """When there is time again to tell new reasons."""

    def over(self, unit: str) -> None:
        """A workload asks no more: it must not hold anything."""
        if not self._services.shadow:
            self._over[unit] = None

    def is_inadmissible(self, facts: WorkloadFacts) -> bool:
        """Whether there was no quota and nobody to make way for it, and nothing has changed since."""
        return self._known.get(self._policy.quota, facts) is not None

    async def turn(self) -> bool:
        """Whether another cycle may come to other plans; else the cycle waits, or is tried again."""
        if self._backs_off():
            return False
        await self._let_go()
        started = self._services.elapsed()
        self._policy.quota.at(microseconds(self._services.context.clock()))
        known, self._known = self._known, Refusals()  # until all have been told: else they are decided for again
        decided = cycle(self._policy, known)
        plans = [plan for plan in decided if not self._put_off(plan)]
        if len(plans) < len(decided):
            known = Refusals()  # whoever was put off is not told yet, and has to be decided for again
        seconds, moment = self._services.elapsed() - started, self._next_moment(plans)
        untold = self._untold(plans)
        later = self._told_later(plan for plan in plans if plan.preemptor not in untold)
        for unit in untold | later:
            known.forget(unit)
        plans = [plan for plan in plans if plan.preemptor not in untold | later]
        if decided and not self._services.shadow:
            self._counts.attempted(seconds, admitted=any(plan.outcome == "Fits" for plan in decided))
        numbers = [self._log.decided(plan, seconds, beside=len(plans) - 1) for plan in plans]
        if self._services.shadow:
            done: list[bool | None] = [False]
        else:
            # All at once: what one of them waits for must not change what another one was decided over.
            acts = [self._prepared(plan, number) for plan, number in zip(plans, numbers, strict=True)]
            done = [await self._carry_out(act) for act in acts]
        if any(refused is None for refused in done):
            self._queue.failed(CYCLE)
            return False
        self._known = known if not self._failed else self._known
        if any(done) or untold:
            self._queue.done(CYCLE)
            return True
        if not self._services.shadow:
            await self._tell_the_rest({plan.preemptor for plan in plans} | later)
        self._queue.unschedulable(CYCLE, min(moment, self._next_telling() if later else inf))
        return False

    def _backs_off(self) -> bool:
        """Whether the store has refused something since the last turn."""
        if not self._failed:
            return False
        self._failed = False
        self._log.failed(kind_of(CYCLE))
        self._queue.failed(CYCLE, self._failures)
        return True

    def _untold(self, plans: list[Plan]) -> set[UnitName]:
        """Who is refused in a tree in which somebody is admitted or preempts: the next cycle comes at once and decides
        for all of that tree anew, so that these reasons would be over before anybody has read them."""
        acting = {plan.terms.queue.root for plan in plans if plan.outcome in _ACTING}
        if self._services.shadow:
            return set()
        refused = (plan for plan in plans if plan.outcome not in _ACTING and plan.terms.queue.root in acting)
        return {plan.preemptor for plan in refused if not self._effects.has_to_act(plan)}

    def _told_later(self, plans: Iterable[Plan]) -> set[UnitName]:
        """Who is refused as before, perhaps for another reason, where that has just been told to many."""
        if self._services.shadow:
            return set()
        refused = [plan for plan in plans if plan.outcome not in _ACTING and not self._effects.has_to_act(plan)]
        now = self._services.elapsed()
        if self._tells_again - now > _MOMENT:
            return {plan.preemptor for plan in refused}
        self._tells_again = now + _TELLING * len(refused)
        return set()

    def _put_off(self, plan: Plan) -> bool:
        """Whether something is on its way for a workload that a plan is about; there is another cycle afterwards."""
        units = (plan.preemptor, *(victim.unit for victim in plan.victims))
        busy = next((unit for unit in units if self._writes.busy(unit)), None)
        if busy is not None:
            self._writes.afterwards(busy, self._wake, CYCLE)
        return busy is not None

    def _wake(self) -> None:
        self._queue.push(CYCLE, most_important(self._policy.quota))
        self._services.context.mirror.signal.set()

    def _prepared(self, plan: Plan, number: int) -> Act | None:
        try:
            act = self._effects.prepare(plan, number)
        except NotFound:
            return None

        async def work() -> None:
            await act.work()
            act.assumed.written()
            self._log.acted(plan, number, fits="admitted")
            self._failures = 0 if not self._failed else self._failures

        return act._replace(work=work)

    async def _carry_out(self, act: Act | None) -> bool | None:
        """Whether another cycle may come to other plans; None: the store refused, so it has to be decided again."""
        if act is None:
            return None
        try:
            await self._writes.carry_out(act.units, act.work, taking_back(act.assumed, self._has_failed))
        except (Conflict, NotFound):
            return None
        return act.again

    def _has_failed(self) -> None:
        self._failed = True
        self._failures += 1
        self._known = Refusals()
        self._wake()

    async def _let_go(self) -> None:
        """Whoever asks no more gives up what it held, unless something is on its way for it: then afterwards."""
        for unit in list(self._over):
            if self._writes.busy(unit):
                self._writes.afterwards(unit, self._wake, CYCLE)
                continue
            if self._effects.holds_in_vain(unit):
                await self._write(unit, partial(self._effects.let_go_if_over, unit))
            else:
                del self._over[unit]

    async def _tell_the_rest(self, decided: Collection[str]) -> None:
        """Those who have no queue, or whose turn has not come, are told so: nobody waits without a reason, nor for one
        that was true once."""
        quota = self._policy.quota
        told = [(facts.unit, self._no_queue(facts)) for facts in quota.stranded]
        for facts in (facts for queue in quota.waiting.values() for facts in queue):
            if not quota.takes(facts):
                told.append((facts.unit, self._no_queue(facts)))
            elif facts.queue is not None and facts.unit not in decided and self._has_had_no_turn(facts):
                told.append((facts.unit, loop.waits_for_its_turn(facts.unit, facts.queue.name)))
        for unit, message in told:
            if not self._writes.busy(unit) and self._effects.is_news(unit, message):
                await self._write(unit, partial(self._effects.say_pending, unit, message))

    def _has_had_no_turn(self, facts: WorkloadFacts) -> bool:
        """Whether nothing has been decided about it since anything changed; who is queued again later was told so."""
        if not self._effects.has_said_why(facts.unit):
            return True
        return not backs_off(facts, self._policy.quota.now) and not self.is_inadmissible(facts)

    async def _write(self, unit: str, write: Callable[[], Awaitable[object]]) -> None:
        """One write that no plan asks for."""

        async def work() -> None:
            await write()

        await self._writes.carry_out(
            [unit], work, taking_back(AssumedObjects(self._services.context), self._has_failed)
        )

    def _next_moment(self, plans: list[Plan]) -> float:
        moments = [plan.until for plan in plans if plan.until is not None]
        quota = self._policy.quota
        moments += [moment for moment in (quota.requeued_at(), quota.protected_at()) if moment is not None]
        return min(moments) / _SECOND if moments else inf

    def _next_telling(self) -> float:
        left = self._tells_again - self._services.elapsed()
        return microseconds(self._services.context.clock()) / _SECOND + left

    def _no_queue(self, facts: WorkloadFacts) -> str:
        return texts.no_queue(facts.unit, out_of_queues(self._policy.quota, facts))


def most_important(quota: QuotaWorld) -> int:
    """The cycle is queued by the most important that waits: pods that are more important have their turn before it,
    those that are less after it."""
    return max((queue[0].boosted for queue in quota.waiting.values() if queue), default=0)
