"""What a decision does to bindings: results, holds and evictions, so that a crash between any two writes heals.

1. A result is one write: the clusters, and that nothing is held or waited for any more. What the status says follows.
2. For a preemption the hold comes first, on the preemptor; then every victim is told to leave.
3. A binding that waits for somebody to leave holds its place, too. One for which there is no place holds nothing.

What a decision does is prepared at once, over the binding as it was decided over, and is assumed from then on. Carrying
it out may take its time, and is refused when the binding has changed since.
"""

from collections.abc import Mapping
from typing import Any

from reprieve.engine.holds import HOLD_ANNOTATION, HeldVictim, Hold, hold_of
from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS
from reprieve.model.clock import precise_timestamp
from reprieve.model.conditions import condition_of, has_condition
from reprieve.model.names import parts_of
from reprieve.policies.federation.bindings import PREEMPTED, SCHEDULED
from reprieve.policies.federation.evictions import EVICTED_ANNOTATION, PLACED_ANNOTATION, evictions_of, settled, written
from reprieve.policies.federation.view import BindingTerms
from reprieve.scheduler.assuming import AssumedObjects
from reprieve.scheduler.context import Context, annotations_of
from reprieve.scheduler.federation.evictions import annotate, assume_left, evict, lost_by, say, saying
from reprieve.scheduler.writes import Work
from reprieve.stores.assumed import Arrived
from reprieve.stores.errors import Conflict
from reprieve.stores.records import Record
from reprieve.stores.writing import difference, modify
from reprieve.texts import federation as texts


def prepare(context: Context, plan: Plan, decision: int, assumed: AssumedObjects) -> Work:
    """What carrying out a decision takes; all of it counts from now on. Raises `Conflict` or `NotFound` when its
    binding is not the one that was decided over."""
    record = _decided_over(context, plan)
    if plan.outcome == "Fits":
        return _schedule(context, plan, record, assumed)
    if plan.outcome in ("Preempt", "Wait"):
        return _hold(context, plan, record, decision, assumed)
    return _give_up(context, plan, record, assumed)


def _decided_over(context: Context, plan: Plan) -> Record:
    """The binding as the store has it, if that is the version that the plan is about."""
    terms: BindingTerms = plan.terms
    kind, namespace, name = parts_of(plan.preemptor)
    resource = CLUSTER_BINDINGS if kind == CLUSTER_BINDINGS.kind else BINDINGS
    record = context.mirror.told(resource, name, namespace) or context.mirror.known(resource, name, namespace)
    metadata = terms.facts.binding.metadata
    if (record.uid, str(record.version)) != (metadata.uid, metadata.resource_version):
        raise Conflict(f"{plan.preemptor} has changed since it was decided over")
    return record


# A place that is free


def _schedule(context: Context, plan: Plan, record: Record, assumed: AssumedObjects) -> Work:
    terms: BindingTerms = plan.terms
    result = terms.facts.after(terms.division)
    moment = precise_timestamp(context.clock())
    changes = bool(terms.division or HOLD_ANNOTATION in annotations_of(record) or lost_by(record))

    def give(data: dict[str, Any]) -> None:
        data["spec"]["clusters"] = _targets(result)
        said = data["metadata"].setdefault("annotations", {})
        said.pop(HOLD_ANNOTATION, None)
        said[PLACED_ANNOTATION] = moment
        if EVICTED_ANNOTATION in said:
            said[EVICTED_ANNOTATION] = written(settled(evictions_of(said)))

    message = texts.scheduled(result)

    async def work() -> None:
        placed = await modify(context.store, record, give, tries=1) if changes else record
        context.absorb(placed)
        placed = await say(context, placed, "True", "Success", message)
        await context.event(placed, "Normal", "Scheduled", message)

    def give_and_say(data: dict[str, Any]) -> None:
        give(data)
        data["spec"]["clusters"] = _targets(_at_most(terms.facts.held, result))
        saying(context, "True", "Success", message)(data)

    if changes:
        assumed.assume(record, difference(record, give_and_say), _is_placed(moment))
    return work


def _targets(replicas: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "replicas": count} for name, count in replicas.items()]


def _at_most(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """What may be used of each cluster while the one becomes the other: what is given back is free when that has been
    written, and not before. Else another one could be there first."""
    return {name: max(before.get(name, 0), after.get(name, 0)) for name in {**before, **after}}


def _is_placed(moment: str) -> Arrived:
    """Whether it has its place, and says so: one that says it has none still waits."""
    return lambda record: (
        annotations_of(record).get(PLACED_ANNOTATION) == moment and has_condition(record.data, SCHEDULED)
    )


# A place that others have to leave


def _hold(context: Context, plan: Plan, record: Record, decision: int, assumed: AssumedObjects) -> Work:
    hold = _hold_of_plan(plan, record, decision)
    known = hold_of(annotations_of(record))
    changes = bool(hold.victims or known is None or known.clusters != hold.clusters)
    said = {HOLD_ANNOTATION: hold.text()}

    async def work() -> None:
        held = await annotate(context, record, said, tries=1) if changes else record
        await evict(context, hold)
        await _refuse(context, plan, held)

    if changes:
        assumed.assume(record, {"metadata": {"annotations": said}}, _says(HOLD_ANNOTATION, said[HOLD_ANNOTATION]))
    assume_left(context, hold, assumed)
    return work


def _says(annotation: str, value: str | None) -> Arrived:
    return lambda record: annotations_of(record).get(annotation) == value


def _give_up(context: Context, plan: Plan, record: Record, assumed: AssumedObjects) -> Work:
    said = {HOLD_ANNOTATION: None}

    async def work() -> None:
        await _refuse(context, plan, await annotate(context, record, said, tries=1))

    assumed.assume(record, {"metadata": {"annotations": said}}, _says(HOLD_ANNOTATION, None))
    return work


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
