"""After a restart: whoever still waits for quota that others were to give back has the rest of them told."""

from reprieve.engine.holds import hold_of
from reprieve.manifests.kinds import QUOTA_WORKLOADS
from reprieve.model.conditions import has_condition
from reprieve.scheduler.context import Context, annotations_of
from reprieve.scheduler.quota.effects import QuotaEffects
from reprieve.stores.records import Record


async def resume(context: Context, effects: QuotaEffects) -> None:
    """Finish what was begun; who it was for keeps its turn by what it holds."""
    for record in context.mirror.all(QUOTA_WORKLOADS):
        hold = hold_of(annotations_of(record))
        if hold is None:
            continue
        if hold.preemptor != record.unit or not asks(record):
            await effects.let_go(record)
        else:
            await effects.evict(hold)


def asks(record: Record) -> bool:
    """Whether it still asks for quota, now or when its back-off is over."""
    finished = has_condition(record.data, "Finished")
    return record.manifest.status.admission is None and record.manifest.spec.active and not finished
