"""Memory and file together: what exists, what happened, and who is told.

1. Versions are one sequence for all kinds.
2. What has happened is written to the file first, then shown in memory, then told to those who watch.
3. Rows that were replaced long ago are removed in batches; watches from before that are refused.
"""

import sqlite3
from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from reprieve.manifests.kinds import RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.stores.api.refusals import too_old
from reprieve.stores.embedded.memory import ObjectsOfKind
from reprieve.stores.embedded.sqlite import Database, Revision
from reprieve.stores.errors import Unavailable
from reprieve.stores.protocol import Watch
from reprieve.stores.records import Record, WatchEvent

KEEP = 10_000
"""How many versions a watch may come late, unless somebody says otherwise."""
_BATCHES = 10


class Journal:
    def __init__(self, path: str | Path, keep: int = KEEP) -> None:
        self._database = Database(path)
        self._by_kind = {resource.full_name: ObjectsOfKind(resource) for resource in RESOURCES.values()}
        self._keep = keep
        # When a row was replaced, and which one: in order, so that a batch is the beginning of it.
        self._replaced: deque[tuple[int, int]] = deque()
        self._compacted = self._database.compacted
        self.version = self._compacted
        self._closed = False
        self._load()

    def _load(self) -> None:
        for revision in self._database.revisions():
            kind_objects = self._by_kind.get(revision.resource)
            if kind_objects is not None:
                self._take(WatchEvent(revision.type, _record(kind_objects.resource, revision)), kind_objects)
            # A kind that another version of this program keeps is left as it is.
            self.version = revision.version

    def _take(self, event: WatchEvent, kind_objects: ObjectsOfKind) -> None:
        """Show in memory what the file says."""
        record = event.record
        old = kind_objects.get(record.namespace, record.name)
        self.version = record.version
        if old is not None:
            self._replaced.append((record.version, old.version))
        if event.type != "DELETED":
            kind_objects.put(record)
            return
        # The row that ends an object goes with or after the others of that object, or it would come back.
        self._replaced.append((record.version, record.version))
        if old is not None:
            kind_objects.remove(old)

    def of_kind(self, resource: Resource) -> ObjectsOfKind:
        if self._closed:
            raise Unavailable("the store is closed")
        return self._by_kind[resource.full_name]

    def all_kinds(self) -> Sequence[ObjectsOfKind]:
        return tuple(self._by_kind.values())

    def commit(self, events: Sequence[WatchEvent]) -> None:
        """Make it so, all of it or nothing. The records have the next versions."""
        if self._closed:
            raise Unavailable("the store is closed")
        try:
            self._database.append([_revision(event) for event in events])
        except sqlite3.Error as error:
            raise Unavailable(f"the write failed: {error}") from error
        for event in events:
            self._take(event, self._by_kind[event.record.resource.full_name])
        for event in events:
            self._by_kind[event.record.resource.full_name].tell(event)
        if self.version - self._compacted > self._keep + self._keep // _BATCHES:
            self._compact()

    def _compact(self) -> None:
        until = self.version - self._keep
        gone = [old for _, old in takewhile(lambda replaced: replaced[0] <= until, self._replaced)]
        try:
            self._database.compact(gone, until)
        except sqlite3.Error:
            # The write itself is safe. What was to be removed is tried again with the next one, from the same
            # beginning: were a row that ends an object removed before the others, the object would come back.
            return
        for _ in gone:
            self._replaced.popleft()
        self._compacted = until

    def watch(self, watch: Watch, resource: Resource, since: int, namespace: str) -> None:
        kind_objects = self.of_kind(resource)
        if since < self._compacted or since > self.version:
            raise too_old(since, self._compacted)
        missed = self._database.since(since, resource.full_name) if since < self.version else ()
        kind_objects.watch(watch, namespace, (WatchEvent(each.type, _record(resource, each)) for each in missed))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for kind_objects in self._by_kind.values():
            kind_objects.fail(Unavailable("the store is closed"))
        self._database.close()


def _record(resource: Resource, revision: Revision) -> Record:
    return Record(
        resource,
        revision.body,
        namespace=revision.namespace,
        name=revision.name,
        uid=revision.uid,
        version=revision.version,
    )


def _revision(event: WatchEvent) -> Revision:
    record = event.record
    return Revision(
        record.version, record.resource.full_name, record.namespace, record.name, record.uid, event.type, record.raw
    )
