"""What all controllers are built on: watch, queue the keys of what changed, bring one key after the other right.

A controller says what it watches in its `__init__` (`self.watch(PODS, keys=..., indexes=...)`) and overrides
`reconcile(key)`, which looks at the caches, writes what is missing, and may return the seconds after which it wants to
look again. It is level-triggered: a key says only that something about it may have changed.

1. One task does it all: caches change between two reconciles, never during one, but for the controller's own writes.
2. Own writes go through `create`, `modify`, `delete` and so on, and are in the caches at once.
3. A reconcile that fails is tried again with growing delay, and stops nobody else. `Conflict`, `NotFound` and
   `AlreadyExists` are ordinary: somebody else was faster.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import count
from typing import Any

from reprieve.controllers.work_queue import BACK_OFF, WorkQueue
from reprieve.manifests.kinds import EVENTS
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock, timestamp
from reprieve.stores import writing
from reprieve.stores.caches import GATHER, Cache, Changed, Index
from reprieve.stores.errors import AlreadyExists, Conflict, NotFound, StoreError
from reprieve.stores.protocol import Propagation, Store
from reprieve.stores.records import Record
from reprieve.stores.writing import TRIES, Change

Keys = Callable[[Record], Iterable[Hashable]]
_ORDINARY = (AlreadyExists, Conflict, NotFound)
_LONGEST_NAME = 230
_AT_A_TIME = 8
"""Keys that are brought right without a break: others on this loop have work, too."""
OWNED = b'"ownerReferences"'
"""The mark of what somebody owns."""
_logger = logging.getLogger(__name__)


def patience_for(number: int) -> float:
    """Seconds to collect changes for something that is made of so many: what takes longer is looked at less often."""
    return number / 10_000


def earliest(*waits: float | None) -> float | None:
    """The shortest of the waits that several parts of a reconcile ask for; None: none asks."""
    return min((wait for wait in waits if wait is not None), default=None)


def own_key(record: Record) -> Iterable[Hashable]:
    """For what a controller is about: the key is namespace and name."""
    return (record.key,)


def controller_key(kind: str) -> Keys:
    """For what is owned: the key of the owner, when it is of that kind."""

    def keys(record: Record) -> Iterable[Hashable]:
        owner = writing.controller_of(record)
        return ((record.namespace, owner["name"]),) if owner is not None and owner["kind"] == kind else ()

    return keys


class BaseController:
    """The loop, the caches and the writes; subclasses watch and reconcile."""

    component = "reprieve"
    """Who speaks in the events that this controller writes."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.queue = WorkQueue()
        self.synced = asyncio.Event()
        """Set when everything has been listed once."""
        self._caches: dict[Resource, Cache] = {}
        self._signal = asyncio.Event()

    async def reconcile(self, key: Any) -> float | None:
        """Bring one key right; what it returns is after how many seconds to look again."""
        raise NotImplementedError

    def watch(
        self,
        resource: Resource,
        keys: Keys,
        indexes: Mapping[str, Index] | None = None,
        *,
        concern: Callable[[Record], Any] | None = None,
        patience: Callable[[Any], float] | None = None,
        mark: bytes = b"",
    ) -> Cache:
        """Follow a kind; whenever one of it changes, its keys before and after the change are queued.

        With `concern`, a change that leaves it as it was is of no concern: nothing is queued. With `patience`, a key is
        queued so many seconds later, together with whatever else comes until then. With a `mark`, only what has it in
        its text is followed.
        """

        def changed(before: Record | None, after: Record | None) -> None:
            affected = [key for record in (before, after) if record is not None for key in keys(record)]
            if affected and concern is not None and before is not None and after is not None:
                affected = affected if concern(before) != concern(after) else []
            for key in affected:
                self.enqueue(key, patience(key) if patience is not None else 0.0)

        return self.watch_changes(resource, changed, indexes, mark)

    def watch_changes(
        self, resource: Resource, changed: Changed, indexes: Mapping[str, Index] | None = None, mark: bytes = b""
    ) -> Cache:
        """Follow a kind; `changed` is told each change, with the object before and after, and queues what it likes."""
        cache = self._caches[resource] = Cache(resource, changed, indexes, mark)
        return cache

    def enqueue(self, key: Hashable, after: float = 0.0) -> None:
        if after > 0:
            self.queue.add_at(key, _now() + after)
        else:
            self.queue.add(key)
        self._signal.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        try:
            for number in count(1):
                self._signal.clear()
                await self._follow_all()
                key = self.queue.take(_now())
                if key is None:
                    await self._wait_for_work()
                else:
                    await self._try_key(key)
                    if number % _AT_A_TIME == 0:
                        await asyncio.sleep(0)
        finally:
            for cache in self._caches.values():
                cache.stop()

    async def _follow_all(self) -> None:
        """Bring all caches up to date; a store that cannot be reached is asked until it can."""
        failures = 0
        while True:
            try:
                for cache in self._caches.values():
                    if not cache.quiet:
                        await cache.follow(self.store, self._signal)
            except StoreError as error:
                _logger.warning("%s: cannot watch, trying again: %s", type(self).__name__, error)
                failures += 1
                await asyncio.sleep(BACK_OFF.wait(failures))
            else:
                if all(cache.following for cache in self._caches.values()):
                    self.synced.set()
                    return
                await asyncio.sleep(0)

    async def _wait_for_work(self) -> None:
        """Until something arrives or is due."""
        due = self.queue.next_due()
        timer = asyncio.get_running_loop().call_at(due, self._signal.set) if due is not None else None
        try:
            await self._signal.wait()
            await asyncio.sleep(GATHER)
        finally:
            if timer is not None:
                timer.cancel()

    async def _try_key(self, key: Hashable) -> None:
        try:
            again = await self.reconcile(key)
        except Exception as error:
            if isinstance(error, StoreError):
                level = logging.DEBUG if isinstance(error, _ORDINARY) else logging.WARNING
                _logger.log(level, "%s: %s: %s", type(self).__name__, key, error)
            else:
                _logger.exception("%s: %s failed and is tried again", type(self).__name__, key)
            self.queue.failed(key, _now())
        else:
            self.queue.succeeded(key)
            if again is not None:
                self.queue.add_at(key, _now() + max(BACK_OFF.first, again))

    async def create(self, resource: Resource, data: Mapping[str, Any]) -> Record:
        return self._written(await self.store.create(resource, data))

    async def modify(self, record: Record, change: Change, *, subresource: str = "", tries: int = TRIES) -> Record:
        """Change an object (see `writing.modify`); what is equal is not written."""
        return self._written(await writing.modify(self.store, record, change, subresource=subresource, tries=tries))

    async def modify_status(self, record: Record, change: Change, *, tries: int = TRIES) -> Record:
        """Change the status of an object; `change` is given a copy of the status."""

        def within(data: dict[str, Any]) -> None:
            status = data.setdefault("status", {})
            change(status)
            if not status:
                del data["status"]

        return await self.modify(record, within, subresource="status", tries=tries)

    async def drop_finalizer(self, record: Record, name: str) -> None:
        """Let an object go, as far as this finalizer is concerned; that it is gone already is as good."""
        try:
            await self.modify(record, lambda data: writing.drop_finalizer(data, name))
        except NotFound:
            self.forget(record)

    async def find(self, resource: Resource, namespace: str, name: str) -> Record | None:
        """An object, asked of the store itself: what is cached may lag behind."""
        try:
            return await self.store.get(resource, name, namespace)
        except NotFound:
            return None

    async def delete(
        self,
        record: Record,
        *,
        grace: int | None = None,
        propagation: Propagation = "Background",
        version: int | None = None,
    ) -> None:
        """Delete exactly this object; that it is gone already is as good. With a version: only as it was then."""
        try:
            left = await self.store.delete(
                record.resource,
                record.name,
                record.namespace,
                grace=grace,
                uid=record.uid,
                version=version,
                propagation=propagation,
            )
        except (NotFound, Conflict) as error:
            if isinstance(error, Conflict) and version is not None:
                raise
            self.forget(record)  # there may be another one of that name by now
            return
        if writing.is_leaving(left):
            self._written(left)
        else:
            self.forget(left)

    async def tell(self, record: Record, reason: str, message: str, *, kind: str = "Normal") -> None:
        """An event about an object; that it cannot be written stops nothing."""
        now = timestamp(self.clock())
        namespace = record.namespace or "default"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{record.name[:_LONGEST_NAME]}.", "namespace": namespace},
            "involvedObject": _reference(record),
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": self.component},
            "reportingComponent": self.component,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self.store.create(EVENTS, event)
        except StoreError as error:
            _logger.warning("%s: no event for %s: %s", type(self).__name__, record.unit, error)

    def _written(self, record: Record) -> Record:
        cache = self._caches.get(record.resource)
        if cache is not None:
            cache.put(record)
        return record

    def forget(self, record: Record) -> None:
        """An object was found to be gone; the caches need not wait to be told."""
        cache = self._caches.get(record.resource)
        if cache is not None:
            cache.drop(record)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _reference(record: Record) -> dict[str, Any]:
    reference = {"apiVersion": record.data["apiVersion"], "kind": record.resource.kind, "name": record.name}
    reference |= {"uid": record.uid, "resourceVersion": str(record.version)}
    return reference | ({"namespace": record.namespace} if record.namespace else {})
