"""One connection of a client to the proxy: its requests one after the other, each passed on or met by a fault."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11

from tests.kube.faults import Answer, Cut, Fault, Request, WatchError

_CHUNK = 65_536
# What a client says of itself; only the proxy may say it, and only of one whose certificate it has seen.
_IDENTITY = ("x-remote-user", "x-remote-group")
Headers = list[tuple[bytes, bytes]]
Faults = Callable[[Request], tuple[float, Fault | None]]


class Broken(Exception):
    """The connection is to be broken, or is."""


class Upstream:
    """The connection to the server behind, made when it is needed, and again when the server has closed it."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._protocol = h11.Connection(h11.CLIENT)

    async def send(self, request: h11.Request, body: bytes) -> None:
        if self._reader is None or self._reader.at_eof():
            await self.close()
            self._protocol = h11.Connection(h11.CLIENT)
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        assert self._writer is not None
        events: list[h11.Event] = [request, h11.Data(data=body), h11.EndOfMessage()]
        self._writer.write(b"".join(self._protocol.send(event) or b"" for event in events))
        await self._writer.drain()

    async def next_event(self) -> Any:
        assert self._reader is not None
        while (event := self._protocol.next_event()) is h11.NEED_DATA:
            self._protocol.receive_data(await self._reader.read(_CHUNK))
        return event

    async def finish(self) -> None:
        """Ready for the next request, on the same connection if the server keeps it."""
        if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE:
            self._protocol.start_next_cycle()
        else:
            await self.close()

    async def close(self) -> None:
        if self._writer is not None:
            await _break(self._writer)
        self._reader = self._writer = None


class Conversation:
    """`current` is the request that is being answered."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: Upstream, faults: Faults
    ) -> None:
        self._reader, self._writer, self._upstream, self._faults = reader, writer, upstream, faults
        self._protocol = h11.Connection(h11.SERVER)
        self._user, self._groups = _identity(writer.get_extra_info("peercert"))
        self.current: Request | None = None

    async def run(self) -> None:
        try:
            with suppress(Broken, OSError, h11.ProtocolError):
                while await self._one_request():
                    self._protocol.start_next_cycle()
        finally:
            await self._upstream.close()
            await _break(self._writer)

    def cut(self) -> None:
        """The client sees it at once; whoever answers it notices that nobody listens."""
        self._writer.transport.abort()

    async def _one_request(self) -> bool:
        """Whether another may follow it."""
        asked = await self._next_event()
        if not isinstance(asked, h11.Request):
            return False
        body = b""
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
        self.current = Request(asked.method.decode(), asked.target.decode(), self._user)
        await self._while_the_client_listens(self._answer(asked, body, self.current))
        self.current = None
        return self._protocol.our_state is h11.DONE

    async def _while_the_client_listens(self, answering: Any) -> None:
        """A client that has hung up needs no answer; one that says more already is heard later."""
        answer, listening = asyncio.create_task(answering), asyncio.create_task(self._hung_up())
        both = (answer, listening)
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        heard = answer.done()
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        if not heard:
            raise Broken
        await answer

    async def _hung_up(self) -> None:
        while data := await self._reader.read(_CHUNK):
            self._protocol.receive_data(data)

    async def _answer(self, asked: h11.Request, body: bytes, request: Request) -> None:
        seconds, fault = self._faults(request)
        await asyncio.sleep(seconds)
        if isinstance(fault, Answer):
            await self._say(fault.code, fault.body(), fault.headers())
        elif isinstance(fault, WatchError):
            await self._say(200, fault.body(), [])
        elif isinstance(fault, Cut) and not fault.done:
            raise Broken
        else:
            await self._pass_on(asked, body, break_when_done=fault is not None)

    async def _say(self, code: int, body: bytes, headers: list[tuple[str, str]]) -> None:
        kind = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        await self._send(h11.Response(status_code=code, headers=[*kind, *headers]))
        await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())

    async def _pass_on(self, asked: h11.Request, body: bytes, *, break_when_done: bool) -> None:
        headers = self._with_identity(list(asked.headers))
        await self._upstream.send(h11.Request(method=asked.method, target=asked.target, headers=headers), body)
        while not isinstance(event := await self._upstream.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.ConnectionClosed):
                raise Broken
            if not break_when_done:
                await self._send(event)
        if break_when_done:
            raise Broken
        await self._send(h11.EndOfMessage())
        await self._upstream.finish()

    def _with_identity(self, headers: Headers) -> Headers:
        kept = [(name, text) for name, text in headers if name.decode().lower() not in _IDENTITY]
        if self._user:
            kept.append((b"x-remote-user", self._user.encode()))
            kept.extend((b"x-remote-group", group.encode()) for group in self._groups)
        return kept

    async def _next_event(self) -> Any:
        while (event := self._protocol.next_event()) is h11.NEED_DATA:
            self._protocol.receive_data(await self._reader.read(_CHUNK))
        return event

    async def _send(self, event: h11.Event) -> None:
        self._writer.write(self._protocol.send(event) or b"")
        await self._writer.drain()


async def _break(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def _identity(certificate: Any) -> tuple[str, list[str]]:
    """Name and groups, as Kubernetes reads them from a certificate."""
    facts = [fact for part in (certificate or {}).get("subject", ()) for fact in part]
    names = [text for name, text in facts if name == "commonName"]
    return "".join(names), [text for name, text in facts if name == "organizationName"]
