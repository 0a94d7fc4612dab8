"""Memory and file together: all objects at their last version, what happened, and who is told.

1. Versions are one sequence for all kinds.
2. What has happened is written to the file first, then shown in memory, then told to those who watch.
3. Rows that were replaced long ago are removed in batches; watches from before that are refused.
"""

import logging
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from reprieve.manifests.kinds import RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.stores.embedded.reserve import Reserve
from reprieve.stores.embedded.sqlite import Database, DataError, Heading, Revision, is_full
from reprieve.stores.errors import Expired, OutOfSpace, Unavailable, too_old
from reprieve.stores.protocol import Watch
from reprieve.stores.records import Record, WatchEvent

KEEP = 10_000
"""How many versions a watch may come late, unless somebody says otherwise."""
KEPT_BYTES = 64 << 20
"""How many bytes of versions that others have replaced are kept for those who come late, at most."""
_BATCHES = 10
LARGEST_BACKLOG = 32 << 20
"""How many bytes a watch may be behind, likewise."""
LONGEST_BACKLOG = 100_000
"""How many events a watch may be behind; then it has to list again, or it would fill the memory."""


_PLACE = attrgetter("namespace", "name")
_LEAVING = b'"deletionTimestamp"'
_log = logging.getLogger(__name__)


class _NameAndTime(msgspec.Struct):
    name: str
    creationTimestamp: str = ""  # noqa: N815


class _Named(msgspec.Struct):
    metadata: _NameAndTime


_NAMED = msgspec.json.Decoder(_Named)


