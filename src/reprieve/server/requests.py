"""One request to Kubernetes' API: what its path means, and all that answering it takes.

Segments are taken from the path as it was sent and decoded one by one, so that an encoded slash never makes two of one.
"""

import asyncio
from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.requests import Request

from reprieve.access.identities import Identity
from reprieve.manifests.diagnosis import drop_nulls
from reprieve.manifests.kinds import PODS, READERS, RESOURCES
from reprieve.manifests.known_fields import unknown_fields
from reprieve.manifests.resource import Resource
from reprieve.server.answers import MOST_WARNINGS, AnswerForm
from reprieve.server.guard import identity_of
from reprieve.server.list_pages import ListPages
from reprieve.server.plane import Plane
from reprieve.server.queries import Query
from reprieve.server.turns import Turns, turns_of
from reprieve.stores.errors import BadRequest, Invalid, NotFound
from reprieve.stores.protocol import Rehearsing, Store
from reprieve.texts import server as texts

AnyRequest = Request


class PathTarget(NamedTuple):
    resource: Resource
    version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def api_version(self) -> str:
        return self.resource.in_version(self.version)

    @property
    def one_place(self) -> bool:
        """Whether objects can be created here: not in all namespaces at once."""
        return bool(self.namespace) or not self.resource.namespaced


def query_of(request: AnyRequest) -> Query:
    return Query(request.scope["query_string"])


def segments_of(request: AnyRequest) -> list[str]:
    """The segments of the path of a request, decoded."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    try:
        text = raw.split(b"?")[0].decode("ascii")
        return [unquote(part, errors="strict") for part in text.strip("/").split("/")]
    except UnicodeDecodeError as error:
        raise BadRequest(texts.UNREADABLE_PATH) from error


def target_of(segments: list[str]) -> PathTarget:
    """`api/v1/...` or `apis/GROUP/VERSION/...`: what it names."""
    root, *rest = segments
    if root == "api" and len(rest) > 1:
        return _resolve("", rest[0], rest[1:])
    if root == "apis" and len(rest) > 2:
        return _resolve(rest[0], rest[1], rest[2:])
    raise NotFound(texts.NO_SUCH_PATH)


def _resolve(group: str, version: str, rest: list[str]) -> PathTarget:
    namespace = ""
    inside = rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in ("status", "finalize"))
    if inside:
        namespace, rest = rest[1], rest[2:]
    if (group, version, rest) == ("", "v1", ["bindings"]) and namespace:
        return PathTarget(PODS, version, namespace, "", "binding")
    plural, name, subresource = (*rest, "", "")[:3]
    resource = RESOURCES.get((group, plural))
    if resource is None or version not in resource.versions or len(rest) > 3 or "" in rest:
        raise NotFound(texts.NO_SUCH_PATH)
    if (inside and not (namespace and resource.namespaced)) or (name and resource.namespaced and not namespace):
        raise NotFound(texts.NO_SUCH_PATH)
    if subresource not in ("", *resource.subresources):
        raise NotFound(texts.no_such_subresource(resource.full_name, subresource))
    return PathTarget(resource, version, namespace, name, subresource)


class Call(NamedTuple):
    plane: Plane
    request: AnyRequest
    target: PathTarget
    query: Query
    form: AnswerForm
    pages: ListPages
    stopping: asyncio.Event

    @property
    def identity(self) -> Identity:
        """Who asks."""
        return identity_of(self.request.scope)

    @property
    def turns(self) -> Turns:
        return turns_of(self.request)

    @property
    def store(self) -> Store:
        """Where the request is carried out, or only rehearsed."""
        return self.rehearsing() if self.query.choice("dryRun") else self.plane.store

    def rehearsing(self) -> Store:
        """The store for a dry run."""
        store = self.plane.store
        if not isinstance(store, Rehearsing):
            raise Invalid(texts.NO_DRY_RUN)
        return store.rehearsal()

    def check_fields(self, data: dict[str, Any]) -> list[str]:
        """Fields that the kind does not have, refused or warned of as the request wants it."""
        asked = self.query.choice("fieldValidation") or "Warn"
        if asked == "Ignore":
            return []
        reader = READERS[self.target.api_version, self.target.resource.kind]
        found = [
            texts.unknown_field(finding.field.removeprefix("$."), finding.suggestion)
            for finding in unknown_fields(drop_nulls(data), reader.written, MOST_WARNINGS)
        ]
        if found and asked == "Strict":
            raise BadRequest(texts.strict_decoding(found))
        return found
