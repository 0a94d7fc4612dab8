"""How pods are told to leave: all victims of a decision are marked, then they go; each step is safe to do again.

1. Every group that goes as a whole, then every victim is marked with the condition DisruptionTarget; only when all are,
   they are deleted gracefully, each by its uid. A victim that leaves already or is gone costs nothing.
2. Until the first of them is told to leave, a decision can be taken back, and it is when it has become needless on the
   way, or its preemptor is gone: then the marks go. That is asked at the last moment; an API server may have taken its
   time. Whoever leaves by itself is no reason for the others to leave.
3. Once somebody was told, what fails is done again before anything else is decided for the same preemptor: else they
   would have left in vain.
4. Where budgets are respected, it is the server that keeps them: before anything is written, every eviction is
   rehearsed, so that a budget which has changed since the decision stops it whole. Then victims leave by the Eviction
   API, and are marked as they do. A budget that changes in the very moment between may still refuse a part: whoever was
   told leaves, the promise is taken back, and after a back-off all is decided anew.
"""

from collections.abc import Callable

from reprieve.engine.holds import HeldVictim, Hold
from reprieve.manifests.kinds import PODS
from reprieve.manifests.pods import PREEMPTION_BY_SCHEDULER
from reprieve.model.conditions import condition_of
from reprieve.model.names import UnitName
from reprieve.scheduler.context import Context, together
from reprieve.scheduler.pods.group_conditions import GroupConditions
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.errors import Conflict, NotFound, StoreError, TooManyRequests
from reprieve.stores.protocol import Rehearsing, Store
from reprieve.stores.records import Record

TARGET = "DisruptionTarget"


class NeedNotLeave(Exception):
    """Its victims stay: it has room without them, or it cannot be seen whether it has."""


