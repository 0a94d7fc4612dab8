"""What a decision does to quota workloads: admission and eviction, in their status; Jobs follow their workloads.

1. Admission is one write: the queue, the flavors and amounts of every pod set, QuotaReserved and Admitted. It is
   refused when the workload has changed since the decision. Where the queue has admission checks for it, it is not
   admitted yet: they are listed, and somebody else admits it when all of them are ready.
2. For a preemption the hold comes first, on the preemptor; then every victim: Evicted and Preempted in one write, which
   done twice is done once. Its quota stays taken until its pods are seen to be gone; somebody else clears it then.
3. A victim that asked to be ended when it is preempted is made inactive as well: it does not come back.

What a plan does is prepared at once, all plans of a cycle together, and is assumed from then on. Carrying it out may
take its time: each `Act` is by itself.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold
from reprieve.engine.plan import Plan, Victim
from reprieve.manifests.kinds import CLUSTER_QUEUES, QUOTA_WORKLOADS
from reprieve.model.conditions import Said, condition_of, conditions_of, has_condition, with_conditions
from reprieve.model.names import key_of, parts_of
from reprieve.policies.quota.checks import checks_for, with_checks
from reprieve.policies.quota.repetition import PREEMPTED_ANNOTATION
from reprieve.policies.quota.view import Terms
from reprieve.scheduler.assuming import AssumedObjects
from reprieve.scheduler.context import Context, annotations_of, together
from reprieve.scheduler.quota.metrics import QuotaCounts
from reprieve.scheduler.quota.statuses import (
    BLOCKED,
    GATED,
    OVER,
    admission,
    asks,
    evicted,
    has_quota,
    is_out,
    path,
    says,
    since,
)
from reprieve.scheduler.writes import Work
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.stores.writing import TRIES
from reprieve.texts import events as loop
from reprieve.texts import reasons as texts


class Act(NamedTuple):
    """What one plan does."""

    units: tuple[str, ...]
    """Whom it is about, the preemptor first."""
    work: Work
    assumed: AssumedObjects
    again: bool = False
    """Whether another cycle may come to other plans."""


class QuotaEffects:
    """Carries out the plans of a quota cycle."""

    def __init__(self, context: Context, counts: QuotaCounts) -> None:
        self._context = context
        self._counts = counts
        self._store = context.store

    def prepare(self, plan: Plan, decision: int = 0) -> Act:
        """What is to be done for a plan; all of it counts from now on. Raises `NotFound` when its workload is gone."""
        match plan.outcome:
            case "Fits":
                return self._admission(plan, decision)
            case "Preempt":
                return self._preemption(plan, decision)
            case _:
                return self._refusal(plan, decision)

    def _admission(self, plan: Plan, decision: int) -> Act:
        """Give a workload its quota."""
        terms: Terms = plan.terms
        record = self._known(plan.preemptor)
        checks = self._checks(terms)
        message = (loop.has_quota if checks else loop.admitted)(plan.preemptor, terms.queue.name)
        unsatisfied = "False", "UnsatisfiedChecks", loop.waits_for_checks(checks)
        conditions = {
            "QuotaReserved": ("True", "QuotaReserved", message),
            "Admitted": unsatisfied if checks else ("True", "Admitted", message),
            "Evicted": ("False", "QuotaReserved", message),
            "Preempted": ("False", "QuotaReserved", message),
            BLOCKED: ("False", "QuotaReserved", message),
        }
        status = {"admission": admission(terms), "conditions": self._conditions(record, conditions, optional=OVER)}
        if checks:
            status["admissionChecks"] = with_checks(record.data.get("status", {}), checks, self._context.clock())
        told = "QuotaReserved" if checks else "Admitted"

        async def work() -> None:
            changed = await self._write_status(record, status)
            await self._context.event(changed, "Normal", told, plan.message, decision=decision)
            await self.let_go(changed)

        assumed = AssumedObjects(self._context)
        assumed.assume(record, {"status": status}, has_quota)
        return Act((plan.preemptor,), work, assumed, again=True)

    def _checks(self, terms: Terms) -> list[str]:
        """What else has to be looked at before a workload with this quota may run."""
        queue = self._context.mirror.get(CLUSTER_QUEUES, terms.queue.name)
        flavors = (item.flavor for _, _, item in terms.assignment)
        return checks_for(queue.manifest.spec, flavors) if queue is not None else []

    def _preemption(self, plan: Plan, decision: int) -> Act:
        """Hold the decision, then tell everybody in the plan that they have to go; for so many pods of each set."""
        record = self._known(plan.preemptor)
        victims = tuple(made for victim in plan.victims if (made := self._victim(victim, plan)) is not None)
        counts = dict(plan.terms.assignment.sizes)
        hold = Hold(
            preemptor=plan.preemptor,
            policy=plan.policy,
            victims=victims,
            leaving=tuple(self._leaving(plan)),
            flavors=plan.terms.assignment.chosen(),
            counts=counts,
            decision=decision,
        )
        said = {HOLD_ANNOTATION: hold.text()}
        if plan.terms.preempted.victims:
            said[PREEMPTED_ANNOTATION] = plan.terms.preempted.text()

        async def work() -> None:
            held = await self._patch(record, {"metadata": {"annotations": said}})
            await self.evict(hold)
            await self.refuse(plan)
            await self._context.event(held, "Normal", "Preempting", plan.message, decision=decision)

        assumed = AssumedObjects(self._context)
        assumed.assume(record, {"metadata": {"annotations": said}}, says(said))
        for victim in victims:
            self._assume_evicted(victim, assumed)
        return Act((plan.preemptor, *(victim.unit for victim in victims)), work, assumed)

    def _assume_evicted(self, victim: HeldVictim, assumed: AssumedObjects) -> None:
        record = self._find(victim.unit)
        if record is not None:
            status = {"conditions": self._conditions(record, evicted(victim))}
            assumed.assume(record, {"status": status, **({"spec": {"active": False}} if victim.ends else {})}, is_out)

    def _refusal(self, plan: Plan, decision: int) -> Act:
        """Say why it waits. One for which there is no place any more holds nothing: what it held is of no use."""
        gives_up = plan.outcome == "Unschedulable" and HOLD_ANNOTATION in annotations_of(self._known(plan.preemptor))

        async def work() -> None:
            if gives_up:
                await self.let_go(self._known(plan.preemptor))
            await self.refuse(plan, decision)

        assumed = AssumedObjects(self._context)
        if gives_up:
            none = {HOLD_ANNOTATION: None}
            assumed.assume(self._known(plan.preemptor), {"metadata": {"annotations": none}}, says(none))
        return Act((plan.preemptor,), work, assumed, again=gives_up)

    def has_to_act(self, plan: Plan) -> bool:
        """Whether a refusal does more than to give another reason: it gives the first one, gives up what was held,
        tells of closed gates, or writes down a first attempt, because something counts from that."""
        record, terms = self._find(plan.preemptor), plan.terms
        if record is None or terms.counts_from_now or terms.gates:
            return True
        return HOLD_ANNOTATION in annotations_of(record) or not condition_of(record.data, "QuotaReserved")

    def _victim(self, victim: Victim, plan: Plan) -> HeldVictim | None:
        record, terms = self._find(victim.unit), plan.terms
        queue = terms.gone[victim.unit].queue
        if record is None or queue is None:
            return None
        message = loop.quota_preempted(plan.preemptor, texts.describe(victim.reason), path(terms.queue), path(queue))
        return HeldVictim(
            unit=victim.unit,
            uid=record.uid,
            message=message,
            ends=victim.ends,
            reason=victim.reason.rule,
            since=since(record),
        )

    def _leaving(self, plan: Plan) -> Iterator[HeldVictim]:
        """Whom it counts on beside its victims."""
        for unit in dict.fromkeys([*plan.waiting_for, *(facts.unit for facts in plan.terms.claimed)]):
            record = self._find(unit)
            if record is not None:
                yield HeldVictim(unit=unit, uid=record.uid, since=since(record))

    async def evict(self, hold: Hold) -> None:
        """Tell every victim of a hold that has not been told yet."""
        await together(self._evict(victim, hold) for victim in hold.victims)
        self._context.log.carried_out(hold)

    async def _evict(self, victim: HeldVictim, hold: Hold) -> None:
        for _ in range(TRIES):
            record = self._find(victim.unit)
            if record is None or record.uid != victim.uid or not record.data.get("status", {}).get("admission"):
                return
            if victim.since != since(record):
                return  # it has left and come back since: whoever it made way for then is not in need of it now
            if has_condition(record.data, "Evicted") and (
                not victim.ends or record.data["spec"].get("active") is False
            ):
                return
            try:
                await self._tell(record, victim, hold)
            except Conflict:
                self._context.absorb(await self._store.get(QUOTA_WORKLOADS, record.name, record.namespace))
            except NotFound:
                return

    async def _tell(self, record: Record, victim: HeldVictim, hold: Hold) -> None:
        if victim.ends:
            record = await self._patch(record, {"spec": {"active": False}})
        changed = await self._write_status(record, {"conditions": self._conditions(record, evicted(victim))})
        self._context.log.told(hold, victim)
        self._counts.preempted(hold.preemptor, victim.reason)
        await self._context.event(changed, "Normal", "Preempted", victim.message, decision=hold.decision)

    async def refuse(self, plan: Plan, decision: int = 0) -> None:
        """Say why a workload waits, and tell it where that is news."""
        attempted, gated = plan.terms.counts_from_now, bool(plan.terms.gates)
        changed = await self.say_pending(plan.preemptor, plan.message, attempted=attempted, gated=gated)
        if changed is not None and plan.outcome != "Preempt":
            await self._context.event(changed, "Warning", "Pending", plan.message, decision=decision)

    def has_said_why(self, unit: str) -> bool:
        record = self._find(unit)
        return record is None or bool(condition_of(record.data, "QuotaReserved"))

    def is_news(self, unit: str, message: str) -> bool:
        """Whether a workload does not say yet why it waits."""
        record = self._find(unit)
        known = condition_of(record.data, "QuotaReserved") if record is not None else {}
        return record is not None and (known.get("status"), known.get("message")) != ("False", message)

    async def say_pending(
        self, unit: str, message: str, *, attempted: bool = False, gated: bool = False
    ) -> Record | None:
        """Set the condition; nothing is written when it says the same already. `attempted`: it had its turn, and the
        first time that it had is counted from. `gated`: closed gates keep it from preempting."""
        record = self._find(unit)
        first = attempted and record is not None and not condition_of(record.data, "Admitted")
        if record is None or not (first or self.is_news(unit, message)):
            return None
        conditions: dict[str, Said] = {
            "QuotaReserved": ("False", "Pending", message),
            BLOCKED: (str(gated), GATED[gated], message),
        }
        if first:
            conditions["Admitted"] = ("False", "NoReservation", message)
        optional = () if gated else (BLOCKED,)
        return await self._write_status(record, {"conditions": self._conditions(record, conditions, optional=optional)})

    async def let_go(self, record: Record) -> bool:
        """A hold that is over must not be there when the workload waits again, for others."""
        held = HOLD_ANNOTATION in annotations_of(record)
        if held:
            await self._patch(record, {"metadata": {"annotations": {HOLD_ANNOTATION: None}}})
        return held

    async def let_go_if_over(self, unit: str) -> None:
        """Who asks no more holds nothing any more, lest it had a promise when it asks again."""
        record = self._find(unit)
        if record is not None and not asks(record):
            await self.let_go(record)

    def holds_in_vain(self, unit: str) -> bool:
        """Whether it holds something and asks no more."""
        record = self._find(unit)
        return record is not None and not asks(record) and HOLD_ANNOTATION in annotations_of(record)

    # Parts

    def _find(self, unit: str) -> Record | None:
        """A workload as the store has it, without what is on its way."""
        kind, namespace, name = parts_of(unit)
        return self._context.mirror.told(QUOTA_WORKLOADS, name, namespace) if kind == QUOTA_WORKLOADS.kind else None

    def _known(self, unit: str) -> Record:
        """The same; raises `NotFound` like the store when it is gone."""
        namespace, name = key_of(unit)
        return self._find(unit) or self._context.mirror.known(QUOTA_WORKLOADS, name, namespace)

    def _conditions(self, record: Record, changes: dict[str, Said], **how: Any) -> list[dict[str, Any]]:
        """All conditions with some of them changed."""
        seen, now = record.metadata.get("generation", 0), self._context.clock()
        known = conditions_of(record.data)
        return with_conditions(known, changes, now=now, precise=True, observedGeneration=seen, **how)

    async def _write_status(self, record: Record, status: dict[str, Any]) -> Record:
        changed = await self._store.patch(
            QUOTA_WORKLOADS,
            record.name,
            record.namespace,
            {"status": status},
            subresource="status",
            version=record.version,
            uid=record.uid,
        )
        self._context.absorb(changed)
        return changed

    async def _patch(self, record: Record, patch: dict[str, Any]) -> Record:
        changed = await self._store.patch(QUOTA_WORKLOADS, record.name, record.namespace, patch, uid=record.uid)
        self._context.absorb(changed)
        return changed
