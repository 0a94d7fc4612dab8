"""All fields of a kind, those inside of its parts included, and those that no decision reads."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import inspect

from reprieve.manifests.shapes import plain
from reprieve.manifests.unread import UNREAD


def field_names(kind: type) -> set[str]:
    """`kind`'s own family only: metadata and what Kubernetes has are left out."""
    return set(_fields(kind, set(), kind.__module__.rpartition(".")[2].partition("_")[0]))


def _fields(cls: type, seen: set[type], family: str) -> Iterator[str]:
    node = inspect.type_info(cls)
    if not isinstance(node, inspect.StructType) or cls in seen or family not in cls.__module__:
        return
    seen.add(cls)
    yield from UNREAD.get(cls, ())
    for item in node.fields:
        yield item.encode_name
        for inner in _structs(item.type):
            yield from _fields(inner, seen, family)


def _structs(kind: inspect.Type) -> Iterator[type]:
    node = plain(kind)
    if isinstance(node, inspect.StructType):
        yield node.cls
    elif isinstance(node, inspect.VarTupleType):
        yield from _structs(node.item_type)
    elif isinstance(node, inspect.UnionType):
        for each in node.types:
            yield from _structs(each)
