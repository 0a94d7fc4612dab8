"""Text and tables that fit a width. No word is broken: lines end between words, and tables give up columns.

1. A column that does not fit is given up whole, the least important first; what a table is about, its first column and
   its names, stays.
2. The last column may be sentences: they go on below themselves, as long as they have room; else below their row.
3. A word that is wider than everything stays whole all the same: whoever copies it gets it right.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

LEAST_IMPORTANT = (
    *("restarts", "type", "flavor", "admitted", "generation", "age", "last seen", "since", "created"),
    *("against budgets", "pods", "memory", "priority", "ready", "status", "resource", "borrowed", "on", "namespace"),
)
"""Headings of columns that are given up first, in this order; others follow from right to left."""
_ROOM_FOR_SENTENCES = 24
_HANGING = 2


def wrapped(line: str, width: int | None, hanging: int | None = None) -> list[str]:
    """A line as several that fit, each but the first indented as it is and a little more."""
    if width is None or len(line) <= width:
        return [line]
    own = len(line) - len(line.lstrip(" "))
    indent = " " * (own + _HANGING if hanging is None else hanging)
    lines: list[str] = []
    current = ""
    for word in line[own:].split(" "):
        start = current or (indent if lines else " " * own)
        longer = f"{start} {word}" if current.strip() else f"{start}{word}"
        if len(longer) > width and current.strip():
            lines.append(current.rstrip())
            longer = f"{indent}{word}"
        current = longer
    return [*lines, current.rstrip()]


class Columns(NamedTuple):
    """Which columns of a table are shown, and how wide all are; `beside`: whether the last stands beside the others."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    beside: bool = True


def choose(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None, *, gap: int, least: Sequence[int] = ()
) -> Columns:
    """The columns that fit; `headings` say how important they are, also where they are not printed."""
    own = [max(len(row[place]) for row in (headings, *rows)) for place in range(len(headings))]
    widths = [max(pair) for pair in zip_longest(own, least, fillvalue=0)]
    shown = list(range(len(headings)))
    if width is None:
        return Columns(tuple(shown), tuple(widths))
    last = widths[-1]
    if sentences := _holds_sentences(rows):
        widths[-1] = min(last, _ROOM_FOR_SENTENCES)
    for place in _given_up(headings, sentences):
        if _total(shown, widths, gap) <= width:
            break
        shown.remove(place)
    over = _total(shown, widths, gap) - width
    if sentences:
        widths[-1] = width - _HANGING if over > 0 else min(last, widths[-1] - over)
    return Columns(tuple(shown), tuple(widths), beside=over <= 0 or not sentences)


def _total(shown: Sequence[int], widths: Sequence[int], gap: int) -> int:
    return sum(widths[place] for place in shown) + gap * (len(shown) - 1)


def spread(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Widths between the least and the most; what is left of the room goes to the first that can use it."""
    left = max(0, room - sum(least))
    widths = []
    for small, large in zip(least, most, strict=True):
        more = min(left, max(0, large - small))
        widths.append(small + more)
        left -= more
    return widths


def _holds_sentences(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the last column may be broken between words."""
    return any(" " in row[-1] and len(row[-1]) > _ROOM_FOR_SENTENCES for row in rows if row)


def _given_up(headings: Sequence[str], sentences: bool) -> list[int]:
    """Columns in the order in which they are given up."""
    names = [heading.lower() for heading in headings]
    first = next((place for place, name in enumerate(names) if name in ("name", "unit")), 0)
    kept = {first, len(names) - 1} if sentences else {first}
    free = [place for place in reversed(range(len(names))) if place not in kept]

    def importance(place: int) -> int:
        return LEAST_IMPORTANT.index(names[place]) if names[place] in LEAST_IMPORTANT else len(LEAST_IMPORTANT)

    return sorted(free, key=importance)


def lines_of(row: Sequence[str], columns: Columns, *, gap: int) -> list[str]:
    """A row in lines: more than one where sentences go on."""
    *cells, last = (row[place].ljust(columns.widths[place]) for place in columns.shown)
    before = "".join(f"{cell}{' ' * gap}" for cell in cells)
    first, *rest = wrapped(last.rstrip(), columns.widths[columns.shown[-1]] if cells else None, 0)
    if columns.beside:
        return [f"{before}{first}".rstrip(), *(" " * len(before) + line for line in rest)]
    return [before.rstrip(), *(" " * _HANGING + line for line in (first, *rest) if line)]
