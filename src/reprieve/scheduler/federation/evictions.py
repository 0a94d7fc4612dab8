"""How bindings are told to leave a cluster: once for each hold, however often it is tried.

In one write a victim loses its result in the cluster, gets a task that says how it leaves, and remembers for which hold
that was. Whoever remembers this hold, or a later one, is not told again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from reprieve.engine.holds import HeldVictim, Hold
from reprieve.manifests.kinds import BINDINGS
from reprieve.model.clock import timestamp
from reprieve.model.conditions import set_condition
from reprieve.model.names import key_of, kind_of
from reprieve.policies.federation.bindings import PREEMPTED, SCHEDULED
from reprieve.policies.federation.evictions import EVICTED_ANNOTATION, ToldEviction, evictions_of, written
from reprieve.scheduler.assuming import AssumedObjects
from reprieve.scheduler.context import Context, annotations_of, together
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.records import Record
from reprieve.stores.writing import TRIES, Change, difference, modify

GRACE_ANNOTATION = "reprieve.scheduling/eviction-grace-seconds"
"""On a binding: how long its replicas may take to leave; else it is for the cluster to say."""


async def evict(context: Context, hold: Hold) -> None:
    """Tell every victim of a hold that has not been told yet, several at once."""
    await together(_evict(context, hold, victims) for victims in _by_unit(hold.victims))
    context.log.carried_out(hold)


def _by_unit(victims: Iterable[HeldVictim]) -> list[list[HeldVictim]]:
    """Whoever leaves several clusters is told in one write."""
    units: dict[str, list[HeldVictim]] = {}
    for victim in victims:
        if kind_of(victim.unit) == BINDINGS.kind:
            units.setdefault(victim.unit, []).append(victim)
    return list(units.values())


async def _evict(context: Context, hold: Hold, victims: list[HeldVictim]) -> None:
    """Tell one binding to leave some of its clusters, unless it was told before, has left, or is another one."""
    namespace, name = key_of(victims[0].unit)
    for _ in range(TRIES):
        try:
            record = await context.store.get(BINDINGS, name, namespace)
            leaves = _still_there(record, hold, victims)
            if not leaves:
                return None
            record = await modify(context.store, record, lambda data: _leave(data, context, hold, leaves), tries=1)  # noqa: B023
        except Conflict:
            continue
        except NotFound:
            return None
        context.log.told(hold, *leaves)
        context.absorb(record)
        return await _tell(context, record, leaves)
    raise Conflict(f"{victims[0].unit} has changed {TRIES} times in a row")


async def _tell(context: Context, record: Record, leaves: list[HeldVictim]) -> None:
    try:
        record = await say(context, record, "False", PREEMPTED, "; ".join(victim.message for victim in leaves))
    except (Conflict, NotFound):
        return  # gone, or another one: there is nobody to tell
    for victim in leaves:
        await context.event(record, "Normal", PREEMPTED, victim.message)


def assume_left(context: Context, hold: Hold, assumed: AssumedObjects) -> None:
    """Every victim of a hold as it will be when it has been told."""
    for victims in _by_unit(hold.victims):
        namespace, name = key_of(victims[0].unit)
        record = context.mirror.told(BINDINGS, name, namespace)
        leaves = _still_there(record, hold, victims) if record is not None else []
        if record is not None and leaves:
            patch = difference(record, lambda data: _leave(data, context, hold, leaves))  # noqa: B023 - called at once
            assumed.assume(record, patch, lambda told, leaves=leaves: not _still_there(told, hold, leaves))  # type: ignore[misc]


def _still_there(record: Record, hold: Hold, victims: list[HeldVictim]) -> list[HeldVictim]:
    told = evictions_of(annotations_of(record))
    here = {target["name"] for target in record.data["spec"].get("clusters") or ()}
    return [
        victim
        for victim in victims
        if victim.uid == record.uid
        and victim.domain in here
        and (victim.domain not in told or told[victim.domain].hold < hold.version)
    ]


def _leave(data: dict[str, Any], context: Context, hold: Hold, leaves: list[HeldVictim]) -> None:
    spec, said = data["spec"], data["metadata"].setdefault("annotations", {})
    messages = {victim.domain: victim.message for victim in leaves}
    replicas = {target["name"]: target.get("replicas") or _unknown(spec) for target in spec["clusters"]}
    spec["clusters"] = [target for target in spec["clusters"] if target["name"] not in messages]
    tasks = [
        {
            "fromCluster": cluster,
            "replicas": replicas[cluster],
            "reason": PREEMPTED,
            "message": message,
            "producer": "reprieve",
            "creationTimestamp": timestamp(context.clock()),
            **_grace(said),
        }
        for cluster, message in messages.items()
    ]
    spec["gracefulEvictionTasks"] = [*(spec.get("gracefulEvictionTasks") or ()), *tasks]
    told = evictions_of(said) | {cluster: ToldEviction(hold=hold.version, waits=True) for cluster in messages}
    said[EVICTED_ANNOTATION] = written(told)


def _unknown(spec: Mapping[str, Any]) -> int:
    """A result that does not count its replicas means all of them."""
    replicas: int = spec.get("replicas", 0)
    return replicas


def _grace(said: Mapping[str, str]) -> dict[str, int]:
    text = said.get(GRACE_ANNOTATION, "")
    return {"gracePeriodSeconds": int(text)} if text.isascii() and text.isdigit() and len(text) < 10 else {}


# How the scheduler writes to bindings, whatever it has decided


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
    record = await modify(context.store, record, saying(context, status, reason, message), subresource="status")
    context.absorb(record)
    return record


def saying(context: Context, status: str, reason: str, message: str) -> Change:
    """The change that `say` makes."""

    def set_it(data: dict[str, Any]) -> None:
        whole = data.setdefault("status", {})
        set_condition(whole, SCHEDULED, status, reason, message, now=context.clock())
        whole["schedulerObservedGeneration"] = data["metadata"].get("generation", 0)

    return set_it
