"""The file of a history: its tables, and writing to them in batches.

A history is for people to read. Nothing is decided by it, and so nothing stops because of it:

1. A file that is damaged is set aside, as it is, and a new one begun; found at the start, or while it runs.
2. What cannot be written, because the disk is full, is left out; that is said, and not too often.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
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
_TELL_EVERY = 60.0
_log = logging.getLogger(__name__)
BATCH = 256
_PARTS = 16


class HistoryFile:
    """SQLite, or `:memory:`. What is written together is put on disk together, or when somebody asks for it."""

    def __init__(self, path: Path | str) -> None:
        self._open = 0
        self._path = str(path)
        self._told_at = -_TELL_EVERY
        self._database = self._connect_or_begin_anew()

    def _connect_or_begin_anew(self) -> sqlite3.Connection:
        try:
            return _connect(self._path)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise sqlite3.OperationalError(f"{self._path}: {error}") from error
            set_aside(self._path, error)
            return _connect(self._path)

    def close(self) -> None:
        self.flush()
        self._database.close()

    def insert(self, table: str, *values: object) -> int:
        """A new row, without its number where it has one; that number."""
        done = self.execute(_INSERT[table], values)
        return (done.lastrowid or 0) if done.rowcount else 0

    def execute(self, statement: str, values: Iterable[object] = ()) -> sqlite3.Cursor:
        if not self._open:
            self._run("BEGIN")
        self._open += 1
        done = self._run(statement, tuple(values))
        if self._open >= BATCH:
            self.flush()
        return done

    def flush(self) -> None:
        """Put on disk what has been written so far."""
        if self._open:
            self._open = 0
            self._run("COMMIT")

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        """One statement; where it fails, it has found and changed nothing."""
        try:
            return self._database.execute(statement, values)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.ProgrammingError):
                raise  # it is closed, or this is a mistake
            self._open = 0
            if _is_damage(error):
                with suppress(sqlite3.Error):
                    self._database.close()
                set_aside(self._path, error)
                self._database = _connect(self._path)
            else:
                self._leave_out(error)
        return self._database.execute("SELECT 1 WHERE 0")

    def _leave_out(self, error: sqlite3.Error) -> None:
        with suppress(sqlite3.Error):
            self._database.execute("ROLLBACK")
        if time.monotonic() - self._told_at >= _TELL_EVERY:
            self._told_at = time.monotonic()
            _log.warning("%s: the history is not written: %s", self._path, error)

    @property
    def size(self) -> int:
        """Bytes that are in use; what was removed is used again, and not counted."""
        pages, free, each = (self.row(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size"))
        assert pages is not None and free is not None and each is not None  # noqa: S101, PT018
        return int((pages[0] - free[0]) * each[0])

    def drop_oldest(self, table: str, column: str = "id") -> int:
        """Remove a part of a table, the oldest of it: a small one, so that nobody waits long; up to which number."""
        first, last = self.row(f"SELECT min({column}), max({column}) FROM {table}") or (None, None)  # noqa: S608
        if first is None:
            return 0
        until = int(first) + (int(last) - int(first)) // _PARTS
        self.execute(f"DELETE FROM {table} WHERE {column} <= ?", (until,))  # noqa: S608 - constants only
        return until

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._fetched(lambda: self._run(query, values).fetchall(), [])
        return found

    def row(self, query: str, *values: object) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._fetched(lambda: self._run(query, values).fetchone(), None)
        return found

    def _fetched(self, fetch: Callable[[], Any], otherwise: Any) -> Any:
        """Damage may show only while rows are read."""
        try:
            return fetch()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            with suppress(sqlite3.Error):
                self._database.close()
            set_aside(self._path, error)
            self._open = 0
            self._database = _connect(self._path)
            return otherwise


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise ValueError(f"{path} was written by a newer Reprieve (its history has version {version})")
        older = _FROM_VERSION_1 if version == 1 else ""
        database.executescript(f"BEGIN;{_SCHEMA}{older}{_INDICES}PRAGMA user_version={_VERSION};COMMIT;")
    except BaseException:
        database.close()
        raise
    return database


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether it is the file itself that is wrong, and not the disk or who else uses it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "no such" in str(error)


def set_aside(path: str, error: sqlite3.Error) -> None:
    """Put a damaged file out of the way, with what belongs to it."""
    aside = f"{path}.damaged-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    _log.warning("%s is damaged (%s): it is set aside as %s, and a new history begins", path, error, aside)
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):
            Path(path + ending).rename(aside + ending)


_COLUMNS = {
    "decisions": "first, last, times, unit, uid, policy, outcome, message, body",
    "story": "at, unit, uid, step, cause, decision",
    "preempted": "unit, uid, decision",
    "objects": "unit, uid, name, first",
    "belongs": "above, uid",
    "comparisons": "at, unit, policy, result, body",
}
_INSERT = {
    table: f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({', '.join('?' for _ in columns.split(','))})"  # noqa: S608
    for table, columns in _COLUMNS.items()
}
