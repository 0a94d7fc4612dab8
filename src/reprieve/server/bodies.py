"""The body of a request: bounded, JSON or YAML, one object of the kind that the path is about."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from reprieve.manifests.yaml_reader import SyntaxProblem, read_yaml
from reprieve.server.requests import AnyRequest, PathTarget
from reprieve.stores.errors import BadRequest, TooLarge, UnsupportedMediaType
from reprieve.texts import server as texts

LIMIT = 3 * 1024 * 1024
# A client that is still sending does not read: so much is read and thrown away before it is told.
_DRAINED = 8 * LIMIT
OBJECT_TYPES = ("application/json", "application/yaml")


async def read_body(request: AnyRequest) -> bytes:
    """All of it, or `TooLarge`."""
    if (declared := request.headers.get("content-length", "")).isdigit() and int(declared) > _DRAINED:
        raise TooLarge(texts.too_large(LIMIT))
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > _DRAINED:
            break
        parts.append(part if size <= LIMIT else b"")
    if size > LIMIT:
        raise TooLarge(texts.too_large(LIMIT))
    return b"".join(parts)


def media_type(request: AnyRequest, allowed: tuple[str, ...]) -> str:
    """What the body is said to be; a body of which nothing is said is the first that is allowed."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared and declared not in allowed:
        raise UnsupportedMediaType(texts.media_type(declared, allowed))
    return declared or allowed[0]


def decode(content: bytes, declared: str) -> Any:
    """Plain data; raises `BadRequest` where it is none."""
    if not content.strip():
        raise BadRequest(texts.EMPTY_BODY)
    try:
        return _yaml(content) if "yaml" in declared else msgspec.json.decode(content)
    except RecursionError as error:
        raise BadRequest(texts.TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(texts.malformed("not UTF-8 text" if "yaml" in declared else str(error))) from error


def _yaml(content: bytes) -> Any:
    documents = [document for document in read_yaml(content.decode()) if document is not None]
    problems = [document for document in documents if isinstance(document, SyntaxProblem)]
    if problems:
        raise BadRequest(texts.malformed(problems[0].message))
    if len(documents) != 1:
        raise BadRequest(texts.not_an_object("one YAML document"))
    return _without_decimals(documents[0])


def _without_decimals(data: Any) -> Any:
    """JSON knows one kind of number: exact ones are for those who read quantities."""
    if isinstance(data, dict):
        return {key: _without_decimals(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_decimals(value) for value in data]
    return float(data) if isinstance(data, Decimal) else data


async def read_object(request: AnyRequest, *, optional: bool = False) -> dict[str, Any]:
    """An object, of whatever kind; `optional`: an empty body is an empty object."""
    declared = media_type(request, OBJECT_TYPES)
    content = await read_body(request)
    if optional and not content.strip():
        return {}
    return as_object(decode(content, declared))


def as_object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise BadRequest(texts.not_an_object("an object"))
    return data


def metadata_of(data: Mapping[str, Any]) -> dict[str, Any]:
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise BadRequest(texts.wrong_field("metadata", "an object"))
    for field in ("name", "namespace", "generateName", "uid", "resourceVersion"):
        if not isinstance((metadata or {}).get(field), str | None):
            raise BadRequest(texts.wrong_field(f"metadata.{field}", "text"))
    return metadata or {}


def of_target(data: dict[str, Any], target: PathTarget) -> dict[str, Any]:
    """An object as it belongs on a path: its kind, version, name and namespace filled in, and refused when others."""
    kind = check_type(data, target.resource.kind, target.api_version)
    metadata = dict(metadata_of(data))
    if target.resource.namespaced:
        _agree(metadata, "namespace", target.namespace, texts.wrong_namespace)
    else:
        metadata.pop("namespace", None)  # as Kubernetes does: it lives in none, whatever it says
    if target.name:
        _agree(metadata, "name", target.name, texts.wrong_name)
    return {**kind, **{key: value for key, value in data.items() if key not in kind}, "metadata": metadata}


def check_type(data: Mapping[str, Any], kind: str, api_version: str) -> dict[str, str]:
    """The kind and version that an object has, or is given by its path."""
    found_kind, found_version = data.get("kind"), data.get("apiVersion")
    if found_kind and found_kind != kind:
        raise BadRequest(texts.wrong_kind(str(found_kind), kind))
    if found_version and found_version != api_version:
        raise BadRequest(texts.wrong_version(str(found_version), api_version))
    return {"apiVersion": api_version, "kind": kind}


def _agree(metadata: dict[str, Any], field: str, expected: str, refuse: Any) -> None:
    given = metadata.get(field)
    if given and given != expected:
        raise BadRequest(refuse(given, expected))
    if expected:
        metadata[field] = expected
