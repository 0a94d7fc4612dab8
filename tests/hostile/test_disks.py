"""Disks that are full and files that are damaged: it is said, and what can go on goes on."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import HOLLOW, Running, until
from tests.hostile.attacking import Attacked, attacked, thorough
from tests.hostile.test_large_jobs import a_job

_MAPS = "/api/v1/namespaces/default/configmaps"
_JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB, where this may be made."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)], capture_output=True)
    if made.returncode:
        pytest.skip("no file system can be made here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def a_map(number: int) -> dict[str, object]:
    return {"metadata": {"name": f"m{number}"}, "data": {"text": "x" * 1_000_000}}


def test_on_a_full_disk_deletions_work_and_everybody_is_told(small_disk: Path) -> None:
    with attacked(small_disk) as victim:
        answers = [victim.ask("POST", _MAPS, a_map(number)) for number in range(30)]
        full = [body for status, body in answers if status == 507]
        assert full, [status for status, _ in answers]
        assert "store.db: the disk is full" in json.loads(full[0])["message"]
        status, said = victim.ask("GET", "/readyz")
        assert (status, b"store.db: the disk is full" in said) == (503, True), said
        assert victim.ask("GET", "/healthz")[0] == 200
        kept = [each["metadata"]["name"] for each in victim.get(_MAPS)["items"]]
        for name in kept:
            assert victim.ask("DELETE", f"{_MAPS}/{name}")[0] == 200
        assert victim.get(_MAPS)["items"] == []
        assert victim.ask("POST", _JOBS, a_job("after", parallelism=1))[0] == 201
        assert victim.ask("GET", "/readyz")[0] == 200
        assert "Traceback" not in victim.warnings()


def _restarted(directory: Path) -> Running:
    (directory / "data" / "server.json").unlink(missing_ok=True)
    return Running(directory, *HOLLOW)


def test_a_damaged_history_is_set_aside_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "history.db").write_bytes(b"this is no database" * 1000)
    with attacked(tmp_path) as victim:
        assert victim.ask("POST", _JOBS, a_job("one", parallelism=1))[0] == 201
        until(lambda: victim.ask("GET", "/explain/Job/default/one")[0] == 200)
        assert "history.db is damaged" in victim.warnings()
        assert [path.name for path in (tmp_path / "data").glob("history.db.damaged-*")]


@thorough
def test_a_history_that_is_damaged_in_the_middle_stops_nothing(tmp_path: Path) -> None:
    with attacked(tmp_path) as victim:
        for number in range(20):
            assert victim.ask("POST", _JOBS, a_job(f"j{number}", parallelism=2))[0] == 201
        until(lambda: victim.ask("GET", "/explain/Job/default/j19")[0] == 200)
        assert victim.plane.stop() == 0
    with sqlite3.connect(tmp_path / "data" / "history.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = tmp_path / "data" / "history.db"
    content = bytearray(file.read_bytes())
    content[8192:-4096] = b"\xff" * (len(content) - 12288)
    file.write_bytes(content)
    again = _restarted(tmp_path)
    try:
        victim = Attacked(again)
        until(lambda: victim.ask("GET", "/readyz")[0] == 200)
        assert victim.ask("POST", _JOBS, a_job("later", parallelism=1))[0] == 201
        until(lambda: victim.ask("GET", "/explain/Job/default/later")[0] == 200)
    finally:
        again.process.kill()
        again.process.wait()


@thorough
def test_an_object_that_cannot_be_read_is_reported_and_not_served(tmp_path: Path) -> None:
    with attacked(tmp_path) as victim:
        for number in range(3):
            assert victim.ask("POST", _MAPS, {"metadata": {"name": f"m{number}"}, "data": {"a": "b"}})[0] == 201
        assert victim.plane.stop() == 0
    with sqlite3.connect(tmp_path / "data" / "store.db") as database:
        database.execute("UPDATE revisions SET body = ? WHERE name = 'm1'", (b'{"metadata": {"na',))
    again = _restarted(tmp_path)
    try:
        victim = Attacked(again)
        names = [each["metadata"]["name"] for each in victim.get(_MAPS)["items"]]
        assert names == ["m0", "m2"]
        assert "store.db: ConfigMap/default/m1" in victim.warnings()
        assert victim.ask("POST", _MAPS, {"metadata": {"name": "m1"}})[0] == 201
    finally:
        again.process.kill()
        again.process.wait()


@thorough
def test_a_store_that_is_damaged_is_named(tmp_path: Path) -> None:
    with attacked(tmp_path) as victim:
        for number in range(200):
            assert victim.ask("POST", _MAPS, {"metadata": {"name": f"m{number}"}, "data": {"a": "b" * 500}})[0] == 201
        assert victim.plane.stop() == 0
    with sqlite3.connect(tmp_path / "data" / "store.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = tmp_path / "data" / "store.db"
    content = bytearray(file.read_bytes())
    content[16384:-4096] = b"\xff" * (len(content) - 20480)
    file.write_bytes(content)
    again = _restarted(tmp_path)
    assert again.process.wait(60) != 0
    assert "store.db" in again.errors.read_text()
    shutil.rmtree(tmp_path / "data")
