"""Schemas of all kinds, made from the very types that manifests are read as."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from msgspec import inspect

from reprieve.manifests import core, meta, pods
from reprieve.manifests.kinds import READERS
from reprieve.manifests.unread import UNREAD
from reprieve.model.resources import Quantity
from reprieve.server.queries import LARGEST, PROPAGATIONS
from reprieve.stores.api import served

Schema = dict[str, Any]
_TEMPLATE = "#/components/schemas/{name}"
_NUMBER = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?$"
_QUANTITY: Schema = {
    "anyOf": [{"type": "string", "pattern": _NUMBER, "maxLength": 128}, {"type": "number", "minimum": 0}],
    "description": "A quantity such as 500m, 2 or 128Mi.",
}
_KEPT: Schema = {
    "description": "Kept as it is written; decisions do not read it.",
    "x-kubernetes-preserve-unknown-fields": True,
}
_SERVED: dict[type, type] = {
    meta.ObjectMeta: served.Metadata,
    pods.Container: served.Container,
    pods.PodSpec: served.PodSpec,
    core.JobSpec: served.JobSpec,
    core.Namespace: served.Namespace,
}
_VERSION: Schema = {"type": "string", "description": "The version at which this was so."}
_COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": LARGEST}


def reference(name: str) -> Schema:
    return {"$ref": _TEMPLATE.format(name=name)}


def name_of(api_version: str, kind: str) -> str:
    """What a kind is called among the schemas: `batch.v1.Job`."""
    return f"{api_version.replace('/', '.')}.{kind}" if "/" in api_version else f"core.{api_version}.{kind}"


class _Maker:
    """Makes schemas of types; those of structs are kept by name, and referred to."""

    def __init__(self) -> None:
        self.parts: dict[str, Schema] = {}
        self.classes: dict[str, type] = {}

    def schema(self, node: Any) -> Schema:
        match node:
            case inspect.StructType():
                return reference(self._struct(node))
            case inspect.UnionType():
                options = [self.schema(each) for each in node.types if not isinstance(each, inspect.NoneType)]
                return options[0] if len(options) == 1 else {"anyOf": options}
            case inspect.VarTupleType() | inspect.ListType():
                limits = {"minItems": node.min_length, "maxItems": node.max_length}
                return {"type": "array", "items": self.schema(node.item_type), **_set(limits)}
            case inspect.DictType():
                return {"type": "object", "additionalProperties": self.schema(node.value_type)}
            case _:
                return _simple(node)

    def _struct(self, node: inspect.StructType) -> str:
        name = node.cls.__name__
        if self.classes.get(name, node.cls) is not node.cls:
            name = f"{node.cls.__module__.rpartition('.')[2]}.{name}"
        if name not in self.parts:
            self.classes[name] = node.cls
            self.parts[name] = {}
            self.parts[name] = self._fields(node)
        return name

    def _fields(self, node: inspect.StructType) -> Schema:
        """What is not required may be null as well: that is the same as not set."""
        fields = [*node.fields, *_fields_served(node)]
        properties = {
            field.encode_name: self.schema(field.type) if field.required else _nullable(self.schema(field.type))
            for field in fields
        }
        required = [field.encode_name for field in node.fields if field.required]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _fields_served(node: inspect.StructType) -> list[inspect.Field]:
    """Fields that no decision reads and that are checked all the same, for agents and controllers."""
    if node.cls not in _SERVED:
        return []
    own = {field.encode_name for field in node.fields}
    also: Any = inspect.type_info(_SERVED[node.cls])
    return [field for field in also.fields if field.encode_name not in own and field.encode_name in UNREAD[node.cls]]


def _simple(node: Any) -> Schema:
    match node:
        case inspect.StrType():
            return {"type": "string", **_set({"pattern": node.pattern})}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType():
            return {"type": "integer", **_set({"minimum": node.ge, "maximum": node.le})}
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case inspect.LiteralType():
            return {"type": "string", "enum": sorted(node.values)}
        case inspect.CustomType(cls=cls):
            resources = {"type": "object", "additionalProperties": _nullable(_QUANTITY)}
            return _QUANTITY if cls is Quantity else resources
        case _:
            return {}


def _set(limits: Schema) -> Schema:
    return {name: value for name, value in limits.items() if value is not None}


@cache
def _components() -> tuple[dict[str, Schema], _Maker]:
    """The schema of each kind in each version, and what they are made of."""
    maker = _Maker()
    for reader in READERS.values():
        maker.schema(inspect.type_info(reader.written))
    names = {cls: name for name, cls in maker.classes.items()}
    kinds = {name_of(*key): _kind(maker.parts[names[reader.written]], *key) for key, reader in READERS.items()}
    return kinds, maker


def _kind(schema: Schema, api_version: str, kind: str) -> Schema:
    """A kind of its own, although several may be written in one type."""
    group, _, version = api_version.rpartition("/")
    own = {
        "apiVersion": {"type": "string", "enum": [api_version]},
        "kind": {"type": "string", "enum": [kind]},
    }
    required = [name for name in schema.get("required", ()) if name not in own]
    return {
        "type": "object",
        "properties": {**schema["properties"], **own},
        **({"required": required} if required else {}),
        "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
    }


def _nullable(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"allOf": [schema], "nullable": True}
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None], "nullable": True}
    return {**schema, "nullable": True}


def kinds_and_parts() -> dict[str, Schema]:
    kinds, maker = _components()
    return {**maker.parts, **kinds}


@cache
def with_kept_fields() -> dict[str, Schema]:
    """The same with the fields that are kept and not read, for people who look them up."""
    kinds, maker = _components()
    full = copy.deepcopy({**maker.parts, **kinds})
    for name, cls in maker.classes.items():
        full[name]["properties"] = {**dict.fromkeys(UNREAD.get(cls, ()), _KEPT), **full[name]["properties"]}
    for key, reader in READERS.items():
        kind = full[name_of(*key)]
        kind["properties"] = {**dict.fromkeys(UNREAD.get(reader.written, ()), _KEPT), **kind["properties"]}
    return full


def list_of(name: str, api_version: str, kind: str) -> Schema:
    """A list of a kind."""
    group, _, version = api_version.rpartition("/")
    return {
        "type": "object",
        "required": ["kind", "apiVersion", "metadata", "items"],
        "properties": {
            "kind": {"type": "string", "enum": [f"{kind}List"]},
            "apiVersion": {"type": "string", "enum": [api_version]},
            "metadata": reference("ListMeta"),
            "items": {"type": "array", "items": reference(name)},
        },
        "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": f"{kind}List"}],
    }


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


_TEXT: Schema = {"type": "string"}
SHARED: dict[str, Schema] = {
    "ListMeta": _object(
        ("resourceVersion",), resourceVersion=_VERSION, remainingItemCount=_COUNT, **{"continue": _TEXT}
    ),
    "Status": _object(
        ("kind", "apiVersion", "status"),
        kind={"type": "string", "enum": ["Status"]},
        apiVersion={"type": "string", "enum": ["v1"]},
        metadata={"type": "object"},
        status={"type": "string", "enum": ["Success", "Failure"]},
        message=_TEXT,
        reason=_TEXT,
        details={"type": "object"},
        code={"type": "integer"},
    ),
    "DeleteOptions": _object(
        kind={"type": "string", "enum": ["DeleteOptions"]},
        gracePeriodSeconds={"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "nullable": True},
        propagationPolicy={"type": "string", "enum": [*PROPAGATIONS, None], "nullable": True},
        preconditions={
            **_object(
                uid={"type": "string", "nullable": True},
                resourceVersion={"type": "string", "pattern": "^[0-9]{0,18}$", "nullable": True},
            ),
            "nullable": True,
        },
        dryRun={"type": "array", "items": {"type": "string", "enum": ["All"]}, "maxItems": 1, "nullable": True},
    ),
    "Binding": _object(
        ("target",),
        kind={"type": "string", "enum": ["Binding"]},
        apiVersion={"type": "string", "enum": ["v1"]},
        metadata=_object(name=_TEXT, namespace=_TEXT, uid=_TEXT),
        target=_object(("name",), kind={"type": "string", "enum": ["Node"]}, name={"type": "string", "minLength": 1}),
    ),
    "Eviction": _object(
        kind={"type": "string", "enum": ["Eviction"]},
        apiVersion={"type": "string", "enum": ["policy/v1"]},
        metadata=_object(name=_TEXT, namespace=_TEXT),
        deleteOptions=reference("DeleteOptions"),
    ),
    "JsonPatch": {
        "type": "array",
        "items": _object(
            ("op", "path"),
            op={"type": "string", "enum": ["add", "remove", "replace", "move", "copy", "test"]},
            path={"type": "string"},
            value={},
            **{"from": _TEXT},
        ),
    },
}
