"""What a decision does to bindings: results, holds and evictions, so that a crash between any two writes heals.

1. A result is one write: the clusters, and that nothing is held or waited for any more. What the status says follows.
2. For a preemption the hold comes first, on the preemptor; then every victim is told to leave.
3. A binding that waits for somebody to leave holds its place, too. One for which there is no place holds nothing.
"""

from typing import Any

from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold, hold_of
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS
from reprieve.model.clock import precise_timestamp
from reprieve.model.conditions import condition_of
from reprieve.model.names import parts_of
from reprieve.policies.federation.bindings import PREEMPTED, SCHEDULED
from reprieve.policies.federation.evictions import EVICTED_ANNOTATION, PLACED_ANNOTATION, evictions_of, settled, written
from reprieve.policies.federation.view import BindingTerms
from reprieve.scheduler.context import Context, annotations_of
from reprieve.scheduler.federation.evictions import annotate, evict, lost_by, say
from reprieve.stores.errors import Conflict
from reprieve.stores.records import Record
from reprieve.stores.writing import modify
from reprieve.texts import federation as texts


async def commit(context: Context, plan: Plan, decision: int = 0) -> None:
    """Carry out a decision. Raises `Conflict` or `NotFound` when its binding is not the one that was decided over."""
    record = await _decided_over(context, plan)
    if plan.outcome == "Fits":
        await _schedule(context, plan, record)
    elif plan.outcome in ("Preempt", "Wait"):
        await _hold(context, plan, record, decision)
    else:
        record = await annotate(context, record, {HOLD_ANNOTATION: None}, tries=1)
        await _refuse(context, plan, record)


async def _decided_over(context: Context, plan: Plan) -> Record:
    """The binding as the store has it, if that is the version that the plan is about."""
    terms: BindingTerms = plan.terms
    kind, namespace, name = parts_of(plan.preemptor)
    record = await context.store.get(CLUSTER_BINDINGS if kind == CLUSTER_BINDINGS.kind else BINDINGS, name, namespace)
    metadata = terms.facts.binding.metadata
    if (record.uid, str(record.version)) != (metadata.uid, metadata.resource_version):
        context.absorb(record)
        raise Conflict(f"{plan.preemptor} has changed since it was decided over")
    return record


# A place that is free


async def _schedule(context: Context, plan: Plan, record: Record) -> None:
    terms: BindingTerms = plan.terms
    result = terms.facts.after(terms.division)
    if terms.division or HOLD_ANNOTATION in annotations_of(record) or lost_by(record):
        moment = precise_timestamp(context.clock())

        def give(data: dict[str, Any]) -> None:
            data["spec"]["clusters"] = [{"name": name, "replicas": count} for name, count in result.items()]
            said = data["metadata"].setdefault("annotations", {})
            said.pop(HOLD_ANNOTATION, None)
            said[PLACED_ANNOTATION] = moment
            if EVICTED_ANNOTATION in said:
                said[EVICTED_ANNOTATION] = written(settled(evictions_of(said)))

        record = await modify(context.store, record, give, tries=1)
        context.absorb(record)
    message = texts.scheduled(result)
    record = await say(context, record, "True", "Success", message)
    await context.event(record, "Normal", "Scheduled", message)


# A place that others have to leave


async def _hold(context: Context, plan: Plan, record: Record, decision: int) -> None:
    hold = _hold_of_plan(plan, record, decision)
    known = hold_of(annotations_of(record))
    if hold.victims or known is None or known.clusters != hold.clusters:
        record = await annotate(context, record, {HOLD_ANNOTATION: hold.text()}, tries=1)
    await evict(context, hold)
    await _refuse(context, plan, record)


def _hold_of_plan(plan: Plan, record: Record, decision: int) -> Hold:
    terms: BindingTerms = plan.terms
    victims = [
        HeldVictim(
            unit=other.unit,
            uid=other.binding.metadata.uid,
            domain=cluster,
            message=texts.preempted(cluster, plan.preemptor, other.priority, terms.facts.priority),
        )
        for other, cluster in terms.evictions
    ]
    seen = [other.binding.metadata.resource_version for other, _ in terms.evictions]
    version = max([record.version, *(int(text) for text in seen if text)])
    return Hold(
        preemptor=plan.preemptor,
        policy=plan.policy,
        version=version,
        clusters=terms.division,
        victims=tuple(victims),
        decision=decision,
    )


# What the status says


async def _refuse(context: Context, plan: Plan, record: Record) -> None:
    """Say why a binding waits. That it was preempted is not covered up by that."""
    known = condition_of(record.data, SCHEDULED)
    if known.get("reason") != PREEMPTED and known.get("message") != plan.message:
        record = await say(context, record, "False", "Unschedulable", plan.message)
    if plan.outcome == "Preempt":
        await context.event(record, "Normal", "Preempting", plan.message)
    elif plan.outcome == "Unschedulable" and known.get("message") != plan.message:
        await context.event(record, "Warning", "FailedScheduling", plan.message, once=True)
