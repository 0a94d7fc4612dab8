"""From the bytes of an API server to records: only what is needed to find an object is decoded here.

What field managers remember (`managedFields`) is most of an object and tells nothing that a decision reads: it is left
out.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from reprieve.manifests.resource import Resource
from reprieve.stores.records import Record

Parts = dict[str, msgspec.Raw]


class _Identity(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815


class _ListMetadata(msgspec.Struct, frozen=True):
    resourceVersion: str = ""  # noqa: N815
    cont: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMetadata = _ListMetadata()
    items: list[Parts] | None = None


class WatchLine(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: Parts


_PARTS = msgspec.json.Decoder(Parts)
_IDENTITY = msgspec.json.Decoder(_Identity)
_LIST = msgspec.json.Decoder(_List)
CHANGES = msgspec.json.Decoder(WatchLine)
_ENCODE = msgspec.json.Encoder().encode


class Page(NamedTuple):
    records: list[Record]
    version: int
    more: str
    """Where the next page begins; empty: this was the last one."""


def page_of(resource: Resource, api_version: str, body: bytes) -> Page:
    found = _LIST.decode(body)
    records = [record_of(resource, api_version, item) for item in found.items or ()]
    return Page(records, number(found.metadata.resourceVersion), found.metadata.cont)


def record(resource: Resource, api_version: str, body: bytes) -> Record:
    return record_of(resource, api_version, _PARTS.decode(body))


def record_of(resource: Resource, api_version: str, parts: Parts) -> Record:
    """Lists leave out what their items are: it is put back, so that an object says it wherever it came from."""
    metadata = _PARTS.decode(parts["metadata"])
    metadata.pop("managedFields", None)
    meta = _ENCODE(metadata)
    identity = _IDENTITY.decode(meta)
    whole = _ENCODE({"apiVersion": api_version, "kind": resource.kind, **_rest(parts), "metadata": msgspec.Raw(meta)})
    return Record(
        resource,
        whole,
        namespace=identity.namespace,
        name=identity.name,
        uid=identity.uid,
        version=number(identity.resourceVersion),
    )


def _rest(parts: Parts) -> Parts:
    return {key: value for key, value in parts.items() if key not in ("apiVersion", "kind", "metadata")}


def version_in(parts: Parts) -> int:
    """The version that a bookmark names."""
    return number(_IDENTITY.decode(parts["metadata"]).resourceVersion) if "metadata" in parts else 0


def kind_in(body: bytes) -> str:
    """What an answer is: the object, or a `Status` about it."""
    parts = _PARTS.decode(body)
    return msgspec.json.decode(parts["kind"], type=str) if "kind" in parts else ""


def lines(chunks: list[bytes], rest: bytes) -> tuple[Iterator[bytes], bytes]:
    """The whole lines of what has arrived, and what has begun."""
    *whole, rest = (rest + b"".join(chunks)).split(b"\n")
    return (line for line in whole if line), rest


def number(version: str) -> int:
    """Versions are numbers that grow, which Kubernetes promises since 1.35 and has kept before."""
    return int(version) if version.isdigit() else 0
