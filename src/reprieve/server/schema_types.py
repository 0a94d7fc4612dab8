"""The types that schemas are made of: what manifests are read as, as clients see it.

1. Each kind in each version is a type of its own, although several may be read as one.
2. Fields that no decision reads are there too, where agents and controllers read them, or (`kept`) all that are known.
3. Nothing has a default: what a field that is left out counts as may be more than JSON can say.
"""

import operator
from functools import cache, reduce
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, structs

from reprieve.manifests import core, meta, pods
from reprieve.manifests.kinds import READERS
from reprieve.manifests.unread import UNREAD
from reprieve.server.shared_types import ListMeta
from reprieve.stores.api import served

Struct = type[msgspec.Struct]
_SERVED: dict[Struct, Struct] = {
    meta.ObjectMeta: served.Metadata,
    pods.Container: served.ServedContainer,
    pods.PodSpec: served.ServedPodSpec,
    core.JobSpec: served.ServedJobSpec,
    core.Namespace: served.ServedNamespace,
}
_KEPT = Annotated[
    Any,
    Meta(
        description="Kept as it is written; decisions do not read it.",
        extra_json_schema={"x-kubernetes-preserve-unknown-fields": True},
    ),
]


def name_of(api_version: str, kind: str) -> str:
    """What a kind is called among the schemas: `batch.v1.Job`."""
    return f"{api_version.replace('/', '.')}.{kind}" if "/" in api_version else f"core.{api_version}.{kind}"


@cache
def kind_and_list(api_version: str, kind: str, *, kept: bool) -> tuple[Struct, Struct]:
    """A kind in one version, and a list of it."""
    name = name_of(api_version, kind)
    fields = _fields(READERS[api_version, kind].written, kept=kept)
    one = _struct(name, {**fields, **_type_meta(api_version, kind, None)})
    listed = {"metadata": (seen(ListMeta, kept=kept),), "items": (tuple[one, ...],)}  # type: ignore[valid-type]
    return one, _struct(f"{name}List", {**_type_meta(api_version, f"{kind}List"), **listed})


def _type_meta(api_version: str, kind: str, *default: None) -> dict[str, tuple[Any, ...]]:
    return {"apiVersion": (Literal[api_version], *default), "kind": (Literal[kind], *default)}


def _struct(name: str, fields: dict[str, tuple[Any, ...]], module: str = "") -> Struct:
    """`fields` are types and, where a field may be left out, None."""
    return msgspec.defstruct(name, [(field, *known) for field, known in fields.items()], kw_only=True, module=module)


@cache
def seen(cls: Struct, *, kept: bool) -> Struct:
    """A part of a kind, or what is sent beside them."""
    return _struct(cls.__name__, _fields(cls, kept=kept), cls.__module__.rpartition(".")[2])


def _fields(cls: Struct, *, kept: bool) -> dict[str, tuple[Any, ...]]:
    checked = {field.encode_name: field.type for field in structs.fields(_SERVED[cls])} if cls in _SERVED else {}
    unread = {name: checked.get(name, _KEPT) for name in UNREAD.get(cls, ()) if kept or name in checked}
    read = {field.encode_name: field for field in structs.fields(cls)}
    return {
        **{name: (_replaced(hint, kept=kept), None) for name, hint in unread.items()},
        **{name: (_replaced(field.type, kept=kept), *_NO_DEFAULT[field.required]) for name, field in read.items()},
    }


_NO_DEFAULT: dict[bool, tuple[None, ...]] = {True: (), False: (None,)}


def _replaced(hint: Any, *, kept: bool) -> Any:
    """A type with all structs in it as clients see them."""
    if isinstance(hint, msgspec.StructMeta):
        return seen(hint, kept=kept)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    if origin is Annotated:
        return Annotated[(_replaced(inner[0], kept=kept), *inner[1:])]
    changed = tuple(_replaced(each, kept=kept) for each in inner)
    return reduce(operator.or_, changed) if origin in (Union, UnionType) else origin[changed]
