"""Requests to an API server, as raw bytes: sent within a rate, tried again when the server asks for patience.

1. The server says 429 when it has too much to do, and when to come back: that is done a few times. A budget that does
   not allow an eviction answers with the same number; that is an answer.
2. Whether a write has arrived whose connection broke is not known: it is `Unavailable`, and whoever wrote finds out
   from what the store says next. Nothing is sent twice from here.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import aiohttp
import msgspec

from reprieve.stores import errors
from reprieve.stores.errors import StoreError
from reprieve.stores.kubernetes.access import Access
from reprieve.stores.kubernetes.rate_limit import RateLimit

JSON = "application/json"
Check = Callable[[], None]
_PATIENCE = 5
"""How often a request is sent again that the server had no time for."""
_LONGEST_PAUSE = 30.0
_ANSWER_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 90.0
"""A watch tells something once a minute, a bookmark at least: when it does not, nobody is there any more."""

_BY_REASON: dict[str, type[StoreError]] = {
    kind.reason: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StoreError)
}
_BY_CODE: dict[int, type[StoreError]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    405: errors.MethodNotAllowed,
    409: errors.Conflict,
    410: errors.Expired,
    413: errors.TooLarge,
    415: errors.UnsupportedMediaType,
    422: errors.Invalid,
    429: errors.TooManyRequests,
}


def _anything() -> None:
    """Everything may be sent."""


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct):
    name: str = ""
    group: str = ""
    kind: str = ""
    causes: list[_Cause] = []
    retryAfterSeconds: int = 0  # noqa: N815


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(_Status)


class Requests:
    """Everything that is sent to one API server."""

    def __init__(self, access: Access, limit: RateLimit, agent: str = "reprieve") -> None:
        self._access = access
        self._limit = limit
        self._agent = agent

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content: str = JSON,
        accept: str = JSON,
        check: Check = _anything,
    ) -> bytes:
        """The body of the answer. `check` is asked each time at the last moment, however long it took until it was this
        request's turn, and raises where it may not be sent."""
        for tries in range(_PATIENCE + 1):
            await self._limit.wait()
            check()
            try:
                return await self._send(method, path, query, body, content, accept)
            except errors.TooManyRequests as busy:
                if tries == _PATIENCE or over_budget(busy):
                    raise
                await asyncio.sleep(min(_LONGEST_PAUSE, float(busy.retry_after or 1)))
        raise AssertionError("unreachable")

    async def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, content: str, accept: str
    ) -> bytes:
        timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS, sock_connect=_CONNECT_SECONDS)
        headers = {"Accept": accept, **({"Content-Type": content} if body is not None else {})}
        async with self._request(method, path, query, body, headers, timeout) as answer:
            found: bytes = await answer.read()
            if answer.status >= 400:
                raise self._refusal(answer.status, found, answer.headers.get("Retry-After", ""))
            return found

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """An answer that goes on, in the pieces in which it arrives."""
        await self._limit.wait()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENCE_SECONDS)
        async with self._request("GET", path, query, None, {"Accept": JSON}, timeout) as answer:
            if answer.status >= 400:
                raise self._refusal(answer.status, await answer.read(), answer.headers.get("Retry-After", ""))
            yield answer.content.iter_any()

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        headers: dict[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> AsyncIterator[Any]:
        named: dict[str, Any] = {}
        if self._access.server_name:
            named["server_hostname"] = self._access.server_name
        try:
            headers |= {"User-Agent": self._agent, **await self._access.headers()}
            async with self._access.session.request(
                method,
                self._access.host + path,
                params=query,
                data=body,
                headers=headers,
                timeout=timeout,
                proxy=self._access.configuration.proxy,
                **named,
            ) as answer:
                yield answer
        except (aiohttp.ClientError, TimeoutError, ssl.SSLError, OSError) as error:
            raise errors.Unavailable(f"{self._access.host} cannot be reached: {_said(error)}") from error

    def _refusal(self, code: int, body: bytes, retry_after: str) -> StoreError:
        if code == HTTPStatus.UNAUTHORIZED and self._access.renewal is not None:
            self._access.renewal.refused()
        return refusal(code, body, retry_after)

    @property
    def host(self) -> str:
        return self._access.host

    async def close(self) -> None:
        await self._access.close()


def refusal(code: int, body: bytes, retry_after: str = "") -> StoreError:
    """What the server says no to, as the store's own errors."""
    status = _status(body)
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(code)
    if kind is None or kind is StoreError:
        kind = errors.Unavailable if code >= 500 else errors.BadRequest
    details = status.details or _Details()
    return kind(
        status.message or f"the server answers with {code}",
        group=details.group,
        kind=details.kind,
        name=details.name,
        causes=[(cause.reason, cause.message, cause.field) for cause in details.causes],
        retry_after=details.retryAfterSeconds or (int(retry_after) if retry_after.isdigit() else 0),
    )


def _status(body: bytes) -> _Status:
    try:
        return _STATUS.decode(body)
    except msgspec.MsgspecError:
        return _Status(message=body[:200].decode(errors="replace").strip())


def over_budget(refused: StoreError) -> bool:
    """Whether a budget says no, and not a server that has too much to do."""
    return any(reason == "DisruptionBudget" for reason, _, _ in refused.causes)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
