"""The file that the embedded store keeps: every version of every object, one row each, in one SQLite database.

1. A write is one row more, committed before anybody hears of it. An object is what its last row says; a row that says
   DELETED ends it.
2. Rows that others have replaced are removed later, in batches. Up to which version that was done is remembered, so
   that a watch from an older version can be refused.
3. The file belongs to one process at a time. The lock goes with the process, however it ends.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from reprieve.manifests.problems import ReprieveError
from reprieve.stores.records import EventType

IN_MEMORY = ":memory:"
_APPLICATION = 0x52505256
"""Marks the file as one of ours, so that another program's database is left alone."""


class DataError(ReprieveError):
    """The data cannot be used: it is in use, damaged, of another program, or of a newer version of this one."""


class Revision(NamedTuple):
    """An object at one version, as it stands in the file."""

    version: int
    resource: str
    namespace: str
    name: str
    uid: str
    type: EventType
    body: bytes


class Heading(NamedTuple):
    """Which object a row is about, without what comes from where its body stands in the file, or behind that."""

    version: int
    namespace: str
    name: str
    type: EventType


def _first_schema(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")
    connection.execute(
        "CREATE TABLE revisions (version INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL,"
        " name TEXT NOT NULL, type TEXT NOT NULL, body BLOB NOT NULL)"
    )
    connection.execute("INSERT INTO meta VALUES ('compacted', 0)")


def _add_uids(connection: sqlite3.Connection) -> None:
    """Uids get a column, so that a start need not decode every object."""
    connection.execute("ALTER TABLE revisions ADD COLUMN uid TEXT NOT NULL DEFAULT ''")
    connection.execute("UPDATE revisions SET uid = coalesce(json_extract(CAST(body AS TEXT), '$.metadata.uid'), '')")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first_schema, _add_uids)
"""What makes each schema version from the one before; the last one is today's. None is ever changed."""

_COLUMNS = "version, resource, namespace, name, uid, type, body"
_INSERT = f"INSERT INTO revisions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_ALL = f"SELECT {_COLUMNS} FROM revisions ORDER BY version"  # noqa: S608
_SINCE = "SELECT version, namespace, name, type FROM revisions WHERE version > ? AND resource = ? ORDER BY version"
_CONTENT = "SELECT uid, body FROM revisions WHERE version = ?"


class Database:
    """The open file. Its methods raise `sqlite3.Error` when the disk does not do what it should."""

    def __init__(self, path: str | Path, *, durable: bool = False) -> None:
        """`durable`: each write is on the disk itself when it returns, and outlives a loss of power."""
        self.path = str(path)
        self._lock = None if self.path == IN_MEMORY else _lock(Path(self.path))
        try:
            self._connection = _connect(self.path, "FULL" if durable else "NORMAL")
        except BaseException:
            self._unlock()
            raise

    @property
    def schema_version(self) -> int:
        return _schema_version(self._connection)

    @property
    def compacted(self) -> int:
        """The last version of which not every row is kept any more."""
        found: int = self._connection.execute("SELECT value FROM meta WHERE key = 'compacted'").fetchone()[0]
        return found

    def revisions(self) -> Iterator[Revision]:
        """All rows, the oldest first."""
        return map(Revision._make, self._connection.execute(_ALL))

    def truncate(self) -> None:
        """Bring what was written last into the file itself, so that what is beside it takes no room."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def since(self, version: int, resource: str) -> Iterator[Heading]:
        """The rows of one kind behind a version, without what is in them."""
        return map(Heading._make, self._connection.execute(_SINCE, (version, resource)))

    def content(self, version: int) -> tuple[str, bytes]:
        """The uid and the body of one row."""
        found: tuple[str, bytes] = self._connection.execute(_CONTENT, (version,)).fetchone()
        return found

    def append(self, revisions: Sequence[Revision]) -> None:
        """Write rows, all or none; when this returns they stay. One statement is a transaction of its own."""
        if len(revisions) == 1:
            self._connection.execute(_INSERT, revisions[0])
            return
        with _transaction(self._connection):
            self._connection.executemany(_INSERT, revisions)

    def compact(self, replaced: Iterable[int], until: int) -> None:
        """Remove rows that others have replaced; from now on watches from before `until` are refused."""
        with _transaction(self._connection):
            self._connection.executemany("DELETE FROM revisions WHERE version = ?", ((each,) for each in replaced))
            self._connection.execute("UPDATE meta SET value = ? WHERE key = 'compacted'", (until,))

    def close(self) -> None:
        self._connection.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)


def _lock(path: Path) -> int:
    """Open and lock a file beside the database; the system frees it when its process ends, however it does."""
    # Imported here: a machine without it can still plan and simulate.
    import fcntl

    place = path.with_name(path.name + ".lock")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataError(f"{place} cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(file, 32).decode(errors="replace").strip()
        os.close(file)
        raise DataError(f"{path} is in use by {f'process {holder}' if holder else 'another process'}") from error
    os.ftruncate(file, 0)
    os.write(file, f"{os.getpid()}\n".encode())
    return file


def is_full(error: sqlite3.Error) -> bool:
    """Whether a write failed because there is no room on the disk."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def _connect(path: str, synchronous: str) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=32)
    except sqlite3.Error as error:
        raise DataError(f"{path} cannot be opened: {error}") from error
    try:
        _check_owner(connection, path)  # before anything is changed
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        _migrate(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise DataError(f"{path} cannot be used as a database: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to today's schema, one version in each transaction, so that a crash leaves a whole one."""
    for number in range(_schema_version(connection), len(MIGRATIONS)):
        with _transaction(connection):
            MIGRATIONS[number](connection)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (number + 1,))
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")


def _check_owner(connection: sqlite3.Connection, path: str) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != _APPLICATION and tables:
        raise DataError(f"{path} is a database of another program")
    version = _schema_version(connection) if tables else 0
    if version > len(MIGRATIONS):
        raise DataError(
            f"{path} has the schema version {version}, and this version of Reprieve knows only up to "
            f"{len(MIGRATIONS)}: use the version that wrote it, or a newer one"
        )


def _schema_version(connection: sqlite3.Connection) -> int:
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0] == 0:
        return 0
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    return 0 if row is None else int(row[0])


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a disk that is full may have ended it already
            connection.execute("ROLLBACK")
        raise
