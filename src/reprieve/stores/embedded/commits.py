"""Memory and file together: all objects at their last version, what happened, and who is told.

1. Versions are one sequence for all kinds.
2. What has happened is written to the file first, then shown in memory, then told to those who watch.
3. Rows that were replaced long ago are removed in batches; watches from before that are refused.
"""

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from reprieve.manifests.kinds import RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.stores.embedded.sqlite import Database, Revision
from reprieve.stores.errors import Expired, Unavailable, too_old
from reprieve.stores.protocol import Watch
from reprieve.stores.records import Record, WatchEvent

KEEP = 10_000
"""How many versions a watch may come late, unless somebody says otherwise."""
_BATCHES = 10
LONGEST_BACKLOG = 100_000
"""How many events a watch may be behind; then it has to list again, or it would fill the memory."""


class ObjectsOfKind:
    """The objects of one kind, and the watches on them."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self._spaces: dict[str, dict[str, Record]] = {}
        self._watches: list[tuple[str, Watch]] = []

    def get(self, namespace: str, name: str) -> Record | None:
        return self._spaces.get(namespace, {}).get(name)

    def records(self, namespace: str = "") -> Iterator[Record]:
        """In one namespace or, when it is empty, in all."""
        if namespace or not self.resource.namespaced:
            return iter(self._spaces.get(namespace, {}).values())
        return (record for space in self._spaces.values() for record in space.values())

    def __len__(self) -> int:
        return sum(len(space) for space in self._spaces.values())

    def put(self, record: Record) -> None:
        self._spaces.setdefault(record.namespace, {})[record.name] = record

    def remove(self, record: Record) -> None:
        space = self._spaces[record.namespace]
        del space[record.name]
        if not space:
            del self._spaces[record.namespace]

    def watch(self, watch: Watch, namespace: str, missed: Iterable[WatchEvent]) -> None:
        """Begin with what was missed; from now on the watch gets what happens."""
        for event in missed:
            if namespace in ("", event.record.namespace):
                watch.feed(event)
        self._watches = [*self._open_watches(), (namespace, watch)]

    def tell(self, event: WatchEvent) -> None:
        for namespace, watch in self._open_watches():
            if namespace in ("", event.record.namespace):
                _feed(watch, event)
        self._watches = self._open_watches()

    def _open_watches(self) -> list[tuple[str, Watch]]:
        return [each for each in self._watches if not each[1].closed]

    def fail(self, failure: Exception) -> None:
        """Nothing more will come, for anybody."""
        for _, watch in self._watches:
            watch.fail(failure)
        self._watches = []


def _feed(watch: Watch, event: WatchEvent) -> None:
    """Tell a watch what happened, unless it has fallen too far behind: then it ends here."""
    if len(watch) < LONGEST_BACKLOG:
        watch.feed(event)
    else:
        watch.fail(Expired(f"the watch is {LONGEST_BACKLOG} events behind: list again"))
        watch.closed = True


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


def _record(resource: Resource, row: Revision) -> Record:
    return Record(resource, row.body, namespace=row.namespace, name=row.name, uid=row.uid, version=row.version)


def _revision(event: WatchEvent) -> Revision:
    kind, record = event
    return Revision(record.version, record.resource.full_name, *record.key, record.uid, kind, record.raw)
