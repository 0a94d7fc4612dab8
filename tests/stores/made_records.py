"""Records of objects that no store has."""

from __future__ import annotations

from typing import Any

import msgspec

from reprieve.manifests.resource import Resource
from reprieve.stores.records import Record


def record_from(resource: Resource, data: dict[str, Any]) -> Record:
    """A record of an object as a server sent it."""
    metadata = data["metadata"]
    return Record(
        resource,
        msgspec.json.encode(data),
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        version=int(metadata.get("resourceVersion") or 0),
    )
