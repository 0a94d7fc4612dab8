"""How many connections there are, and for how long one may keep silent.

1. There is a limit for all of them, below what the system lets this process open: files and agents keep theirs. There
   is one for each client, too, so that one alone leaves something to others. Who comes beyond that is told so at once.
2. Whoever connects says what they want within some seconds, and sends what belongs to it within some more.
3. Where descriptors run out all the same, that is one line in the log each second, however many are waiting.
"""

import asyncio
import logging
import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from reprieve.stores.errors import Unavailable
from reprieve.texts import server as texts

_log = logging.getLogger("reprieve.server")
_ACCEPTING = "socket.accept() out of system resource"
_RETRY_AFTER = 1
_READ_AT_ONCE = 32 * 1024
"""Bytes that are read from a connection before others have their turn: in pieces of one byte they take a while, too."""


class Limits(NamedTuple):
    """What connections may take, and how long."""

    in_all: int = 1_000
    each: int = 500
    """Of one client; all of a machine are one."""
    headers_seconds: float = 10.0
    idle_seconds: int = 30
    """Between two requests."""

    def possible(self) -> "Limits":
        """As far as the system allows: half of what may be open is for files, and for whoever runs pods."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = self.in_all if soft == resource.RLIM_INFINITY else min(self.in_all, max(16, soft // 2))
        return self._replace(in_all=most, each=min(self.each, most))


class _Open:
    """The connections that there are."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._by_client: Counter[str] = Counter()
        self._number = 0

    def come(self, client: str) -> str:
        """One more; why not, if there are too many."""
        self._number += 1
        self._by_client[client] += 1
        if self._number > self.limits.in_all:
            return texts.too_many_connections(self.limits.in_all)
        if self._by_client[client] > self.limits.each:
            return texts.too_many_of_one(self.limits.each)
        return ""

    def go(self, client: str) -> None:
        self._number -= 1
        self._by_client[client] -= 1
        if self._by_client[client] <= 0:
            del self._by_client[client]


class LimitedProtocol(H11Protocol):
    """HTTP on one connection, within limits that all connections share."""

    open_: _Open
    _whose = ""
    _refused = False
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.max_size = _READ_AT_ONCE  # type: ignore[attr-defined]
        self._whose = self.client[0] if self.client else ""
        refusal = self.open_.come(self._whose)
        if refusal:
            self._refused = True
            transport.write(_answer(refusal))
            transport.close()
        else:
            self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open_.go(self._whose)
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._patience is None:
            self._wait_for_headers()

    def _wait_for_headers(self) -> None:
        self._patience = self.loop.call_later(self.open_.limits.headers_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def limited_protocol(limits: Limits) -> type[H11Protocol]:
    """The protocol of one server: its connections are counted together."""
    return type("LimitedProtocol", (LimitedProtocol,), {"open_": _Open(limits)})


def _answer(refusal: str) -> bytes:
    """Before anything was asked, in plain bytes."""
    body = msgspec.json.encode(Unavailable(refusal, retry_after=_RETRY_AFTER).status())
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
        f"retry-after: {_RETRY_AFTER}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def calm_exceptions(loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Tell once a second that nobody can be let in, instead of for everybody who waits; call what is returned to undo
    it."""
    before = loop.get_exception_handler()
    last = -1.0

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last
        if context.get("message") != _ACCEPTING:
            (before or type(loop).default_exception_handler)(loop, context)
        elif time.monotonic() - last >= 1.0:
            last = time.monotonic()
            _log.warning("%s", texts.no_descriptors(context.get("exception")))

    loop.set_exception_handler(handle)
    return lambda: loop.set_exception_handler(before)
