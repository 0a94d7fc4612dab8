"""Conditions as Kubernetes writes them, in plain data: how they are found, asked about and changed.

1. A type is in the list once, and keeps its place.
2. The time of its last transition stays as long as its status does.
3. What is given is not changed; `set_condition` alone puts a new list into a status.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from reprieve.model.clock import precise_timestamp, timestamp

Data = dict[str, Any]
Said = tuple[str, str, str]
"""Status, reason and message."""


def conditions_of(data: Mapping[str, Any]) -> list[Data]:
    """The conditions of an object."""
    return (data.get("status") or {}).get("conditions") or []


def find_condition(conditions: Iterable[Data], kind: str) -> Data:
    """The condition of a type; empty: there is none."""
    return next((each for each in conditions if each.get("type") == kind), {})


def condition_of(data: Mapping[str, Any], kind: str) -> Data:
    """The condition of an object; empty: it has none of this type."""
    return find_condition(conditions_of(data), kind)


def has_condition(data: Mapping[str, Any], kind: str, status: str = "True") -> bool:
    """Whether an object has a condition with this status."""
    return bool(condition_of(data, kind).get("status") == status)


def true_condition(data: Mapping[str, Any], *kinds: str) -> Data:
    """The first condition of these types that holds for an object; empty: none does."""
    return next((condition_of(data, kind) for kind in kinds if has_condition(data, kind)), {})


def changed_condition(
    conditions: Iterable[Data],
    kind: str,
    status: str,
    reason: str = "",
    message: str = "",
    *,
    now: datetime,
    precise: bool = False,
    **more: Any,
) -> Data:
    """A condition as it is to be, among those that are there: since when is known, if its status is the same.

    `precise` says it in microseconds, for those whose order is asked for later.
    """
    known = find_condition(conditions, kind)
    since = known.get("lastTransitionTime") if known.get("status") == status else None
    moment = precise_timestamp(now) if precise else timestamp(now)
    condition = {"type": kind, "status": status, "lastTransitionTime": since or moment, **more}
    return condition | {key: value for key, value in (("reason", reason), ("message", message)) if value}


def with_conditions(
    conditions: Iterable[Data], changes: Mapping[str, Said], *, optional: Collection[str] = (), **how: Any
) -> list[Data]:
    """All conditions with some of them changed; `optional` ones only where they are there already.

    `how` is what `changed_condition` takes: `now`, `precise`, and fields that go into each of those that change.
    """
    result = list(conditions)
    for kind, said in changes.items():
        known = find_condition(result, kind)
        if known:
            result[result.index(known)] = changed_condition(result, kind, *said, **how)
        elif kind not in optional:
            result.append(changed_condition(result, kind, *said, **how))
    return result


def set_condition(status: Data, kind: str, value: str, reason: str = "", message: str = "", **how: Any) -> None:
    """Change one condition in a status."""
    status["conditions"] = with_conditions(status.get("conditions") or (), {kind: (value, reason, message)}, **how)
