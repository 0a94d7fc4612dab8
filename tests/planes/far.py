"""A store that is far away: every answer takes its time, watches lag behind, and now and then the line breaks.

Some writes never arrive. Others do, and their answer is lost: whoever wrote cannot know.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from reprieve.manifests.resource import Resource
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.errors import StoreError, Unavailable
from reprieve.stores.protocol import Watch

_WRITES = ("create", "replace", "patch", "delete", "bind", "evict")
_SILENT = ("bind", "evict")
"""What an API server answers with a word, and not with the object."""


class FarStore:
    """Passes everything on, later."""

    def __init__(self, store: EmbeddedStore, seed: object, *, lost: float = 0.03, slowest: float = 0.3) -> None:
        self._store = store
        self._random = Random(f"far {seed}")  # noqa: S311 - not a secret
        self._lost = lost
        self._slowest = slowest
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
            answer = await found(*args, **options)
            await self._takes_time()
            self._may_be_lost()
            return None if name in _SILENT else answer

        return far

    async def _takes_time(self) -> None:
        await asyncio.sleep(self._random.uniform(0.001, self._slowest) ** 2)

    def _may_be_lost(self) -> None:
        if not self.calm and self._random.random() < self._lost / 2:
            raise Unavailable("the line broke")

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
