"""Changes to which nobody could react yet, because something failed: each is kept, and taken again after a while.

1. One change that fails holds up no other one.
2. A later change of the same object is taken together with the one that was kept: from how the object was before the
   first of them to how it is now.
3. It is tried after 1s, 2s, 4s ... at most a minute. After some twenty minutes it is given up, and that is logged.
"""

import logging
from collections.abc import Callable
from math import inf
from typing import NamedTuple

from reprieve.manifests.resource import Resource
from reprieve.model.backoff import Backoff
from reprieve.scheduler.mirror import Seen

_log = logging.getLogger(__name__)

_BACK_OFF = Backoff(first=1.0, longest=60.0)
_MOST_TRIES = 25


class _Kept(NamedTuple):
    seen: Seen
    tries: int
    due: float


class KeptChanges:
    """At most one change for each object; `clock` is one that nobody can set."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[tuple[Resource, str, str], _Kept] = {}

    def due(self) -> list[Seen]:
        """Those that are to be taken now."""
        if not self._kept:
            return []
        now = self._clock()
        return [kept.seen for kept in self._kept.values() if kept.due <= now]

    def due_in(self) -> float:
        """Seconds until there are any; infinite: there are none."""
        first = min((kept.due for kept in self._kept.values()), default=inf)
        return max(0.0, first - self._clock())

    def with_earlier(self, seen: Seen) -> Seen:
        """A change together with the one of the same object that was kept."""
        kept = self._kept.get(_key(seen)) if self._kept else None
        if kept is None or (kept.seen.old is None and seen.new is None):
            return seen
        return Seen(seen.resource, kept.seen.old, seen.new)

    def taken(self, seen: Seen) -> None:
        if self._kept:
            self._kept.pop(_key(seen), None)

    def failed(self, seen: Seen) -> None:
        """To be called where the exception is handled: it is logged."""
        key = _key(seen)
        tries = self._kept[key].tries + 1 if key in self._kept else 1
        if tries >= _MOST_TRIES:
            _log.exception("a change of %s could not be taken, and is given up", seen.record.unit)
            del self._kept[key]
            return
        _log.exception("a change of %s could not be taken, and is kept", seen.record.unit)
        self._kept[key] = _Kept(seen, tries, self._clock() + _BACK_OFF.wait(tries))


def _key(seen: Seen) -> tuple[Resource, str, str]:
    return seen.resource, *seen.record.key