class ObjectsOfKind:
    """The objects of one kind, and the watches on them."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self._spaces: dict[str, dict[str, Record]] = {}
        self._watches: list[tuple[str, Watch]] = []
        self._ordered: list[Record] | None = None

    def get(self, namespace: str, name: str) -> Record | None:
        return self._spaces.get(namespace, {}).get(name)

    def records(self, namespace: str = "") -> Iterator[Record]:
        """In one namespace or, when it is empty, in all."""
        if namespace or not self.resource.namespaced:
            return iter(self._spaces.get(namespace, {}).values())
        return (record for space in self._spaces.values() for record in space.values())

    def ordered(self) -> list[Record]:
        """All of them by namespace and name; put in order once for all who ask before anything changes, as they do at
        the start."""
        if self._ordered is None:
            self._ordered = sorted(self.records(), key=_PLACE)
        return list(self._ordered)

    def __len__(self) -> int:
        return sum(len(space) for space in self._spaces.values())

    def put(self, record: Record) -> None:
        self._ordered = None
        self._spaces.setdefault(record.namespace, {})[record.name] = record

    def remove(self, record: Record) -> None:
        self._ordered = None
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
        concerned = ("", event.record.namespace)
        closed = False
        for namespace, watch in self._watches:
            if not watch.closed and namespace in concerned:
                if watch.bytes and _is_far_behind(watch):
                    _end(watch)
                else:
                    watch.feed(event)
            closed = closed or watch.closed
        if closed:
            self._watches = self._open_watches()

    def _open_watches(self) -> list[tuple[str, Watch]]:
        return [each for each in self._watches if not each[1].closed]

    def fail(self, failure: Exception) -> None:
        """Nothing more will come, for anybody."""
        for _, watch in self._watches:
            watch.fail(failure)
        self._watches = []


def _is_far_behind(watch: Watch) -> bool:
    return len(watch) >= LONGEST_BACKLOG or watch.bytes >= LARGEST_BACKLOG


def _end(watch: Watch) -> None:
    """It has fallen too far behind: it is told of nothing more."""
    watch.fail(Expired(f"the watch is {len(watch)} events or {watch.bytes} bytes behind: list again"))
    watch.closed = True


class Journal:
    def __init__(self, path: str | Path, keep: int = KEEP, *, durable: bool = False) -> None:
        self._database = Database(path, durable=durable)
        self._reserve = Reserve(self._database.path)
        self.newest = ""
        """When the youngest object was made that was there at the start."""
        self.trouble = ""
        """Why nothing can be written that does not end something; empty: everything can."""
        self._by_kind = {resource.full_name: ObjectsOfKind(resource) for resource in RESOURCES.values()}
        self._keep = keep
        # When a row was replaced, which one, and its size: in order, so that a batch is the beginning of it.
        self._replaced: deque[tuple[int, int, int]] = deque()
        self._replaced_bytes = 0
        # By version, what is not in memory any more, as long as somebody has it who came late.
        self._missed: WeakValueDictionary[int, Record] = WeakValueDictionary()
        self._compacted = self._database.compacted
        self.version = self._compacted
        self._closed = False
        self._load()

    def _load(self) -> None:
        try:
            for revision in self._database.revisions():
                kind_objects = self._by_kind.get(revision.resource)
                if kind_objects is not None:
                    self._take(WatchEvent(revision.type, _record(kind_objects.resource, revision)), kind_objects)
                # A kind that another version of this program keeps is left as it is.
                self.version = revision.version
        except sqlite3.Error as error:
            self._database.close()
            raise DataError(f"{self._database.path} cannot be read: {error}") from error
        self._leave_out_unreadable()

    def _leave_out_unreadable(self) -> None:
        """What cannot be read is reported, and is not there: nobody could be served it. Its row stays in the file."""
        for kind_objects in self._by_kind.values():
            for record in list(kind_objects.records()):
                created = _created(record)
                if created is None:
                    where = f"{self.path}: {record.unit} at version {record.version}"
                    _log.error("%s cannot be read and is left out", where)
                    kind_objects.remove(record)
                else:
                    self.newest = max(self.newest, created)

    @property
    def path(self) -> str:
        return self._database.path

    def _take(self, event: WatchEvent, kind_objects: ObjectsOfKind) -> None:
        """Show in memory what the file says."""
        record = event.record
        old = kind_objects.get(record.namespace, record.name)
        self.version = record.version
        if old is not None:
            self._note_replaced(record.version, old)
        if event.type != "DELETED":
            kind_objects.put(record)
            return
        # The row that ends an object goes with or after the others of that object, or it would come back.
        self._note_replaced(record.version, record)
        if old is not None:
            kind_objects.remove(old)

    def _note_replaced(self, at: int, record: Record) -> None:
        self._replaced.append((at, record.version, len(record.raw)))
        self._replaced_bytes += len(record.raw)

    def of_kind(self, resource: Resource) -> ObjectsOfKind:
        if self._closed:
            raise Unavailable("the store is closed")
        return self._by_kind[resource.full_name]

    def commit(self, events: Sequence[WatchEvent]) -> None:
        """Make it so, all of it or nothing. The records have the next versions."""
        if self._closed:
            raise Unavailable("the store is closed")
        self._append(events)
        for event in events:
            self._take(event, self._by_kind[event.record.resource.full_name])
        for event in events:
            self._by_kind[event.record.resource.full_name].tell(event)
        if self.trouble:
            self._forget_replaced()
        long_ago = self.version - self._compacted > self._keep + self._keep // _BATCHES
        if long_ago or self._replaced_bytes > KEPT_BYTES + KEPT_BYTES // _BATCHES:
            self._compact()

    def _append(self, events: Sequence[WatchEvent]) -> None:
        """Write to the file; when the disk is full, with what was kept for this, if it ends something."""
        rows = [_revision(event) for event in events]
        try:
            self._database.append(rows)
        except sqlite3.Error as error:
            if not is_full(error):
                raise Unavailable(f"{self.path}: the write failed: {error}") from error
            self.trouble = f"{self.path}: the disk is full"
            if not all(_ends_something(event) for event in events):
                raise OutOfSpace(f"{self.trouble}: delete something, or make room", retry_after=5) from error
            self._append_all_the_same(rows)
            return
        if self.trouble and not all(_ends_something(event) for event in events):
            self.trouble = ""
            self._reserve.keep()

    def _append_all_the_same(self, rows: Sequence[Revision]) -> None:
        """Give up what was kept for this; what others have replaced goes, and makes room for more."""
        self._reserve.give_up()
        self._forget_replaced()
        try:
            self._database.append(rows)
        except sqlite3.Error as error:
            raise OutOfSpace(f"{self.trouble}, and so is what was kept for deletions", retry_after=5) from error

    def _forget_replaced(self) -> None:
        """Remove all rows that others have replaced, as far as there is room even for that."""
        with suppress(sqlite3.Error):
            self._database.compact([old for _, old, _ in self._replaced], self.version)
            self._replaced.clear()
            self._replaced_bytes, self._compacted = 0, self.version
            self._database.truncate()

    def _compact(self) -> None:
        until = max(self.version - self._keep, self._until_few_bytes_are_left(), self._compacted)
        gone = list(takewhile(lambda replaced: replaced[0] <= until, self._replaced))
        try:
            self._database.compact((old for _, old, _ in gone), until)
        except sqlite3.Error:
            # The write itself is safe. What was to be removed is tried again with the next one, from the same
            # beginning: were a row that ends an object removed before the others, the object would come back.
            return
        for _, _, size in gone:
            self._replaced.popleft()
            self._replaced_bytes -= size
        self._compacted = until

    def _until_few_bytes_are_left(self) -> int:
        """The version before which to forget, so that what is kept of what was replaced is not too large."""
        surplus, until = self._replaced_bytes - KEPT_BYTES, 0
        for at, _, size in self._replaced:
            if surplus <= 0:
                break
            until, surplus = at, surplus - size
        return until

    def watch(self, watch: Watch, resource: Resource, since: int, namespace: str) -> None:
        kind_objects = self.of_kind(resource)
        if since < self._compacted or since > self.version:
            raise too_old(since, self._compacted)
        missed = self._database.since(since, resource.full_name) if since < self.version else ()
        concerned = (row for row in missed if namespace in ("", row.namespace))
        kind_objects.watch(watch, namespace, (self._event(kind_objects, row) for row in concerned))

    def _event(self, kind_objects: ObjectsOfKind, row: Heading) -> WatchEvent:
        """What a row says, read once for all watches that have missed it and still keep it."""
        current = kind_objects.get(row.namespace, row.name)
        record = current if current is not None and current.version == row.version else self._missed.get(row.version)
        if record is None:
            uid, body = self._database.content(row.version)
            where = {"namespace": row.namespace, "name": row.name, "uid": uid}
            record = Record(kind_objects.resource, body, version=row.version, **where)
            self._missed[row.version] = record
        return WatchEvent(row.type, record)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for kind_objects in self._by_kind.values():
            kind_objects.fail(Unavailable("the store is closed"))
        self._database.close()


def _ends_something(event: WatchEvent) -> bool:
    return event.type == "DELETED" or _LEAVING in event.record.raw


def _created(record: Record) -> str | None:
    """When an object was made; None: it cannot be read."""
    try:
        metadata = _NAMED.decode(record.raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return metadata.creationTimestamp if metadata.name == record.name else None


def _record(resource: Resource, row: Revision) -> Record:
    return Record(resource, row.body, namespace=row.namespace, name=row.name, uid=row.uid, version=row.version)


def _revision(event: WatchEvent) -> Revision:
    kind, record = event
    return Revision(record.version, record.resource.full_name, *record.key, record.uid, kind, record.raw)
