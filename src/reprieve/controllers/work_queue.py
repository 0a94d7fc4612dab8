"""Keys that wait for their turn: each at most once, in the order in which they came, failed ones a little later."""

import heapq
from collections.abc import Hashable
from itertools import count

from reprieve.model.backoff import Backoff

BACK_OFF = Backoff(first=0.005, longest=60.0)


class WorkQueue:
    """A queue of keys on the time of an event loop, which is passed in.

    1. A key that is added while it waits is not added again.
    2. A key may be wanted later; wanted several times, the earliest counts.
    3. A key that fails waits twice as long each time, until it succeeds.
    """

    def __init__(self) -> None:
        self._ready: dict[Hashable, None] = {}
        self._due: dict[Hashable, float] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._failures: dict[Hashable, int] = {}
        self._sequence = count()

    def add(self, key: Hashable) -> None:
        self._due.pop(key, None)
        self._ready[key] = None

    def add_at(self, key: Hashable, moment: float) -> None:
        if key in self._ready or self._due.get(key, moment + 1) <= moment:
            return
        self._due[key] = moment
        heapq.heappush(self._heap, (moment, next(self._sequence), key))

    def failed(self, key: Hashable, now: float) -> None:
        """Try it again, later each time."""
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        self.add_at(key, now + BACK_OFF.wait(failures))

    def succeeded(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def take(self, now: float) -> Hashable | None:
        """The next key whose turn it is; None: nothing is due."""
        while (moment := self.next_due()) is not None and moment <= now:
            self.add(heapq.heappop(self._heap)[2])
        key = next(iter(self._ready), None)
        if key is not None:
            del self._ready[key]
        return key

    def next_due(self) -> float | None:
        """When the first of those that wait for a moment is due."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # it was taken, or is wanted earlier
        return self._heap[0][0] if self._heap else None
