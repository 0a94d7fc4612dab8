"""After a restart: what was begun with pods is finished, or given up where that would be in vain.

1. A hold counts when it is this scheduler's: on a pod that waits, is its own, and is nominated, by its own name.
   Whoever may write annotations but no status cannot make anybody leave.
2. Where nobody has been told yet, the decision is simply made again. Where somebody has, the rest is told, as long as
   the place can still be had and the victims still rank below.
3. A group of which a part is bound gets the rest of its places, if they are still free; and before anything is decided.
4. A group that leaves as a whole, and of which a part has left, leaves. Anybody else who was marked for a preemptor
   that is gone stays.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.kinds import PODS
from reprieve.scheduler.holds import HeldVictim, Hold, hold_of
from reprieve.scheduler.mirror import Mirror
from reprieve.scheduler.pods.effects import PodEffects, is_target
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.texts import events as loop
from reprieve.world import PodFacts

_log = logging.getLogger(__name__)


class ResumePods:
    """Looks at all pods once, before the first decision."""

    def __init__(self, mirror: Mirror, deciding: Deciding, pending: PendingUnits, effects: PodEffects) -> None:
        self._mirror = mirror
        self._deciding = deciding
        self._pending = pending
        self._effects = effects

    async def run(self) -> None:
        await self._each(self._resume)
        await self._each(self._leave_whole_or_stay)

    async def _each(self, work: Callable[[Record], Awaitable[None]]) -> None:
        """One pod about which anything is odd must not hold up the others."""
        for record in self._mirror.all(PODS):
            try:
                await work(record)
            except (Conflict, NotFound) as refused:
                _log.info("%s has changed meanwhile: %s", record.unit, refused)

    # Holds

    async def _resume(self, record: Record) -> None:
        hold = hold_of(record)
        facts = self._mirror.world.pods.get(record.key)
        if hold is None or facts is None or not self._pending.mine(facts.pod):
            return
        if hold.preemptor != self._pending.unit_of(facts) and hold.preemptor != self._deciding.groups.name_of(facts):
            return
        if hold.members:
            await self._resume_group(hold)
        elif facts.pending and facts.nominated:
            await self._resume_pod(record, facts, hold)

    async def _resume_pod(self, record: Record, facts: PodFacts, hold: Hold) -> None:
        if self._begun(hold) and self._within_reach(facts.nominated):
            await self._effects.evict(self._those_below(hold, facts.priority))
        elif not self._begun(hold):
            await self._effects.clear(record)

    async def _resume_group(self, hold: Hold) -> None:
        members = [facts for unit, uid in hold.members.items() if (facts := self._member(unit, uid)) is not None]
        waiting = [facts for facts in members if facts.pending and facts.nominated == hold.placement.get(facts.unit)]
        if not waiting:
            return
        priority = min(self._deciding.pods.table.units.scheduling_priority(facts) for facts in waiting)
        if self._begun(hold):
            await self._effects.evict(self._those_below(hold, priority))
        if any(facts.node for facts in members):
            for facts in waiting:
                if self._fits(facts):
                    await self._effects.bind_each([(facts, facts.nominated)])

    def _member(self, unit: str, uid: str) -> PodFacts | None:
        record = self._effects.pod(unit)
        return self._mirror.world.pods.get(record.key) if record is not None and record.uid == uid else None

    def _begun(self, hold: Hold) -> bool:
        """Whether any victim has been told, or has gone."""
        return any(self._told(victim) for victim in hold.victims)

    def _told(self, victim: HeldVictim) -> bool:
        record = self._effects.pod(victim.unit)
        return record is None or record.uid != victim.uid or is_target(record)

    def _those_below(self, hold: Hold, priority: int) -> Hold:
        """Between queues an equal priority may have to go, too."""
        most = priority if self._deciding.queues is not None else priority - 1
        units = self._deciding.pods.table.units

        def below(victim: HeldVictim) -> bool:
            record = self._effects.pod(victim.unit)
            facts = self._mirror.world.pods.get(record.key) if record is not None else None
            return facts is not None and units.of(facts).priority <= most

        return Hold(
            preemptor=hold.preemptor,
            victims=[victim for victim in hold.victims if below(victim)],
            placement=hold.placement,
            members=hold.members,
            decision=hold.decision,
        )

    def _within_reach(self, node: str) -> bool:
        table = self._synced()
        index = table.index.get(node)
        return index is not None and not table.unschedulable[index]

    def _fits(self, facts: PodFacts) -> bool:
        table = self._synced()
        index = table.index.get(facts.nominated)
        if index is None:
            return False
        return all(
            units <= int(table.allocatable[table.row(name), index]) - int(table.used[table.row(name), index])
            for name, units in facts.requests.items()
        )

    def _synced(self) -> NodeTable:
        self._deciding.pods.table.sync()
        return self._deciding.pods.table

    # Those who were marked

    async def _leave_whole_or_stay(self, record: Record) -> None:
        if not is_target(record) or "deletionTimestamp" in record.metadata or self._held_by_somebody(record):
            return
        facts = self._mirror.world.pods.get(record.key)
        if facts is None or not facts.node:
            return
        group = self._synced().units.of(facts).group
        if group and self._broken(facts, group):
            rest = HeldVictim(record.unit, record.uid, loop.rest_of_its_group(group))
            await self._effects.evict(Hold(preemptor=record.unit, victims=[rest]))
        else:
            await self._effects.unmark(record)

    def _held_by_somebody(self, record: Record) -> bool:
        """Whether a preemptor that waits still counts on it."""
        holds = (hold_of(self._effects.record(facts)) for facts in self._mirror.world.pending() if facts.nominated)
        return any(victim.uid == record.uid for hold in holds if hold is not None for victim in hold.victims)

    def _broken(self, facts: PodFacts, group: str) -> bool:
        """Whether a part of the group has left already, or is about to."""
        units = self._synced().units
        mates = [other for other in self._mirror.world.pods.values() if units.of(other).group == group]
        running = [other for other in mates if other.node]
        staying = [other for other in running if not other.pod.terminating]
        done = [other for other in mates if other.pod.status.phase == "Succeeded"]
        return len(staying) < max(len(running), self._least(facts) - len(done))

    def _least(self, facts: PodFacts) -> int:
        """How many pods its group cannot be without."""
        units, spec, namespace = self._synced().units, facts.pod.spec, facts.key[0]
        if spec.workload_ref is not None:
            found = units.workload_group(namespace, spec.workload_ref)
            return (found[1].policy.min_count or 0) if found else 0
        path = units.group_path(namespace, spec.scheduling_group.pod_group_name) if spec.scheduling_group else []
        return (path[0].policy.min_count or 0) if path else 0
