"""Watching: what happens, one line of JSON for each event, until the client has heard enough or the server stops.

1. Without a version, or from 0, what is there comes first, as if it had just been added.
2. With a selector, an object that enters the selection is added, and one that leaves it is deleted.
3. A version that is too old is refused with 410 before anything is answered; a watch that falls behind later ends with
   an ERROR event that says the same.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec

from reprieve.server import tables
from reprieve.server.answers import JSON, AnswerForm, Streamed
from reprieve.server.queries import LONGEST_WATCH
from reprieve.server.reading import encoded, selected
from reprieve.server.requests import Call
from reprieve.server.slices import slices
from reprieve.stores.api.selectors import field_selector, label_selector
from reprieve.stores.errors import StoreError
from reprieve.stores.protocol import Versioned, Watch
from reprieve.stores.records import Record, WatchEvent

BOOKMARK_EVERY = 60.0
_INITIAL_END = "k8s.io/initial-events-end"


async def watch(call: Call) -> Streamed:
    """Open a watch; refusals are raised here, while there is still a status to answer with."""
    query = call.query
    timeout = query.number("timeoutSeconds")
    bookmarks = query.flag("allowWatchBookmarks")
    initial = query.flag("sendInitialEvents")
    lines = _Lines(call)
    asked = query.number("resourceVersion") or 0
    since = 0 if initial else asked
    now = await selected(call)
    watching = call.store.watch(call.target.resource, since or now.version, call.target.namespace)
    selection = _Selection(call, now.records, since)
    first = [WatchEvent("ADDED", record) for record in now.records] if not since else []
    end = lines.bookmark(now.version, {_INITIAL_END: "true"}) if initial and bookmarks else b""
    stream = _Stream(watching, selection, lines, call, since or now.version)
    return Streamed(stream.run(first, end, bookmarks=bookmarks, seconds=timeout or LONGEST_WATCH), JSON)


class _Selection:
    """Which objects a watch is about, and which of them the client knows of."""

    def __init__(self, call: Call, known: Iterable[Record], since: int) -> None:
        labels, fields = call.query.text("labelSelector"), call.query.text("fieldSelector")
        name = call.target.name
        self._name = name
        self._labels = label_selector(labels) if labels else None
        self._fields = field_selector(fields, call.target.resource) if fields else None
        self._all = not (labels or fields or name)
        self._known = set() if self._all else {record.key for record in known}
        # What changed since the version asked for: whether the client knew of it then is not known any more.
        self._open = bool(since) and not self._all
        self._told: set[tuple[str, str]] = set()

    def matches(self, record: Record) -> bool:
        if self._name and record.name != self._name:
            return False
        data = record.glance() if self._labels or self._fields else {}
        if self._labels is not None and not self._labels(data["metadata"].get("labels") or {}):
            return False
        return self._fields is None or self._fields(data)

    def settle(self) -> None:
        """All that happened before the watch was opened has been told: from now on everything is known."""
        self._open = False

    def translate(self, event: WatchEvent) -> WatchEvent | None:
        """The event as this client has to see it; None: it is none of its business."""
        if self._all:
            return event
        key = event.record.key
        matching = event.type != "DELETED" and self.matches(event.record)
        before = self._was_known(event)
        if matching:
            self._known.add(key)
            return WatchEvent("MODIFIED" if before else "ADDED", event.record)
        self._known.discard(key)
        return WatchEvent("DELETED", event.record) if before else None

    def _was_known(self, event: WatchEvent) -> bool:
        """Whether the client knows the object; in doubt it does: better a deletion too many than one never told."""
        key = event.record.key
        doubtful = self._open and key not in self._told
        if self._open:
            self._told.add(key)
        if event.type == "ADDED":
            return False
        return key in self._known or (doubtful and self._name in ("", event.record.name))


class _Lines:
    """Events as lines, in the form that is wanted."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._headings = True

    def events(self, events: Iterable[WatchEvent]) -> bytes:
        return b"".join(_line(event.type, self._object(event.record)) for event in events)

    def _object(self, record: Record) -> bytes:
        headings, self._headings = self._headings, False
        return encoded(self._call, record, headings=headings)

    def bookmark(self, version: int, annotations: dict[str, str] | None = None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        target = self._call.target
        mark = {"kind": target.resource.kind, "apiVersion": target.api_version, "metadata": metadata}
        if self._call.form is AnswerForm.TABLE:
            mark = {"kind": "Table", "apiVersion": tables.META, "metadata": metadata, "rows": []}
        return _line("BOOKMARK", msgspec.json.encode(mark))


def _line(kind: str, content: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + content + b"}\n"


class _Stream:
    """The lines of one watch, as they come."""

    def __init__(self, watching: Watch, selection: _Selection, lines: _Lines, call: Call, version: int) -> None:
        self._watch = watching
        self._selection = selection
        self._lines = lines
        self._stopping = call.stopping
        self._store = call.store
        self._turns = call.turns
        self._version = version

    async def run(
        self, first: Sequence[WatchEvent], end: bytes, *, bookmarks: bool, seconds: float
    ) -> AsyncIterator[bytes]:
        """What is there already, the word that this is all, and what happens from then on."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            missed = self._arrived()  # before others go on: what arrives then is known to be new
            self._selection.settle()
            async for lines in self._in_slices(first):
                yield lines
            if end:
                yield end
            async for lines in self._in_slices(missed):
                yield lines
            while not stopping.done() and loop.time() < deadline:
                await self._something(stopping, min(deadline - loop.time(), BOOKMARK_EVERY))
                arrived = self._arrived()
                async for lines in self._in_slices(arrived):
                    yield lines
                if not arrived and bookmarks and not stopping.done() and loop.time() < deadline:
                    yield self._lines.bookmark(self._reached())
        except StoreError as error:
            yield _line("ERROR", msgspec.json.encode(error.status()))
        finally:
            self._watch.close()
            stopping.cancel()

    def _reached(self) -> int:
        """The version that nothing more will come from before."""
        return max(self._version, self._store.version) if isinstance(self._store, Versioned) else self._version

    async def _something(self, stopping: asyncio.Future[Any], patience: float) -> None:
        """Wait until something arrives, the server stops, or patience ends."""
        if not self._watch.quiet:
            return  # that it has failed is to be told, too
        signal = asyncio.ensure_future(self._watch.signal.wait())
        try:
            await asyncio.wait((signal, stopping), timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            signal.cancel()

    async def _in_slices(self, events: Sequence[WatchEvent]) -> AsyncIterator[bytes]:
        for some in slices(events, lambda event: len(event.record.raw)):
            await self._turns.next()
            yield self._lines.events(some)

    def _arrived(self) -> list[WatchEvent]:
        self._watch.signal.clear()
        taken = self._watch.take()
        if taken:
            self._version = taken[-1].record.version
        translated = (self._selection.translate(event) for event in taken)
        return [event for event in translated if event is not None]
