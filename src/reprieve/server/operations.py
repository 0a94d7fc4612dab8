"""What can be done on the paths of one kind, as OpenAPI describes it."""

from typing import Any

from reprieve.manifests.resource import Resource
from reprieve.server.answers import JSON
from reprieve.server.queries import LARGEST, PROPAGATIONS
from reprieve.server.schemas import Schema, name_of, reference
from reprieve.stores.api.patches import MEDIA_TYPES

NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]{0,100}[a-z0-9])?$"}
_SECONDS = {"type": "integer", "minimum": 0, "maximum": 86400}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": LARGEST}
TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_JSON_PATCH = {"type": "array", "items": reference("JsonPatchOperation")}

_REASONS = {
    400: "The request makes no sense.",
    401: "A token is needed.",
    403: "An admission rule, or where the request comes from, forbids it.",
    404: "There is no such object.",
    406: "Only JSON can be answered.",
    408: "The body did not arrive in time.",
    409: "It exists already, or has changed since.",
    410: "The version asked for is too old.",
    413: "The body is too large.",
    415: "The body is in a format that is not accepted.",
    422: "The object is not valid.",
    429: "A budget does not allow it now.",
    503: "The server is stopping.",
    507: "The disk is full.",
    504: "The version asked for is yet to come.",
}
_ALWAYS = (400, 401, 403, 404, 406, 503)
_WRITING = (*_ALWAYS, 408, 409, 413, 415, 422, 507)


def in_query(name: str, schema: Schema) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}


def in_path(name: str, schema: Schema = NAME) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


_SELECT = (in_query("labelSelector", TEXT), in_query("fieldSelector", TEXT))
_LIST = (
    *_SELECT,
    in_query("limit", _NUMBER),
    in_query("continue", TEXT),
    in_query("resourceVersion", {"type": "string", "pattern": "^[0-9]{0,18}$"}),
    in_query("timeoutSeconds", _SECONDS),
    in_query("watch", _FLAG),
    in_query("allowWatchBookmarks", _FLAG),
)
_DRY_RUN = in_query("dryRun", {"type": "string", "enum": ["All"]})
_WRITE = (
    _DRY_RUN,
    in_query("fieldManager", TEXT),
    in_query("fieldValidation", {"type": "string", "enum": ["Ignore", "Warn", "Strict"]}),
)
_DELETE = (
    _DRY_RUN,
    in_query("gracePeriodSeconds", _COUNT),
    in_query("propagationPolicy", {"type": "string", "enum": list(PROPAGATIONS)}),
)
_LOG = (
    in_query("container", TEXT),
    in_query("follow", _FLAG),
    in_query("limitBytes", {**_NUMBER, "minimum": 1}),
    in_query("previous", _FLAG),
    in_query("run", _COUNT),
    in_query("sinceSeconds", {**_COUNT, "minimum": 1}),
    in_query("tailLines", _COUNT),
    in_query("timestamps", _FLAG),
    in_query("uid", TEXT),
)


def content(schema: Schema, *media_types: str) -> dict[str, Any]:
    return {media_type: {"schema": schema} for media_type in media_types or (JSON,)}


def responses(codes: tuple[int, ...], good: dict[int, Schema]) -> dict[str, Any]:
    """What may be answered: the good, and every error as a Status."""
    answers = {str(code): {"description": "Done.", "content": content(schema)} for code, schema in good.items()}
    status = content(reference("Status"))
    return answers | {str(code): {"description": _REASONS[code], "content": status} for code in sorted(set(codes))}


