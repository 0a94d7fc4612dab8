"""How the scheduler writes to bindings, whatever it has decided for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any

from reprieve.model.conditions import set_condition
from reprieve.policies.federation.bindings import SCHEDULED
from reprieve.policies.federation.holds import evictions_of
from reprieve.scheduler.context import Context
from reprieve.stores.records import Record
from reprieve.stores.writing import TRIES, modify


def annotations_of(record: Record) -> dict[str, str]:
    return annotations_in(record.data)


def annotations_in(data: Mapping[str, Any]) -> dict[str, str]:
    return data["metadata"].get("annotations") or {}


def lost_by(record: Record) -> list[str]:
    """The clusters that a victim has left without having a place instead."""
    return [cluster for cluster, eviction in evictions_of(annotations_of(record)).items() if eviction.waits]


async def annotate(context: Context, record: Record, said: Mapping[str, str | None], *, tries: int = TRIES) -> Record:
    def change(data: dict[str, Any]) -> None:
        known = data["metadata"].setdefault("annotations", {}) if any(said.values()) else annotations_in(data)
        for key, value in said.items():
            if value is None:
                known.pop(key, None)
            else:
                known[key] = value

    changed = await modify(context.store, record, change, tries=tries)
    context.absorb(changed)
    return changed


async def together(writes: Iterable[Awaitable[None]]) -> None:
    """Several at once; all are tried, then the first failure counts."""
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


async def say(context: Context, record: Record, status: str, reason: str, message: str) -> Record:
    """Set the condition; whoever else writes to the status meanwhile keeps what it wrote."""

    def set_it(data: dict[str, Any]) -> None:
        whole = data.setdefault("status", {})
        set_condition(whole, SCHEDULED, status, reason, message, now=context.clock())
        whole["schedulerObservedGeneration"] = data["metadata"].get("generation", 0)

    record = await modify(context.store, record, set_it, subresource="status")
    context.absorb(record)
    return record
