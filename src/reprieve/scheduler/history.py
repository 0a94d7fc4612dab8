"""What was decided, and what became of each unit: kept in a file of its own, bounded, and asked long afterwards.

1. A decision is kept with its whole plan. The same decision for the same unit, again and again, is one that is
   counted; when it has been forgotten meanwhile, because so many came after it, it is kept anew.
2. A decision to preempt is on disk before anybody is told to go; the others follow within moments.
3. The story of a unit is what happened to it, one line after the other, each with what caused it.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from reprieve.engine.plan import Details, Plan, StalePlan
from reprieve.model.clock import Clock, precise_timestamp
from reprieve.planning.result import Decision, decision

Step = Literal["queued", "tried", "nominated", "bound", "admitted", "scheduled", "evicted", "gone", "held"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, first TEXT NOT NULL, last TEXT NOT NULL, times INTEGER NOT NULL,
    unit TEXT NOT NULL, policy TEXT NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS decisions_of ON decisions (unit, id);
CREATE TABLE IF NOT EXISTS victims (unit TEXT NOT NULL, decision INTEGER NOT NULL, PRIMARY KEY (unit, decision))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS story (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, unit TEXT NOT NULL, step TEXT NOT NULL,
    cause TEXT NOT NULL, decision INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS story_of ON story (unit, id);
"""
_SCHEMA_VERSION = 1
_MOST_DECISIONS = 20_000
_MOST_LINES = 200_000
_BATCH = 256
_PODS_FOR_FULL_DETAILS = 2_000
_MOST_SPARED = 1_000


