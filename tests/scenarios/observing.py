"""What objects of any kind say about their place, in the words of scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from typing import Any

import msgspec

from reprieve.manifests.kinds import BINDINGS, PODS, QUOTA_WORKLOADS
from reprieve.manifests.resource import Resource
from reprieve.model.conditions import condition_of
from reprieve.model.names import parts_of
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from tests.scenarios.scenario import Facts, Preempted, Told

PLACED: tuple[Resource, ...] = (PODS, QUOTA_WORKLOADS, BINDINGS)
Wanted = Mapping[str, Facts | list[Facts]]


async def placed(store: Store, namespace: str) -> dict[str, Record]:
    """All that wants a place in a namespace, by kind and name."""
    lists = [await store.list(resource, namespace) for resource in PLACED]
    return {f"{record.resource.kind}/{record.name}": record for each in lists for record in each.records}


def facts_of(record: Record) -> Facts:
    return _OBSERVERS[record.resource](record.data, is_leaving(record))


def _pod(data: Mapping[str, Any], leaving: bool) -> Facts:
    return Facts(
        at=data["spec"].get("nodeName", ""),
        waits=_message(data, "PodScheduled"),
        nominated=data["status"].get("nominatedNodeName", ""),
        leaving=leaving,
        told=_reason(data, "DisruptionTarget", "True"),
    )


def _workload(data: Mapping[str, Any], leaving: bool) -> Facts:
    admission = data.get("status", {}).get("admission") or {}
    return Facts(
        at=admission.get("clusterQueue", ""),
        waits=_message(data, "QuotaReserved"),
        leaving=leaving,
        told=_reason(data, "Preempted", "True"),
    )


def _binding(data: Mapping[str, Any], leaving: bool) -> Facts:
    clusters = data["spec"].get("clusters") or ()
    return Facts(
        at={each["name"]: each["replicas"] for each in clusters} or "",
        waits=_message(data, "Scheduled"),
        leaving=leaving,
        told=_reason(data, "Scheduled", "False"),
    )


_OBSERVERS = {PODS: _pod, QUOTA_WORKLOADS: _workload, BINDINGS: _binding}


def _message(data: Mapping[str, Any], condition: str) -> str:
    found = condition_of(data, condition)
    return str(found.get("message", "")) if found.get("status") == "False" else ""


def _reason(data: Mapping[str, Any], condition: str, status: str) -> str:
    found = condition_of(data, condition)
    return str(found.get("reason", "")) if found.get("status") == status else ""


# What is wanted, and what is otherwise


def differences(wanted: Wanted, found: Mapping[str, Record], *, all_of_them: bool) -> list[str]:
    """In what the objects are not as wanted; `all_of_them`: whoever is not named is one too many."""
    told: list[str] = []
    left = dict(found)
    for name, facts in wanted.items():
        mine = {each: left.pop(each) for each in list(left) if fnmatch(each, name)}
        told += _compared(name, facts, mine)
    return told + ([f"{name} is there" for name in left] if all_of_them else [])


def _compared(name: str, wanted: Facts | list[Facts], found: Mapping[str, Record]) -> list[str]:
    """Names may have stars; then as many facts are wanted as there are objects, in any order."""
    if isinstance(wanted, Facts) and wanted.gone:
        return [f"{each} is still there" for each in found]
    observed = [facts_of(record) for record in found.values()]
    if isinstance(wanted, Facts) and wanted.maybe:
        wanted = [wanted] * len(observed)
    each_wanted = wanted if isinstance(wanted, list) else [wanted]
    if pairs(each_wanted, observed, agrees):
        return []
    return [f"{name}: wanted {_shown(each_wanted)}, found {_shown(observed)}"]


def agrees(wanted: Facts, found: Facts) -> bool:
    if wanted.waits is not None and (found.at or wanted.waits not in (found.waits or "")):
        return False
    exact = ("at", "nominated", "leaving", "told")
    return all(getattr(wanted, key) in (None, getattr(found, key)) for key in exact)


def pairs(wanted: list[Any], found: list[Any], agree: Any) -> bool:
    """Whether each of the one can be given another one of the other, with nobody left."""
    if not wanted or not found:
        return not wanted and not found
    first, *others = wanted
    rest = ([*found[:number], *found[number + 1 :]] for number, each in enumerate(found) if agree(first, each))
    return any(pairs(others, each, agree) for each in rest)


def _shown(facts: Iterable[Facts]) -> list[Any]:
    return [msgspec.to_builtins(each) for each in facts]


# Decisions and events


def preempted_in(decisions: Iterable[Mapping[str, Any]], namespace: str) -> list[Preempted]:
    """Those who had to make way in a namespace. Whoever is on the way out may be counted on by others after the first:
    how many of them decide before it is gone depends on how fast things go."""
    made = [
        Preempted(
            unit=short(victim["unit"]), by=short(each["preemptor"]), reason=victim["reason"], at=each["plan"]["domain"]
        )
        for each in sorted(decisions, key=lambda each: each["id"])
        if parts_of(each["preemptor"])[1] == namespace
        for victim in each["plan"]["victims"]
    ]
    return list({each.unit: each for each in reversed(made)}.values())


def same_preemption(wanted: Preempted, found: Preempted) -> bool:
    names = fnmatch(found.unit, wanted.unit) and fnmatch(found.by, wanted.by)
    return names and found.reason == wanted.reason and wanted.at in (None, found.at)


def short(unit: str) -> str:
    """A unit without its namespace: a scenario has but one."""
    kind, _, name = parts_of(unit)
    return f"{kind}/{name}"


def was_told(wanted: Told, events: Iterable[Record]) -> bool:
    return any(_is_told(wanted, event.data) for event in events)


def _is_told(wanted: Told, event: Mapping[str, Any]) -> bool:
    about = event["involvedObject"]
    return (
        event["reason"] == wanted.reason
        and fnmatch(f"{about['kind']}/{about['name']}", wanted.about)
        and wanted.says in event["message"]
    )
