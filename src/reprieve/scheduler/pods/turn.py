"""One turn for a unit on nodes: a pod, or a group of pods.

1. A nomination that leads nowhere any more, because somebody else has taken the place, is given up first: the decision
   is made without it.
2. Whoever loses its nomination to this unit has its turn at once. Of a group, the whole group does: its places were
   chosen together.
3. Of a group that was placed in part, the rest has its turn at once, too, and says why it waits.
4. What a budget refuses is decided again after a back-off, and the unit says that it waits for that.
5. Where changes cannot be seen, because a watch is broken, nobody is made to leave: room may have come free long ago.
   And before the first victim leaves it is asked once more whether there is room by now.
6. While what was decided for a unit is on its way to the store, nothing else is decided for it.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from reprieve.engine.holds import HeldVictim, Hold
from reprieve.engine.nodes.reservations import is_reserved
from reprieve.engine.nodes.trial import Gang
from reprieve.engine.plan import Plan
from reprieve.policies.entry import Preemptor
from reprieve.policies.on_nodes import displaced
from reprieve.policies.pod import PodEntry
from reprieve.policies.podgroup.groups import Group, left_alone
from reprieve.policies.queue.gang import Ends
from reprieve.policies.queue.task_groups import Application
from reprieve.scheduler.assuming import has_to_wait, taking_back
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.pods.alike import AlikePods
from reprieve.scheduler.pods.assuming import Assumed
from reprieve.scheduler.pods.effects import PodEffects
from reprieve.scheduler.pods.evictions import NeedNotLeave, PodEvictions
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.room import NodeRoom
from reprieve.stores.errors import Conflict, Forbidden, TooManyRequests
from reprieve.texts import events as loop
from reprieve.world import PodFacts, microseconds

_SECOND = 1_000_000


class PlacePods:
    """Decides for the units of the pod, podgroup and queue policies, and has it done."""

    def __init__(
        self,
        services: Services,
        pending: PendingUnits,
        effects: PodEffects,
        evictions: PodEvictions,
        room: NodeRoom,
        alike: AlikePods,
    ) -> None:
        self._services = services
        self._alike = alike
        self._policies = services.policies
        self._queue = services.queue
        self._log = services.context.log
        self._pending = pending
        self._effects = effects
        self._evictions = evictions
        self._room = room
        self._writes = services.context.writes
        self._taken_back: set[str] = set()
        """Units whose last decision turned out to be needless before anybody had left."""

    async def turn(self, unit: str) -> None:
        over = self._alike.takes_turn(unit)
        try:
            await self._turn(unit)
        finally:
            over()

    async def _turn(self, unit: str) -> None:
        await self._evictions.clean_up()
        waiting = self._pending.waiting(unit)
        if waiting is None:
            self._evictions.abandon(unit)
            return self._queue.done(unit)
        if self._has_to_wait(unit):
            return None
        if not self._services.shadow:
            if self._evictions.unfinished(waiting.unit) and not self._sees():
                return self._queue.failed(unit)
            await self._evictions.finish(waiting.unit)
            if self._leads_nowhere(waiting):
                await self._effects.give_up(waiting.pods[0], loop.place_taken(waiting.pods[0].nominated))
                return self.again(unit)
        started = self._services.elapsed()
        plan = self._policies.decide(waiting, microseconds(self._services.context.clock()))
        number = self._log.decided(plan, self._services.elapsed() - started)
        if self._services.shadow:
            return self._set_aside(unit, plan)
        if self._makes_somebody_leave(waiting, plan) and not self._sees():
            return self._queue.failed(unit)
        return await self._commit(unit, waiting, plan, number)

    def _has_to_wait(self, unit: str) -> bool:
        """Whether something is on its way for a unit, or has just been refused."""
        return has_to_wait(self._services, unit, lambda: self._wake(unit))

    def _wake(self, unit: str) -> None:
        if unit in self._pending:
            self._queue.push(unit, *self._pending.rank(unit))
            self._services.context.mirror.signal.set()

    def _taking_back(self, unit: str, assumed: Assumed) -> Callable[[], Awaitable[None]]:
        return taking_back(assumed, lambda: self._wake(unit))

    def _leads_nowhere(self, waiting: Preemptor) -> bool:
        """Whether a pod is nominated to a node on which it will not fit when all have left who are leaving. Groups, and
        pods in queues, find that out when they are decided for."""
        facts = waiting.pods[0]
        return (
            waiting.policy == PodEntry.name
            and bool(facts.nominated)
            and not self._room.fits_on(facts, [facts.nominated])
            and not self._room.will_fit_on(facts, facts.nominated)
        )

    def _sees(self) -> bool:
        return self._services.context.mirror.sees

    def _makes_somebody_leave(self, waiting: Preemptor, plan: Plan) -> bool:
        """A group that finds no place lets go of what it has, too."""
        return plan.outcome == "Preempt" or (isinstance(waiting.facts, Group) and plan.outcome == "Unschedulable")

    def _still_needed(self, unit: str, assumed: Assumed, hold: Hold) -> bool:
        """Whether a unit still has no place without its victims, by all that is known now, and as if they stayed: who
        leaves is not in the way of everything any more."""
        mirror = self._services.context.mirror
        mirror.catch_up()
        waiting = self._pending.waiting(unit)
        alone = waiting is not None and waiting.policy == PodEntry.name
        if waiting is not None and alone and not self._room.minds_leaving(waiting.pods[0]):
            return self._needs_a_place(unit)
        assumed.staying()
        try:
            return self._needs_a_place(unit)
        finally:
            assumed.leaving(hold)

    def _needs_a_place(self, unit: str) -> bool:
        waiting = self._pending.waiting(unit)
        if waiting is None or not self._sees():
            return False
        return not self._policies.has_place(waiting, microseconds(self._services.context.clock()))

    def again(self, unit: str) -> None:
        """It has another turn, before anybody less important."""
        self._queue.push(unit, *self._pending.rank(unit))
        self._queue.done(unit)

    async def _commit(self, unit: str, waiting: Preemptor, plan: Plan, number: int) -> None:
        if isinstance(waiting.facts, Application) and plan.placement and waiting.facts.missing:
            return await self._make_placeholders(unit, waiting, waiting.facts, plan, number)
        match plan.outcome:
            case "Fits":
                await self._bind(unit, waiting, plan, number)
            case "Preempt":
                await self._preempt(unit, waiting, plan, number)
            case "Wait" if plan.reserves and not is_reserved(waiting.pods[0]):
                await self._preempt(unit, waiting, plan, number)
            case _:
                await self._refuse(unit, waiting, plan, number)

    async def _make_placeholders(
        self, unit: str, waiting: Preemptor, application: Application, plan: Plan, number: int
    ) -> None:
        """All members have places, and some do not exist: once they do, it is decided again, for all of them."""

        async def work() -> None:
            try:
                await self._effects.make_placeholders(application, plan)
            except Forbidden as refused:
                message = loop.placeholder_refused(waiting.unit, refused.message)
                await self._effects.say_refused(waiting.pods, message, number)
                raise

        await self._writes.carry_out([unit], work, self._taking_back(unit, Assumed(self._services.context)))
        self.again(unit)

    async def _bind(self, unit: str, waiting: Preemptor, plan: Plan, number: int) -> None:
        assumed = Assumed(self._services.context)

        async def work() -> None:
            failed = await self._effects.bind(waiting, plan, number)
            self._log.acted(plan, number, _placed(waiting, plan))
            if failed:
                raise Conflict(f"{failed[0].unit} could not be bound: it has changed, or is gone")

        if self._writes.in_parallel:
            assumed.bound((facts for facts in waiting.pods if facts.unit in plan.placement), plan)
        await self._writes.carry_out([unit], work, self._taking_back(unit, assumed))
        if len(plan.placement) < len(waiting.pods):
            self.again(unit)  # the rest of a group, for which there was no room
        else:
            self._queue.done(unit)

    async def _preempt(self, unit: str, waiting: Preemptor, plan: Plan, number: int) -> None:
        displaced = self._displaced(waiting, plan)
        others = list(dict.fromkeys(map(self._pending.unit_of, displaced)))
        ranks = {other: self._pending.rank(other) for other in others}
        hold = self._effects.hold(waiting, plan, number)
        assumed = Assumed(self._services.context)
        # Where nobody else has a turn meanwhile, nothing can have changed.
        needed = partial(self._still_needed, unit, assumed, hold) if self._writes.in_parallel else _yes
        take_back = self._taking_back(unit, assumed)

        async def work() -> None:
            try:
                await self._effects.preempt(waiting, plan, hold, displaced, needed)
            except TooManyRequests as refused:
                message = loop.budget_refuses(waiting.unit, refused.message)
                await self._effects.say_refused(waiting.pods, message, number)
                raise
            except NeedNotLeave:
                if unit in self._taken_back:  # once is luck; after that, whoever decides so is in no hurry
                    raise Conflict(f"what was decided for {unit} was needless again") from None
                self._taken_back.add(unit)
                return await take_back()
            self._taken_back.discard(unit)
            self._log.acted(plan, number, _placed(waiting, plan))

        if self._writes.in_parallel:
            assumed.nominated((facts for facts in waiting.pods if facts.unit in plan.placement), plan, hold)
            assumed.not_nominated(displaced)
            assumed.leaving(hold)
        await self._writes.carry_out([unit, *others], work, take_back)
        self._queue.unschedulable(unit)
        for other, rank in ranks.items():
            self._queue.push(other, *rank)

    async def _refuse(self, unit: str, waiting: Preemptor, plan: Plan, number: int) -> None:
        async def work() -> None:
            if isinstance(waiting.facts, Group) and plan.outcome == "Unschedulable":
                await self._dissolve(waiting.facts.gang)
            if isinstance(plan.terms, Ends):
                await self._effects.end(plan.terms)
                return self._log.acted(plan, number)
            await self._effects.refuse(waiting.pods, plan, number, keep=bool(plan.waiting_for))
            self._log.acted(plan, number)
            return None

        await self._writes.carry_out([unit], work, self._taking_back(unit, Assumed(self._services.context)))
        self._set_aside(unit, plan)

    def _displaced(self, waiting: Preemptor, plan: Plan) -> list[PodFacts]:
        own = {facts.key for facts in waiting.pods}
        nodes = sorted(set(plan.placement.values()))
        nominated = [other for node in nodes for other in self._pending.own_nominated_to(node) if other.key not in own]
        lost = displaced(nominated, waiting.priority, self._policies.nodes.table.units)
        units = dict.fromkeys(map(self._pending.unit_of, lost))
        return [facts for unit in units for facts in self._pending.pods(unit) if facts.nominated]

    async def _dissolve(self, gang: Gang) -> None:
        message = loop.group_dissolved(gang.name)
        alone = [facts for facts in left_alone(gang) if self._pending.mine(facts.pod)]
        if alone:
            victims = [HeldVictim(unit=facts.unit, uid=facts.pod.metadata.uid, message=message) for facts in alone]
            await self._evictions.evict(Hold(preemptor=gang.name, victims=tuple(victims)))

    def _set_aside(self, unit: str, plan: Plan) -> None:
        if plan.outcome == "Unschedulable":
            self._alike.refused(unit, plan)
        if plan.until is None:
            self._queue.unschedulable(unit)
        else:
            self._queue.unschedulable(unit, plan.until / _SECOND)


def _yes() -> bool:
    return True


def _placed(waiting: Preemptor, plan: Plan) -> list[str]:
    return [facts.unit for facts in waiting.pods if facts.unit in plan.placement]
