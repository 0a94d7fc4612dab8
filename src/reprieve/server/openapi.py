"""OpenAPI: one document for each version of each group, as kubectl reads it, and one of everything."""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from reprieve import __version__
from reprieve.manifests.kinds import RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.server import discovery, schemas, visibility, visibility_operations
from reprieve.server.operations import KindOperations
from reprieve.server.own_operations import OWN_PATHS, OWN_SCHEMAS
from reprieve.server.schemas import SHARED, Schema

_INFO = {
    "title": "Reprieve",
    "version": __version__,
    "description": "Kubernetes' API for the kinds that scheduling is about, and Reprieve's own.",
}


def _versions() -> dict[str, tuple[str, str]]:
    """Every version of every group, by its path: `api/v1`, `apis/batch/v1`."""
    named = {
        f"apis/{group}/{version}": (group, version)
        for group, versions in discovery.groups().items()
        for version in versions
    }
    return {"api/v1": ("", "v1"), **named}


@cache
def index() -> dict[str, Any]:
    paths = {}
    for path in _versions():
        digest = hashlib.sha256(msgspec.json.encode(of_group(path))).hexdigest()[:32].upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def of_group(path: str) -> dict[str, Any] | None:
    """The document of one version of a group; None: there is none."""
    return _of_known_group(path) if path in _versions() else None


@cache
def _of_known_group(path: str) -> dict[str, Any]:
    group, version = _versions()[path]
    pairs = [(resource, version) for resource in discovery.resources_in(group, version)]
    document = _document(pairs, schemas.components(kept=True), whole=False)
    if group == visibility.GROUP:
        _add(document, visibility_operations.paths(version), visibility_operations.SCHEMAS)
    return document


@cache
def whole() -> dict[str, Any]:
    """Everything, with what Reprieve adds."""
    pairs = [(resource, version) for resource in RESOURCES.values() for version in resource.versions]
    document = _document(pairs, schemas.components(kept=False), whole=True)
    _add(document, OWN_PATHS, OWN_SCHEMAS)
    for version in visibility.VERSIONS:
        _add(document, visibility_operations.paths(version), visibility_operations.SCHEMAS)
    return document


def _add(document: dict[str, Any], paths: Mapping[str, Any], known: Mapping[str, Schema]) -> None:
    document["paths"] |= paths
    document["components"]["schemas"] |= known


def root_paths() -> list[str]:
    """What a list of all entrances names."""
    groups = [f"/apis/{group}" for group in discovery.groups()]
    return sorted(
        ["/api", "/apis", "/openapi/v3", "/version", *groups, *(f"/{path}" for path in _versions())]
        + [path for path, verbs in OWN_PATHS.items() if path != "/version" and _is_entrance(path, verbs)]
    )


def _is_entrance(path: str, verbs: Mapping[str, Any]) -> bool:
    """Whether it can be read without saying anything else."""
    asks = verbs["get"].get("parameters", ()) if "get" in verbs else [{"required": True}]
    return "{" not in path and not any(each.get("required") for each in asks)


def _document(pairs: list[tuple[Resource, str]], known: dict[str, Schema], *, whole: bool) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    needed: dict[str, Schema] = {each.__name__: known[each.__name__] for each in SHARED}
    for resource, version in pairs:
        operations = KindOperations(resource, version, whole=whole)
        paths |= operations.paths()
        needed[operations.name] = known[operations.name]
        needed[f"{operations.name}List"] = known[f"{operations.name}List"]
    _add_parts(needed, known)
    components = {"schemas": dict(sorted(needed.items()))}
    return {"openapi": "3.0.3", "info": _INFO, "paths": dict(sorted(paths.items())), "components": components}


def _add_parts(needed: dict[str, Schema], known: dict[str, Schema]) -> None:
    """All that the schemas refer to, and what that refers to."""
    unseen = list(needed.values())
    while unseen:
        for name in _references(unseen.pop()):
            if name not in needed:
                needed[name] = known[name]
                unseen.append(known[name])


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in _references(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"].rpartition("/")[2]] if isinstance(schema.get("$ref"), str) else []
    return own + [name for value in schema.values() for name in _references(value)]
