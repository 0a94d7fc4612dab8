"""What a decision does to pods: nominations and bindings, each safe to do again; evictions are beside this.

1. The hold comes first: on the preemptor (of a group: on its oldest pod), with the nomination, in one write, which is
   refused when the pod has changed since the decision. Only then victims are told.
2. A group is nominated whole before the first of its pods is bound, so that what is left to bind has its place.
3. A pod is bound as it was decided for: whatever has changed it since makes the binding void (see `assuming`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import PODS
from reprieve.model.conditions import condition_of
from reprieve.model.names import UnitName
from reprieve.policies.entry import Preemptor
from reprieve.policies.podgroup.groups import Group
from reprieve.policies.podgroup.policy import limit_of
from reprieve.policies.queue.gang import Ends
from reprieve.policies.queue.task_groups import Application, is_placeholder
from reprieve.scheduler.context import Context, together
from reprieve.scheduler.pods.assuming import has_node
from reprieve.scheduler.pods.evictions import PodEvictions
from reprieve.scheduler.pods.group_conditions import GroupConditions
from reprieve.scheduler.pods.writing import PodWriter
from reprieve.stores.errors import AlreadyExists, Conflict, NotFound, TooManyRequests
from reprieve.stores.records import Record
from reprieve.texts import events as loop
from reprieve.texts import reasons as texts
from reprieve.texts import task_groups
from reprieve.world import PodFacts

SCHEDULED = "PodScheduled"
_NOBODY: Mapping[str, str] = {}
NOT_NOMINATED: dict[str, Any] = {
    "metadata": {"annotations": {HOLD_ANNOTATION: None}},
    "status": {"nominatedNodeName": None},
}


class PodEffects:
    """Carries out plans for pods and groups of pods."""

    def __init__(self, context: Context, evictions: PodEvictions) -> None:
        self._context = context
        self._evictions = evictions
        self._pods = PodWriter(context)
        self._groups = GroupConditions(context)

    # A place that is free

    async def bind(self, waiting: Preemptor, plan: Plan, decision: int = 0) -> list[PodFacts]:
        """Give pods their nodes; those that could not be bound are returned."""
        placed = [facts for facts in waiting.pods if facts.unit in plan.placement]
        if _is_gang(waiting) and len(placed) > 1:
            await self._nominate_all(placed, plan, self.hold(waiting, plan, decision))
        failed = await self.bind_each((facts, plan.placement[facts.unit]) for facts in placed)
        if _is_gang(waiting) and not failed:
            await self.say_scheduled(waiting.unit)
            await self._groups.stays(waiting.unit)
        return failed

    async def say_scheduled(self, group: UnitName) -> None:
        """A group has all the places that it needs."""
        await self._groups.scheduled(group)

    async def bind_each(self, places: Iterable[tuple[PodFacts, str]]) -> list[PodFacts]:
        outcomes = await together(self._bind(facts, node) for facts, node in places)
        return [facts for facts in outcomes if facts is not None]

    async def _bind(self, facts: PodFacts, node: str) -> PodFacts | None:
        record = self._pods.record(facts)
        if record is None:
            return facts
        try:
            bound = await self._context.store.bind(
                record.name, record.namespace, node, uid=record.uid, version=record.version
            )
        except (Conflict, NotFound):
            return facts
        self._context.mirror.confirm(record, has_node)
        if bound is not None:
            self._context.absorb(bound)
        await self._context.event(bound or record, "Normal", "Scheduled", loop.bound(facts.unit, node))
        return None

    # A place that others have to leave

    async def preempt(
        self, waiting: Preemptor, plan: Plan, hold: Hold, displaced: Iterable[PodFacts], needed: Callable[[], bool]
    ) -> None:
        """Hold the place, take it from those who were nominated to it, then ask everybody in the plan to leave, if that
        is still `needed`."""
        placed = [facts for facts in waiting.pods if facts.unit in plan.placement]
        await self._evictions.rehearse(hold)
        lead = await self._nominate_all(placed, plan, hold)
        await self._groups.unschedulable(waiting.unit, plan.message)
        for other in displaced:
            await self.give_up(other, loop.lost_nomination(other.unit, other.nominated, waiting.unit))
        try:
            await self._evictions.evict(hold, needed)
        except TooManyRequests:
            await together(self.clear(self._pods.needed(facts)) for facts in placed)
            raise
        if plan.victims:
            await self._context.event(lead, "Normal", "Preempting", plan.message, decision=hold.decision)
        else:  # others leave, and it holds the place that they leave
            await self._context.event(lead, "Warning", "FailedScheduling", plan.message, decision=hold.decision)

    def hold(self, waiting: Preemptor, plan: Plan, decision: int) -> Hold:
        """What the decision is, as it is written on the preemptor."""
        if not _is_gang(waiting):
            return hold_of_plan(self._pods, plan, decision)
        records = ((unit, self._pods.find(unit)) for unit in plan.placement)
        uids: dict[str, str] = {unit: record.uid for unit, record in records if record}
        hold = hold_of_plan(self._pods, plan, decision, uids)
        of_group = isinstance(waiting.facts, Group)
        return msgspec.structs.replace(hold, limit=limit_of(waiting.facts, plan)) if of_group else hold

    async def _nominate_all(self, placed: list[PodFacts], plan: Plan, hold: Hold) -> Record:
        """The whole group or the one pod; the first write carries the hold."""
        lead = await self._nominate(placed[0], plan, hold)
        reserved = hold.follower() if hold.of_application and hold.reserves else None
        await together(self._nominate(facts, plan, reserved, fresh=False) for facts in placed[1:])
        return lead

    async def _nominate(self, facts: PodFacts, plan: Plan, hold: Hold | None = None, *, fresh: bool = True) -> Record:
        record = self._pods.needed(facts)
        if hold is None and facts.nominated == plan.placement[facts.unit]:
            return record
        return await self._pods.patch_status(
            record, self._nomination(record, facts, plan, hold), fresh=fresh and hold is not None
        )

    def _nomination(self, record: Record, facts: PodFacts, plan: Plan, hold: Hold | None) -> dict[str, Any]:
        status: dict[str, Any] = {"nominatedNodeName": plan.placement[facts.unit]}
        if plan.outcome != "Fits":
            status["conditions"] = [self._pods.condition(record, SCHEDULED, "False", "Unschedulable", plan.message)]
        patch: dict[str, Any] = {"status": status}
        if hold is not None:
            patch["metadata"] = {"annotations": {HOLD_ANNOTATION: hold.text()}}
        return patch

    # An application that starts as a whole

    async def make_placeholders(self, application: Application, plan: Plan) -> None:
        """Pods for members that do not exist yet, so that they have a place to keep."""
        await together(self._make(manifest) for manifest in application.missing.values())
        lead = self._pods.record(application.leader)
        if lead is not None:
            await self._context.event(lead, "Normal", "GangScheduling", plan.message, once=True)

    async def _make(self, manifest: dict[str, Any]) -> None:
        try:
            self._context.absorb(await self._context.store.create(PODS, manifest))
        except AlreadyExists:
            return

    async def end(self, ends: Ends) -> None:
        """An application fails: its pods do so, and placeholders go."""
        for facts in ends.pods:
            record = self._pods.record(facts)
            if record is None:
                continue
            try:
                await (self._take_away(record) if is_placeholder(facts) else self._fail(record, ends))
            except (Conflict, NotFound):
                continue  # it is gone, or another one

    async def _fail(self, record: Record, ends: Ends) -> None:
        status = {"phase": "Failed", "reason": ends.reason, "message": task_groups.FAILED}
        failed = await self._pods.patch_status(record, {"status": status})
        await self._context.event(failed, "Warning", "ApplicationFailed", ends.message)

    async def _take_away(self, record: Record) -> None:
        gone = await self._context.store.delete(PODS, record.name, record.namespace, uid=record.uid)
        self._context.mirror.absorb(gone, gone=True)

    # No place

    async def refuse(self, pods: Sequence[PodFacts], plan: Plan, decision: int = 0, *, keep: bool = False) -> None:
        """Say why a unit waits, and give up a nomination that leads nowhere.

        `keep`: it waits for victims to leave, and has said so when it was nominated.
        """
        await self._groups.unschedulable(plan.preemptor, plan.message)
        if keep and all(facts.nominated for facts in pods):
            return
        for facts in pods:
            record = self._pods.record(facts)
            if record is None:
                continue
            if facts.nominated and not keep:
                record = await self.clear(record)
            changed = await self._say_unscheduled(record, plan.message)
            if changed is not None and facts is pods[0]:
                await self._context.event(changed, "Warning", "FailedScheduling", plan.message, decision=decision)

    async def say_refused(self, pods: Sequence[PodFacts], message: str, decision: int) -> None:
        """Say that a unit waits because the server does not take now what was decided for it."""
        for facts in pods:
            record = self._pods.record(facts)
            changed = await self._say_unscheduled(record, message) if record is not None else None
            if changed is not None and facts is pods[0]:
                await self._context.event(changed, "Warning", "FailedScheduling", message, decision=decision)

    async def _say_unscheduled(self, record: Record, message: str) -> Record | None:
        """Set the condition; nothing is written when it says the same already."""
        if condition_of(record.data, SCHEDULED).get("message") == message:
            return None
        try:
            return await self._pods.set_condition(record, SCHEDULED, "False", "Unschedulable", message)
        except (Conflict, NotFound):
            return None

    async def give_up(self, facts: PodFacts, message: str) -> None:
        """Its place is another's now."""
        record = self._pods.record(facts)
        if record is not None:
            try:
                cleared = await self.clear(record)
            except (Conflict, NotFound):
                return
            await self._context.event(cleared, "Normal", "NominationLost", message)

    async def clear(self, record: Record) -> Record:
        """Give up a nomination, and what it held."""
        return await self._pods.patch_status(record, NOT_NOMINATED)


def _is_gang(waiting: Preemptor) -> bool:
    """Whether it is made of pods whose places are chosen together."""
    return isinstance(waiting.facts, Group | Application)


def hold_of_plan(pods: PodWriter, plan: Plan, decision: int, members: Mapping[str, str] = _NOBODY) -> Hold:
    """Who is to be told, and for whom; of a group also which pods go where: `members` are their uids."""
    victims = [
        HeldVictim(
            unit=victim.unit,
            uid=record.uid,
            message=loop.made_way(plan.preemptor, plan.domain, texts.describe(victim.reason)),
            pdb_violation=victim.pdb_violation,
            group=victim.group or "",
        )
        for victim in plan.victims
        if (record := pods.find(victim.unit)) is not None
    ]
    return Hold(
        preemptor=plan.preemptor,
        policy=plan.policy,
        victims=tuple(victims),
        placement=dict(plan.placement.items()) if members else {},
        members=dict(members),
        reserves=plan.reserves,
        closes=plan.closes,
        decision=decision,
    )
