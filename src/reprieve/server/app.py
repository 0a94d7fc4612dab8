"""The application: which path leads where, and what happens to what nobody expected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from reprieve.server import answers, discovery, openapi, own, reading, subresources, watching, writing
from reprieve.server.answers import Answer, WrongMethod, error_answer, form_of, json_answer, wants_aggregated
from reprieve.server.guard import METHODS, Guard
from reprieve.server.list_pages import ListPages
from reprieve.server.plane import Plane
from reprieve.server.requests import AnyRequest, Call, query_of, segments_of, target_of
from reprieve.stores.errors import NotFound, StoreError, Unavailable
from reprieve.texts import server as texts

_LOG = logging.getLogger("reprieve.server")
_GET = ("GET",)
Verb = Callable[[Call], Awaitable[Answer]]
Handler = Callable[[AnyRequest], Awaitable[Answer]]


def create_app(plane: Plane, *, token: str = "") -> Litestar:
    """The API of a control plane; with a token, only for those who send it."""
    stopping = asyncio.Event()
    app = Litestar(
        route_handlers=_routes(plane, stopping),
        middleware=[partial(_guarded, guard=Guard(token))],
        exception_handlers={StoreError: _refused, HTTPException: _http_error, Exception: _unexpected},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
    app.state.stopping = stopping
    app.state.token = token
    return app


def _guarded(app: ASGIApp, guard: Guard) -> ASGIApp:
    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        guard.check(scope)
        await app(scope, receive, send)

    return check


def _routes(plane: Plane, stopping: asyncio.Event) -> list[HTTPRouteHandler]:
    objects = _objects(plane, stopping)
    table: tuple[tuple[str, Handler, tuple[str, ...]], ...] = (
        ("/", _given(lambda: {"paths": openapi.root_paths()}), _GET),
        ("/api", _entrance(discovery.core_versions, core=True), _GET),
        ("/apis", _entrance(discovery.group_list, core=False), _GET),
        ("/api/{name:str}", _one_group, _GET),
        ("/apis/{name:str}", _one_group, _GET),
        ("/apis/{group:str}/{name:str}", _one_version, _GET),
        ("/api/{name:str}/{rest:path}", objects, METHODS),
        ("/apis/{group:str}/{name:str}/{rest:path}", objects, METHODS),
        ("/version", _given(discovery.version), _GET),
        ("/openapi/v3", _given(openapi.index), _GET),
        ("/openapi/v3/{rest:path}", _openapi_group, _GET),
        ("/openapi.json", _given(openapi.whole), _GET),
        ("/healthz", partial(own.healthz, plane), _GET),
        ("/livez", partial(own.healthz, plane), _GET),
        ("/readyz", partial(own.readyz, plane), _GET),
        ("/metrics", partial(own.metrics, plane), _GET),
        ("/plan", partial(own.plan, plane), ("GET", "POST")),
        ("/explain/{rest:path}", partial(own.explain, plane), _GET),
        ("/story/{rest:path}", partial(own.story, plane), _GET),
        ("/decisions", partial(own.decisions, plane), _GET),
        ("/decisions/{name:str}", partial(own.decision, plane), _GET),
    )
    return [_route(*row) for row in table]


def _route(path: str, handler: Handler, methods: tuple[str, ...]) -> HTTPRouteHandler:
    async def handle(request: Request[Any, Any, Any]) -> Any:
        if request.method not in methods:
            raise WrongMethod(str(request.method), methods)
        return await handler(request)

    return HTTPRouteHandler(path, http_method=list(METHODS), status_code=200, include_in_schema=False)(handle)  # type: ignore[arg-type]


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
        return await _verb_of(call)(call)

    return answer


def _given(make: Callable[[], Any]) -> Handler:
    async def answer(_: AnyRequest) -> Answer:
        return json_answer(make())

    return answer


def _entrance(plain: Callable[[], Any], *, core: bool) -> Handler:
    """Which versions or groups there are; for clients that ask so, with all that is in them."""

    async def answer(request: AnyRequest) -> Answer:
        if not wants_aggregated(request.headers.get("accept", "")):
            return json_answer(plain())
        found = json_answer(discovery.aggregated(core=core))
        found.media_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
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


def _refused(_: AnyRequest, error: StoreError) -> Response[bytes]:
    return error_answer(error)


def _http_error(request: AnyRequest, error: HTTPException) -> Response[bytes]:
    """What the framework itself refuses: paths and methods that are not there."""
    if error.status_code == 405:
        return error_answer(WrongMethod(str(request.method), METHODS))
    if error.status_code == 404:
        return error_answer(NotFound(texts.NO_SUCH_PATH))
    return _unexpected(request, error)


def _unexpected(request: AnyRequest, error: Exception) -> Response[bytes]:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_answer(answers.InternalError(texts.INTERNAL))


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
    "log": {"GET": subresources.log},
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
