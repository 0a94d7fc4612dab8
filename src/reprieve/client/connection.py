"""A connection to a control plane: Kubernetes' verbs, and what Reprieve adds to them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from reprieve.client.errors import Refused, Unreachable
from reprieve.manifests.resource import Resource
from reprieve.stores.api.paths import path_of

Data = dict[str, Any]
Items = list[Data]
Names = list[str]
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_MERGE = "application/merge-patch+json"
_FIELDS_ARE_KNOWN = {"fieldValidation": "Ignore"}
"""Whoever read the manifests has told of fields that do not exist, and where they stand."""
_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 60.0
# Numbers that manifests write exactly go out as numbers.
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host.startswith("127.") or host == "::1"


class Client:
    """Talks to one server. Raises `Unreachable` when nobody answers, and `Refused` when the answer is no."""

    def __init__(self, url: str, token: str = "", *, warn: Callable[[str], None] = lambda _: None) -> None:
        """`warn` is told what the server warns of, though it did what it was asked to."""
        self._warn = warn
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
            # A proxy of the environment is for the world outside, not for this machine.
            trust_env=not _is_loopback(self.url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    # Objects

    def get(self, resource: Resource, name: str, namespace: str = "", *, version: str = "") -> Data:
        return self._object("GET", path_of(resource, namespace, name, version=version))

    def find(self, resource: Resource, name: str, namespace: str = "", *, version: str = "") -> Data | None:
        """The object, or None where there is none of that name."""
        try:
            return self.get(resource, name, namespace, version=version)
        except Refused as error:
            if error.not_found:
                return None
            raise

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Data:
        """The list, as Kubernetes writes it."""
        return self._object("GET", path_of(resource, namespace), params=_selectors(labels, fields))

    def items(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Items:
        found: Items = self.list(resource, namespace, labels=labels, fields=fields)["items"]
        return found

    def table(
        self,
        resource: Resource,
        namespace: str = "",
        name: str = "",
        *,
        labels: str = "",
        fields: str = "",
        whole: bool = False,
    ) -> Data:
        """Objects as a table with headings; `whole` puts each object beside its row."""
        params = {**_selectors(labels, fields), "includeObject": "Object" if whole else "Metadata"}
        return self._object("GET", path_of(resource, namespace, name), params=params, headers={"Accept": _TABLE})

    def create(self, resource: Resource, data: Mapping[str, Any], namespace: str = "", *, version: str = "") -> Data:
        path = path_of(resource, namespace, version=version)
        return self._object("POST", path, body=data, params=_FIELDS_ARE_KNOWN)

    def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch: Mapping[str, Any],
        *,
        version: str = "",
        subresource: str = "",
    ) -> Data:
        """A merge patch."""
        path = path_of(resource, namespace, name, version=version, subresource=subresource)
        return self._object("PATCH", path, body=patch, headers={"Content-Type": _MERGE})

    def delete(
        self, resource: Resource, name: str, namespace: str = "", *, grace: int | None = None, propagation: str = ""
    ) -> Data:
        asked = {"gracePeriodSeconds": grace, "propagationPolicy": propagation or None}
        options = {name: value for name, value in asked.items() if value is not None}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return self._object("DELETE", path_of(resource, namespace, name), body=body)

    def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        since: str = "",
        labels: str = "",
        fields: str = "",
        table: bool = False,
    ) -> Iterator[tuple[str, Data]]:
        """Events as they happen, until the server ends them; `Refused` and `expired` when the version is too old."""
        params = {**_selectors(labels, fields), "watch": "true", "resourceVersion": since}
        params |= {"allowWatchBookmarks": "true", "includeObject": "Object"}
        headers = {"Accept": _TABLE} if table else {}
        with self._stream(path_of(resource, namespace), params, headers) as answer:
            for line in answer.iter_lines():
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    raise _refusal(event["object"])
                yield event["type"], event["object"]

    def logs(self, resource: Resource, name: str, namespace: str, **options: Any) -> Iterator[bytes]:
        """What a container wrote, in pieces."""
        params = {key: _text(value) for key, value in options.items() if value not in (None, False, "")}
        path = path_of(resource, namespace, name, subresource="log")
        with self._stream(path, params, {}) as answer:
            yield from answer.iter_raw()

    def raw(self, path: str) -> str:
        """What is answered to a path, as it is."""
        with self._reaching():
            answer = self._http.get(path)
        if answer.status_code >= 400:
            raise _refusal(_decoded(answer.content), answer.status_code)
        return answer.text

    # Decisions

    def plan(self, unit: str = "", now: str = "", manifests: Sequence[Any] | None = None) -> Data:
        """What would be decided over all that is there, and these manifests; who reads them knows of unknown fields."""
        asked = {"for": unit, "now": now, "manifests": manifests or ()}
        body = {name: value for name, value in asked.items() if value}
        return self._object("POST", "/plan", body=body, timeout=None, params=_FIELDS_ARE_KNOWN)

    def feature_gates(self) -> dict[str, bool]:
        """Which gates are on and off there, as far as it tells: those of Kubernetes' components do so in this way."""
        with self._reaching():
            answer = self._http.get("/metrics")
        return {found["name"]: found["value"].startswith("1") for found in _GATE.finditer(answer.text)}

    def compare(self, now: str, manifests: Sequence[Any], settings: Sequence[Any], deleted: Sequence[str]) -> Data:
        """What would be different if these manifests and settings were there, and what is to be deleted were not."""
        asked = {"now": now, "manifests": manifests, "settings": settings, "delete": deleted}
        body = {name: value for name, value in asked.items() if value}
        return self._object("POST", "/compare", body=body, timeout=None)

    def explain(self, unit: str, uid: str = "") -> Data:
        return self._object("GET", f"/explain/{quote(unit)}", params={"uid": uid} if uid else {})

    def attempts(self, unit: str) -> Items:
        """What a unit was tried as, in the order of time, each with the runs whose logs are known."""
        found: Items = self._object("GET", f"/attempts/{quote(unit)}")["attempts"]
        return found

    def units(self, name: str) -> Names:
        """What is called so, of any kind and in any namespace, also what is gone."""
        found: Names = self._object("GET", "/units", params={"name": name})["units"]
        return found

    def story(self, unit: str) -> Items:
        found: Items = self._object("GET", f"/story/{quote(unit)}")["story"]
        return found

    def agreement(self, limit: int) -> Data:
        """What a scheduler in shadow saw another one decide: how often alike, and the last times otherwise."""
        return self._object("GET", "/shadow", params={"limit": str(limit)})

    def queue_trees(self) -> Items:
        """YuniKorn's queues, from root down, for each partition; nothing where none are configured."""
        try:
            partitions = self._items("/ws/v1/partitions")
        except Refused as error:
            if error.not_found:
                return []  # a server that does not know them
            raise
        return [self._object("GET", f"/ws/v1/partition/{quote(each['name'])}/queues") for each in partitions]

    # Requests

    def _object(self, method: str, path: str, *, body: Any = None, timeout: float | None = -1, **options: Any) -> Data:
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        content = None if body is None else _ENCODER.encode(body)
        if timeout != -1:
            options["timeout"] = timeout
        with self._reaching():
            answer = self._http.request(method, path, content=content, headers=headers, **options)
        for sentence in _warnings(answer.headers.get("warning", "")):
            self._warn(sentence)
        found = _decoded(answer.content)
        if answer.status_code >= 400 or not isinstance(found, dict):
            raise _refusal(found, answer.status_code)
        return found

    def _items(self, path: str) -> Items:
        """An answer that is a list."""
        with self._reaching():
            answer = self._http.get(path)
        found = _decoded(answer.content)
        if answer.status_code >= 400 or not isinstance(found, list):
            raise _refusal(found, answer.status_code)
        return found

    @contextmanager
    def _stream(self, path: str, params: Mapping[str, str], headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
        with (
            self._reaching(),
            self._http.stream("GET", path, params=dict(params), headers=dict(headers), timeout=timeout) as answer,
        ):
            if answer.status_code >= 400:
                raise _refusal(_decoded(answer.read()), answer.status_code)
            yield answer

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise Unreachable(self.url, "no answer in time") from error
        except httpx.HTTPError as error:
            raise Unreachable(self.url, str(error) or type(error).__name__) from error


_GATE = re.compile(r'^kubernetes_feature_enabled\{name="(?P<name>\w+)".*\} (?P<value>\S+)$', re.MULTILINE)
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


def _warnings(header: str) -> Iterator[str]:
    """`299 - "a sentence", 299 - "another one"`."""
    return (re.sub(r"\\(.)", r"\1", found[1]) for found in _WARNING.finditer(header))


def _selectors(labels: str, fields: str) -> dict[str, str]:
    given = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in given.items() if value}


def _text(value: Any) -> str:
    return "true" if value is True else str(value)


def _decoded(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return content.decode(errors="replace")[:200]


def _refusal(found: Any, code: int = 0) -> Refused:
    """What the server said; whoever answers and does not speak Kubernetes' language is told apart."""
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        return Refused(found["message"], found.get("code") or code, found.get("reason") or "")
    return Refused(f"the answer ({code}) is none of a control plane: {str(found)[:120]!r}", code)
