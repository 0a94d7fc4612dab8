"""What a decision does to pods: nominations, bindings and evictions, each safe to do again.

1. The hold comes first: on the preemptor (of a group: on its oldest pod), with the nomination, in one write, which is
   refused when the pod has changed since the decision.
2. Then every victim is marked with the condition DisruptionTarget; only when all are, they are deleted gracefully, each
   by its uid. A victim that leaves already or is gone costs nothing; what fails is done again before anything else.
3. A group is nominated whole before the first of its pods is bound, so that what is left to bind has its place.
4. Lower pods that were nominated to the place lose their nomination.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from reprieve import texts
from reprieve.cli.figures import Waiting
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import PODS
from reprieve.manifests.pods import PREEMPTION_BY_SCHEDULER
from reprieve.model.clock import timestamp
from reprieve.scheduler.context import Context
from reprieve.scheduler.holds import HOLD, HeldVictim, Hold
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.texts import events as loop
from reprieve.world import PodFacts


class PodEffects:
    """Carries out plans for pods and groups of pods."""

    def __init__(self, context: Context, nominated_to: Callable[[str], list[PodFacts]]) -> None:
        """`nominated_to` tells who of this scheduler's own waits for a place on a node."""
        self._context = context
        self._store = context.store
        self._nominated_to = nominated_to
        self._unfinished: dict[str, Hold] = {}
        """Evictions of which a part failed, by preemptor; after a restart the holds in the objects tell the same."""

    # A place that is free

    async def bind(self, waiting: Waiting, plan: Plan, decision: int = 0) -> list[PodFacts]:
        """Give pods their nodes; those that could not be bound are returned."""
        placed = [facts for facts in waiting.pods if facts.unit in plan.placement]
        if waiting.group is not None and len(placed) > 1:
            await self._nominate_all(placed, plan, self._hold(waiting, plan, decision))
        return await self.bind_each((facts, plan.placement[facts.unit]) for facts in placed)

    async def bind_each(self, places: Iterable[tuple[PodFacts, str]]) -> list[PodFacts]:
        outcomes = await asyncio.gather(*(self._bind(facts, node) for facts, node in places))
        return [facts for facts in outcomes if facts is not None]

    async def _bind(self, facts: PodFacts, node: str) -> PodFacts | None:
        record = self.record(facts)
        if record is None:
            return facts
        try:
            bound = await self._store.bind(record.name, record.namespace, node, uid=record.uid)
        except (Conflict, NotFound):
            return facts
        self._context.absorb(bound)
        await self._context.event(bound, "Normal", "Scheduled", loop.bound(facts.unit, node))
        return None

    # A place that others have to leave

    async def preempt(self, waiting: Waiting, plan: Plan, decision: int) -> Hold:
        """Hold the place, then ask everybody in the plan to leave."""
        hold = self._hold(waiting, plan, decision)
        placed = [facts for facts in waiting.pods if facts.unit in plan.placement]
        lead = await self._nominate_all(placed, plan, hold)
        await self._displace(plan, waiting)
        await self.evict(hold)
        await self._context.event(lead, "Normal", "Preempting", plan.message, decision=decision)
        return hold

    def _hold(self, waiting: Waiting, plan: Plan, decision: int) -> Hold:
        group = waiting.group is not None
        records = {unit: record for unit in plan.placement if (record := self.pod(unit)) is not None} if group else {}
        return Hold(
            preemptor=waiting.unit,
            victims=list(self._victims(plan)),
            placement=plan.placement if group else {},
            members={unit: record.uid for unit, record in records.items()},
            decision=decision,
        )

    def _victims(self, plan: Plan) -> Iterable[HeldVictim]:
        for victim in plan.victims:
            record = self.pod(victim.unit)
            if record is not None:
                message = loop.made_way(plan.preemptor, plan.domain, texts.describe(victim.reason))
                yield HeldVictim(victim.unit, record.uid, message)

    async def _nominate_all(self, placed: list[PodFacts], plan: Plan, hold: Hold) -> Record:
        """The whole group or the one pod; the first write carries the hold."""
        lead = await self._nominate(placed[0], plan, hold)
        await together(self._nominate(facts, plan) for facts in placed[1:])
        return lead

    async def _nominate(self, facts: PodFacts, plan: Plan, hold: Hold | None = None) -> Record:
        record = self._context.mirror.known(PODS, facts.key[1], facts.key[0])
        node = plan.placement[facts.unit]
        if hold is None and facts.nominated == node:
            return record
        status: dict[str, Any] = {"nominatedNodeName": node}
        if plan.outcome != "Fits":
            status["conditions"] = [self._unscheduled(record, plan.message)]
        patch: dict[str, Any] = {"status": status}
        if hold is not None:
            patch["metadata"] = {"annotations": {HOLD: hold.text()}}
        return await self._patch_status(record, patch, fresh=hold is not None)

    async def _displace(self, plan: Plan, waiting: Waiting) -> None:
        """Pods of lower priority that were nominated to the same nodes have to look again."""
        own = {facts.key for facts in waiting.pods}
        nodes = sorted(set(plan.placement.values()))
        for other in [other for node in nodes for other in self._nominated_to(node)]:
            if other.priority < waiting.priority and other.key not in own:
                await self.clear_nomination(other, loop.lost_nomination(other.unit, other.nominated, waiting.unit))

    async def evict_all(self, plan: Plan, decision: int) -> None:
        """Ask the victims of a plan to leave that nobody holds: decided again, it is about those who are left."""
        await self.evict(Hold(preemptor=plan.preemptor, victims=list(self._victims(plan)), decision=decision))

    async def finish(self, unit: str) -> None:
        """Before anything else is decided for a unit: what failed of its last decision is done."""
        hold = self._unfinished.get(unit)
        if hold is not None:
            await self.evict(hold)

    async def evict(self, hold: Hold) -> None:
        """Ask every victim of a hold to leave that has not been asked yet: first all are marked, then they go."""
        self._unfinished[hold.preemptor] = hold
        await together(self._mark(victim) for victim in hold.victims)
        await together(self._delete(victim, hold) for victim in hold.victims)
        del self._unfinished[hold.preemptor]

    async def _mark(self, victim: HeldVictim) -> None:
        record = self._staying(victim)
        if record is None or is_target(record):
            return
        try:
            await self._patch_status(record, {"status": {"conditions": [self._target(victim)]}})
        except (Conflict, NotFound):
            return  # gone, or another one: either way it is not in the way any more

    async def _delete(self, victim: HeldVictim, hold: Hold) -> None:
        record = self._staying(victim)
        if record is None:
            return
        try:
            deleted = await self._store.delete(PODS, record.name, record.namespace, uid=record.uid)
        except (Conflict, NotFound):
            return
        leaves = "deletionTimestamp" in deleted.metadata and bool(deleted.data["spec"].get("nodeName"))
        self._context.mirror.absorb(deleted, gone=not leaves)
        await self._context.event(record, "Normal", "Preempted", victim.message, decision=hold.decision)

    def _staying(self, victim: HeldVictim) -> Record | None:
        """A victim that is still there and does not leave yet."""
        record = self.pod(victim.unit)
        if record is None or record.uid != victim.uid or record.manifest.finished:
            return None
        return None if "deletionTimestamp" in record.metadata else record

    # No place

    async def refuse(self, waiting: Waiting, plan: Plan, decision: int = 0, *, keep: bool = False) -> None:
        """Say why a unit waits, and give up a nomination that leads nowhere.

        `keep`: it waits for victims to leave, and has said so when it was nominated.
        """
        if keep and all(facts.nominated for facts in waiting.pods):
            return
        for facts in waiting.pods:
            record = self.record(facts)
            if record is None:
                continue
            if facts.nominated and not keep:
                record = await self.clear(record)
            changed = await self._say_unscheduled(record, plan.message)
            if changed is not None and facts is waiting.pods[0]:
                await self._context.event(changed, "Warning", "FailedScheduling", plan.message, decision=decision)

    async def _say_unscheduled(self, record: Record, message: str) -> Record | None:
        """Set the condition; nothing is written when it says the same already."""
        condition = self._unscheduled(record, message)
        for known in record.data.get("status", {}).get("conditions") or ():
            if known.get("type") == "PodScheduled" and known.get("message") == message:
                return None
        try:
            return await self._patch_status(record, {"status": {"conditions": [condition]}})
        except (Conflict, NotFound):
            return None

    async def clear_nomination(self, facts: PodFacts, message: str) -> None:
        record = self.record(facts)
        if record is not None:
            try:
                cleared = await self.clear(record)
            except (Conflict, NotFound):
                return
            await self._context.event(cleared, "Normal", "NominationLost", message)

    async def clear(self, record: Record) -> Record:
        """Give up a nomination, and what it held."""
        patch = {"metadata": {"annotations": {HOLD: None}}, "status": {"nominatedNodeName": None}}
        return await self._patch_status(record, patch)

    async def unmark(self, record: Record) -> None:
        """It need not go after all: whoever asked is gone."""
        condition = {"type": "DisruptionTarget", "status": "False", "lastTransitionTime": self._now()}
        await self._patch_status(record, {"status": {"conditions": [condition]}})

    # Parts

    def record(self, facts: PodFacts) -> Record | None:
        return self._context.mirror.get(PODS, facts.key[1], facts.key[0])

    def pod(self, unit: str) -> Record | None:
        kind, namespace, name = unit.split("/")
        return self._context.mirror.get(PODS, name, namespace) if kind == PODS.kind else None

    async def _patch_status(self, record: Record, patch: dict[str, Any], *, fresh: bool = False) -> Record:
        version = record.version if fresh else None
        changed = await self._store.patch(
            PODS,
            record.name,
            record.namespace,
            patch,
            "strategic",
            subresource="status",
            uid=record.uid,
            version=version,
        )
        self._context.absorb(changed)
        return changed

    def _unscheduled(self, record: Record, message: str) -> dict[str, Any]:
        conditions = record.data.get("status", {}).get("conditions") or ()
        known = next((item for item in conditions if item.get("type") == "PodScheduled"), None)
        since = known.get("lastTransitionTime") if known and known.get("status") == "False" else None
        return {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": since or self._now(),
        }

    def _target(self, victim: HeldVictim) -> dict[str, Any]:
        return {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": PREEMPTION_BY_SCHEDULER,
            "message": victim.message,
            "lastTransitionTime": self._now(),
        }

    def _now(self) -> str:
        return timestamp(self._context.clock())


async def together(works: Iterable[Awaitable[Any]]) -> None:
    """All of them, also when one fails; then that is raised."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


def is_target(record: Record) -> bool:
    """Whether a pod has been told to go by a scheduler."""
    conditions = record.data.get("status", {}).get("conditions") or ()
    return any(
        item.get("type") == "DisruptionTarget"
        and item.get("status") == "True"
        and item.get("reason") == PREEMPTION_BY_SCHEDULER
        for item in conditions
    )
