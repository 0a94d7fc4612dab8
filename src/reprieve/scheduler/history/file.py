"""The file of a history: its tables, and writing to them in batches."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, first TEXT NOT NULL, last TEXT NOT NULL, times INTEGER NOT NULL,
    unit TEXT NOT NULL, policy TEXT NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL, body BLOB NOT NULL,
    uid TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS story (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, unit TEXT NOT NULL, step TEXT NOT NULL,
    cause TEXT NOT NULL, decision INTEGER NOT NULL, uid TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS preempted (
    unit TEXT NOT NULL, uid TEXT NOT NULL, decision INTEGER NOT NULL, PRIMARY KEY (unit, uid, decision)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    id INTEGER PRIMARY KEY AUTOINCREMENT, unit TEXT NOT NULL, uid TEXT NOT NULL, name TEXT NOT NULL,
    first TEXT NOT NULL, gone TEXT NOT NULL DEFAULT '', UNIQUE (unit, uid));
CREATE TABLE IF NOT EXISTS comparisons (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, unit TEXT NOT NULL, policy TEXT NOT NULL,
    result TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS belongs (above TEXT NOT NULL, uid TEXT NOT NULL, PRIMARY KEY (above, uid)) WITHOUT ROWID;
"""
_INDICES = """
CREATE INDEX IF NOT EXISTS decisions_of ON decisions (unit, uid, id);
CREATE INDEX IF NOT EXISTS story_of ON story (unit, uid, id);
CREATE INDEX IF NOT EXISTS objects_named ON objects (name);
CREATE INDEX IF NOT EXISTS objects_by_uid ON objects (uid);
CREATE INDEX IF NOT EXISTS belongs_of ON belongs (uid);
"""
_FROM_VERSION_1 = """
DROP INDEX IF EXISTS decisions_of;
DROP INDEX IF EXISTS story_of;
ALTER TABLE decisions ADD COLUMN uid TEXT NOT NULL DEFAULT '';
ALTER TABLE story ADD COLUMN uid TEXT NOT NULL DEFAULT '';
INSERT INTO preempted SELECT unit, '', decision FROM victims;
DROP TABLE victims;
"""
_VERSION = 2
BATCH = 256


class HistoryFile:
    """SQLite, or `:memory:`. What is written together is put on disk together, or when somebody asks for it."""

    def __init__(self, path: Path | str) -> None:
        self._open = 0
        self._database = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._migrate(path)

    def _migrate(self, path: Path | str) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            self._database.close()
            raise ValueError(f"{path} was written by a newer Reprieve (its history has version {version})")
        older = _FROM_VERSION_1 if version == 1 else ""
        self._database.executescript(f"BEGIN;{_SCHEMA}{older}{_INDICES}PRAGMA user_version={_VERSION};COMMIT;")

    def close(self) -> None:
        self.flush()
        self._database.close()

    def insert(self, table: str, *values: object) -> int:
        """A new row, without its number where it has one; that number."""
        columns = _COLUMNS[table]
        marks = ", ".join("?" for _ in values)
        statement = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - constants only
        done = self.execute(statement, values)
        return (done.lastrowid or 0) if done.rowcount else 0

    def execute(self, statement: str, values: Iterable[object] = ()) -> sqlite3.Cursor:
        if not self._open:
            self._database.execute("BEGIN")
        self._open += 1
        done = self._database.execute(statement, tuple(values))
        if self._open >= BATCH:
            self.flush()
        return done

    def flush(self) -> None:
        """Put on disk what has been written so far."""
        if self._open:
            self._database.execute("COMMIT")
            self._open = 0

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._database.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._database.execute(query, values).fetchone()
        return found


_COLUMNS = {
    "decisions": "first, last, times, unit, uid, policy, outcome, message, body",
    "story": "at, unit, uid, step, cause, decision",
    "preempted": "unit, uid, decision",
    "objects": "unit, uid, name, first",
    "belongs": "above, uid",
    "comparisons": "at, unit, policy, result, body",
}
