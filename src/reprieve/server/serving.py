"""Serving the API: on the event loop that runs already, until somebody stops it.

Signals are the program's own business: this takes none.
"""

import asyncio
import errno
import logging
import socket
from contextlib import AbstractContextManager, nullcontext

import uvicorn
from starlette.applications import Starlette

from reprieve.manifests.problems import ReprieveError
from reprieve.server.connections import Limits, calm_exceptions, limited_protocol
from reprieve.server.guard import is_loopback
from reprieve.texts import server as texts

_BACKLOG = 128
_GRACE_SECONDS = 5


class AddressInUse(ReprieveError):
    """Another program listens there, or this one may not."""


class TokenRequired(ReprieveError):
    """An address that others can reach is only served with a token."""


class _Server(uvicorn.Server):
    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


class Serving:
    """A server that runs. Stop it, or let it run and wait for it."""

    def __init__(self, app: Starlette, server: _Server, listener: socket.socket, host: str) -> None:
        self.host = host
        self.port: int = listener.getsockname()[1]
        self._app = app
        self._server = server
        self._listener = listener
        self._undo = calm_exceptions(asyncio.get_running_loop())
        self._task = asyncio.create_task(server.serve(sockets=[listener]), name="http")

    @property
    def url(self) -> str:
        """Where it is reached from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    async def started(self) -> None:
        """Wait until requests are answered."""
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.01)
        if self._task.done():
            await self._task

    async def wait(self) -> None:
        """Until it ends."""
        await asyncio.shield(self._task)

    async def stop(self) -> None:
        """End open watches, answer what is being answered, and let go of the port."""
        self._app.state.stopping.set()
        self._server.should_exit = True
        try:
            await asyncio.shield(self._task)
        finally:
            self._listener.close()
            self._undo()


async def serve(app: Starlette, host: str = "127.0.0.1", port: int = 0, limits: Limits | None = None) -> Serving:
    """Answer requests from now on; port 0 takes any that is free."""
    if not is_loopback(host) and not app.state.guarded:
        raise TokenRequired(texts.UNPROTECTED)
    limits = (limits or Limits()).possible()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what clients do wrong fills no log
    listener = _listen(host, port)
    configuration = uvicorn.Config(
        app,
        http=limited_protocol(limits),
        timeout_keep_alive=limits.idle_seconds,
        access_log=False,
        log_config=None,
        lifespan="on",
        ws="none",
        backlog=_BACKLOG,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    serving = Serving(app, _Server(configuration), listener, host)
    try:
        await serving.started()
    except BaseException:
        listener.close()
        raise
    return serving


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise AddressInUse(texts.cannot_listen(host, port, error.strerror or str(error))) from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressInUse(texts.address_in_use(host, port)) from error
        raise AddressInUse(texts.cannot_listen(host, port, error.strerror or str(error))) from error
    listener.setblocking(False)
    return listener
