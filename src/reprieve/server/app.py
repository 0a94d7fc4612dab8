"""The application: which path leads where, and what happens to what nobody expected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from reprieve.server import discovery, openapi, own, what_if
from reprieve.server.accepting import form_of, wants_aggregated
from reprieve.server.answers import InternalError, WrongMethod, error_answer, json_answer
from reprieve.server.guard import METHODS, Guard
from reprieve.server.list_pages import ListPages
from reprieve.server.paths import segments_of, target_of
from reprieve.server.plane import Plane
from reprieve.server.queries import Query
from reprieve.server.requests import Call
from reprieve.server.verbs import Answer, verb_of
from reprieve.stores.errors import NotFound, StoreError, Unavailable
from reprieve.texts import server as texts

_LOG = logging.getLogger("reprieve.server")
AnyRequest = Request[Any, Any, Any]
Handler = Callable[[AnyRequest], Awaitable[Answer]]


def create_app(plane: Plane, *, token: str = "") -> Litestar:
    """The API of a control plane; with a token, only for those who send it."""
    api = _Api(plane, Guard(token))
    stopping = api.stopping
    app = Litestar(
        route_handlers=_routes(api),
        middleware=[api.guarded],
        exception_handlers={StoreError: _refused, HTTPException: _http_error, Exception: _unexpected},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
    app.state.stopping = stopping
    app.state.token = token
    return app


class _Api:
    """The handlers, with what they share."""

    def __init__(self, plane: Plane, guard: Guard) -> None:
        self.plane = plane
        self.guard = guard
        self.pages = ListPages()
        self.stopping = asyncio.Event()

    def guarded(self, app: ASGIApp) -> ASGIApp:
        async def check(scope: Scope, receive: Receive, send: Send) -> None:
            self.guard.check(scope)
            await app(scope, receive, send)

        return check

    async def objects(self, request: AnyRequest) -> Answer:
        """Everything below `/api` and `/apis` that is about objects."""
        if self.stopping.is_set():
            raise Unavailable(texts.STOPPING, retry_after=1)
        target = target_of(segments_of(request.scope))
        query = _query(request)
        query.check()
        form = form_of(request.headers.get("accept", ""))
        call = Call(self.plane, request, target, query, form, self.pages, self.stopping)
        return await verb_of(call)(call)

    async def core(self, request: AnyRequest) -> Answer:
        if wants_aggregated(request.headers.get("accept", "")):
            return _aggregated(core=True)
        return json_answer(discovery.core_versions())

    async def groups(self, request: AnyRequest) -> Answer:
        if wants_aggregated(request.headers.get("accept", "")):
            return _aggregated(core=False)
        return json_answer(discovery.group_list())

    async def one_group(self, request: AnyRequest) -> Answer:
        """`/api/v1`, `/apis/GROUP`: what there is in it."""
        root, name = segments_of(request.scope)
        if (root, name) == ("api", "v1"):
            return json_answer(discovery.resource_list("", "v1"))
        if root == "apis" and name in discovery.groups():
            return json_answer(discovery.group(name))
        raise NotFound(texts.NO_SUCH_PATH)

    async def one_version(self, request: AnyRequest) -> Answer:
        _, group, version = segments_of(request.scope)
        if version not in discovery.groups().get(group, ()):
            raise NotFound(texts.NO_SUCH_PATH)
        return json_answer(discovery.resource_list(group, version))

    async def version(self, _: AnyRequest) -> Answer:
        return json_answer(discovery.version())

    async def root(self, _: AnyRequest) -> Answer:
        return json_answer({"paths": openapi.root_paths()})

    async def openapi_index(self, _: AnyRequest) -> Answer:
        return json_answer(openapi.index())

    async def openapi_group(self, request: AnyRequest) -> Answer:
        found = openapi.of_group("/".join(segments_of(request.scope)[2:]))
        if found is None:
            raise NotFound(texts.NO_SUCH_PATH)
        return json_answer(found)

    async def openapi_whole(self, _: AnyRequest) -> Answer:
        return json_answer(openapi.whole())

    async def healthz(self, request: AnyRequest) -> Answer:
        return own.health(self.plane, _query(request), ready=False)

    async def readyz(self, request: AnyRequest) -> Answer:
        return own.health(self.plane, _query(request), ready=True)

    async def metrics(self, _: AnyRequest) -> Answer:
        return own.metrics(self.plane)

    async def plan(self, request: AnyRequest) -> Answer:
        if request.method == "POST":
            return await what_if.plan_from_body(self.plane, _query(request), request)
        return await what_if.plan_from_query(self.plane, _query(request))

    async def explain(self, request: AnyRequest) -> Answer:
        return own.explain(self.plane, segments_of(request.scope)[1:])

    async def story(self, request: AnyRequest) -> Answer:
        return own.story(self.plane, _query(request), segments_of(request.scope)[1:])

    async def decisions(self, request: AnyRequest) -> Answer:
        return own.decisions(self.plane, _query(request))

    async def decision(self, request: AnyRequest) -> Answer:
        return own.decision(self.plane, segments_of(request.scope)[-1])


def _query(request: AnyRequest) -> Query:
    return Query(request.scope["query_string"])


def _aggregated(*, core: bool) -> Answer:
    answer = json_answer(discovery.aggregated(core=core))
    answer.media_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    return answer


def _routes(api: _Api) -> list[HTTPRouteHandler]:
    table: tuple[tuple[str, Handler, tuple[str, ...]], ...] = (
        ("/", api.root, ("GET",)),
        ("/api", api.core, ("GET",)),
        ("/apis", api.groups, ("GET",)),
        ("/api/{name:str}", api.one_group, ("GET",)),
        ("/apis/{name:str}", api.one_group, ("GET",)),
        ("/apis/{group:str}/{name:str}", api.one_version, ("GET",)),
        ("/api/{name:str}/{rest:path}", api.objects, METHODS),
        ("/apis/{group:str}/{name:str}/{rest:path}", api.objects, METHODS),
        ("/version", api.version, ("GET",)),
        ("/openapi/v3", api.openapi_index, ("GET",)),
        ("/openapi/v3/{rest:path}", api.openapi_group, ("GET",)),
        ("/openapi.json", api.openapi_whole, ("GET",)),
        ("/healthz", api.healthz, ("GET",)),
        ("/livez", api.healthz, ("GET",)),
        ("/readyz", api.readyz, ("GET",)),
        ("/metrics", api.metrics, ("GET",)),
        ("/plan", api.plan, ("GET", "POST")),
        ("/explain/{rest:path}", api.explain, ("GET",)),
        ("/story/{rest:path}", api.story, ("GET",)),
        ("/decisions", api.decisions, ("GET",)),
        ("/decisions/{name:str}", api.decision, ("GET",)),
    )
    return [_route(*row) for row in table]


def _route(path: str, handler: Handler, methods: tuple[str, ...]) -> HTTPRouteHandler:
    async def handle(request: Request[Any, Any, Any]) -> Any:
        if request.method not in methods:
            raise WrongMethod(str(request.method), methods)
        return await handler(request)

    handle.__name__ = f"handle_{getattr(handler, '__name__', 'request')}"
    return HTTPRouteHandler(path, http_method=list(METHODS), status_code=200, include_in_schema=False)(handle)  # type: ignore[arg-type]


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
    return error_answer(InternalError(texts.INTERNAL))
