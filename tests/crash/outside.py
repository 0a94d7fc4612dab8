"""What is in the files of a control plane that was killed, read by nothing of the control plane itself."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from reprieve.manifests.resource import Resource
from reprieve.stores.records import Listing, Record

_ROWS = "SELECT resource, namespace, name, uid, version, type, body FROM revisions ORDER BY version"


class StoreFile:
    """The last version of each object in `store.db`."""

    def __init__(self, directory: Path) -> None:
        self.version = 0
        self._last: dict[tuple[str, str, str], tuple[Any, ...]] = {}
        if not (directory / "store.db").exists():
            return  # it was killed before there was one
        with closing(sqlite3.connect(f"file:{directory / 'store.db'}?mode=ro", uri=True)) as database:
            assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
            tables = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'revisions'").fetchone()[0]
            for resource, namespace, name, *row in database.execute(_ROWS) if tables else ():
                self._last[resource, namespace, name] = tuple(row)
                self.version = row[1]

    async def list(self, resource: Resource) -> Listing:
        records = [
            Record(resource, bytes(body), namespace=namespace, name=name, uid=uid, version=version)
            for (kind, namespace, name), (uid, version, type_, body) in self._last.items()
            if kind == resource.full_name and type_ != "DELETED"
        ]
        return Listing(records, self.version)


def audited(directory: Path) -> int | None:
    """How many changes the audit log says were made; None: it no longer has all of them. Every line of it is whole."""
    if (directory / "audit.log.1").exists():
        return None
    entries = [json.loads(line) for line in (directory / "audit.log").read_text().splitlines()]
    return sum(int(each["verb"] != "GET" and each["code"] < 300) for each in entries)
