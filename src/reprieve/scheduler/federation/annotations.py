"""How the scheduler writes to bindings, whatever it has decided for them."""

from collections.abc import Mapping
from typing import Any

from reprieve.model.conditions import set_condition
from reprieve.policies.federation.bindings import SCHEDULED
from reprieve.policies.federation.evictions import evictions_of
from reprieve.scheduler.context import Context, annotations_of
from reprieve.stores.records import Record
from reprieve.stores.writing import TRIES, modify


def lost_by(record: Record) -> list[str]:
    """The clusters that a victim has left without having a place instead."""
    return [cluster for cluster, eviction in evictions_of(annotations_of(record)).items() if eviction.waits]


async def annotate(context: Context, record: Record, said: Mapping[str, str | None], *, tries: int = TRIES) -> Record:
    def change(data: dict[str, Any]) -> None:
        known = {**(data["metadata"].get("annotations") or {}), **said}
        kept = {key: value for key, value in known.items() if value is not None}
        if kept or "annotations" in data["metadata"]:
            data["metadata"]["annotations"] = kept

    changed = await modify(context.store, record, change, tries=tries)
    context.absorb(changed)
    return changed


async def say(context: Context, record: Record, status: str, reason: str, message: str) -> Record:
    """Set the condition; whoever else writes to the status meanwhile keeps what it wrote."""

    def set_it(data: dict[str, Any]) -> None:
        whole = data.setdefault("status", {})
        set_condition(whole, SCHEDULED, status, reason, message, now=context.clock())
        whole["schedulerObservedGeneration"] = data["metadata"].get("generation", 0)

    record = await modify(context.store, record, set_it, subresource="status")
    context.absorb(record)
    return record
