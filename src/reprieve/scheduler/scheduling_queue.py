"""The queue of units that wait to be scheduled, whatever their kind and policy.

1. Active: taken by priority, then by age where that is told (see `push`), then by the time of entering. Units whose
   rank changes with what others get stand in lines (`model/lines.py`).
2. Back-off: after a failure for 1s, 2s, 4s ... at most 10s; kept by the end of the back-off, then by priority. To find
   no place is no failure: it delays nobody.
3. Unschedulable: kept until something happens that could help, and then taken at once; until a moment that is known to
   change the answer; or for 5 minutes.
4. A unit is in one part at most once. One that is pushed while it is worked on is queued again afterwards, with a new
   time.
5. What returns from a part together returns in order of priority.
6. All of this is measured on a clock that nobody can set. Only a moment that is known beforehand is by the wall clock.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, Literal, NamedTuple

from reprieve.model.backoff import Backoff
from reprieve.model.lines import Lines
from reprieve.model.rank import Rank, rank_of

BACK_OFF = Backoff(first=1.0, longest=10.0)
LONGEST_UNSCHEDULABLE = 300.0
_SLACK = 64

QueuePart = Literal["active", "backOff", "unschedulable", "working"]
Age = tuple[int, str] | tuple[int, int, int, str]
"""When a unit was made, and its name: what tells units of one rank apart, as in a plan. Before that may stand two
numbers that decide first, the less the earlier."""
Standing = tuple[Rank, Age, Hashable]
"""A unit's rank and age, and the line that it stands in (None: in none)."""


class Ticket(NamedTuple):
    """One stay of a unit in one part; a later ticket makes it void."""

    foremost: float
    """What decides first, as a plain number: most tickets are told apart by that alone."""
    place: tuple[Any, ...]
    number: int
    key: str


class _Entry:
    """What is known of a unit for as long as it is waiting or worked on."""

    __slots__ = (
        *("again", "age", "asleep", "entered", "failed", "failures", "line", "moment", "number", "part", "rank"),
        *("until", "woken"),
    )

    def __init__(self, rank: Rank, age: Age | None, line: Hashable) -> None:
        self.rank = rank
        self.age = age
        self.line = line
        self.part: QueuePart = "active"
        self.number = 0
        self.entered = 0.0
        self.failures = 0
        self.failed = 0.0
        self.again = False
        self.until = 0.0
        self.moment = inf
        """The same as it was said: in another clock's time, moments that are one differ by a little."""
        self.asleep = 0.0
        """Since when it has been known that there is no place for it."""
        self.woken = False
        """Whether nothing but `move` has brought it back."""

    @property
    def ready(self) -> float:
        """When its back-off ends."""
        return self.failed + BACK_OFF.wait(self.failures)


