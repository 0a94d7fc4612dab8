"""Schemas of all kinds, made by msgspec from the very types that manifests are read as, as clients see them.

1. Each kind in each version is a type of its own, although several may be read as one.
2. Fields that no decision reads are there too, where agents and controllers read them, or (`kept`) all that are known.
3. Nothing has a default: what a field that is left out counts as may be more than JSON can say.
"""

import operator
from collections.abc import Iterable
from functools import cache, reduce
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, structs

from reprieve.manifests import core, pods, served
from reprieve.manifests.kinds import READERS
from reprieve.manifests.meta import Count, Model, ObjectMeta, Reference
from reprieve.manifests.unread import UNREAD
from reprieve.model.resources import Quantity, Resources
from reprieve.server.queries import LARGEST
from reprieve.stores.protocol import Propagation

Schema = dict[str, Any]
Struct = type[msgspec.Struct]
_SERVED: dict[Struct, Struct] = {
    ObjectMeta: served.Metadata,
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
_TEMPLATE = "#/components/schemas/{name}"
_NUMBER = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?$"
_QUANTITY: Schema = {
    "anyOf": [{"type": "string", "pattern": _NUMBER, "maxLength": 128}, {"type": "number", "minimum": 0}],
    "description": "A quantity such as 500m, 2 or 128Mi.",
}
_NULL: Schema = {"type": "null"}


# What is sent and answered beside objects of a kind, whatever the kind: lists, states, options, patches


class ListMeta(Model):
    resource_version: Annotated[str, Meta(description="The version at which this was so.")]
    remaining_item_count: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None
    continue_: str = msgspec.field(name="continue", default="")


class Status(Model):
    kind: Literal["Status"]
    api_version: Literal["v1"]
    status: Literal["Success", "Failure"]
    metadata: dict[str, Any] = {}
    message: str = ""
    reason: str = ""
    details: dict[str, Any] = {}
    code: int = 0


class Preconditions(Model):
    uid: str = ""
    resource_version: Annotated[str, Meta(pattern="^[0-9]{0,18}$")] = ""


class DeleteOptions(Model):
    kind: Literal["DeleteOptions"] = "DeleteOptions"
    grace_period_seconds: Count | None = None
    propagation_policy: Propagation | None = None
    preconditions: Preconditions | None = None
    dry_run: Annotated[tuple[Literal["All"], ...], Meta(max_length=1)] = ()


class Binding(Model):
    target: Reference
    kind: Literal["Binding"] = "Binding"
    api_version: Literal["v1"] = "v1"
    metadata: ObjectMeta = ObjectMeta()


class Eviction(Model):
    kind: Literal["Eviction"] = "Eviction"
    api_version: Literal["policy/v1"] = "policy/v1"
    metadata: ObjectMeta = ObjectMeta()
    delete_options: DeleteOptions = DeleteOptions()


class JsonPatchOperation(Model):
    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    value: Any = None
    from_: str = msgspec.field(name="from", default="")


SHARED: tuple[type[Model], ...] = (ListMeta, Status, DeleteOptions, Binding, Eviction, JsonPatchOperation)


# Schemas


def reference(name: str) -> Schema:
    return {"$ref": _TEMPLATE.format(name=name)}


@cache
def components(*, kept: bool) -> dict[str, Schema]:
    """Every kind in every version, lists of them, and what they are made of; `kept` adds the fields that are kept and
    not read, for people who look them up."""
    kinds = (each for key in READERS for each in kind_and_list(*key, kept=kept))
    made = schemas_of([*(seen(each, kept=kept) for each in SHARED), *kinds])
    for api_version, kind in READERS:
        group, _, version = api_version.rpartition("/")
        for called in (kind, f"{kind}List"):
            names = [{"group": group, "version": version, "kind": called}]
            made[name_of(api_version, called)]["x-kubernetes-group-version-kind"] = names
    return made


def schemas_of(types: Iterable[type[Any]]) -> dict[str, Schema]:
    """Structs and all that they are made of, by name, as OpenAPI 3.0 says it."""
    _, made = msgspec.json.schema_components(types, schema_hook=_custom, ref_template=_TEMPLATE)
    return {name: _object(schema) for name, schema in made.items()}


def _custom(kind: type[Any]) -> Schema:
    if kind is Quantity:
        return _QUANTITY
    if issubclass(kind, Resources):
        return {"type": "object", "additionalProperties": _nullable(_QUANTITY)}
    raise NotImplementedError(kind)


def _object(schema: Schema) -> Schema:
    """What is not required may be null as well: that is the same as not set."""
    required = schema["required"]
    properties = {
        name: _plain(each) if name in required else _nullable(_plain(each))
        for name, each in schema["properties"].items()
    }
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _plain(schema: Schema) -> Schema:
    """A schema as OpenAPI 3.0 has it: there is no type null, and an enumeration says of what."""
    options = [_plain(each) for each in schema.get("anyOf", ()) if each != _NULL]
    if len(options) == 1:
        return options[0] if _NULL not in schema["anyOf"] else _nullable(options[0])
    changed: Schema = {name: _plain(schema[name]) for name in ("items", "additionalProperties") if name in schema}
    changed |= {"anyOf": options} if options else {"type": "string"} if "enum" in schema else {}
    return {name: value for name, value in {**schema, **changed}.items() if name != "default"}


def _nullable(schema: Schema) -> Schema:
    if schema.get("nullable") or len(schema.get("enum", ())) == 1:  # a kind is said, or it is not
        return schema
    if "$ref" in schema:
        return {"allOf": [schema], "nullable": True}
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None], "nullable": True}
    return {**schema, "nullable": True}


# The types that schemas are made of


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
