"""One object as a store keeps it: bytes, decoded only as far as somebody asks."""

from typing import Any, Literal, NamedTuple

import msgspec

from reprieve.manifests.conversion import convert
from reprieve.manifests.kinds import READERS, written_name
from reprieve.manifests.meta import Reader
from reprieve.manifests.resource import Resource

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class _Type(msgspec.Struct):
    apiVersion: str  # noqa: N815


_TYPE = msgspec.json.Decoder(_Type)


class Record:
    """An object at one version. It never changes: a write makes another one.

    `data` is plain JSON data and shared by all who ask: whoever wants to change it copies it first.
    """

    __slots__ = ("__weakref__", "_data", "_manifest", "key", "name", "namespace", "raw", "resource", "uid", "version")

    def __init__(
        self, resource: Resource, raw: bytes, *, namespace: str, name: str, uid: str, version: int, manifest: Any = None
    ) -> None:
        self.resource = resource
        self.raw = raw
        self.namespace = namespace
        self.name = name
        self.key = (namespace, name)
        self.uid = uid
        self.version = version
        self._data: dict[str, Any] | None = None
        self._manifest = manifest

    @property
    def unit(self) -> str:
        """How people and plans write it: `Pod/default/a`."""
        return written_name(self.resource.kind, self.namespace, self.name)

    @property
    def data(self) -> dict[str, Any]:
        if self._data is None:
            self._data = msgspec.json.decode(self.raw)
        return self._data

    def glance(self) -> dict[str, Any]:
        """The same for one look: where nobody has asked for it yet, it is not kept decoded."""
        return self._data if self._data is not None else msgspec.json.decode(self.raw)

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.data["metadata"]
        return found

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.get("annotations") or {}

    @property
    def manifest(self) -> Any:
        """The typed object that policies decide over."""
        if self._manifest is None:
            reader = self.reader()
            self._manifest = reader.internal(reader.json.decode(self.raw))
        return self._manifest

    @property
    def api_version(self) -> str:
        """The version it is kept in: that in which it was made. Most kinds have one, and their bytes need no look."""
        if len(self.resource.types) == 1:
            return self.resource.api_version
        return _TYPE.decode(self.raw).apiVersion

    def reader(self) -> Reader:
        """How it is read."""
        return READERS[self.api_version, self.resource.kind]

    def in_version(self, api_version: str) -> "Record":
        """The same object as another version of its kind says it."""
        if self.api_version == api_version:
            return self
        raw = msgspec.json.encode(convert(self.resource, self.data, api_version))
        place = {"namespace": self.namespace, "name": self.name, "uid": self.uid}
        return Record(self.resource, raw, **place, version=self.version, manifest=self._manifest)

    def __repr__(self) -> str:
        return f"Record({self.unit}@{self.version})"


class WatchEvent(NamedTuple):
    """Something happened to an object; a deleted one is given as it last was, at the version of its deletion."""

    type: EventType
    record: Record


class Listing(NamedTuple):
    """Objects as they were at one version."""

    records: list[Record]
    version: int
