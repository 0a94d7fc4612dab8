"""Following one kind on an API server: from a version on, for as long as somebody wants to know.

1. A watch that ends or breaks is taken up where it was, at once the first time, then after longer and longer waits with
   some jitter, so that a server which comes back is not overrun.
2. Bookmarks move the place from which it is taken up, so that a quiet kind does not fall out of what the server keeps.
3. When that has happened (410), or when the kind comes or goes, whoever watches lists again.
"""

import asyncio
import logging
import random
from typing import Any, cast, get_args

from reprieve.manifests.resource import Resource
from reprieve.model.backoff import Backoff
from reprieve.stores.api.paths import path_of
from reprieve.stores.errors import Expired, Forbidden, NotFound, StoreError
from reprieve.stores.kubernetes.discovery import Discovery
from reprieve.stores.kubernetes.objects import CHANGES, WatchLine, lines, record_of, version_in
from reprieve.stores.kubernetes.requests import Requests, refusal
from reprieve.stores.protocol import Watch
from reprieve.stores.records import EventType, WatchEvent

_log = logging.getLogger(__name__)

_BACK_OFF = Backoff(first=0.2, longest=10.0, jitter=random.random)
_SERVER_SECONDS = 300, 600
"""How long the server is asked to keep a watch open: not all at the same moment."""
_DOUBT_SECONDS = 3.0
_TYPES = get_args(EventType)


class ServerWatch(Watch):
    """A watch that a task of its own fills."""

    def __init__(self, signal: asyncio.Event | None) -> None:
        super().__init__(signal)
        self.live = False
        self.task: asyncio.Task[None] | None = None

    def close(self) -> None:
        super().close()
        if self.task is not None:
            self.task.cancel()


class Follower:
    """Fills one watch."""

    def __init__(
        self, requests: Requests, discovery: Discovery, resource: Resource, namespace: str, fields: str = ""
    ) -> None:
        self._requests = requests
        self._discovery = discovery
        self._resource = resource
        self._namespace = namespace
        self._fields = fields
        self._since = 0
        self._failures = 0

    async def run(self, watch: ServerWatch, since: int) -> None:
        self._since = since
        try:
            while True:
                await self._once(watch)
        except StoreError as error:
            watch.fail(error)
        except Exception as error:
            _log.exception("the watch of %s failed and begins anew", self._resource)
            watch.fail(Expired(str(error)))

    async def _once(self, watch: ServerWatch) -> None:
        """One connection. Raises what only listing again can mend."""
        api_version = await self._served()
        try:
            try:
                await self._follow(watch, api_version)
            finally:
                watch.live = False
        except Expired:
            raise
        except NotFound:
            await self._gone()
        except StoreError as error:
            self._failures += 1
            _log.log(
                logging.WARNING if self._failures > 1 or isinstance(error, Forbidden) else logging.INFO,
                "the watch of %s broke and is taken up at version %d: %s",
                self._resource,
                self._since,
                error,
            )
            await asyncio.sleep(_BACK_OFF.wait(self._failures))

    async def _gone(self) -> None:
        """Not found, what was there: it is gone when the server still says so after a while. One that has just started
        may not know all of its kinds yet, and nobody's objects are forgotten for that."""
        await asyncio.sleep(_DOUBT_SECONDS)
        await self._discovery.look_again()
        if await self._discovery.api_version(self._resource) is None:
            raise Expired(f"{self._resource} are not served any more")

    async def _served(self) -> str:
        while True:
            try:
                api_version = await self._discovery.api_version(self._resource)
                if api_version is not None:
                    return api_version
                await self._discovery.appears(self._resource)
            except StoreError as error:
                self._failures += 1
                _log.warning("it cannot be asked whether there are %s: %s", self._resource, error)
                await asyncio.sleep(_BACK_OFF.wait(self._failures))
            else:
                raise Expired(f"{self._resource} are served from now on")

    async def _follow(self, watch: ServerWatch, api_version: str) -> None:
        path = path_of(self._resource, self._namespace, version=api_version.rpartition("/")[2])
        async with self._requests.stream(path, self._query()) as pieces:
            self._failures = 0
            watch.live = True
            watch.signal.set()  # whoever waits to see clearly goes on
            rest = b""
            async for piece in pieces:
                whole, rest = lines([piece], rest)
                for line in whole:
                    self._take(watch, api_version, CHANGES.decode(line))

    def _query(self) -> dict[str, str]:
        chosen = {"fieldSelector": self._fields} if self._fields else {}
        return {
            **chosen,
            "watch": "true",
            "resourceVersion": str(self._since),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randint(*_SERVER_SECONDS)),  # noqa: S311 - spread, not secret
        }

    def _take(self, watch: ServerWatch, api_version: str, change: WatchLine) -> None:
        if change.type == "ERROR":
            raise _failure(change.object)
        if change.type == "BOOKMARK":
            self._since = max(self._since, version_in(change.object))
        elif change.type in _TYPES:
            record = record_of(self._resource, api_version, change.object)
            self._since = max(self._since, record.version)
            watch.feed(WatchEvent(cast(EventType, change.type), record))


def _failure(status: Any) -> StoreError:
    import msgspec

    body = msgspec.json.encode(status)
    return refusal(int(msgspec.json.decode(status["code"])) if "code" in status else 500, body)
