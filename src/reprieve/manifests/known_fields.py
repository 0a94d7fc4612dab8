"""Fields that an API does not have: the server drops them, and with them whatever they were meant to say.

Most objects have none, and that is found out at the speed of reading: each kind has a shape that knows all of its
fields and refuses any other. Only what does not fit it is looked through field by field.
"""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec
from msgspec import inspect

from reprieve.manifests import served
from reprieve.manifests.problems import Finding, did_you_mean, join_path, nearest
from reprieve.manifests.shapes import plain, type_at
from reprieve.manifests.unread import RENAMED, UNREAD, known_names

_MISFIT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def fits(data: Any, written: Any) -> bool:
    """Whether plain data has only fields of its kind, with what a server takes in those that nobody decides over."""
    shape = _whole(written, Any)
    try:
        return shape is not None and msgspec.convert(data, shape) is not None
    except _MISFIT:
        return False


def raw_fits(raw: msgspec.Raw | bytes, written: Any) -> bool:
    """The same for JSON that nobody has made data of; where a server has rules for the kind, it is not enough."""
    decode = _decoder(written)
    try:
        return decode is not None and decode(raw) is not None
    except _MISFIT:
        return False


@cache
def _decoder(written: Any) -> Any:
    shape = None if served.has_rules(written) else _whole(written, msgspec.Raw)
    return None if shape is None else msgspec.json.Decoder(shape).decode


@cache
def _whole(written: Any, anything: Any) -> Any:
    """The shape of an object; None where there is none."""
    return None if _holds_itself(written) else _shape(written, served.type_of(written), anything)


@cache
def _shape(written: Any, agent: Any, anything: Any, *, top: bool = True) -> Any:
    """A struct with the fields of a type, read or not, and no others.

    Fields that nobody decides over are as agents and controllers read them; what the others hold is not looked at.
    """
    read = {item.encode_name: item.type for item in _struct(written).fields}
    acted_on = {item.encode_name: item for item in msgspec.structs.fields(agent)} if agent else {}
    # In the order of kubectl: a name that stands where it is expected is found at once.
    names = sorted({*read, *UNREAD.get(written, ()), *(("apiVersion", "kind") if top else ())})

    def kind_of(name: str) -> Any:
        known = acted_on.get(name)
        if name in read:
            return _shape_of(read[name], type_at(known.type, ()) if known else None, anything)
        return known.type | None if known else anything

    fields = [
        (f"field_{number}", kind_of(name), msgspec.field(name=name, default=None)) for number, name in enumerate(names)
    ]
    return msgspec.defstruct(f"{written.__name__}Shape", fields, forbid_unknown_fields=True, gc=False)


def _shape_of(kind: Any, agent: Any, anything: Any) -> Any:
    node, other = plain(kind), plain(agent)
    if isinstance(node, inspect.StructType):
        other = other.cls if isinstance(other, inspect.StructType) else None
        return _shape(node.cls, other, anything, top=False) | None
    if isinstance(node, inspect.VarTupleType):
        other = other.item_type if isinstance(other, inspect.VarTupleType) else None
        item = _shape_of(node.item_type, other, anything)
        return anything if item is anything else list.__class_getitem__(item) | None
    return anything


def _struct(written: type[Any]) -> inspect.StructType:
    node: inspect.StructType = type_at(written, ())
    return node


@cache
def _holds_itself(written: Any, inside: tuple[Any, ...] = ()) -> bool:
    """Whether a type is found again within itself, as queues are: no shape is made of that."""
    return written in inside or any(
        _holds_itself(cls, (*inside, written)) for item in _struct(written).fields for cls in _structs(item.type)
    )


def _structs(kind: Any) -> Iterator[Any]:
    node = plain(kind)
    if isinstance(node, inspect.VarTupleType):
        yield from _structs(node.item_type)
    elif isinstance(node, inspect.StructType):
        yield node.cls


# Field by field


def unknown_fields(data: Any, written: type[Any], most: int | None = None) -> list[Finding]:
    """Fields that no version of the API has here, the first `most` of them; those that exist but do not matter are
    known."""
    return [] if fits(data, written) else list(islice(_unknown(data, type_at(written, ()), "$", written), most))


def _unknown(data: Any, kind: Any, path: str, written: Any) -> Iterator[Finding]:
    node = plain(kind)
    if isinstance(node, inspect.StructType) and isinstance(data, dict):
        fields = {item.encode_name: item.type for item in node.fields}
        known = known_names(node) | ({"apiVersion", "kind"} if path == "$" else set())
        for name, value in data.items():
            place = join_path(path, name)
            if name in fields:
                yield from _unknown(value, fields[name], place, written)
            elif name not in known and value is not None:
                yield Finding(place, "unknown field", "", _meant(name, known, written))
    elif isinstance(node, inspect.VarTupleType) and isinstance(data, list):
        for index, item in enumerate(data):
            yield from _unknown(item, node.item_type, f"{path}[{index}]", written)


def _meant(name: str, known: set[str], written: Any) -> str:
    """The field that was meant: of nearly that name here, of that name in another version, or in another place."""
    if near := did_you_mean(name, known):
        return near
    renamed = {old: new for old, new in RENAMED.items() if new in known}
    if old := nearest(name, renamed):
        return f'did you mean "{renamed[old]}"?'
    places = _places(written).get(name, ())
    return f"did you mean {places[0]}?" if len(places) == 1 else ""


@cache
def _places(written: Any) -> dict[str, list[str]]:
    """Where a kind has fields of a name, the spec of its pods' templates included."""
    found: dict[str, list[str]] = {}
    for name, place in _paths(type_at(written, ()), "$"):
        found.setdefault(name, []).append(place)
    return found


def _paths(kind: Any, path: str) -> Iterator[tuple[str, str]]:
    """All fields that stand in no list, with their paths."""
    node = plain(kind)
    if isinstance(node, inspect.StructType):
        typed = {item.encode_name: item.type for item in node.fields}
        for name in sorted(known_names(node)):
            yield name, join_path(path, name)
            yield from _paths(typed.get(name), join_path(path, name))
