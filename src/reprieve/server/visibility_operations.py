"""OpenAPI of Kueue's visibility API."""

from typing import Any

from reprieve.server.operations import TEXT, in_path, in_query, responses
from reprieve.server.schemas import Schema, reference
from reprieve.server.visibility import GROUP, ROUTES, SUMMARY

_INTEGER: Schema = {"type": "integer", "minimum": 0}
_ITEM: dict[str, Schema] = {
    "metadata": {"type": "object"},
    "priority": {"type": "integer"},
    "localQueueName": TEXT,
    "positionInClusterQueue": _INTEGER,
    "positionInLocalQueue": _INTEGER,
}
_LIST: Schema = {"type": "array", "items": reference("PendingWorkload")}
SCHEMAS: dict[str, Schema] = {
    "PendingWorkload": {"type": "object", "required": list(_ITEM), "properties": _ITEM},
    SUMMARY: {
        "type": "object",
        "required": ["kind", "apiVersion", "items"],
        "properties": {"kind": TEXT, "apiVersion": TEXT, "metadata": {"type": "object"}, "items": _LIST},
    },
}
_PARAMETERS = [
    {**in_query("offset", _INTEGER), "description": "The place of the first that is wanted."},
    {**in_query("limit", _INTEGER), "description": "How many are wanted at most; 1000 where nothing is said."},
]


def paths(version: str) -> dict[str, Any]:
    """The paths of one version."""
    return {path: _path(path, version) for path in ROUTES if path.startswith(f"/apis/{GROUP}/{version}/")}


def _path(path: str, version: str) -> dict[str, Any]:
    local = "{namespace}" in path
    named = [in_path("namespace"), in_path("name")] if local else [in_path("name")]
    what = "LocalQueue" if local else "ClusterQueue"
    operation = {
        "operationId": f"pendingWorkloadsOf{what}{version.capitalize()}",
        "tags": ["visibility"],
        "summary": f"Who waits in a {what}, and at which place.",
        "parameters": [*named, *_PARAMETERS],
        "responses": responses((400, 401, 403, 404), {200: reference(SUMMARY)}),
    }
    return {"get": operation}
