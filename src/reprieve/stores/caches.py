"""The objects of one kind as last seen, kept up to date by a watch and by the own writes of whoever keeps the cache."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from reprieve.manifests.resource import Resource
from reprieve.stores.assumed import Arrived, Assumption, shown
from reprieve.stores.errors import Expired
from reprieve.stores.portions import Portions
from reprieve.stores.protocol import Store, Watch
from reprieve.stores.records import Record, WatchEvent

Key = tuple[str, str]
Index = Callable[[Record], Iterable[Hashable]]
Changed = Callable[[Record | None, Record | None], None]

GATHER = 0.01
"""Seconds in which more may arrive before anything is done: a burst is worked off at once."""
_REMEMBERED = 10_000
AT_A_TIME = 32
"""Objects that are taken in without a break: others on this loop have work, too."""


class Cache:
    """Records by namespace and name, and by whatever indexes are asked for.

    1. What the keeper writes is put in at once, so that it is never missed while the watch still lags behind; an event
       that is older than what is known changes nothing.
    2. What the keeper sees deleted stays deleted, however late the watch still speaks of it; and what the watch says is
       gone stays gone, however late the answer to a write still speaks of it.
    3. A watch that is lost is taken up where it ended; when that is too long ago, all is listed again and compared.
    4. With a `mark`, what does not have it in its text is left out until it has: nobody is woken for it.
    5. What the keeper has sent off is shown as if it had arrived, until it has, or the keeper takes it back.
    """

    def __init__(
        self, resource: Resource, changed: Changed, indexes: Mapping[str, Index] | None = None, mark: bytes = b""
    ) -> None:
        self.resource = resource
        self._mark = mark
        self._changed = changed
        self._indexes = dict(indexes or {})
        self._records: dict[Key, Record] = {}
        self._values: dict[Key, list[list[Hashable]]] = {}
        self._by: dict[str, dict[Hashable, dict[Key, None]]] = {name: {} for name in self._indexes}
        self._gone: set[str] = set()
        self._ended: OrderedDict[str, None] = OrderedDict()
        """The uids of the last that the store has said are gone."""
        self._assumed: dict[Key, list[Assumption]] = {}
        self._told: dict[Key, Record] = {}
        """Where something is assumed: what the store has told."""
        self._watch: Watch | None = None
        self._version: int | None = None
        self._behind = False
        """Whether something has been taken from the watch that is not in here yet."""

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._records.values()))

    def get(self, name: str, namespace: str = "") -> Record | None:
        return self._records.get((namespace, name))

    def told(self, name: str, namespace: str = "") -> Record | None:
        """An object as the store has told of it, without what is assumed."""
        key = namespace, name
        return self._told.get(key) or self._records.get(key)

    def by(self, index: str, value: Hashable) -> list[Record]:
        return [self._records[key] for key in self._by[index].get(value, ())]

    def count(self, index: str, value: Hashable) -> int:
        return len(self._by[index].get(value, ()))

    async def follow(self, store: Store, signal: asyncio.Event) -> None:
        """Take in all that has happened; begins to watch, or begins again, where that is due."""
        try:
            if self._watch is None:
                await self._begin(store, signal)
            assert self._watch is not None  # noqa: S101
            while events := self._watch.take():  # taken once more when there were some: only then does it say it failed
                portions = Portions(AT_A_TIME)
                for number, event in enumerate(events, 1):
                    self._behind = number < len(events)
                    self._take((event,))
                    if self._behind and portions.full(event.record):
                        await asyncio.sleep(0)
        except Expired:
            self.stop()
            self._version = None
            signal.set()  # the next turn lists again
        except Exception:
            self.stop()
            raise

    def catch_up(self) -> None:
        """Take in what has arrived, between two turns of whoever follows."""
        if self._watch is not None and len(self._watch):
            self._take(self._watch.take())

    def _take(self, events: Iterable[WatchEvent]) -> None:
        for event in events:
            self._version = max(self._version or 0, event.record.version)
            self._see(event.record, deleted=event.type == "DELETED")

    @property
    def following(self) -> bool:
        """Whether a watch keeps this up to date."""
        return self._watch is not None

    @property
    def live(self) -> bool:
        """Whether it is told of everything as it happens."""
        return self._watch is not None and self._watch.live

    @property
    def begins(self) -> bool:
        """Whether following will list everything, because nothing is known or too much was missed."""
        return self._watch is None and self._version is None

    @property
    def quiet(self) -> bool:
        """Whether following would find nothing new."""
        return self._watch is not None and self._watch.quiet

    def stop(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None

    def put(self, record: Record) -> None:
        """What the keeper has just written or read."""
        self._see(record, deleted=False)

    def drop(self, record: Record) -> None:
        """What the keeper has just found to be gone."""
        known = self._records.get(record.key)
        if known is not None and known.uid == record.uid:
            self._gone.add(record.uid)
            self._set(record.key, None)

    def assume(self, record: Record, patch: Mapping[str, Any], arrived: Arrived) -> Assumption:
        """The keeper has sent off a change of an object, which `arrived` knows when the store tells of it."""
        made = Assumption(record, patch, arrived)
        told = self.told(record.name, record.namespace)
        if told is not None and told.uid == record.uid:
            self._told[record.key] = told
            self._assumed.setdefault(record.key, []).append(made)
            self._show(record.key)
        return made

    def assumes(self, change: Assumption) -> bool:
        """Whether a change that was sent off has not been accepted yet."""
        return not change.confirmed and change in self._assumed.get(change.record.key, ())

    def confirm(self, record: Record, arrived: Arrived) -> None:
        """A change of an object, the one that `arrived` knows, has been accepted: the store will tell of it."""
        for assumption in self._assumed.get(record.key, ()):
            if assumption.record.uid == record.uid and assumption.arrived is arrived:
                assumption.confirmed = True

    def withdraw(self, change: Assumption) -> None:
        """A change that was sent off has not happened, unless it has been accepted. Others of the same object stand."""
        if self.assumes(change):
            key = change.record.key
            self._assumed[key] = [each for each in self._assumed[key] if each is not change]
            self._show(key)

    def _show(self, key: Key) -> None:
        """What the store told last, with what is assumed on top."""
        told = self._told[key]
        standing = [each for each in self._assumed[key] if each.stands(told)]
        if standing:
            self._assumed[key] = standing
        else:
            del self._assumed[key], self._told[key]
        self._set(key, shown(told, standing))

    async def _begin(self, store: Store, signal: asyncio.Event) -> None:
        listing = await store.list(self.resource) if self._version is None else None
        version = listing.version if listing is not None else self._version
        assert version is not None  # noqa: S101
        watch = store.watch(self.resource, version, signal=signal)  # before others go on: nothing becomes too old
        try:
            if listing is not None:
                await self._compare(listing.records, listing.version)
        except BaseException:
            watch.close()
            raise
        self._version = version
        self._watch = watch
        if self._mark:
            watch.wanted = self._concerned

    def _concerned(self, event: WatchEvent) -> bool:
        """Rule 4, before anybody is woken: what is passed over need not be told again either."""
        record = event.record
        if self._behind or self._mark in record.raw or record.key in self._records:
            return True
        self._version = max(self._version or 0, record.version)
        return False

    async def _compare(self, records: list[Record], version: int) -> None:
        listed = {record.key for record in records} if self._records else set()
        for key, known in list(self._records.items()):
            if key not in listed and known.version <= version:
                self._end(known.uid)
                self._set(key, None)
        if self._gone:
            self._gone &= {record.uid for record in records}
        portions = Portions(AT_A_TIME)
        for record in records:
            self.put(record)
            if portions.full(record):
                await asyncio.sleep(0)

    def _see(self, record: Record, *, deleted: bool) -> None:
        known = self._records.get(record.key)
        if deleted:
            self._gone.discard(record.uid)
            self._end(record.uid)
            if known is not None and known.uid == record.uid:
                self._set(record.key, None)
        elif known is None and self._mark not in record.raw:
            return
        elif not self._is_over(record.uid) and (known is None or known.version < record.version):
            if record.key in self._assumed:
                self._told[record.key] = record
                self._show(record.key)
            else:
                self._set(record.key, record)

    def _end(self, uid: str) -> None:
        self._ended[uid] = None
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)

    def _is_over(self, uid: str) -> bool:
        return uid in self._gone or uid in self._ended

    def _set(self, key: Key, record: Record | None) -> None:
        before = self._records.get(key)
        if record is None:
            self._records.pop(key, None)
            self._assumed.pop(key, None)
            self._told.pop(key, None)
        else:
            self._records[key] = record
        self._reindex(key, [list(index(record)) for index in self._indexes.values()] if record is not None else [])
        self._changed(before, record)

    def _reindex(self, key: Key, values: list[list[Hashable]]) -> None:
        """Most changes leave an object where it is in every index: then there is nothing to do."""
        before = self._values.pop(key, [])
        if values:
            self._values[key] = values
        if values == before:
            return
        for index, old in zip(self._by.values(), before, strict=False):
            for value in old:
                index.get(value, {}).pop(key, None)
                if not index.get(value):
                    index.pop(value, None)
        for index, new in zip(self._by.values(), values, strict=False):
            for value in new:
                index.setdefault(value, {})[key] = None
