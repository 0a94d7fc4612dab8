"""The application: which path leads where, and what happens to what nobody expected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from reprieve.access.audit import AuditLog
from reprieve.access.identities import ANYBODY
from reprieve.access.rights import check_sees_all
from reprieve.access.tokens import Tokens
from reprieve.server import (
    answers,
    discovery,
    logs,
    openapi,
    own,
    reading,
    reviews,
    subresources,
    visibility,
    watching,
    what_if,
    writing,
    yunikorn,
)
from reprieve.server.answers import (
    Answer,
    WrongMethod,
    error_answer,
    form_of,
    json_answer,
    raw_answer,
    wants_aggregated,
)
from reprieve.server.auditing import audited
from reprieve.server.curtain import Curtain
from reprieve.server.guard import IDENTITY, METHODS, OPEN, Guard, identity_of
from reprieve.server.heavy_work import Places
from reprieve.server.list_pages import ListPages
from reprieve.server.permissions import check_call
from reprieve.server.plane import Plane
from reprieve.server.requests import AnyRequest, Call, query_of, segments_of, target_of
from reprieve.server.turns import Turns, turns_of
from reprieve.stores.errors import BadRequest, NotFound, StoreError, Unavailable
from reprieve.texts import server as texts

_LOG = logging.getLogger("reprieve.server")
_GET = ("GET",)
Verb = Callable[[Call], Awaitable[Answer]]
Handler = Callable[[AnyRequest], Awaitable[Answer]]
Row = tuple[str, Handler, tuple[str, ...]]


def create_app(
    plane: Plane, *, token: str = "", tokens: Tokens | None = None, audit: AuditLog | None = None
) -> Starlette:
    """The API of a control plane; with a token, or several, only for those who send one. `audit`: who did what."""
    stopping = asyncio.Event()
    table = [*_visibility(plane), *reviews.rows(), *_kubernetes(plane, stopping), *_own(plane)]
    return _app(plane, table, tokens or Tokens(token), stopping, audit)


def create_scheduler_app(plane: Plane, *, token: str = "") -> Starlette:
    """What a scheduler tells of itself: its health, its figures, its decisions. The objects are the API server's."""
    return _app(plane, [*_visibility(plane), *_own(plane)], Tokens(token), asyncio.Event())


def _app(
    plane: Plane, table: list[Row], tokens: Tokens, stopping: asyncio.Event, audit: AuditLog | None = None
) -> Starlette:
    guarded = Middleware(_Guarded, guard=Guard(tokens), audit=audit)
    app = Starlette(routes=[_route(plane, *row) for row in table], middleware=[guarded])
    app.router.redirect_slashes = False
    app.router.default = _Answering(_nowhere)
    app.state.stopping = stopping
    app.state.guarded = tokens.wanted
    app.state.turns, app.state.plans = Turns(), Places()
    return app


class _Guarded:
    """Whoever may not ask is told so before anything else happens. A slash at the end of a path means nothing."""

    def __init__(self, app: ASGIApp, guard: Guard, audit: AuditLog | None = None) -> None:
        self._app = app
        self._guard = guard
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        try:
            checked = self._guard.check(scope)
        except StoreError as error:
            return await error_answer(error)(scope, receive, audited(self._audit, scope, send))
        send = audited(self._audit, checked, send)
        await self._app({**checked, "path": checked["path"].rstrip("/") or "/"}, receive, send)


class _Answering:
    """A handler whose refusals, and whatever nobody expected, are answers, too."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._answer(Request(scope, receive, send)))(scope, receive, send)

    async def _answer(self, request: AnyRequest) -> Answer:
        try:
            return await self._handler(request)
        except StoreError as error:
            return error_answer(error)
        except ClientDisconnect:
            return error_answer(BadRequest(texts.CLIENT_LEFT))  # for the audit log: nobody hears it
        except Exception as error:
            _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
            return error_answer(answers.InternalError(texts.INTERNAL))


async def _nowhere(_: AnyRequest) -> Answer:
    raise NotFound(texts.NO_SUCH_PATH)


def _kubernetes(plane: Plane, stopping: asyncio.Event) -> list[Row]:
    """Objects, as an API server has them."""
    objects = _objects(plane, stopping)
    return [
        ("/", _given(lambda: {"paths": openapi.root_paths()}), _GET),
        ("/api", _entrance(discovery.core_versions, core=True), _GET),
        ("/apis", _entrance(discovery.group_list, core=False), _GET),
        ("/api/{name}", _one_group, _GET),
        ("/apis/{name}", _one_group, _GET),
        ("/apis/{group}/{name}", _one_version, _GET),
        ("/api/{name}/{rest:path}", objects, METHODS),
        ("/apis/{group}/{name}/{rest:path}", objects, METHODS),
        ("/version", _given(discovery.version), _GET),
        ("/openapi/v3", _given(openapi.index), _GET),
        ("/openapi/v3/{rest:path}", _openapi_group, _GET),
        ("/openapi.json", _given(openapi.whole), _GET),
    ]


def _visibility(plane: Plane) -> list[Row]:
    """Who waits in queues of quota, under Kueue's paths."""
    return [(path, partial(visibility.pending_workloads, plane), _GET) for path in visibility.ROUTES]