class History:
    """Decisions and stories in SQLite; `:memory:` for tests and virtual time."""

    def __init__(self, path: Path | str, clock: Clock, *, most: int = _MOST_DECISIONS) -> None:
        self._clock = clock
        self._most = most
        self._database = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._migrate(path)
        self._open = 0
        self._latest: dict[str, tuple[int, tuple[object, ...]]] = {}

    def _migrate(self, path: Path | str) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > _SCHEMA_VERSION:
            self._database.close()
            raise ValueError(f"{path} was written by a newer Reprieve (its history has version {version})")
        self._database.executescript(_SCHEMA)
        self._database.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")

    def close(self) -> None:
        self.flush()
        self._database.close()

    # Writing

    def record(self, plan: Plan, *, pods: int = 0) -> int:
        """Keep a decision; its number. `pods` is the size of the world: of a large one the main points are kept."""
        told = (plan.outcome, plan.message, tuple(victim.unit for victim in plan.victims))
        now = precise_timestamp(self._clock())
        again = self._count_again(plan, told, now)
        if again:
            return again
        number = self._insert(plan, now, pods)
        self._remember(plan.preemptor, number, told)
        if plan.outcome == "Preempt":
            self.flush()
        if number % _BATCH == 0:
            self._forget(number)
        return number

    def _count_again(self, plan: Plan, told: tuple[object, ...], now: str) -> int:
        """The number of the same decision, counted once more; 0 when this is another one, or that one is forgotten."""
        known = self._latest.get(plan.preemptor)
        if known is None or known[1] != told or plan.outcome not in ("Wait", "Unschedulable"):
            return 0
        statement = "UPDATE decisions SET last = ?, times = times + 1 WHERE id = ?"
        return known[0] if self._execute(statement, (now, known[0])).rowcount else 0

    def _insert(self, plan: Plan, now: str, pods: int) -> int:
        body = msgspec.json.encode(_with_details(plan, brief=pods > _PODS_FOR_FULL_DETAILS))
        row = (now, now, 1, plan.preemptor, plan.policy, plan.outcome, plan.message, body)
        number = self._write(
            "INSERT INTO decisions (first, last, times, unit, policy, outcome, message, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        for victim in plan.victims:
            self._write("INSERT OR IGNORE INTO victims VALUES (?, ?)", (victim.unit, number))
        return number

    def _remember(self, unit: str, number: int, told: tuple[object, ...]) -> None:
        if len(self._latest) > self._most:
            self._latest.clear()
        self._latest[unit] = (number, told)

    def note(self, unit: str, step: Step, cause: str, decision: int = 0, *, at: datetime | None = None) -> None:
        """One more line of a unit's story."""
        moment = precise_timestamp(at or self._clock())
        line = (moment, unit, step, cause, decision)
        number = self._write("INSERT INTO story (at, unit, step, cause, decision) VALUES (?, ?, ?, ?, ?)", line)
        if number % (_BATCH * 16) == 0:
            self._write("DELETE FROM story WHERE id <= ?", (number - _MOST_LINES,))

    def _write(self, statement: str, values: Iterable[object]) -> int:
        return self._execute(statement, values).lastrowid or 0

    def _execute(self, statement: str, values: Iterable[object]) -> sqlite3.Cursor:
        if not self._open:
            self._database.execute("BEGIN")
        self._open += 1
        done = self._database.execute(statement, tuple(values))
        if self._open >= _BATCH:
            self.flush()
        return done

    def flush(self) -> None:
        """Put on disk what has been written so far."""
        if self._open:
            self._database.execute("COMMIT")
            self._open = 0

    def _forget(self, number: int) -> None:
        oldest = number - self._most
        self._write("DELETE FROM decisions WHERE id <= ?", (oldest,))
        self._write("DELETE FROM victims WHERE decision <= ?", (oldest,))

    # Asking

    def decision(self, number: int) -> dict[str, Any] | None:
        """One decision, whole."""
        query = f"SELECT {_COLUMNS}, body FROM decisions WHERE id = ?"  # noqa: S608 - constants only
        row = self._database.execute(query, (number,)).fetchone()
        return None if row is None else {**_summary(row), "plan": msgspec.json.decode(row[-1])}

    def decisions(self, unit: str = "", limit: int = 50) -> list[dict[str, Any]]:
        """The last decisions, newest first: all, or those that were about a unit or cost it its place."""
        if unit:
            where = " WHERE unit = ? OR id IN (SELECT decision FROM victims WHERE unit = ?)"
            values: tuple[object, ...] = (unit, unit, limit)
        else:
            where, values = "", (limit,)
        query = f"SELECT {_COLUMNS} FROM decisions{where} ORDER BY id DESC LIMIT ?"  # noqa: S608 - constants only
        return [_summary(row) for row in self._database.execute(query, values)]

    def story(self, unit: str, limit: int = 100) -> list[dict[str, Any]]:
        """What happened to a unit, the oldest first, and not more than the last so many lines."""
        query = "SELECT at, step, cause, decision FROM story WHERE unit = ? ORDER BY id DESC LIMIT ?"
        rows = self._database.execute(query, (unit, limit)).fetchall()
        keys = ("at", "step", "cause", "decision")
        return [dict(zip(keys, row, strict=True)) for row in reversed(rows)]

    def explain(self, unit: str) -> dict[str, Any]:
        """All there is to tell about a unit: its story, the last decision about it, and who it made way for."""
        own = self._latest_number("SELECT max(id) FROM decisions WHERE unit = ?", unit)
        evicting = self._latest_number("SELECT max(decision) FROM victims WHERE unit = ?", unit)
        return {
            "unit": unit,
            "story": self.story(unit),
            "decision": self.decision(own) if own else None,
            "preempted": self.decision(evicting) if evicting else None,
        }

    def _latest_number(self, query: str, unit: str) -> int:
        (number,) = self._database.execute(query, (unit,)).fetchone()
        return int(number or 0)


_COLUMNS = "id, first, last, times, unit, policy, outcome, message"


def _summary(row: tuple[Any, ...]) -> dict[str, Any]:
    keys = ("id", "at", "last", "times", "preemptor", "policy", "outcome", "message")
    return dict(zip(keys, row[: len(keys)], strict=True))


def _with_details(plan: Plan, *, brief: bool) -> Decision | Mapping[str, Any]:
    """The whole plan, or in a large world its main points; who fits needs no reasons."""
    if plan.outcome == "Fits":
        plan = _bare(plan)
    try:
        made = decision(plan, brief=brief)
    except StalePlan:
        made = decision(_bare(plan))
    if len(made.spared) <= _MOST_SPARED:
        return made
    shown = msgspec.structs.replace(made, spared=made.spared[:_MOST_SPARED])
    return {**msgspec.to_builtins(shown), "moreSpared": len(made.spared) - _MOST_SPARED}


def _bare(plan: Plan) -> Plan:
    """A plan without its reasons."""
    return replace(plan, explain=lambda _: Details())
