"""After a restart: victims that were not told yet are told, and statuses that were not written yet are written."""

import logging
from collections.abc import Container

from reprieve.engine.holds import HOLD_ANNOTATION, hold_of
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS
from reprieve.manifests.priorities import Priority
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.scheduler.context import Context, annotations_of
from reprieve.scheduler.federation.evictions import annotate, evict
from reprieve.scheduler.federation.untold import tell
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record

_log = logging.getLogger(__name__)


async def resume(context: Context, names: Container[str]) -> None:
    """Finish what was begun; only bindings that carry something of the scheduler's own are touched, and those that are
    suspended for a scheduler of these names."""
    for record in (*context.mirror.all(BINDINGS), *context.mirror.all(CLUSTER_BINDINGS)):
        try:
            await _resume(context, record, names)
        except (Conflict, NotFound) as moved_on:
            _log.debug("%s needs no more help: %s", record.unit, moved_on)


async def _resume(context: Context, record: Record, names: Container[str]) -> None:
    facts = BindingFacts(record.manifest, Priority(0))
    hold = hold_of(annotations_of(record))
    if HOLD_ANNOTATION in annotations_of(record) and not facts.pending:  # also one that cannot be read
        record = await annotate(context, record, {HOLD_ANNOTATION: None})
    elif hold is not None:
        await evict(context, hold)
    await tell(context, record, names)
