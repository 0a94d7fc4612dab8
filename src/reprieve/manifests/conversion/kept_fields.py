"""What a version cannot say, kept in an annotation until the object is seen in its own version again."""

from collections.abc import Iterator
from typing import Any

import msgspec

Data = dict[str, Any]
Path = tuple[str | int, ...]
KEPT_FIELDS = "reprieve.scheduling/kept-fields"
_ABSENT = object()


class KeptField(msgspec.Struct, omit_defaults=True):
    """A field that is not what it would be if the object were only translated back."""

    at: list[str | int]
    was: Any = msgspec.UNSET
    """What it is in its own version; not there: it is not set."""
    seen: Any = msgspec.UNSET
    """What translating back makes of it; as long as it does, nobody has changed it."""


Kept = dict[str, list[KeptField]]
"""By the version that the fields belong to."""
_DECODER = msgspec.json.Decoder(Kept)
_ENCODER = msgspec.json.Encoder(order="sorted")


def kept_in(data: Data) -> Kept:
    """What an object keeps for other versions; an annotation that cannot be read keeps nothing."""
    text = (data["metadata"].get("annotations") or {}).get(KEPT_FIELDS)
    try:
        return _DECODER.decode(text) if text else {}
    except msgspec.DecodeError:
        return {}


def with_kept(data: Data, kept: Kept) -> Data:
    """An object that keeps this, and nothing else."""
    annotations = dict(data["metadata"].get("annotations") or {})
    annotations.pop(KEPT_FIELDS, None)
    if kept:
        annotations[KEPT_FIELDS] = _ENCODER.encode(kept).decode()
    metadata = {name: value for name, value in data["metadata"].items() if name != "annotations"}
    return {**data, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def differences(own: Any, translated: Any) -> list[KeptField]:
    """The smallest parts in which an object differs from what translating it back makes of it."""
    return [
        KeptField(list(path), was=_or_unset(was), seen=_or_unset(seen))
        for path, was, seen in _differ((), own, translated)
    ]


def _differ(path: Path, own: Any, other: Any) -> Iterator[tuple[Path, Any, Any]]:
    if isinstance(own, dict) and isinstance(other, dict):
        for name in dict.fromkeys((*own, *other)):
            yield from _differ((*path, name), own.get(name, _ABSENT), other.get(name, _ABSENT))
    elif isinstance(own, list) and isinstance(other, list) and len(own) == len(other):
        for index, pair in enumerate(zip(own, other, strict=True)):
            yield from _differ((*path, index), *pair)
    elif own is not other and own != other:
        yield path, own, other


def _or_unset(value: Any) -> Any:
    return msgspec.UNSET if value is _ABSENT else value


def restore(data: Data, fields: list[KeptField]) -> None:
    """Put back what nobody has changed since it was kept."""
    for field in fields:
        holder = _holder(data, field.at)
        name: Any = field.at[-1] if field.at else ""
        if holder is None or _value(holder, name) != field.seen:
            continue
        if field.was is msgspec.UNSET:
            holder.pop(name, None)
        else:
            holder[name] = field.was


def _holder(data: Any, path: list[str | int]) -> Any:
    """What the last step of a path is taken in; None where the way there is gone."""
    for step in path[:-1]:
        data = _value(data, step)
    fits = isinstance(data, dict) if path and isinstance(path[-1], str) else isinstance(data, list)
    return data if path and fits else None


def _value(holder: Any, step: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(step, msgspec.UNSET)
    if isinstance(holder, list) and isinstance(step, int) and step < len(holder):
        return holder[step]
    return msgspec.UNSET
