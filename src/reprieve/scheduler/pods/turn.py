"""One turn for a unit on nodes: a pod, or a group of pods.

1. A nomination that leads nowhere any more, because somebody else has taken the place, is given up first: the decision
   is made without it.
2. Whoever loses its nomination to this unit has its turn at once. Of a group, the whole group does: its places were
   chosen together.
3. Of a group that was placed in part, the rest has its turn at once, too, and says why it waits.
"""

from reprieve.engine.holds import HeldVictim, Hold
from reprieve.engine.nodes.trial import Gang
from reprieve.engine.plan import Plan
from reprieve.policies.on_nodes import displaced
from reprieve.policies.pod import PodEntry
from reprieve.policies.podgroup.groups import Group, left_alone
from reprieve.policies.registry import Preemptor
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.pods.alike import AlikePods
from reprieve.scheduler.pods.effects import PodEffects
from reprieve.scheduler.pods.evictions import PodEvictions
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.room import NodeRoom
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

    async def turn(self, unit: str) -> None:
        over = self._alike.takes_turn(unit)
        try:
            await self._turn(unit)
        finally:
            over()

    async def _turn(self, unit: str) -> None:
        waiting = self._pending.waiting(unit)
        if waiting is None:
            return self._queue.done(unit)
        if not self._services.shadow:
            await self._evictions.finish(waiting.unit)
            if self._leads_nowhere(waiting):
                await self._effects.give_up(waiting.pods[0], loop.place_taken(waiting.pods[0].nominated))
                return self._again(unit)
        started = self._services.elapsed()
        plan = self._policies.decide(waiting, microseconds(self._services.context.clock()))
        number = self._log.decided(plan, self._services.elapsed() - started)
        if self._services.shadow:
            return self._set_aside(unit, plan)
        return await self._commit(unit, waiting, plan, number)

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

    def _again(self, unit: str) -> None:
        """It has another turn, before anybody less important."""
        self._queue.push(unit, *self._pending.rank(unit))
        self._queue.done(unit)

    async def _commit(self, unit: str, waiting: Preemptor, plan: Plan, number: int) -> None:
        units = [facts.unit for facts in waiting.pods if facts.unit in plan.placement]
        match plan.outcome:
            case "Fits":
                failed = await self._effects.bind(waiting, plan, number)
                self._log.acted(plan, number, units)
                self._after_binding(unit, waiting, plan, failed=bool(failed))
            case "Preempt":
                displaced = self._displaced(waiting, plan)
                await self._effects.preempt(waiting, plan, number, displaced)
                self._log.acted(plan, number, units)
                self._queue.unschedulable(unit)
                for other in dict.fromkeys(map(self._pending.unit_of, displaced)):
                    self._queue.push(other, *self._pending.rank(other))
            case _:
                if isinstance(waiting.facts, Group) and plan.outcome == "Unschedulable":
                    await self._dissolve(waiting.facts.gang)
                await self._effects.refuse(waiting.pods, plan, number, keep=bool(plan.waiting_for))
                self._log.acted(plan, number)
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
        alone = left_alone(gang)
        if alone:
            victims = [HeldVictim(unit=facts.unit, uid=facts.pod.metadata.uid, message=message) for facts in alone]
            await self._evictions.evict(Hold(preemptor=gang.name, victims=tuple(victims)))

    def _after_binding(self, unit: str, waiting: Preemptor, plan: Plan, *, failed: bool) -> None:
        if failed:
            self._queue.failed(unit)
        elif len(plan.placement) < len(waiting.pods):
            self._again(unit)  # the rest of a group, for which there was no room
        else:
            self._queue.done(unit)

    def _set_aside(self, unit: str, plan: Plan) -> None:
        if plan.outcome == "Unschedulable":
            self._alike.refused(unit, plan)
        if plan.until is None:
            self._queue.unschedulable(unit)
        else:
            self._queue.unschedulable(unit, plan.until / _SECOND)
