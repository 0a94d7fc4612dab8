"""The body of a request: bounded, JSON or YAML, one object of the kind that the path is about."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from reprieve.manifests.yaml_reader import SyntaxProblem, read_yaml
from reprieve.server.answers import RequestTimeout
from reprieve.server.heavy_work import in_thread
from reprieve.server.requests import AnyRequest, PathTarget
from reprieve.server.turns import turns_of
from reprieve.stores.errors import BadRequest, TooLarge, TooManyRequests, UnsupportedMediaType
from reprieve.texts import server as texts

LIMIT = 3 * 1024 * 1024
# A client that is still sending does not read: so much is read and thrown away before it is told.
_DRAINED = 8 * LIMIT
BODY_SECONDS = 60.0
"""Within which a body arrives."""
_LONG_YAML, _LONG_JSON = 16 * 1024, 512 * 1024
"""Bytes that are read at once."""


class Most(NamedTuple):
    """How much there may be in a body: objects and lists, and values of all kinds. Each is looked at."""

    parts: int
    values: int


WRITTEN, PATCHED = Most(40_000, 200_000), Most(15_000, 40_000)
"""In the body of a request, and in a patch: more than is kept of one object."""
_MOST_AT_ONCE = 128 * 1024 * 1024
"""Bytes of all bodies that are being read."""
_MOST_DOCUMENTS = 1_000
"""Documents without content that may stand before the one that counts, and behind it."""
OBJECT_TYPES = ("application/json", "application/yaml")


async def read_body(request: AnyRequest) -> bytes:
    """All of it, or `TooLarge`."""
    if (declared := request.headers.get("content-length", "")).isdigit() and int(declared) > _DRAINED:
        raise TooLarge(texts.too_large(LIMIT))
    try:
        async with asyncio.timeout(BODY_SECONDS):
            content = await _whole(request)
    except TimeoutError as error:
        raise RequestTimeout(texts.too_slow(BODY_SECONDS)) from error
    if len(content) > LIMIT:
        raise TooLarge(texts.too_large(LIMIT))
    await turns_of(request).next()
    return bytes(content)


class _Arriving:
    """All bodies together that are being read, as far as they have come."""

    size = 0

    @classmethod
    def add(cls, size: int) -> None:
        cls.size += size

    @classmethod
    def check(cls) -> None:
        if cls.size > _MOST_AT_ONCE:
            raise TooManyRequests(texts.TOO_MANY_WAIT, retry_after=1)


async def _whole(request: AnyRequest) -> bytearray:
    """What is sent; of what is too large only so much that this shows."""
    content, size = bytearray(), 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > _DRAINED:
                break
            if len(content) <= LIMIT:
                content += part
                _Arriving.add(len(part))
                _Arriving.check()
    finally:
        _Arriving.add(-len(content))
    return content


def media_type(request: AnyRequest, allowed: tuple[str, ...]) -> str:
    """What the body is said to be. Client libraries may leave it out, and mean the first that is allowed; pages in
    browsers may not: without a type they could send anything without being asked first."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if (declared or _from_page(request)) and declared not in allowed:
        raise UnsupportedMediaType(texts.media_type(declared, allowed))
    return declared or allowed[0]


def _from_page(request: AnyRequest) -> bool:
    """Whether a browser sends it, with a body."""
    sends = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
    return sends and ("origin" in request.headers or "sec-fetch-site" in request.headers)


async def decode(content: bytes, declared: str, most: Most = WRITTEN) -> Any:
    """Plain data, with so much in it at most; raises `BadRequest` where it is none. Long ones are read in a thread."""
    if len(content) <= (_LONG_YAML if "yaml" in declared else _LONG_JSON):
        return _decode(content, declared, most)
    _Arriving.add(len(content))
    try:
        _Arriving.check()
        return await in_thread(_decode, content, declared, most)
    finally:
        _Arriving.add(-len(content))


def _decode(content: bytes, declared: str, most: Most) -> Any:
    if not content.strip():
        raise BadRequest(texts.EMPTY_BODY)
    try:
        return _yaml(content, most) if "yaml" in declared else _json(content, most)
    except RecursionError as error:
        raise BadRequest(texts.TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(texts.malformed("not UTF-8 text" if "yaml" in declared else str(error))) from error


def _check(parts: int, values: int, most: Most) -> None:
    if parts > most.parts:
        raise TooLarge(texts.too_many_parts(most.parts))
    if values > most.values:
        raise TooLarge(texts.too_many_values(most.values))


def _json(content: bytes, most: Most) -> Any:
    """Counted before anything is made of it: at first as if there were no brackets and commas in texts."""
    parts, values = _counted(content)
    if parts > most.parts or values > most.values:
        msgspec.json.decode(content, type=msgspec.Raw)  # what cannot be read is told so, however much it is
        _check(*_counted(_without_texts(content)), most)
    return msgspec.json.decode(content)


def _counted(content: bytes) -> tuple[int, int]:
    """Each object and list begins with a bracket, and each value stands behind a bracket or a comma."""
    parts = content.count(b"{") + content.count(b"[")
    return parts, parts + content.count(b",") + 1


def _without_texts(content: bytes) -> bytes:
    unescaped = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(unescaped.split(b'"')[::2])


def _yaml(content: bytes, most: Most) -> Any:
    """The only document; nobody reads on behind a second one."""
    found = list(islice((each for each in islice(read_yaml(content.decode()), _MOST_DOCUMENTS) if each is not None), 2))
    for document in found:
        if isinstance(document, SyntaxProblem):
            raise BadRequest(texts.malformed(document.message))
    if len(found) != 1:
        raise BadRequest(texts.not_an_object("one YAML document"))
    _check_unfolded(found[0], most)
    return _without_decimals(found[0])


def _check_unfolded(data: Any, most: Most) -> None:
    """Each place where an alias stands is counted."""
    parts, values, left = 0, 1, [data]
    while left:
        here = left.pop()
        inner = list(here.values()) if isinstance(here, dict) else here if isinstance(here, list) else []
        parts, values = parts + isinstance(here, dict | list), values + len(inner)
        _check(parts, values, most)
        left += [each for each in inner if isinstance(each, dict | list)]


def _without_decimals(data: Any) -> Any:
    """JSON knows one kind of number: exact ones are for those who read quantities."""
    if isinstance(data, dict):
        return {key: _without_decimals(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_decimals(value) for value in data]
    return float(data) if isinstance(data, Decimal) else data


async def read_object(request: AnyRequest, *, optional: bool = False) -> dict[str, Any]:
    """An object, of whatever kind; `optional`: an empty body is an empty object."""
    sent = await read_sent(request)
    return {} if optional and not sent.content.strip() else as_object(await decode(*sent))


class Sent(NamedTuple):
    """A body as it came, and what it is said to be."""

    content: bytes
    declared: str


async def read_sent(request: AnyRequest) -> Sent:
    declared = media_type(request, OBJECT_TYPES)
    return Sent(await read_body(request), declared)


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
