"""Units that stand in lines: only the first of a line competes with those of others, by what its rank is just then.

Where it is a unit's turn may depend on what its line has got already, as the share of a queue. With one line for each
queue, a place that is given changes the rank of one line, and not of thousands of units behind it.

1. In a line the order is that of ranks without shares, then of ages: it does not change when somebody gets a place.
2. Between lines, the ranks of the first of each are asked for again before one is taken. That finds who has fallen
   back. When somebody may have come forward, because a line has less than before, `refresh` asks for all.
"""

from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, NamedTuple

from reprieve.model.rank import Rank

Place = tuple[Any, ...]
"""A rank, and then when a unit was made and its name."""


class Standing(NamedTuple):
    """A unit in its line; `number` tells a later stay of it from an earlier one."""

    place: Place
    number: int
    key: str


class Lines:
    """`place_now` is where a unit ranks as things are, `waits` whether it is still there under a number."""

    def __init__(self, place_now: Callable[[str], Place], waits: Callable[[str, int], bool]) -> None:
        self._place_now = place_now
        self._waits = waits
        self._behind: dict[Hashable, list[Standing]] = {}
        self._first: list[tuple[Place, int, Hashable]] = []
        self._shown: dict[Hashable, int] = {}
        self._number = 0

    def push(self, line: Hashable, key: str, number: int) -> None:
        place = self._place_now(key)
        standing = Standing(_in_line(place), number, key)
        behind = self._behind.setdefault(line, [])
        heappush(behind, standing)
        if behind[0] is standing:
            self._show(line, place)

    def _show(self, line: Hashable, place: Place) -> None:
        """Another one is the first of a line now."""
        self._number += 1
        self._shown[line] = self._number
        heappush(self._first, (place, self._number, line))

    def first(self) -> tuple[Place, Standing] | None:
        """Whose turn it is; None: nobody stands in any line."""
        while self._first:
            place, number, line = self._first[0]
            if self._shown.get(line) != number:
                heappop(self._first)
                continue
            head = self._head(line)
            if head is None:
                heappop(self._first)
                continue
            now = self._place_now(head.key)
            if _in_line(now) != head.place:  # it has another place in its own line
                heapreplace(self._behind[line], head._replace(place=_in_line(now)))
            elif now == place:
                return place, head
            else:
                heapreplace(self._first, (now, number, line))
        return None

    def _head(self, line: Hashable) -> Standing | None:
        behind = self._behind[line]
        while behind and not self._waits(behind[0].key, behind[0].number):
            heappop(behind)
        if behind:
            return behind[0]
        del self._behind[line], self._shown[line]
        return None

    def pop(self) -> None:
        """Take who was `first`."""
        _, _, line = heappop(self._first)
        heappop(self._behind[line])
        head = self._head(line)
        if head is not None:
            self._show(line, self._place_now(head.key))

    def refresh(self) -> None:
        """Somebody may have come forward."""
        self._first = [
            (self._place_now(head.key), self._shown[line], line)
            for line in list(self._behind)
            if (head := self._head(line)) is not None
        ]
        heapify(self._first)


def _in_line(place: Place) -> Place:
    rank = place[0]
    return (rank.without_shares, *place[1:]) if isinstance(rank, Rank) else place
