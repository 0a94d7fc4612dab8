"""A proxy between clients and an API server that makes go wrong what a test wants to go wrong.

It ends TLS on both sides. Who a client is, by its certificate, it tells the server as a front proxy does, so that
rights stay those of the client; tokens are passed on.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self
from urllib.parse import urlsplit

from tests.kube.access import Access
from tests.kube.conversation import Conversation, Upstream
from tests.kube.faults import Delay, Fault, Injection, Matches, Request, matching


class FaultyProxy:
    """`with FaultyProxy(access, target) as proxy`: clients go to `proxy.url`, and `inject` says what they meet.

    It runs in a thread of its own; its methods may be called from any.
    """

    def __init__(self, access: Access, target: str) -> None:
        self._access = access
        self._target = target
        self._injections: list[Injection] = []
        self._conversations: set[Conversation] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self.requests: list[Request] = []
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.url = f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def inject(self, fault: Fault, when: Matches | None = None, times: int | None = 1) -> Injection:
        """The next so many requests that match meet this fault; with `times=None` all, until it is taken back."""
        injection = Injection(fault, when or matching(), times)
        self._injections.append(injection)
        return injection

    def take_back(self, injection: Injection) -> None:
        self._injections.remove(injection)

    def cut_all(self) -> int:
        """Break every connection that there is; how many that were."""
        return self._cut(lambda _: True)

    def cut_watches(self, path: str = "") -> int:
        """Break the connections on which a watch runs, of paths with this regular expression in them."""
        watches = matching(verb="watch", path=path)
        return self._cut(lambda conversation: conversation.current is not None and watches(conversation.current))

    def count(self, *, verb: str | None = None, path: str = "", user: str | None = None) -> int:
        """Requests that have come in so far, also those that met a fault."""
        matches = matching(verb=verb, path=path, user=user)
        return sum(1 for request in list(self.requests) if matches(request))

    def counts(self) -> Counter[tuple[str, str]]:
        """The same by verb and path."""
        return Counter((request.verb, request.path) for request in list(self.requests))

    def faults_for(self, request: Request) -> tuple[float, Fault | None]:
        """How long this request is delayed, and what else it meets: of several the one that was injected first."""
        self.requests.append(request)
        seconds, other = 0.0, None
        for injection in list(self._injections):
            if isinstance(injection.fault, Delay):
                seconds += injection.fault.seconds if injection.takes(request) else 0.0
            elif other is None and injection.takes(request):
                other = injection.fault
        return seconds, other

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._server_tls())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = urlsplit(self._target)
        upstream = Upstream(address.hostname or "", address.port or 443, self._client_tls())
        conversation = Conversation(reader, writer, upstream, self.faults_for)
        self._conversations.add(conversation)
        try:
            await conversation.run()
        finally:
            self._conversations.discard(conversation)

    def _cut(self, which: Callable[[Conversation], bool]) -> int:
        done: Future[int] = Future()

        def cut() -> None:
            chosen = [conversation for conversation in self._conversations if which(conversation)]
            for conversation in chosen:
                conversation.cut()
            self._conversations.difference_update(chosen)
            done.set_result(len(chosen))

        self._loop.call_soon_threadsafe(cut)
        return done.result()

    async def _close(self) -> None:
        self._server.close()
        for conversation in list(self._conversations):
            conversation.cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    def _server_tls(self) -> ssl.SSLContext:
        mine = self._access.certificate("proxy")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self._access.authority))
        context.load_cert_chain(mine.certificate, mine.key)
        # Who comes with a token has no certificate.
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def _client_tls(self) -> ssl.SSLContext:
        mine = self._access.front_proxy()
        context = ssl.create_default_context(cafile=str(self._access.authority))
        context.load_cert_chain(mine.certificate, mine.key)
        return context
