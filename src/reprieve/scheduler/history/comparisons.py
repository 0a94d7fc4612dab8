"""What a scheduler in shadow would have done, beside what another one did: kept for as long as there is room."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from reprieve.model.clock import Clock, precise_timestamp
from reprieve.scheduler.history.file import BATCH, HistoryFile

_MOST = 20_000
AGREED = ("agreed", "placed")
"""The results by which both did the same."""
LATE, UNCLEAR = "late", "unclear"
_NOT_TOLD = (*AGREED, LATE, UNCLEAR)
"""What is no disagreement: both did the same, or nobody knows."""


class Answer(msgspec.Struct, frozen=True):
    """What one of the two did, or would have done: which pods where, and who had to go."""

    nodes: dict[str, str] = {}
    victims: list[str] = []
    message: str = ""


class ShadowComparison(msgspec.Struct, frozen=True):
    """One decision of another scheduler."""

    unit: str
    policy: str
    result: str
    own: Answer
    other: Answer


class Comparisons:
    """A table of a history."""

    def __init__(self, file: HistoryFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    def add(self, made: ShadowComparison) -> None:
        body = msgspec.json.encode(made)
        now = precise_timestamp(self._clock())
        number = self._file.insert("comparisons", now, made.unit, made.policy, made.result, body)
        if number % BATCH == 0:
            self._file.execute("DELETE FROM comparisons WHERE id <= ?", (number - _MOST,))

    def report(self, limit: int) -> dict[str, Any]:
        return report(self._file.rows, limit)


def report(rows: Callable[..., list[tuple[Any, ...]]], limit: int) -> dict[str, Any]:
    """How often each result came up for each policy, and the last disagreements, newest first."""
    counted = rows("SELECT policy, result, count(*) FROM comparisons GROUP BY policy, result ORDER BY policy, result")
    marks = ", ".join("?" for _ in _NOT_TOLD)
    query = f"SELECT at, body FROM comparisons WHERE result NOT IN ({marks}) ORDER BY id DESC LIMIT ?"  # noqa: S608
    found = rows(query, *_NOT_TOLD, limit)
    return {
        "agreement": [{"policy": policy, "result": result, "count": count} for policy, result, count in counted],
        "disagreements": [{"at": at, **msgspec.json.decode(body)} for at, body in found],
    }


def report_in(path: Path, limit: int) -> dict[str, Any]:
    """The same from the file of a history, whether its scheduler runs or not. Raises `sqlite3.Error`."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        return report(lambda query, *values: database.execute(query, values).fetchall(), limit)
