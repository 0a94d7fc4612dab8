"""After a restart: victims that were not told yet are told, and statuses that were not written yet are written."""

import logging

from reprieve.engine.holds import HOLD_ANNOTATION, hold_of
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS
from reprieve.manifests.priorities import Priority
from reprieve.model.conditions import has_condition
from reprieve.policies.federation.bindings import PREEMPTED, SCHEDULED, BindingFacts
from reprieve.policies.federation.evictions import PLACED_ANNOTATION
from reprieve.scheduler.context import Context, annotations_of
from reprieve.scheduler.federation.evictions import annotate, evict, lost_by, say
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.texts import federation as texts

_log = logging.getLogger(__name__)


async def resume(context: Context) -> None:
    """Finish what was begun; only bindings that carry something of the scheduler's own are touched."""
    for record in (*context.mirror.all(BINDINGS), *context.mirror.all(CLUSTER_BINDINGS)):
        try:
            await _resume(context, record)
        except (Conflict, NotFound) as moved_on:
            _log.debug("%s needs no more help: %s", record.unit, moved_on)


async def _resume(context: Context, record: Record) -> None:
    facts = BindingFacts(record.manifest, Priority(0))
    hold = hold_of(annotations_of(record))
    if HOLD_ANNOTATION in annotations_of(record) and not facts.pending:  # also one that cannot be read
        record = await annotate(context, record, {HOLD_ANNOTATION: None})
    elif hold is not None:
        await evict(context, hold)
    if (lost := lost_by(record)) and not has_condition(record.data, SCHEDULED, "False"):
        tasks = record.manifest.spec.graceful_eviction_tasks
        messages = [task.message for task in tasks if task.from_cluster in lost and task.reason == PREEMPTED]
        await say(context, record, "False", PREEMPTED, "; ".join(messages) or texts.left(lost))
    elif PLACED_ANNOTATION in annotations_of(record) and not facts.wants and not has_condition(record.data, SCHEDULED):
        await say(context, record, "True", "Success", texts.scheduled(facts.held))
