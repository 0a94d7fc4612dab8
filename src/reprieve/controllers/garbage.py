"""Garbage collection: what belongs to something that is gone goes too.

1. An object all of whose owners are gone is deleted. That an owner is gone is asked of the store itself, and owners are
   told apart by uid: a new one of the same name is another one.
2. An object that still has an owner only loses the references to those that are gone.
3. An owner deleted with Orphan stays until no dependent names it any more.
4. An owner deleted with Foreground stays until those dependents are gone that say they block it; they are deleted the
   same way, so that the last leaves go first.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

from reprieve.controllers.runner import BaseController
from reprieve.manifests.kinds import EVENTS, RESOURCES, resource_of
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.protocol import FOREGROUND, ORPHAN, Propagation, Store
from reprieve.stores.records import Record
from reprieve.stores.writing import finalizers_of, is_leaving, owner_references, owner_uids, together

_AT_A_TIME = 100
"""Owners that are looked for without a break."""
Key = tuple[Resource, str, str]
Standing = Literal["there", "gone", "waits"]


class GarbageCollector(BaseController):
    component = "garbage-collector"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        for resource in RESOURCES.values():
            if resource is not EVENTS:  # there are many, nobody owns them, and they age by themselves
                self.watch_changes(resource, self._changed, {"owner": owner_uids})

    def _changed(self, before: Record | None, after: Record | None) -> None:
        """Queue what a change may concern: the object itself, what it leaves behind, and owners that wait for it."""
        if before is not None and after is not None and _ownership(before) == _ownership(after):
            return
        if after is not None and (owner_references(after) or is_leaving(after)):
            self.enqueue(_key_of(after))
        if before is not None and (after is None or after.uid != before.uid):
            for dependent in self._dependents(before.uid):
                self.enqueue(_key_of(dependent))
        for record in (before, after):
            for owner in self._leaving_owners(record) if record is not None else ():
                self.enqueue(_key_of(owner))

    def _cached(self, key: Key) -> Record | None:
        resource, namespace, name = key
        return self._caches[resource].get(name, namespace) if resource in self._caches else None

    def _dependents(self, uid: str) -> list[Record]:
        return [dependent for cache in self._caches.values() for dependent in cache.by("owner", uid)]

    def _leaving_owners(self, record: Record) -> Iterator[Record]:
        """The owners of an object that are being deleted, and may wait for it."""
        for reference in owner_references(record):
            key = _key_of_owner(reference, record.namespace)
            owner = self._cached(key) if key is not None else None
            if owner is not None and is_leaving(owner) and owner.uid == reference["uid"]:
                yield owner

    async def reconcile(self, key: Key) -> None:
        record = self._cached(key)
        if record is None:
            return
        if is_leaving(record) and ORPHAN in finalizers_of(record):
            await self._orphan_dependents(record)
        elif is_leaving(record) and FOREGROUND in finalizers_of(record):
            await self._delete_dependents_first(record)
        elif not is_leaving(record) and owner_references(record):
            await self._check_owners(record)

    async def _orphan_dependents(self, owner: Record) -> None:
        await together(self._disown(dependent, {owner.uid}) for dependent in self._dependents(owner.uid))
        await self.drop_finalizer(owner, ORPHAN)

    async def _delete_dependents_first(self, owner: Record) -> None:
        dependents = self._dependents(owner.uid)
        for dependent in dependents:
            self.enqueue(_key_of(dependent))
        if not any(_blocks(dependent, owner.uid) for dependent in dependents):
            await self.drop_finalizer(owner, FOREGROUND)

    async def _check_owners(self, record: Record) -> None:
        """Delete an object that nobody owns any more; disown it from those that go."""
        standings: dict[str, Standing] = {}
        for number, each in enumerate(owner_references(record), 1):
            standings[each["uid"]] = await self._standing(each, record)
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        ending = {uid for uid, standing in standings.items() if standing != "there"}
        if not ending:
            return
        if len(ending) < len(standings):
            await self._disown(record, ending)
            return
        propagation: Propagation = "Background"
        if "waits" in standings.values() and self._dependents(record.uid):
            propagation = "Foreground"
        await self.delete(record, propagation=propagation, version=record.version)

    async def _standing(self, reference: dict[str, Any], record: Record) -> Standing:
        """How an owner stands; of a kind that nobody here knows, nothing can be said against it."""
        key = _key_of_owner(reference, record.namespace)
        if key is None:
            return "there"
        owner = self._cached(key)
        if owner is None or owner.uid != reference["uid"]:
            owner = await self.find(*key)
        if owner is None or owner.uid != reference["uid"]:
            return "gone"
        return "waits" if is_leaving(owner) and FOREGROUND in finalizers_of(owner) else "there"

    async def _disown(self, dependent: Record, uids: set[str]) -> None:
        def change(data: dict[str, Any]) -> None:
            kept = [each for each in data["metadata"].get("ownerReferences", ()) if each.get("uid") not in uids]
            data["metadata"]["ownerReferences"] = kept
            if not kept:
                del data["metadata"]["ownerReferences"]

        try:
            await self.modify(dependent, change)
        except (NotFound, Conflict):
            now = await self.find(*_key_of(dependent))
            if now is not None and now.uid == dependent.uid:
                raise  # it changes all the time
            self.forget(dependent)  # another one by now has nothing to be disowned from


def _key_of(record: Record) -> Key:
    return record.resource, *record.key


def _key_of_owner(reference: dict[str, Any], namespace: str) -> Key | None:
    """Where an owner is to be found; None: nobody here knows such a kind, or it could not be an owner."""
    resource = resource_of(reference.get("apiVersion", ""), reference.get("kind", ""))
    if resource is None or (resource.namespaced and not namespace):
        return None
    return resource, namespace if resource.namespaced else "", reference["name"]


def _ownership(record: Record) -> tuple[Any, ...]:
    """All about an object that decides what becomes of it and its dependents."""
    return record.uid, owner_references(record), finalizers_of(record), is_leaving(record)


def _blocks(dependent: Record, uid: str) -> bool:
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in owner_references(dependent))
