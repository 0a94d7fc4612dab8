"""How pods are told to leave: all victims of a decision are marked, then they go; each step is safe to do again.

1. Every group that goes as a whole, then every victim is marked with the condition DisruptionTarget; only when all are,
   they are deleted gracefully, each by its uid. A victim that leaves already or is gone costs nothing.
2. What fails is done again before anything else is decided for the same preemptor.
"""

from reprieve.engine.holds import HeldVictim, Hold
from reprieve.manifests.kinds import PODS
from reprieve.manifests.pods import PREEMPTION_BY_SCHEDULER
from reprieve.model.conditions import condition_of
from reprieve.model.names import UnitName
from reprieve.scheduler.context import Context, together
from reprieve.scheduler.pods.group_conditions import GroupConditions
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record

TARGET = "DisruptionTarget"


class PodEvictions:
    """Tells the victims of holds to leave."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._writer = PodWriter(context)
        self._groups = GroupConditions(context)
        self._unfinished: dict[str, Hold] = {}
        """Evictions of which a part failed, by preemptor; after a restart the holds in the objects tell the same."""

    async def finish(self, unit: str) -> None:
        """Before anything else is decided for a unit: what failed of its last decision is done."""
        hold = self._unfinished.get(unit)
        if hold is not None:
            await self.evict(hold)

    async def evict(self, hold: Hold) -> None:
        """Ask every victim of a hold to leave that has not been asked yet."""
        self._unfinished[hold.preemptor] = hold
        groups = {victim.group: victim.message for victim in hold.victims if victim.group and self._staying(victim)}
        await together(self._groups.preempted(UnitName(group), message) for group, message in groups.items())
        await together(self._mark(victim) for victim in hold.victims)
        await together(self._delete(victim, hold) for victim in hold.victims)
        del self._unfinished[hold.preemptor]
        self._context.log.carried_out(hold)

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
        """Whether any victim has been told, or has gone."""
        return any(self._told(victim) for victim in hold.victims)

    def _told(self, victim: HeldVictim) -> bool:
        record = self._writer.find(victim.unit)
        return record is None or record.uid != victim.uid or is_target(record)

    async def unmark(self, record: Record, group: UnitName | None = None) -> None:
        """It need not go after all, nor its group with it: whoever asked is gone."""
        await self._writer.set_condition(record, TARGET, "False")
        if group:
            await self._groups.stays(group)


def is_target(record: Record) -> bool:
    """Whether a pod has been told to go by a scheduler."""
    condition = condition_of(record.data, TARGET)
    return condition.get("status") == "True" and condition.get("reason") == PREEMPTION_BY_SCHEDULER