class PodEvictions:
    """Tells the victims of holds to leave."""

    def __init__(self, context: Context, respects: Callable[[str], bool]) -> None:
        """`respects`: whether a policy's victims go only as far as budgets allow it."""
        self._context = context
        self._respects = respects
        self._writer = PodWriter(context)
        self._groups = GroupConditions(context)
        self._unfinished: dict[str, Hold] = {}
        """Evictions of which a part failed, by preemptor; after a restart the holds in the objects tell the same."""
        self._sent: set[str] = set()
        """Those of them of which somebody was told to leave, or may have been."""
        self._abandoned: list[Hold] = []
        """Those whose preemptor is gone, and of which marks are still to be taken off."""

    def unfinished(self, unit: str) -> bool:
        return unit in self._unfinished

    async def finish(self, unit: str) -> None:
        """Before anything else is decided for a unit: what failed of its last decision is done, or taken back."""
        hold = self._unfinished.get(unit)
        if hold is not None and unit in self._sent:
            await self.evict(hold)
        elif hold is not None:
            await self._take_back(hold)

    def abandon(self, unit: str) -> None:
        """A preemptor is gone: nobody else is told to leave for it, nor for another one of its name."""
        hold = self._unfinished.get(unit)
        if hold is not None:
            self._over(hold)
            self._abandoned.append(hold)

    async def clean_up(self) -> None:
        """Take off the marks of decisions that were abandoned; what fails is tried again the next time."""
        while self._abandoned:
            try:
                await self._unmark_all(self._abandoned[0])
            except StoreError:
                return
            del self._abandoned[0]

    async def rehearse(self, hold: Hold) -> None:
        """Ask whether budgets let all victims go; raises `TooManyRequests` where they do not. Nobody is told."""
        store = self._context.store
        if self._respects(hold.policy) and isinstance(store, Rehearsing):
            rehearsal = store.rehearsal()
            staying = [record for victim in hold.victims if (record := self._staying(victim)) is not None]
            await together(_try_eviction(rehearsal, record) for record in staying)

    async def evict(self, hold: Hold, needed: Callable[[], bool] = lambda: True) -> None:
        """Ask every victim of a hold to leave that has not been asked yet. `needed` is asked before the first one
        leaves: where it is not, nobody does, and `NeedNotLeave` is raised."""
        self._unfinished[hold.preemptor] = hold
        groups = {victim.group: victim.message for victim in hold.victims if victim.group and self._staying(victim)}
        await together(self._groups.preempted(UnitName(group), message) for group, message in groups.items())
        if self._respects(hold.policy):
            await self._go_on(hold, needed)
            await self._evict_within_budgets(hold)
        else:
            await together(self._mark(victim) for victim in hold.victims)
            await self._go_on(hold, needed)
            await together(self._delete(victim, hold) for victim in hold.victims)
        self._over(hold)
        self._context.log.carried_out(hold)

    async def _go_on(self, hold: Hold, needed: Callable[[], bool]) -> None:
        if hold.preemptor not in self._sent and not needed():
            await self._take_back(hold)
            raise NeedNotLeave(hold.preemptor)
        self._sent.add(hold.preemptor)

    async def _take_back(self, hold: Hold) -> None:
        """Nobody was told to leave yet: they stay."""
        await self._unmark_all(hold)
        self._over(hold)

    def _over(self, hold: Hold) -> None:
        self._unfinished.pop(hold.preemptor, None)
        self._sent.discard(hold.preemptor)

    async def _unmark_all(self, hold: Hold) -> None:
        groups = dict.fromkeys(victim.group for victim in hold.victims if victim.group)
        await together(self._groups.stays(UnitName(group)) for group in groups)
        await together(self._stay(victim) for victim in hold.victims)

    async def _stay(self, victim: HeldVictim) -> None:
        record = self._staying(victim)
        if record is None or not is_target(record):
            return
        try:
            await self.unmark(record)
        except (Conflict, NotFound):
            return  # it leaves, or is gone

    async def _evict_within_budgets(self, hold: Hold) -> None:
        try:
            await together(self._evict(victim, hold) for victim in hold.victims)
        except TooManyRequests:
            self._over(hold)  # to be decided anew, not done again
            if not self.begun(hold):
                await self._unmark_all(hold)
            raise

    async def _evict(self, victim: HeldVictim, hold: Hold) -> None:
        """Marked afterwards, too: until then the mark would be a lie, and the server writes its own over it."""
        record = self._staying(victim)
        if record is None:
            return
        try:
            leaving = await self._context.store.evict(record.name, record.namespace, uid=record.uid)
        except (Conflict, NotFound):
            return
        self._context.log.told(hold, victim)
        await self._context.event(record, "Normal", "Preempted", victim.message, decision=hold.decision)
        try:
            await self._writer.set_condition(leaving or record, TARGET, "True", PREEMPTION_BY_SCHEDULER, victim.message)
        except (Conflict, NotFound):
            self._context.mirror.absorb(record, gone=True)

    async def _mark(self, victim: HeldVictim) -> None:
        record = self._staying(victim)
        if record is None or is_target(record):
            return
        try:
            await self._writer.set_condition(record, TARGET, "True", PREEMPTION_BY_SCHEDULER, victim.message)
        except (Conflict, NotFound):
            return  # gone, or another one: either way it is not in the way any more

    async def _delete(self, victim: HeldVictim, hold: Hold) -> None:
        record = self._staying(victim)
        if record is None:
            return
        try:
            deleted = await self._context.store.delete(PODS, record.name, record.namespace, uid=record.uid)
        except (Conflict, NotFound):
            return
        self._context.log.told(hold, victim)
        leaves = "deletionTimestamp" in deleted.metadata and bool(deleted.data["spec"].get("nodeName"))
        self._context.mirror.absorb(deleted, gone=not leaves)
        await self._context.event(record, "Normal", "Preempted", victim.message, decision=hold.decision)

    def _staying(self, victim: HeldVictim) -> Record | None:
        """A victim that is still there and does not leave yet."""
        record = self._writer.find(victim.unit)
        if record is None or record.uid != victim.uid or record.manifest.finished:
            return None
        return None if "deletionTimestamp" in record.metadata else record

    def begun(self, hold: Hold) -> bool:
        """Whether any victim leaves, or has gone: from then on there is no way back. Marks can be taken off."""
        return any(self._leaves(victim) for victim in hold.victims)

    def _leaves(self, victim: HeldVictim) -> bool:
        record = self._writer.find(victim.unit)
        return record is None or record.uid != victim.uid or "deletionTimestamp" in record.metadata

    async def unmark(self, record: Record, group: UnitName | None = None) -> None:
        """It need not go after all, nor its group with it: whoever asked is gone."""
        await self._writer.set_condition(record, TARGET, "False")
        if group:
            await self._groups.stays(group)


async def _try_eviction(rehearsal: Store, record: Record) -> None:
    try:
        await rehearsal.evict(record.name, record.namespace, uid=record.uid)
    except (Conflict, NotFound):
        return  # it is not in the way any more


def is_target(record: Record) -> bool:
    """Whether a pod has been told to go by a scheduler."""
    condition = condition_of(record.data, TARGET)
    return condition.get("status") == "True" and condition.get("reason") == PREEMPTION_BY_SCHEDULER