class KindOperations:
    """The operations of one kind in one version. `whole` also names what kubectl had better work out by itself."""

    def __init__(self, resource: Resource, version: str, *, whole: bool) -> None:
        self.resource = resource
        self.version = version
        self.whole = whole
        self.api_version = resource.in_version(version)
        self.name = name_of(self.api_version, resource.kind)
        self._tag = f"{resource.group or 'core'}/{version}"

    def paths(self) -> dict[str, Any]:
        root = f"/apis/{self.api_version}" if self.resource.group else f"/api/{self.version}"
        plural = self.resource.plural
        if not self.resource.namespaced:
            return self._below(f"{root}/{plural}", ())
        everywhere = {f"{root}/{plural}": {"get": self._list("ForAllNamespaces", ())}}
        return everywhere | self._below(f"{root}/namespaces/{{namespace}}/{plural}", (in_path("namespace"),))

    def _below(self, path: str, place: tuple[Any, ...]) -> dict[str, Any]:
        one = (*place, in_path("name"))
        found = {
            path: {
                "get": self._list("", place),
                "post": self._write("create", "post", place, {201: self._own()}),
                "delete": self._delete("deletecollection", (*place, *_SELECT, *_DELETE), reference(f"{self.name}List")),
            },
            f"{path}/{{name}}": self._object(one),
        }
        for subresource in self.resource.subresources:
            found[f"{path}/{{name}}/{subresource}"] = self._subresource(subresource, one)
        return found

    def _object(self, one: tuple[Any, ...], suffix: str = "") -> dict[str, Any]:
        written = {200: self._own()}
        verbs = {
            "get": self._operation("get", suffix, one, responses(_ALWAYS, written)),
            "put": self._write("replace", "put", one, written, suffix),
            "patch": self._patch(one, suffix),
        }
        if not suffix:
            deleted = {"anyOf": [self._own(), reference("Status")]}
            verbs["delete"] = self._delete("delete", (*one, *_DELETE), deleted)
        return verbs

    def _subresource(self, name: str, one: tuple[Any, ...]) -> dict[str, Any]:
        if name == "status":
            return self._object(one, "Status")
        if name == "finalize":
            return {"put": self._write("replace", "put", one, {200: self._own()}, "Finalize")}
        if name == "log":
            answers = responses(_ALWAYS, {})
            answers["200"] = {"description": "What the container wrote.", "content": content(TEXT, "text/plain")}
            return {"get": self._operation("get", "Log", (*one, *_LOG), answers)}
        kind = name.capitalize()
        codes = (*_WRITING, 429) if name == "eviction" else _WRITING
        operation = self._operation("create", kind, (*one, _DRY_RUN), responses(codes, {201: reference("Status")}))
        return {"post": {**operation, "requestBody": _body(reference(kind))}}

    def _list(self, suffix: str, place: tuple[Any, ...]) -> dict[str, Any]:
        answers = responses((*_ALWAYS, 410, 504), {200: reference(f"{self.name}List")})
        return self._operation("list", suffix, (*place, *_LIST), answers)

    def _write(
        self, action: str, method: str, place: tuple[Any, ...], good: dict[int, Schema], suffix: str = ""
    ) -> dict[str, Any]:
        operation = self._operation(action, suffix, (*place, *_WRITE), responses(_WRITING, good))
        return {
            **operation,
            "requestBody": _body(self._own(), JSON, "application/yaml"),
            "x-kubernetes-action": method,
        }

    def _patch(self, one: tuple[Any, ...], suffix: str) -> dict[str, Any]:
        """kubectl takes a strategic patch that is named for a schema that knows all fields: ours know what is read."""
        types = [each for each in MEDIA_TYPES if self._offers(each)]
        some = {each: {"schema": _JSON_PATCH if "json-patch" in each else {"type": "object"}} for each in types}
        good = {200: self._own(), 201: self._own()}
        operation = self._operation(
            "patch", suffix, (*one, *_WRITE, in_query("force", _FLAG)), responses(_WRITING, good)
        )
        return {**operation, "requestBody": {"required": True, "content": some}}

    def _offers(self, media_type: str) -> bool:
        return "strategic" not in media_type or (self.whole and not self.resource.custom)

    def _delete(self, action: str, parameters: tuple[Any, ...], good: Schema) -> dict[str, Any]:
        operation = self._operation(action, "", parameters, responses(_WRITING, {200: good}))
        return {**operation, "requestBody": {**_body(reference("DeleteOptions")), "required": False}}

    def _own(self) -> Schema:
        return reference(self.name)

    def _operation(self, action: str, suffix: str, parameters: tuple[Any, ...], answers: Any) -> dict[str, Any]:
        group, kind = self.resource.group, self.resource.kind
        words = "".join(word.capitalize() for word in (group.replace(".", " ").replace("-", " ") or "core").split())
        return {
            "operationId": f"{action}{words}{self.version.capitalize()}{kind}{suffix}",
            "tags": [self._tag],
            "parameters": list(parameters),
            "responses": answers,
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": group, "version": self.version, "kind": kind},
        }


def _body(schema: Schema, *media_types: str) -> dict[str, Any]:
    return {"required": True, "content": content(schema, *media_types)}
