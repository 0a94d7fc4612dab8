"""Whose turn it is among those who wait: the higher priority, compared where two paths meet; then who has less."""

from functools import lru_cache
from typing import Self


class Rank(tuple[int, ...]):
    """A priority as each level sees it, from the top down to what the unit says of itself; a higher one goes first.

    Whoever has fewer levels counts on those below as on its last: so units without any level between, of one priority,
    rank alike, however deep they are. Among these, whoever has the smaller share goes first, compared from the top
    down as well; who has no share at all has none on any level.
    """

    shares: tuple[int, ...]

    def __new__(cls, *levels: int, shares: tuple[int, ...] = ()) -> Self:
        last = len(levels)
        while last > 1 and levels[last - 1] == levels[last - 2]:
            last -= 1
        made = super().__new__(cls, levels[:last])
        had = len(shares)
        while had and not shares[had - 1]:
            had -= 1
        made.shares = shares[:had]
        return made

    @property
    def without_shares(self) -> "Rank":
        return Rank(*self) if self.shares else self

    def __lt__(self, other: tuple[int, ...]) -> bool:
        """Whether it goes before another."""
        if len(self) == len(other):
            return tuple.__gt__(self, other) if tuple.__ne__(self, other) else self.shares < _shares(other)
        depth = max(len(self), len(other))
        mine, theirs = _down_to(self, depth), _down_to(other, depth)
        return mine > theirs if mine != theirs else self.shares < _shares(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and tuple.__eq__(self, other) and self.shares == _shares(other)

    def __hash__(self) -> int:
        return hash((tuple(self), self.shares))


@lru_cache(maxsize=1024)
def rank_of(priority: int) -> Rank:
    """That of units with nothing but a priority. The same object for the same priority: that is compared at once."""
    return Rank(priority)


def _shares(rank: tuple[int, ...]) -> tuple[int, ...]:
    return rank.shares if isinstance(rank, Rank) else ()


def _down_to(levels: tuple[int, ...], depth: int) -> tuple[int, ...]:
    return (*levels, *levels[-1:] * (depth - len(levels)))
