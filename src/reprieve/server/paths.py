"""What a path of Kubernetes' API means: which resource, in which version, where, and what about it.

Segments are taken from the path as it was sent and decoded one by one, so that an encoded slash never makes two of one.
"""

from typing import Any, NamedTuple
from urllib.parse import unquote

from reprieve.manifests.kinds import PODS, RESOURCES
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import BadRequest, NotFound
from reprieve.texts import server as texts


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


def segments_of(scope: Any) -> list[str]:
    """The segments of the path of a request, decoded."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
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
