"""A store that is far away: every answer takes its time, watches lag behind, and now and then the line breaks.

Some writes never arrive. Others do, and their answer is lost: whoever wrote cannot know.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

from reprieve.manifests.resource import Resource
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import StoreError, Unavailable
from reprieve.stores.protocol import Watch

_WRITES = ("create", "replace", "patch", "delete", "bind", "evict")
_SILENT = ("bind", "evict")
"""What an API server answers with a word, and not with the object."""
LATEST = 5.0


class FarStore:
    """Passes everything on, later."""

    def __init__(
        self, store: EmbeddedStore, seed: object, *, lost: float = 0.03, slowest: float = 0.3, held_up: float = 0.03
    ) -> None:
        self._store = store
        self._random = Random(f"far {seed}")  # noqa: S311 - not a secret
        self._lost = lost
        self._slowest = slowest
        self._held_up = held_up
        self._fillers: set[asyncio.Task[None]] = set()
        self.calm = False
        """Nothing is lost any more."""

    @property
    def version(self) -> int:
        return self._store.version

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in (*_WRITES, "list", "get"):
            return found

        async def far(*args: Any, **options: Any) -> Any:
            await self._takes_time()
            self._may_be_lost()
            self._may_arrive_late(name, found, args, options)
            answer = await found(*args, **options)
            await self._takes_time()
            self._may_be_lost()
            return None if name in _SILENT else answer

        return far

    async def _takes_time(self) -> None:
        """Hardly any; now and then, seconds, in which much is decided that others have written sooner."""
        waits = self._random.uniform(1.0, 10.0) if self._random.random() < self._held_up else 1.0
        await asyncio.sleep(waits * self._random.uniform(0.001, self._slowest) ** (2 if waits == 1.0 else 1))

    def _may_be_lost(self) -> None:
        if not self.calm and self._random.random() < self._lost / 2:
            raise Unavailable("the line broke")

    def _may_arrive_late(self, name: str, write: Any, args: Any, options: Any) -> None:
        """Nobody hears the answer any more, and then it is done all the same, within `LATEST` seconds."""
        if name in _WRITES and not self.calm and self._random.random() < self._lost / 2:
            self._arrives_late(self._random.uniform(0, LATEST), write, args, options)

    def _arrives_late(self, seconds: float, write: Any, args: Any, options: Any) -> None:
        task = asyncio.create_task(self._later(seconds, write, args, options))
        self._fillers.add(task)
        task.add_done_callback(self._fillers.discard)
        raise Unavailable("the line broke, and what was said is still on its way")

    async def _later(self, seconds: float, write: Any, args: Any, options: Any) -> None:
        await asyncio.sleep(seconds)
        with suppress(StoreError):
            await write(*args, **options)

    def watch(self, resource: Resource, since: int, namespace: str = "", **options: Any) -> Watch:
        near = self._store.watch(resource, since, namespace)
        watch = Watch(options.get("signal"))
        filler = asyncio.create_task(self._fill(near, watch))
        self._fillers.add(filler)
        filler.add_done_callback(self._fillers.discard)
        return watch

    async def _fill(self, near: Watch, watch: Watch) -> None:
        try:
            async for event in near:
                if watch.closed:
                    near.close()
                    return
                await asyncio.sleep(self._random.uniform(0, self._slowest) ** 2)
                watch.feed(event)
        except StoreError as error:
            watch.fail(error)
