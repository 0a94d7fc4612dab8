"""After a restart: whoever still waits for quota that others were to give back has the rest of them told."""

from reprieve.engine.holds import hold_of
from reprieve.manifests.kinds import QUOTA_WORKLOADS
from reprieve.scheduler.context import Context, annotations_of
from reprieve.scheduler.quota.effects import QuotaEffects
from reprieve.scheduler.quota.statuses import asks


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
