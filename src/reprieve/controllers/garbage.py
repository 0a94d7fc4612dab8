"""Garbage collection: what belongs to something that is gone goes too.

1. An object all of whose owners are gone is deleted. That an owner is gone is asked of the store itself, and owners are
   told apart by uid: a new one of the same name is another one.
2. An object that still has an owner only loses the references to those that are gone.
3. An owner deleted with Orphan stays until no dependent names it any more.
4. An owner deleted with Foreground stays until those dependents are gone that say they block it; they are deleted the
   same way, so that the last leaves go first.
"""

from typing import Any, Literal

from reprieve.controllers.owners import OWNABLE, Key, Owners, key_of, key_of_owner, ownership
from reprieve.controllers.runner import BaseController
from reprieve.model.clock import Clock
from reprieve.stores.errors import Conflict, NotFound
from reprieve.stores.protocol import FOREGROUND, ORPHAN, Propagation, Store
from reprieve.stores.records import Record
from reprieve.stores.writing import drop_finalizer, finalizers_of, is_leaving, owner_references, owner_uids, together

Standing = Literal["there", "gone", "waits"]


class GarbageCollector(BaseController):
    component = "garbage-collector"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._owners = Owners()
        for resource in OWNABLE:
            self._owners.caches[resource] = self.watch_changes(resource, self._changed, {"owner": owner_uids})

    def _changed(self, before: Record | None, after: Record | None) -> None:
        """Queue what a change may concern: the object itself, what it leaves behind, and owners that wait for it."""
        if before is not None and after is not None and ownership(before) == ownership(after):
            return
        if after is not None and (owner_references(after) or is_leaving(after)):
            self.enqueue(key_of(after))
        if before is not None and (after is None or after.uid != before.uid):
            for dependent in self._owners.dependents(before.uid):
                self.enqueue(key_of(dependent))
        for record in (before, after):
            for owner in self._owners.leaving_owners(record) if record is not None else ():
                self.enqueue(key_of(owner))

    async def reconcile(self, key: Key) -> None:
        record = self._owners.get(key)
        if record is None:
            return
        if is_leaving(record) and ORPHAN in finalizers_of(record):
            await self._orphan_dependents(record)
        elif is_leaving(record) and FOREGROUND in finalizers_of(record):
            await self._delete_dependents_first(record)
        elif not is_leaving(record) and owner_references(record):
            await self._check_owners(record)

    async def _orphan_dependents(self, owner: Record) -> None:
        dependents = list(self._owners.dependents(owner.uid))
        await together(self._disown(dependent, {owner.uid}) for dependent in dependents)
        await self._let_go(owner, ORPHAN)

    async def _delete_dependents_first(self, owner: Record) -> None:
        dependents = list(self._owners.dependents(owner.uid))
        for dependent in dependents:
            self.enqueue(key_of(dependent))
        if not any(_blocks(dependent, owner.uid) for dependent in dependents):
            await self._let_go(owner, FOREGROUND)

    async def _let_go(self, owner: Record, finalizer: str) -> None:
        try:
            await self.modify(owner, lambda data: drop_finalizer(data, finalizer))
        except NotFound:
            self.forget(owner)

    async def _check_owners(self, record: Record) -> None:
        """Delete an object that nobody owns any more; disown it from those that go."""
        standings = {each["uid"]: await self._standing(each, record) for each in owner_references(record)}
        ending = {uid for uid, standing in standings.items() if standing != "there"}
        if not ending:
            return
        if len(ending) < len(standings):
            await self._disown(record, ending)
            return
        propagation: Propagation = "Background"
        if "waits" in standings.values() and next(self._owners.dependents(record.uid), None) is not None:
            propagation = "Foreground"
        await self.delete(record, propagation=propagation, version=record.version)

    async def _standing(self, reference: dict[str, Any], record: Record) -> Standing:
        """How an owner stands; of a kind that nobody here knows, nothing can be said against it."""
        key = key_of_owner(reference, record.namespace)
        if key is None:
            return "there"
        owner = self._owners.get(key) if key[0] in self._owners.caches else None
        if owner is None or owner.uid != reference["uid"]:
            owner = await self._live(key)
        if owner is None or owner.uid != reference["uid"]:
            return "gone"
        return "waits" if is_leaving(owner) and FOREGROUND in finalizers_of(owner) else "there"

    async def _live(self, key: Key) -> Record | None:
        resource, namespace, name = key
        try:
            return await self.store.get(resource, name, namespace)
        except NotFound:
            return None

    async def _disown(self, dependent: Record, uids: set[str]) -> None:
        def change(data: dict[str, Any]) -> None:
            kept = [each for each in data["metadata"].get("ownerReferences", ()) if each["uid"] not in uids]
            data["metadata"]["ownerReferences"] = kept
            if not kept:
                del data["metadata"]["ownerReferences"]

        try:
            await self.modify(dependent, change)
        except (NotFound, Conflict):
            await self._look_again(dependent)

    async def _look_again(self, dependent: Record) -> None:
        """It is gone, or another one by now, which has nothing to be disowned from."""
        now = await self._live(key_of(dependent))
        if now is None or now.uid != dependent.uid:
            self.forget(dependent)
        else:
            raise Conflict(f"{dependent.unit} changes all the time")


def _blocks(dependent: Record, uid: str) -> bool:
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in owner_references(dependent))
