"""The file: schema and migrations, what is refused, the lock, and what compaction leaves."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from reprieve.stores.embedded.commits import Journal
from reprieve.stores.embedded.sqlite import MIGRATIONS, Database, DataError, Revision
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.resources import NAMESPACES, PODS
from tests.stores.embedded.scene import Scene, pod


def _row(version: int, name: str = "a", body: bytes = b"{}", kind: str = "ADDED") -> Revision:
    return Revision(version, "pods", "default", name, "u", kind, body)  # type: ignore[arg-type]


def _run(path: Path, statements: Sequence[str]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_a_new_file_has_todays_schema(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "some" / "where" / "data.db")) as database:
        assert database.schema_version == len(MIGRATIONS)
        assert database.compacted == 0
        assert list(database.revisions()) == []


def test_rows_are_written_all_or_none(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "data.db")) as database:
        database.append([_row(1), _row(2)])
        with pytest.raises(sqlite3.IntegrityError):
            database.append([_row(3), _row(2)])
        assert [row.version for row in database.revisions()] == [1, 2]
        assert [row.version for row in database.since(1, "pods")] == [2]
        assert list(database.since(0, "nodes")) == []


_FIRST_VERSION = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE revisions (version INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL,"
    " name TEXT NOT NULL, type TEXT NOT NULL, body BLOB NOT NULL)",
    "INSERT INTO meta VALUES ('schema', 1), ('compacted', 0)",
    f"PRAGMA application_id = {0x52505256}",
)


def _first_version_with_a_pod(path: Path) -> None:
    """A file as the first version of the schema was written, by hand so that it does not change with the code."""
    namespace = (
        b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default","uid":"namespace-uid",'
        b'"resourceVersion":"1","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"finalizers":["kubernetes"]},'
        b'"status":{"phase":"Active"}}'
    )
    body = (
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default","uid":"pod-uid",'
        b'"resourceVersion":"2","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{"name":"c"}]}}'
    )
    _run(path, _FIRST_VERSION)
    with closing(sqlite3.connect(path)) as connection:
        statement = "INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?)"
        connection.execute(statement, (1, "namespaces", "", "default", "ADDED", namespace))
        connection.execute(statement, (2, "pods", "default", "a", "ADDED", body))
        connection.commit()


def test_a_file_of_the_first_version_is_brought_to_todays(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    _first_version_with_a_pod(path)
    with Scene(path) as scene:
        assert scene.pod()["metadata"]["uid"] == "pod-uid"
        assert scene.patch(PODS, "a", {"metadata": {"labels": {"x": "y"}}}, uid="pod-uid").version > 2
        assert [event.record.uid for event in scene.store.watch(PODS, 1).take()] == ["pod-uid"] * 2
        assert "default" in scene.names(NAMESPACES)
        scene.restart()
        assert scene.pod()["metadata"]["labels"] == {"x": "y"}
    with closing(Database(path)) as database:
        assert database.schema_version == len(MIGRATIONS)


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.db"
    _first_version_with_a_pod(path)

    def half(connection: sqlite3.Connection) -> None:
        MIGRATIONS[1](connection)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr("reprieve.stores.embedded.sqlite.MIGRATIONS", (MIGRATIONS[0], half))
        with pytest.raises(DataError, match="disk I/O error"):
            Database(path)
    with Scene(path) as scene:
        assert scene.pod()["metadata"]["uid"] == "pod-uid"


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    Database(path).close()
    _run(path, ["UPDATE meta SET value = 99 WHERE key = 'schema'"])
    with pytest.raises(DataError, match=r"schema version 99, and this version of Reprieve knows only up to \d"):
        Database(path)


def test_what_is_no_database_of_ours_is_refused_and_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_bytes(b"This is a text, and a long one at that. " * 100)
    _run(other, ["CREATE TABLE somebody_elses (a)"])
    before = other.read_bytes()
    with pytest.raises(DataError, match="cannot be used as a database"):
        Database(text)
    with pytest.raises(DataError, match="of another program"):
        Database(other)
    with pytest.raises(DataError, match="cannot be"):
        Database(tmp_path)
    assert text.read_bytes().startswith(b"This is a text")
    assert other.read_bytes() == before


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="file"):
        Database(tmp_path / "file" / "data.db")


# The lock

_HOLDER = """
import sys, time
from reprieve.model.clock import system_clock
from reprieve.stores.embedded.store import EmbeddedStore
store = EmbeddedStore.open(sys.argv[1], system_clock)
print("open", flush=True)
time.sleep(60)
"""


def test_data_belongs_to_one_process(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with subprocess.Popen([sys.executable, "-c", _HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(DataError, match=f"is in use by process {holder.pid}"):
            Scene(path)
        holder.kill()
        holder.wait()
    with Scene(path) as scene:
        scene.create(PODS, pod("a"))


def test_a_second_store_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with Scene(tmp_path / "data.db") as scene:
        with pytest.raises(DataError, match="is in use"):
            Scene(tmp_path / "data.db")
        scene.create(PODS, pod("a"))


# Compaction


def test_compaction_leaves_what_exists_and_what_is_recent(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Scene(path, keep=50) as scene:
        scene.create(PODS, pod("old"))
        for number in range(300):
            scene.create(PODS, pod("a"))
            scene.patch(PODS, "a", {"metadata": {"labels": {"number": str(number)}}})
            scene.delete(PODS, "a")
        first_version = scene.store.version
        scene.restart()
        assert scene.names(PODS) == ["old"]
        assert scene.store.version == first_version
        assert scene.create(PODS, pod("b")).version == first_version + 1
    with closing(Database(path)) as database:
        rows = list(database.revisions())
        assert len(rows) < 80
        assert database.compacted > first_version - 60


def test_versions_never_go_back_even_when_everything_has_gone(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(Database(path)) as database:
        database.append([_row(1), _row(2, kind="DELETED")])
        database.compact([1, 2], 2)
    with closing(Journal(path)) as journal:
        assert journal.version == 2


def test_a_compaction_that_fails_takes_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.db"
    compact = Database.compact
    failures: list[int] = []

    def fail_at_first(self: Database, replaced: Sequence[int], until: int) -> None:
        if len(failures) < 3:
            failures.append(until)
            raise sqlite3.OperationalError("database or disk is full")
        compact(self, replaced, until)

    monkeypatch.setattr(Database, "compact", fail_at_first)
    with Scene(path, keep=20) as scene:
        for number in range(60):
            scene.create(PODS, pod(f"a{number}"))
            scene.delete(PODS, f"a{number}")
        assert len(failures) == 3
        scene.restart()
        assert scene.names(PODS) == []


def test_rows_of_a_kind_that_is_not_known_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(Database(path)) as database:
        database.append([_row(1)._replace(resource="dreams.example.com")])
    with Scene(path) as scene:
        assert scene.store.version > 1
    with closing(Database(path)) as database:
        assert next(database.revisions()).resource == "dreams.example.com"


def test_in_memory_nothing_is_locked() -> None:
    with Scene() as one, Scene() as other:
        one.create(PODS, pod("a"))
        assert other.names(PODS) == []
    assert isinstance(one.store, EmbeddedStore)
