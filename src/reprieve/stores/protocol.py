"""What the scheduler, the controllers and the agents ask of a store. A Kubernetes API server is one; SQLite is another.

1. Every write gives the object a new version; versions only grow. A write that names a version or a uid is refused with
   `Conflict` when the object is at another one by now.
2. A watch from a version tells everything that happened after it, in order and once; when that is too long ago it is
   refused with `Expired`, and whoever watches lists again.
3. An object that is deleted with a grace period, or that has finalizers, first gets a deletionTimestamp; it goes when
   its agent deletes it with grace 0 or its last finalizer is removed.
4. `spec` and `status` are written apart: a write to the one never changes the other.
5. When a write returns, it stays: nothing that was acknowledged is lost, however the process ends.

What not every store can do is not part of `Store`: `Rehearsing` and `Versioned` are asked for with `isinstance`, and
whoever asks has an answer for a store that is neither. Opening and closing a store is for whoever makes one.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from reprieve.manifests.resource import Resource
from reprieve.stores.errors import Expired
from reprieve.stores.records import Listing, Record, WatchEvent

PatchType = Literal["json", "merge", "strategic", "apply"]
Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]]
Propagation = Literal["Background", "Foreground", "Orphan"]
# The finalizers that stand for the last two, until the garbage collector has done its part.
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


class Watch:
    """What happened since a version, as a queue that fills by itself.

    `signal` is set whenever something arrives; several watches may share one, so that one task waits for all of them.
    """

    def __init__(self, signal: asyncio.Event | None = None) -> None:
        self.signal = signal or asyncio.Event()
        self._arrived: deque[WatchEvent] = deque()
        self._failure: Exception | None = None
        self.bytes = 0
        """What has arrived and was not taken yet."""
        self.closed = False
        self.live = True
        """Whether it is told of everything as it happens; not while its connection is broken, and taken up again."""
        self.wanted: Callable[[WatchEvent], bool] | None = None
        """What its reader has to be told of while nothing else waits to be taken; None: everything."""

    def feed(self, event: WatchEvent) -> None:
        """For stores: something happened. While anything waits to be taken, all counts: it may be about just that."""
        if not self._arrived and self.wanted is not None and not self.wanted(event):
            return
        self._arrived.append(event)
        self.bytes += len(event.record.raw)
        self.signal.set()

    def fail(self, failure: Exception) -> None:
        """For stores: there will be no more; the reader gets what has arrived, and then this."""
        self._failure = failure
        self.live = False
        self.signal.set()

    def __len__(self) -> int:
        return len(self._arrived)

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to take, and nothing has gone wrong."""
        return not self._arrived and self._failure is None

    def take(self) -> list[WatchEvent]:
        """All that has arrived, without waiting; raises when the watch has failed and nothing is left."""
        if not self._arrived and self._failure is not None:
            raise self._failure
        taken = list(self._arrived)
        self._arrived.clear()
        self.bytes = 0
        return taken

    def close(self) -> None:
        self.closed = True
        if self._failure is None:
            self._failure = Expired("the watch was closed")
        self.signal.set()

    async def __aiter__(self) -> AsyncIterator[WatchEvent]:
        """One event after the other, waiting for them; for a watch that does not share its signal."""
        while True:
            self.signal.clear()
            for event in self.take():
                yield event
            if self.quiet:
                await self.signal.wait()


class Store(Protocol):
    """All methods raise `StoreError`s. `namespace` is empty for what has none."""

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        """All objects of a kind in the order of their keys, in one namespace or (empty) in all, by label and field
        selectors."""
        ...

    def watch(
        self,
        resource: Resource,
        since: int,
        namespace: str = "",
        *,
        signal: asyncio.Event | None = None,
        fields: str = "",
    ) -> Watch:
        """What happens after the version `since`. With a field selector a server need not send anything else; a store
        that sends nothing over a network may tell of all."""
        ...

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Record: ...

    async def create(self, resource: Resource, data: Mapping[str, Any]) -> Record:
        """A new object; its namespace is in its metadata, its name too unless that gives a generateName."""
        ...

    async def replace(self, resource: Resource, data: Mapping[str, Any], *, subresource: str = "") -> Record:
        """The whole object anew; refused when it carries a resourceVersion that is not the last one."""
        ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch: Patch,
        kind: PatchType = "merge",
        *,
        subresource: str = "",
        version: int | None = None,
        uid: str = "",
        api_version: str = "",
    ) -> Record:
        """Change some of it; `version` and `uid` say which one is meant.

        `api_version` is the version that the patch is written for, where that is not the one the object is kept in.
        """
        ...

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        grace: int | None = None,
        uid: str = "",
        version: int | None = None,
        propagation: Propagation = "Background",
    ) -> Record:
        """Delete it, or begin to; `grace` in seconds, as the object says when not given. Asked again with a shorter
        grace, that is what counts; 0 ends it at once. Returns it as it is now, or last was."""
        ...

    async def bind(
        self, name: str, namespace: str, node: str, *, uid: str = "", version: int | None = None
    ) -> Record | None:
        """Give a pod its node. Refused with `Conflict` when it has one, is being deleted, is another one, or is not at
        that version any more. Returns the pod where the store tells; else watches will."""
        ...

    async def evict(self, name: str, namespace: str, *, grace: int | None = None, uid: str = "") -> Record | None:
        """Delete a pod as far as budgets allow it; refused with `TooManyRequests` when they do not. Returns the pod
        where the store tells."""
        ...


@runtime_checkable
class Rehearsing(Protocol):
    """A store that can tell what a write would come to."""

    def rehearsal(self) -> Store:
        """The store for a dry run: it answers a write as this one would, and changes nothing."""
        ...


@runtime_checkable
class Peeking(Protocol):
    """A store that lives in this process, and can tell at once what is there."""

    def peek(self, resource: Resource, name: str, namespace: str = "") -> Record | None: ...


@runtime_checkable
class Troubled(Protocol):
    """A store that knows when it cannot do its work."""

    @property
    def trouble(self) -> str:
        """Why nothing new can be written; empty: it can."""
        ...


@runtime_checkable
class Versioned(Protocol):
    """A store that knows its last version, and has told all watches of it: one that lives in this process."""

    @property
    def version(self) -> int:
        """The last version that was given to anything."""
        ...