def _own(plane: Plane) -> list[Row]:
    """What Reprieve adds to that."""
    return [
        ("/healthz", partial(own.healthz, plane), _GET),
        ("/livez", partial(own.healthz, plane), _GET),
        ("/readyz", partial(own.readyz, plane), _GET),
        ("/metrics", _of_all(partial(own.metrics, plane)), _GET),
        ("/plan", partial(what_if.plan, plane), ("GET", "POST")),
        ("/compare", _of_all(partial(what_if.compare, plane)), ("POST",)),
        ("/explain/{rest:path}", partial(own.explain, plane), _GET),
        ("/attempts/{rest:path}", partial(own.attempts, plane), _GET),
        ("/units", partial(own.units, plane), _GET),
        ("/story/{rest:path}", partial(own.story, plane), _GET),
        ("/decisions", partial(own.decisions, plane), _GET),
        ("/decisions/{name}", partial(own.decision, plane), _GET),
        ("/shadow", _of_all(partial(own.shadow, plane)), _GET),
        *((path, _of_all(handler), methods) for path, handler, methods in yunikorn.rows(plane)),
    ]


def _of_all(handler: Handler) -> Handler:
    """What tells of all namespaces, for those who may see all of them."""

    async def answer(request: AnyRequest) -> Answer:
        check_sees_all(identity_of(request.scope))
        return await handler(request)

    return answer


def _route(plane: Plane, path: str, handler: Handler, methods: tuple[str, ...]) -> Route:
    async def handle(request: AnyRequest) -> Answer:
        if request.method not in methods:
            raise WrongMethod(str(request.method), methods)
        if path not in OPEN:
            await turns_of(request).next()
        answer = await handler(request)
        identity = request.scope.get(IDENTITY, ANYBODY)  # whether it lives may be asked by anybody
        return answer if identity.sees_all else Curtain(identity, plane.store).before(answer)

    return Route(path, _Answering(handle))


def _objects(plane: Plane, stopping: asyncio.Event) -> Handler:
    """Everything below `/api` and `/apis` that is about objects."""
    pages = ListPages()

    async def answer(request: AnyRequest) -> Answer:
        if stopping.is_set():
            raise Unavailable(texts.STOPPING, retry_after=1)
        target = target_of(segments_of(request))
        query = query_of(request)
        query.check()
        form = form_of(request.headers.get("accept", ""))
        call = Call(plane, request, target, query, form, pages, stopping)
        verb = _verb_of(call)
        check_call(call)
        return await verb(call)

    return answer


def _given(make: Callable[[], Any]) -> Handler:
    """What is always the same: written once."""
    made = cache(lambda: msgspec.json.encode(make()))

    async def answer(_: AnyRequest) -> Answer:
        return raw_answer(made())

    return answer


def _entrance(plain: Callable[[], Any], *, core: bool) -> Handler:
    """Which versions or groups there are; for clients that ask so, with all that is in them."""

    async def answer(request: AnyRequest) -> Answer:
        if not wants_aggregated(request.headers.get("accept", "")):
            return json_answer(plain())
        found = json_answer(discovery.aggregated(core=core))
        found.headers["content-type"] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return found

    return answer


async def _one_group(request: AnyRequest) -> Answer:
    """`/api/v1`, `/apis/GROUP`: what there is in it."""
    root, name = segments_of(request)
    if (root, name) == ("api", "v1"):
        return json_answer(discovery.resource_list("", "v1"))
    if root == "apis" and name in discovery.groups():
        return json_answer(discovery.group(name))
    raise NotFound(texts.NO_SUCH_PATH)


async def _one_version(request: AnyRequest) -> Answer:
    _, group, version = segments_of(request)
    if version not in discovery.groups().get(group, ()):
        raise NotFound(texts.NO_SUCH_PATH)
    return json_answer(discovery.resource_list(group, version))


async def _openapi_group(request: AnyRequest) -> Answer:
    found = openapi.of_group("/".join(segments_of(request)[2:]))
    if found is None:
        raise NotFound(texts.NO_SUCH_PATH)
    return json_answer(found)


# Which verb a request is: by its method, and by whether its path names one object, many, or something about one


async def _list_or_watch(call: Call) -> Answer:
    return await (watching.watch(call) if call.query.flag("watch") else reading.list_objects(call))


async def _get_or_watch(call: Call) -> Answer:
    return await (watching.watch(call) if call.query.flag("watch") else reading.get(call))


_ALL_NAMESPACES: dict[str, Verb] = {"GET": _list_or_watch}
_COLLECTION: dict[str, Verb] = {"GET": _list_or_watch, "POST": writing.create, "DELETE": writing.delete_collection}
_OBJECT: dict[str, Verb] = {
    "GET": _get_or_watch,
    "PUT": writing.replace,
    "PATCH": writing.patch,
    "DELETE": writing.delete,
}
_SUBRESOURCES: dict[str, dict[str, Verb]] = {
    "status": {"GET": reading.get, "PUT": writing.replace, "PATCH": writing.patch},
    "binding": {"POST": subresources.bind},
    "eviction": {"POST": subresources.evict},
    "log": {"GET": logs.log},
    "finalize": {"PUT": subresources.finalize},
}


def _verb_of(call: Call) -> Verb:
    target = call.target
    if target.subresource:
        verbs = _SUBRESOURCES[target.subresource]
    elif target.name:
        verbs = _OBJECT
    else:
        verbs = _COLLECTION if target.one_place else _ALL_NAMESPACES
    method = str(call.request.method)
    if method not in verbs:
        raise WrongMethod(method, verbs)
    return verbs[method]
