"""Whose turn it is among those who wait: the higher priority first, compared where two paths meet."""

from typing import Self


class Rank(tuple[int, ...]):
    """A priority as each level sees it, from the top down to what the unit says of itself; a higher one goes first.

    Whoever has fewer levels counts on those below as on its last: so units without any level between, of one priority,
    rank alike, however deep they are.
    """

    def __new__(cls, *levels: int) -> Self:
        last = len(levels)
        while last > 1 and levels[last - 1] == levels[last - 2]:
            last -= 1
        return super().__new__(cls, levels[:last])

    def __lt__(self, other: tuple[int, ...]) -> bool:
        """Whether it goes before another."""
        depth = max(len(self), len(other))
        return _down_to(self, depth) > _down_to(other, depth)


def _down_to(levels: tuple[int, ...], depth: int) -> tuple[int, ...]:
    return (*levels, *levels[-1:] * (depth - len(levels)))
