"""After a restart: what was begun with pods is finished, or given up where that would be in vain.

1. A hold counts when it is this scheduler's: on a pod that waits, is its own, and is nominated, by its own name.
   Whoever may write annotations but no status cannot make anybody leave.
2. Where nobody leaves yet, the decision is simply made again: much may have happened meanwhile. Where somebody does,
   the rest is told, as long as the place can still be had and the victims still rank below. Who has chosen nobody, and
   holds a place that others leave, keeps it.
3. A group of which a part is bound gets the rest of its places, where its pods still fit; before anything is decided.
4. A group that leaves as a whole, and of which a part has left, leaves. Anybody else who was marked for a preemptor
   that is gone stays. Another scheduler's pods are left as they are: it may be in the middle of preempting them itself.
5. A group that has all its places says so.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from reprieve.engine.holds import HeldVictim, Hold, hold_of
from reprieve.manifests.kinds import PODS
from reprieve.model.names import parts_of
from reprieve.policies.on_nodes import still_below
from reprieve.policies.podgroup.entry import PodGroupEntry
from reprieve.policies.podgroup.groups import is_broken, least_of
from reprieve.policies.queue.entry import QueueEntry
from reprieve.policies.queue.task_groups import application_unit
from reprieve.scheduler.context import annotations_of, together
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.pods.effects import PodEffects
from reprieve.scheduler.pods.evictions import PodEvictions, is_target
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.room import NodeRoom
from reprieve.stores.errors import Conflict, NotFound, TooManyRequests
from reprieve.stores.portions import Portions
from reprieve.stores.records import Record
from reprieve.texts import events as loop
from reprieve.world import PodFacts

_AT_A_TIME = 1_000
_log = logging.getLogger(__name__)


class ResumePods:
    """Looks at all pods once, before the first decision."""

    def __init__(
        self, services: Services, pending: PendingUnits, effects: PodEffects, evictions: PodEvictions, room: NodeRoom
    ) -> None:
        self._mirror = services.context.mirror
        self._podgroups: PodGroupEntry = services.policies[PodGroupEntry.name]
        self._queues: QueueEntry = services.policies[QueueEntry.name]
        self._units = services.policies.nodes.table.units
        self._pending = pending
        self._effects = effects
        self._evictions = evictions
        self._room = room

    async def run(self) -> None:
        await self._each(self._resume)
        await self._each(self._leave_whole_or_stay)
        for group, pods in self._podgroups.groups.bound().items():
            if len(pods) >= max(least_of(pods[0], self._units), 1):
                await self._effects.say_scheduled(group)

    async def _each(self, work: Callable[[Record], Awaitable[None]]) -> None:
        """One pod about which anything is odd must not hold up the others."""
        portions = Portions(_AT_A_TIME)
        for record in self._mirror.all(PODS):
            try:
                await work(record)
            except (Conflict, NotFound, TooManyRequests) as refused:
                _log.info("what was begun with %s is not finished: %s", record.unit, refused)
            if portions.full(record):
                await asyncio.sleep(0)  # others on this loop have work, too

    # Holds

    async def _resume(self, record: Record) -> None:
        hold = hold_of(annotations_of(record))
        facts = self._mirror.world.pods.get(record.key)
        if hold is None or facts is None or not self._pending.mine(facts.pod):
            return
        if not self._pending.decided_for(facts):
            if facts.pending and facts.nominated:
                await self._effects.clear(record)  # nobody will bind it: it must not keep others from the place
            return
        groups = self._pending.unit_of(facts), self._podgroups.groups.name_of(facts), application_unit(facts)
        if hold.preemptor not in groups:
            return
        if hold.members:
            await self._resume_group(hold)
        elif facts.pending and facts.nominated and not hold.of_application:
            await self._resume_pod(record, facts, hold)

    async def _resume_pod(self, record: Record, facts: PodFacts, hold: Hold) -> None:
        if hold.closes and not hold.victims:
            return  # it waits for others who leave: the place stays its own
        if not self._evictions.begun(hold):
            await self._effects.clear(record)
        elif self._room.could_fit_on(facts, [facts.nominated]):
            await self._tell_the_rest(hold, facts.priority)

    async def _resume_group(self, hold: Hold) -> None:
        members = [facts for unit, uid in hold.members.items() if (facts := self._pod(unit, uid)) is not None]
        waiting = [facts for facts in members if facts.pending and facts.nominated == hold.placement.get(facts.unit)]
        if not waiting:
            return
        if self._evictions.begun(hold):
            await self._tell_the_rest(hold, min(self._units.scheduling_priority(facts) for facts in waiting))
        elif not any(facts.node for facts in members):
            await together(self._effects.clear(record) for facts in waiting if (record := self._record(facts)))
            return
        if not any(facts.node for facts in members):
            return
        for facts in waiting:
            if self._still_fits(hold, facts):
                await self._effects.bind_each([(facts, facts.nominated)])

    def _still_fits(self, hold: Hold, facts: PodFacts) -> bool:
        """Whether a pod fits where it was promised a place, of a group or application of which a part has its own."""
        if hold.of_application:
            return self._room.fits_on(facts, [facts.nominated])
        preemptor = self._pending.waiting(hold.preemptor)
        return preemptor is not None and self._podgroups.policy.still_fits(preemptor.facts, facts, facts.nominated)

    async def _tell_the_rest(self, hold: Hold, priority: int) -> None:
        between_queues = self._queues.policy is not None
        await self._evictions.evict(
            still_below(hold, priority, self._units, self._victim, between_queues=between_queues)
        )

    def _record(self, facts: PodFacts) -> Record | None:
        return self._mirror.told(PODS, facts.key[1], facts.key[0])

    def _victim(self, victim: HeldVictim) -> PodFacts | None:
        return self._pod(victim.unit, victim.uid)

    def _pod(self, unit: str, uid: str) -> PodFacts | None:
        name = parts_of(unit)
        facts = self._mirror.world.pods.get(name.key) if name.kind == PODS.kind else None
        return facts if facts is not None and facts.pod.metadata.uid == uid else None

    # Those who were marked

    async def _leave_whole_or_stay(self, record: Record) -> None:
        if not is_target(record) or "deletionTimestamp" in record.metadata or self._held_by_somebody(record):
            return
        facts = self._mirror.world.pods.get(record.key)
        if facts is None or not facts.node or not self._pending.mine(facts.pod):
            return
        if is_broken(facts, self._units, self._mirror.world.pods.values()):
            message = loop.rest_of_its_group(self._units.of(facts).group or facts.unit)
            rest = HeldVictim(unit=record.unit, uid=record.uid, message=message)
            await self._evictions.evict(Hold(preemptor=record.unit, victims=(rest,)))
        else:
            await self._evictions.unmark(record, self._units.of(facts).group)

    def _held_by_somebody(self, record: Record) -> bool:
        """Whether a preemptor that waits still counts on it."""
        waiting = (facts.pod for facts in self._mirror.world.pending() if facts.nominated)
        holds = (hold_of(pod.metadata.annotations) for pod in waiting)
        return any(victim.uid == record.uid for hold in holds if hold is not None for victim in hold.victims)
