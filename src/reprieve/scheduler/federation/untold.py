"""Bindings that were placed, lost a place or are suspended, and do not say so: the write of their status was lost, or
never made.

What became of a binding is written in two steps, first where it is and then what its status says. Whoever finds only
the first one done does the second, be it after a restart or because the store did not answer.
"""

from collections.abc import Container

from reprieve.manifests.priorities import Priority
from reprieve.model.conditions import Said, condition_of, has_condition
from reprieve.policies.federation.bindings import PREEMPTED, SCHEDULED, SUSPENDED, BindingFacts
from reprieve.policies.federation.evictions import PLACED_ANNOTATION
from reprieve.scheduler.context import Context, annotations_of
from reprieve.scheduler.federation.evictions import lost_by, say
from reprieve.stores.records import Record
from reprieve.texts import federation as texts


def untold(record: Record, names: Container[str]) -> Said | None:
    """What the status of a binding should say by what the scheduler itself has written on it, and does not; or that it
    is suspended, where it is for a scheduler of these names."""
    facts = BindingFacts(record.manifest, Priority(0))
    lost = lost_by(record)
    if facts.wants and facts.suspended and facts.binding.spec.scheduler_name in names:
        return _suspended(record, facts)
    if lost and not has_condition(record.data, SCHEDULED, "False"):
        tasks = record.manifest.spec.graceful_eviction_tasks
        messages = [task.message for task in tasks if task.from_cluster in lost and task.reason == PREEMPTED]
        return "False", PREEMPTED, "; ".join(messages) or texts.left(lost)
    placed = not lost and not facts.wants and PLACED_ANNOTATION in annotations_of(record)
    if placed and not has_condition(record.data, SCHEDULED):
        return "True", "Success", texts.scheduled(facts.held)
    return None


def _suspended(record: Record, facts: BindingFacts) -> Said | None:
    """It waits for whoever suspended it, whatever else there was to say: also that it had been preempted."""
    known = condition_of(record.data, SCHEDULED)
    said = "False", SUSPENDED, texts.suspended(facts.unit)
    return None if (known.get("status"), known.get("reason")) == said[:2] else said


async def tell(context: Context, record: Record, names: Container[str]) -> None:
    """Write it, where there is anything. Nobody decides about what is suspended: so that is its story, too."""
    said = untold(record, names)
    if said is None:
        return
    await say(context, record, *said)
    if said[1] == SUSPENDED:
        context.log.history.note(record.unit, "held", said[2], uid=record.uid)
