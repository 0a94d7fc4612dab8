"""What can go wrong between a client and an API server, and for which requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# /api/v1 or /apis/GROUP/VERSION, a namespace or none, the resource, and a name or none.
_RESOURCE = re.compile(
    r"/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+(?=/[^/]))?/(?P<resource>[^/]+)(?:/(?P<name>[^/]+)(?:/.*)?)?"
)
_REASONS = {
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.GONE: "Expired",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
    HTTPStatus.GATEWAY_TIMEOUT: "Timeout",
}


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    target: str
    user: str = ""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def parameters(self) -> Mapping[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def verb(self) -> str:
        """As Kubernetes calls it: get, list, watch, create, update, patch, delete or deletecollection."""
        found = _RESOURCE.fullmatch(self.path)
        collection = found is not None and not found["name"]
        if self.method == "GET":
            watches = self.parameters.get("watch") in {"true", "1"}
            return "watch" if watches else "list" if collection else "get"
        if self.method == "DELETE" and collection:
            return "deletecollection"
        return _WRITES.get(self.method, self.method.lower())


@dataclass(frozen=True)
class Answer:
    """The server is not asked; the client gets this code, and a Status as an API server would send it."""

    code: int
    retry_after: int | None = None
    cause: str = ""
    """Why, where the server says that in a word of its own: `DisruptionBudget` where a budget forbids an eviction."""

    def headers(self) -> list[tuple[str, str]]:
        return [] if self.retry_after is None else [("Retry-After", str(self.retry_after))]

    def body(self) -> bytes:
        details = {"details": {"causes": [{"reason": self.cause}]}} if self.cause else {}
        return json.dumps({**status(self.code), **details}).encode()


@dataclass(frozen=True)
class Delay:
    """The request reaches the server only so much later."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection breaks: before the server has heard of the request, or when it has done what was asked."""

    done: bool = False


@dataclass(frozen=True)
class WatchError:
    """A watch begins as it should, and its first event is an error: 410 where what is asked for is too old."""

    code: int = HTTPStatus.GONE

    def body(self) -> bytes:
        return json.dumps({"type": "ERROR", "object": status(self.code)}).encode() + b"\n"


Fault = Answer | Delay | Cut | WatchError
Matches = Callable[[Request], bool]


@dataclass
class Injection:
    """A fault, whom it meets, and how often it still will; `hits` counts whom it met."""

    fault: Fault
    when: Matches
    times: int | None
    hits: list[Request] = field(default_factory=list)

    def takes(self, request: Request) -> bool:
        """Whether it meets this one; if so, that counts."""
        if (self.times is not None and len(self.hits) >= self.times) or not self.when(request):
            return False
        self.hits.append(request)
        return True


def matching(*, verb: str | None = None, path: str = "", user: str | None = None) -> Matches:
    """Requests with this verb, this regular expression in their path, from this user; what is not said is any."""
    pattern = re.compile(path)

    def matches(request: Request) -> bool:
        return (
            (verb is None or request.verb == verb)
            and pattern.search(request.path) is not None
            and (user is None or request.user == user)
        )

    return matches


def status(code: int) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"the proxy answers {code}, as the test wants it",
        "reason": _REASONS.get(HTTPStatus(code), "Unknown"),
        "code": int(code),
    }
