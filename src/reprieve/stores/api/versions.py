"""The same object in another version of its API, where both are written alike."""

from typing import Any

from reprieve.manifests.kinds import READERS
from reprieve.stores.records import Record


def in_version(record: Record, version: str) -> dict[str, Any]:
    """The object's data in the version asked for, or in that in which it is kept when the two differ in shape."""
    asked = record.resource.in_version(version)
    data = record.data
    reader = READERS.get((asked, record.resource.kind))
    if asked == data["apiVersion"] or reader is None or reader.written is not record.reader().written:
        return data
    return {**data, "apiVersion": asked}
