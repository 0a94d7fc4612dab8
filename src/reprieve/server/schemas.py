"""Schemas of all kinds, made by msgspec from the very types that manifests are read as."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from reprieve.manifests.kinds import READERS
from reprieve.model.resources import Quantity, Resources
from reprieve.server.schema_types import kind_and_list, name_of, seen
from reprieve.server.shared_types import SHARED

Schema = dict[str, Any]
_TEMPLATE = "#/components/schemas/{name}"
_NUMBER = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?$"
_QUANTITY: Schema = {
    "anyOf": [{"type": "string", "pattern": _NUMBER, "maxLength": 128}, {"type": "number", "minimum": 0}],
    "description": "A quantity such as 500m, 2 or 128Mi.",
}
_NULL: Schema = {"type": "null"}


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
