"""The store in this process: objects in memory, every version of them in one SQLite file.

A write is admitted, committed to the file, put in memory and told to all who watch, in this order and without a pause,
so that nobody ever sees what a crash could take back.
"""

import asyncio
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from reprieve.manifests.kinds import EVENTS, NAMESPACES, PRIORITY_CLASSES
from reprieve.manifests.priorities import BUILT_IN
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, SteadyClock, moment_of
from reprieve.stores.api.patches import apply_patch
from reprieve.stores.api.selectors import select
from reprieve.stores.embedded.commits import KEEP, Journal
from reprieve.stores.embedded.pods import bind, evict
from reprieve.stores.embedded.retention import EventRetention
from reprieve.stores.embedded.writer import ALWAYS_THERE, Rehearsal, Writer
from reprieve.stores.protocol import Patch, PatchType, Propagation, Watch
from reprieve.stores.records import Listing, Record

_NAME, _PLACE = attrgetter("name"), attrgetter("namespace", "name")
_DESCRIPTIONS = {
    "system-node-critical": "For pods that their node cannot do without.",
    "system-cluster-critical": "For pods that the cluster cannot do without.",
}


class EmbeddedStore:
    """A `Store` whose methods never wait, but for quotas that are not counted yet."""

    def __init__(self, journal: Journal, writer: Writer) -> None:
        self._journal = journal
        self._writer = writer
        self._retention = EventRetention(writer)

    @classmethod
    def open(
        cls, path: str | Path, clock: Clock, *, seed: int | None = None, keep: int = KEEP, durable: bool = False
    ) -> "EmbeddedStore":
        """The data in a file, which is made when it is not there; `:memory:` keeps nothing.

        A seed makes uids and generated names the same each time; `keep` is how many versions a watch may come late.
        `durable`: what is acknowledged outlives a loss of power, too, and each write waits for the disk.
        """
        journal = Journal(path, keep, durable=durable)
        if isinstance(clock, SteadyClock) and journal.newest:
            clock.not_before(moment_of(journal.newest))
        try:
            writer = Writer(journal, clock, seed)
            _create_what_always_exists(writer)
            EventRetention(writer).tidy()
        except BaseException:
            journal.close()
            raise
        return cls(journal, writer)

    def close(self) -> None:
        """End all watches and let go of the file."""
        self._journal.close()

    def rehearsal(self) -> "EmbeddedStore":
        """This store for a dry run: it answers a write as this one would, and changes nothing."""
        return EmbeddedStore(self._journal, Rehearsal(self._writer))

    @property
    def trouble(self) -> str:
        """Why nothing new can be written; empty: it can."""
        return self._journal.trouble

    @property
    def version(self) -> int:
        """The last version that was given to anything."""
        return self._journal.version

    def peek(self, resource: Resource, name: str, namespace: str = "") -> Record | None:
        """What is there of that name, without waiting for anything."""
        return self._journal.of_kind(resource).get(namespace, name)

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        if not (namespace or labels or fields):
            return Listing(self._journal.of_kind(resource).ordered(), self._journal.version)
        records = self._journal.of_kind(resource).records(namespace)
        if labels or fields:
            records = select(records, resource, labels, fields)
        return Listing(sorted(records, key=_NAME if namespace else _PLACE), self._journal.version)

    def watch(
        self,
        resource: Resource,
        since: int,
        namespace: str = "",
        *,
        signal: asyncio.Event | None = None,
        fields: str = "",  # noqa: ARG002 - it tells of all
    ) -> Watch:
        watch = Watch(signal)
        self._journal.watch(watch, resource, since, namespace)
        return watch

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Record:
        return self._writer.existing(resource, name, namespace)

    async def create(self, resource: Resource, data: Mapping[str, Any]) -> Record:
        await self._writer.ready_for(resource, _namespace_of(data))
        record = self._writer.create(resource, data)
        if resource is EVENTS:
            self._retention.count()
        return record

    async def replace(self, resource: Resource, data: Mapping[str, Any], *, subresource: str = "") -> Record:
        return self._writer.replace(resource, data, subresource)

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch: Patch,
        kind: PatchType = "merge",
        *,
        subresource: str = "",
        version: int | None = None,
        uid: str = "",
        api_version: str = "",
    ) -> Record:
        if kind == "apply":
            await self._writer.ready_for(resource, namespace)
        new = kind == "apply" and self._journal.of_kind(resource).get(namespace, name) is None
        if new and not subresource and version is None and not uid:
            return self._writer.create(resource, _named(apply_patch(None, patch, kind, resource), name, namespace))
        old = self._writer.expected(resource, name, namespace, version, uid)
        if kind == "apply" and isinstance(patch, Mapping) and not api_version:
            served = [resource.in_version(known) for known in resource.versions]
            api_version = patch["apiVersion"] if patch.get("apiVersion") in served else ""  # any other one is refused
        return self._writer.update(old, lambda data: apply_patch(data, patch, kind, resource), subresource, api_version)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        grace: int | None = None,
        uid: str = "",
        version: int | None = None,
        propagation: Propagation = "Background",
    ) -> Record:
        old = self._writer.expected(resource, name, namespace, version, uid)
        return self._writer.delete(old, grace, propagation)

    async def bind(self, name: str, namespace: str, node: str, *, uid: str = "", version: int | None = None) -> Record:
        return bind(self._writer, name, namespace, node, uid, version)

    async def evict(self, name: str, namespace: str, *, grace: int | None = None, uid: str = "") -> Record:
        return evict(self._writer, name, namespace, grace, uid)


def _namespace_of(data: Mapping[str, Any]) -> str:
    """Where an object asks to be made; whatever is wrong with that is told when it is."""
    metadata = data.get("metadata")
    namespace = metadata.get("namespace", "default") if isinstance(metadata, Mapping) else None
    return namespace if isinstance(namespace, str) else ""


def _named(data: dict[str, Any], name: str, namespace: str) -> dict[str, Any]:
    """What is applied is named by its place."""
    metadata = data.get("metadata", {})
    if not isinstance(metadata, dict):
        return data
    return {**data, "metadata": {**metadata, "name": name} | ({"namespace": namespace} if namespace else {})}


def _create_what_always_exists(writer: Writer) -> None:
    """Asked at every start: a crash may have come between two of them."""
    for name in ALWAYS_THERE:
        _ensure(writer, NAMESPACES, name, {})
    for name, item in BUILT_IN.items():
        _ensure(writer, PRIORITY_CLASSES, name, {"value": item.value, "description": _DESCRIPTIONS[name]})


def _ensure(writer: Writer, resource: Resource, name: str, fields: dict[str, object]) -> None:
    if writer.journal.of_kind(resource).get("", name) is None:
        writer.create(resource, {"metadata": {"name": name}, **fields})