class SchedulingQueue:
    """Heaps with lazy deletion: a ticket that is not the last one of its unit is passed over."""

    def __init__(self, clock: Callable[[], float], wall_clock: Callable[[], float] | None = None) -> None:
        """`clock` only ever goes forward; `wall_clock` is what `until` is given by, where that is another one."""
        self._clock = clock
        self._wall_clock = wall_clock or clock
        self._entries: dict[str, _Entry] = {}
        self._heaps: dict[QueuePart, list[Ticket]] = {"active": [], "backOff": [], "unschedulable": []}
        self._sizes: dict[QueuePart, int] = {"active": 0, "backOff": 0, "unschedulable": 0, "working": 0}
        self._number = 0
        self._standing_now: Callable[[str], Standing] | None = None
        self._lines = Lines(self._place_now, lambda key, number: self._live(Ticket(0, (), number, key), "active"))

    def stand_by(self, standing_now: Callable[[str], Standing]) -> None:
        """Who can tell where a unit in a line stands as things are."""
        self._standing_now = standing_now

    def somebody_has_less(self) -> None:
        """Whoever stands in a line may have come forward."""
        self._lines.refresh()

    def _place_now(self, key: str) -> tuple[Any, ...]:
        entry = self._entries[key]
        if self._standing_now is not None:
            entry.rank, age, _ = self._standing_now(key)
            entry.age = age
        return self._place(entry)

    def __len__(self) -> int:
        """How many wait, in all parts."""
        return len(self._entries) - self._sizes["working"]

    def size(self, part: QueuePart) -> int:
        return self._sizes[part]

    def push(self, key: str, priority: int | Rank = 0, age: Age | None = None, line: Hashable = None) -> None:
        """A unit is new or has changed: it is worth a try at once, wherever it was kept."""
        rank = priority if isinstance(priority, Rank) else rank_of(priority)
        entry = self._entries.get(key)
        if entry is None:
            self._add(key, _Entry(rank, age, line))
            return
        changed = self._changes(entry, rank, age, line)
        entry.woken = False
        if entry.part == "working":
            entry.again = True
        elif entry.part != "active":
            self._move(key, entry, "active")
        elif changed:
            self._ticket(key, entry)

    def rank(self, key: str, rank: Rank, age: Age, line: Hashable = None) -> None:
        """A unit that waits, or not, has another rank or age now. That is no reason to try it."""
        entry = self._entries.get(key)
        if entry is not None and self._changes(entry, rank, age, line) and entry.part != "working":
            self._ticket(key, entry)

    def _changes(self, entry: _Entry, rank: Rank, age: Age | None, line: Hashable) -> bool:
        """Whether a unit has to be put elsewhere. What its line has is asked for when it is the first of it."""
        before = entry.rank if line is None else entry.rank.without_shares, entry.age, entry.line
        entry.rank, entry.age, entry.line = rank, age, line
        return before != (rank if line is None else rank.without_shares, age, line)

    def pop(self) -> str | None:
        """The next one to work on; None: none is ready. `done`, `failed` or `unschedulable` ends the work."""
        self._return()
        ticket, in_line = self._first("active"), self._lines.first()
        if in_line is not None and (ticket is None or in_line[0] < ticket.place):
            self._lines.pop()
            key = in_line[1].key
        elif ticket is not None:
            heappop(self._heaps["active"])
            key = ticket.key
        else:
            return None
        self._leave(self._entries[key], "working")
        return key

    def done(self, key: str) -> None:
        """It is scheduled: nothing more is known of it, unless it changed meanwhile."""
        entry = self._entries.get(key)
        if entry is None or entry.part != "working":
            return
        self._drop(key, entry)
        if entry.again:
            self._add(key, _Entry(entry.rank, entry.age, entry.line))

    def failed(self, key: str, failures: int = 0) -> None:
        """Something went wrong: it is tried again after a back-off; for the so-manieth time, where that is known."""
        entry = self._entries.get(key)
        if entry is not None and entry.part == "working":
            entry.failures = failures or entry.failures + 1
            entry.failed = self._clock()
            self._put_aside(key, entry, "backOff")

    def unschedulable(self, key: str, until: float = inf) -> None:
        """There is no place for it now; `until` is when that may change though nothing happens."""
        entry = self._entries.get(key)
        if entry is not None and entry.part == "working":
            entry.failures = 0
            entry.asleep = self._clock()
            entry.until, entry.moment = until - self._wall_clock() + self._clock(), until
            self._put_aside(key, entry, "unschedulable")

    def was_woken(self, key: str) -> bool:
        """Whether a unit that is worked on has its turn only because something happened that could help it."""
        entry = self._entries.get(key)
        return entry is not None and entry.woken and not entry.again

    def sleep_on(self, key: str) -> None:
        """What a unit was woken for is over: it waits on as before."""
        entry = self._entries.get(key)
        if entry is not None and entry.part == "working":
            self._put_aside(key, entry, "unschedulable")

    def part(self, key: str) -> QueuePart | None:
        """Where a unit is; None: nowhere."""
        entry = self._entries.get(key)
        return entry.part if entry is not None else None

    def waiting(self) -> Iterator[tuple[str, QueuePart]]:
        """All that wait, and where."""
        return ((key, entry.part) for key, entry in self._entries.items() if entry.part != "working")

    def delete(self, key: str) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            self._drop(key, entry)

    def move(self, could_help: Callable[[str], bool] = lambda _: True) -> int:
        """Something happened: whoever it could help is tried again, however often that was in vain."""
        waiting = [ticket.key for ticket in self._heaps["unschedulable"] if self._live(ticket, "unschedulable")]
        woken = [key for key in waiting if could_help(key)]
        for key in woken:
            self._entries[key].woken = True
        return self._release(woken)

    def ready_in(self) -> float | None:
        """Seconds until `pop` has something; None: not before something is pushed or moved."""
        if self._first("active") is not None or self._lines.first() is not None:
            return 0.0
        nexts = [ticket.place[0] for part in _KEPT if (ticket := self._first(part)) is not None]
        return max(0.0, min(nexts) - self._clock()) if nexts else None

    # Moving between parts

    def _put_aside(self, key: str, entry: _Entry, part: QueuePart) -> None:
        entry.woken = False
        self._move(key, entry, "active" if entry.again else part)

    def _return(self) -> None:
        """Whose time is over comes back, and with it whoever was to come back no later: among them ranks decide."""
        now = self._clock()
        due: list[str] = []
        for part in _KEPT:
            latest = -inf
            while (ticket := self._first(part)) is not None and (
                ticket.place[0] <= now or (part == "unschedulable" and self._entries[ticket.key].moment <= latest)
            ):
                heappop(self._heaps[part])
                due.append(ticket.key)
                moment = self._entries[ticket.key].moment
                latest = max(latest, moment) if moment < inf else latest
        if due:
            self._release(due)

    def _release(self, keys: Iterable[str]) -> int:
        ordered = sorted(keys, key=lambda key: (self._entries[key].rank, self._entries[key].number))
        for key in ordered:
            self._move(key, self._entries[key], "active")
        return len(ordered)

    def _add(self, key: str, entry: _Entry) -> None:
        self._entries[key] = entry
        self._sizes["active"] += 1
        self._enter(key, entry)

    def _move(self, key: str, entry: _Entry, part: QueuePart) -> None:
        self._leave(entry, part)
        self._enter(key, entry)

    def _leave(self, entry: _Entry, part: QueuePart) -> None:
        self._sizes[entry.part] -= 1
        self._sizes[part] += 1
        entry.part = part

    def _drop(self, key: str, entry: _Entry) -> None:
        self._sizes[entry.part] -= 1
        del self._entries[key]

    def _enter(self, key: str, entry: _Entry) -> None:
        entry.again = False
        entry.entered = self._clock()
        self._ticket(key, entry)

    # Tickets

    def _ticket(self, key: str, entry: _Entry) -> None:
        self._number += 1
        entry.number = self._number
        if entry.part == "active" and entry.line is not None:
            return self._lines.push(entry.line, key, entry.number)
        heap = self._heaps[entry.part]
        if len(heap) > 2 * self._sizes[entry.part] + _SLACK:
            heap[:] = [ticket for ticket in heap if self._live(ticket, entry.part)]
            heapify(heap)
        place = self._place(entry)
        foremost = -entry.rank[0] if entry.part == "active" else place[0]
        return heappush(heap, Ticket(foremost, place, entry.number, key))

    def _place(self, entry: _Entry) -> tuple[Any, ...]:
        match entry.part:
            case "backOff":
                return entry.ready, entry.rank
            case "unschedulable":
                return min(entry.until, entry.asleep + LONGEST_UNSCHEDULABLE), entry.rank
            case _:
                return (entry.rank, *_in_full(entry.age)) if entry.age is not None else (entry.rank, entry.entered)

    def _first(self, part: QueuePart) -> Ticket | None:
        heap = self._heaps[part]
        while heap and not self._live(heap[0], part):
            heappop(heap)
        return heap[0] if heap else None

    def _live(self, ticket: Ticket, part: QueuePart) -> bool:
        entry = self._entries.get(ticket.key)
        return entry is not None and entry.number == ticket.number and entry.part == part


def _in_full(age: Age) -> tuple[int, int, int, str]:
    return (age[0], 0, age[0], age[1]) if len(age) == 2 else age


_KEPT: tuple[QueuePart, ...] = ("backOff", "unschedulable")
