"""Events are for people, and for a while: old ones go, and so do the oldest when there are too many."""

from datetime import datetime, timedelta
from itertools import takewhile

from reprieve.manifests.core import Event
from reprieve.manifests.kinds import EVENTS
from reprieve.stores.embedded.writer import Writer
from reprieve.stores.records import Record

KEPT_FOR = timedelta(hours=1)
MOST = 10_000
_BATCH = 200


class EventRetention:
    """Looks again whenever so many events have been written."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._written = 0

    def count(self) -> None:
        """One more was written."""
        self._written += 1
        if self._written >= _BATCH:
            self.tidy()

    def tidy(self) -> None:
        self._written = 0
        kept = sorted(self._writer.journal.of_kind(EVENTS).records(), key=lambda record: record.version)
        surplus = max(0, len(kept) - MOST)
        oldest = self._writer.clock() - KEPT_FOR
        # What was written last was mostly seen last, too: behind the first that is kept, nobody has to be looked at.
        gone = kept[:surplus] + list(takewhile(lambda record: _last_seen(record) < oldest, kept[surplus:]))
        if gone:
            self._writer.remove_all(gone)


def _last_seen(record: Record) -> datetime:
    event: Event = record.manifest
    made = event.metadata.creation_timestamp
    assert made is not None  # noqa: S101 - the store gives it to every object
    return max(made, event.last_timestamp or made)
