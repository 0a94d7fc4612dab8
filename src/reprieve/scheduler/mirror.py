"""The world as the store has it: listed once, then kept in step change by change, and by the scheduler's own writes.

A version that cannot be read changes nothing: the last one that could be read stands, because what it uses is most
likely still in use. From there it goes on with the next one that can be read, or with the end of the object.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from reprieve.manifests.core import ConfigMap
from reprieve.manifests.kinds import NODES, PODS, RESOURCES, UNDECIDED_OVER
from reprieve.manifests.kueue import ClusterQueue, LocalQueue
from reprieve.manifests.resource import Resource
from reprieve.manifests.scheduling import PodGroup
from reprieve.manifests.scheduling import Workload as GroupWorkload
from reprieve.scheduler.listing import ListingBeside
from reprieve.stores.assumed import Arrived, Assumption
from reprieve.stores.caches import Cache
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.world import World

_REBUILDING = (PodGroup, GroupWorkload, ClusterQueue, LocalQueue)
"""A change of one of these makes tables and trees anew; what is written to their status is no such change."""
_log = logging.getLogger(__name__)

FOLLOWED: tuple[Resource, ...] = tuple(resource for resource in RESOURCES.values() if resource not in UNDECIDED_OVER)


class Seen(NamedTuple):
    """A change that has reached the world: what was there (None: nothing), and what is now."""

    resource: Resource
    old: Record | None
    new: Record | None

    @property
    def record(self) -> Record:
        """The object, as it is or last was."""
        found = self.new or self.old
        assert found is not None  # noqa: S101 - a change is of something
        return found


Before = Callable[[Seen, bool], None]
"""Takes a change that the world does not have yet; and whether it was found by listing, so that nobody knows when it
happened."""


class Mirror:
    """Keeps a world in step with a store, and remembers what has changed until somebody asks."""

    def __init__(
        self,
        store: Store,
        world: World,
        before: "Before | None" = None,
        reads: Callable[[ConfigMap], bool] = lambda _: True,
    ) -> None:
        """`before` is told each change before the world has it. `reads`: whether a decision may read some settings; of
        others, which may be large, the world keeps the names only."""
        self._reads = reads
        self.store = store
        self._before = before
        self.world = world
        self.signal = asyncio.Event()
        self._seen: list[Seen] = []
        self._last_readable: dict[tuple[Resource, str, str], Record | None] = {}
        """Of objects that cannot be read now: how the world has them; None: not at all."""
        self._caches = {resource: self._cache(resource) for resource in FOLLOWED}
        self._beside = ListingBeside(self.signal)

    def _cache(self, resource: Resource) -> Cache:
        return Cache(resource, lambda old, new: self._changed(resource, old, new))

    async def follow(self) -> list[Seen]:
        """Take in all that has happened in the store; what that changed, in the order in which it came."""
        self.signal.clear()
        for resource, cache in self._caches.items():
            if cache.quiet:
                continue
            if resource.custom and not cache.following:
                await self._beside.begin(resource, partial(cache.follow, self.store, self.signal))
            else:
                await cache.follow(self.store, self.signal)
        seen, self._seen = self._seen, []
        return seen

    def follows(self, groups: Collection[str]) -> bool:
        """Whether it knows the objects of these API groups, and is told of them."""
        return all(cache.following for resource, cache in self._caches.items() if resource.group in groups)

    @property
    def sees(self) -> bool:
        """Whether it is told of pods and nodes as they change. Where it is not, somebody may have left long ago."""
        return self._caches[PODS].live and self._caches[NODES].live

    def catch_up(self) -> None:
        """Take in what is known of pods and nodes by now; what that changes is told with the next `follow`."""
        for resource in (PODS, NODES):
            self._caches[resource].catch_up()

    def absorb(self, record: Record, *, gone: bool = False) -> None:
        """What a write of the scheduler's own has returned: the next decision must see it."""
        cache = self._caches[record.resource]
        if gone:
            cache.drop(record)
        else:
            cache.put(record)

    def assume(self, record: Record, patch: Mapping[str, Any], arrived: Arrived) -> Assumption:
        """A write of the scheduler's own is on its way: the next decision must see it, too."""
        return self._caches[record.resource].assume(record, patch, arrived)

    def assumes(self, change: Assumption) -> bool:
        """Whether it is not known yet what became of a change that is on its way."""
        return self._caches[change.record.resource].assumes(change)

    def confirm(self, record: Record, arrived: Arrived) -> None:
        """The store has accepted a change that was on its way, the one that `arrived` knows."""
        self._caches[record.resource].confirm(record, arrived)

    def withdraw(self, change: Assumption) -> None:
        """The store has not accepted what was on its way: it has not happened, and whom that concerns is woken."""
        self._caches[change.record.resource].withdraw(change)
        self.signal.set()

    def told(self, resource: Resource, name: str, namespace: str = "") -> Record | None:
        """An object as the store has it, without what is on its way: for whoever writes."""
        return self._caches[resource].told(name, namespace)

    def get(self, resource: Resource, name: str, namespace: str = "") -> Record | None:
        return self._caches[resource].get(name, namespace)

    def known(self, resource: Resource, name: str, namespace: str = "") -> Record:
        """A record that is needed now; raises `NotFound` like the store when it is gone."""
        found = self.get(resource, name, namespace)
        if found is None:
            raise NotFound(f'{resource} "{name}" not found', group=resource.group, kind=resource.plural, name=name)
        return found

    def all(self, resource: Resource) -> list[Record]:
        return list(self._caches[resource])

    def close(self) -> None:
        self._beside.stop()
        for cache in self._caches.values():
            cache.stop()

    def _changed(self, resource: Resource, old: Record | None, new: Record | None) -> None:
        record = new or old
        if record is None:
            return
        key = (resource, *record.key)
        old = self._last_readable.pop(key, old)
        try:
            if self._before is not None:
                self._before(Seen(resource, old, new), self._caches[resource].begins)
            self._apply(old, new)
        except Exception:  # whatever is wrong with one object must not stop the others
            _log.exception("%s cannot be read: the last version that could be read stands", record.unit)
            self._last_readable[key] = old
            return
        if old is not None or new is not None:
            self._seen.append(Seen(resource, old, new))

    def _apply(self, old: Record | None, new: Record | None) -> None:
        if new is not None:
            if old is None or not alike(old.manifest, new.manifest):
                self.world.put(self._as_kept(new.manifest))
        elif old is not None:
            self.world.delete(type(old.manifest), old.name, old.namespace, called=old.resource.kind)

    def _as_kept(self, item: Any) -> Any:
        if isinstance(item, ConfigMap) and item.data and not self._reads(item):
            return msgspec.structs.replace(item, data={})
        return item


def alike(old: Any, new: Any) -> bool:
    """Whether nothing has changed that a decision reads, in what it is costly to change."""
    if not isinstance(new, _REBUILDING) or type(old) is not type(new):
        return False
    return bool(_as_decided_over(old) == _as_decided_over(new))


def _as_decided_over(item: Any) -> Any:
    metadata = msgspec.structs.replace(item.metadata, resource_version="", annotations={}, labels={})
    # The priorities of a Workload are recorded in its status; of all others nothing there is decided over.
    recorded = isinstance(item, GroupWorkload)
    status = msgspec.structs.replace(item.status, conditions=()) if recorded else type(item.status)()
    return msgspec.structs.replace(item, metadata=metadata, status=status)
