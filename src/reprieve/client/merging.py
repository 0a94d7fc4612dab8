"""The three-way merge of `apply`: what was applied before, what is applied now, and what is there.

1. What was applied before and is not any more is removed.
2. What is applied now is set.
3. What others have set, and nobody applied, stays.

Lists that have a key are merged by it, as Kubernetes does for its own kinds; all other lists are replaced, unless what
is there differs only by what the server filled in.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reprieve.manifests.resource import Field, Fields

Data = dict[str, Any]
_PLAIN = Field()


def merged(before: Any, now: Any, there: Any, field: Field = _PLAIN) -> Any:
    """The value that should be there."""
    if isinstance(now, Mapping) and isinstance(there, Mapping) and not field.replaced:
        return _merged_objects(before if isinstance(before, Mapping) else {}, now, there, field.fields)
    if isinstance(now, list) and isinstance(there, list):
        return _merged_lists(before if isinstance(before, list) else [], now, there, field)
    return now


def _merged_objects(
    before: Mapping[str, Any], now: Mapping[str, Any], there: Mapping[str, Any], fields: Fields
) -> Data:
    result = {name: value for name, value in there.items() if name in now or name not in before}
    for name, value in now.items():
        result[name] = merged(before.get(name), value, there.get(name), fields.get(name, _PLAIN))
    return {name: value for name, value in result.items() if value is not None}


def _merged_lists(before: list[Any], now: list[Any], there: list[Any], field: Field) -> list[Any]:
    key = field.key
    if key is None:
        return there if _covers(before, now, there) else now
    if not key:
        return [*now, *(item for item in there if item not in now and item not in before)]
    if not all(isinstance(item, Mapping) and key in item for item in (*before, *now, *there)):
        return now
    return _merged_by_key(key, before, now, there, field.fields)


def _merged_by_key(
    key: str, before: Sequence[Data], now: Sequence[Data], there: Sequence[Data], fields: Fields
) -> list[Any]:
    known = {item[key]: item for item in there}
    applied = {item[key]: item for item in before}
    wanted = {item[key]: item for item in now}
    result = [
        _merged_objects(applied.get(name, {}), item, known[name], fields) if name in known else item
        for name, item in wanted.items()
    ]
    return [*result, *(item for name, item in known.items() if name not in wanted and name not in applied)]


def _covers(before: Any, now: Any, there: Any) -> bool:
    """Whether what is there is what is applied, with at most something filled in; and nothing is to be removed."""
    if isinstance(now, Mapping) and isinstance(there, Mapping):
        earlier = before if isinstance(before, Mapping) else {}
        removed = any(name in there and name not in now for name in earlier)
        return not removed and all(
            name in there and _covers(earlier.get(name), value, there[name]) for name, value in now.items()
        )
    if isinstance(now, list) and isinstance(there, list):
        earlier_items = before if isinstance(before, list) and len(before) == len(now) else [None] * len(now)
        return len(now) == len(there) and all(map(_covers, earlier_items, now, there))
    return bool(now == there)
