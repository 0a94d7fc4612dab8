"""What controllers read and write in the same way: owner references, finalizers, changes of what they have read."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from reprieve.stores.errors import Conflict
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record

Change = Callable[[dict[str, Any]], None]
TRIES = 5
_AT_A_TIME = 32


async def modify(store: Store, record: Record, change: Change, *, subresource: str = "", tries: int = TRIES) -> Record:
    """Change an object, from what it is now if it has changed since; nothing is written when nothing differs.

    `change` is given a copy of the whole object. Raises `NotFound` when it is gone, `Conflict` when it is another one.
    With one try it also raises `Conflict` when the object has changed: for changes that depend on what was read.
    """
    for _ in range(tries):
        patch = difference(record, change, subresource)
        if not patch:
            return record
        try:
            return await store.patch(
                record.resource,
                record.name,
                record.namespace,
                patch,
                subresource=subresource,
                version=record.version,
                uid=record.uid,
            )
        except Conflict:
            if tries == 1:
                raise
            record = await _as_it_is_now(store, record)
    raise Conflict(f"{record.unit} has changed {tries} times in a row", kind=record.resource.kind, name=record.name)


async def _as_it_is_now(store: Store, record: Record) -> Record:
    found = await store.get(record.resource, record.name, record.namespace)
    if found.uid != record.uid:
        raise Conflict(f"{record.unit} is another one now", kind=record.resource.kind, name=record.name)
    return found


async def together(writes: Iterable[Awaitable[Any]]) -> None:
    """Several writes at once; all are tried, then the first failure counts.

    No more than a few are on their way at a time, and in between others on this loop go on.
    """
    failed: BaseException | None = None
    left = iter(writes)
    while some := list(islice(left, _AT_A_TIME)):
        for result in await asyncio.gather(*some, return_exceptions=True):
            if failed is None and isinstance(result, BaseException):
                failed = result
        await asyncio.sleep(0)
    if failed is not None:
        raise failed


def difference(record: Record, change: Change, subresource: str = "") -> dict[str, Any]:
    """What `change` would change, as a merge patch; of a status only that."""
    changed = msgspec.json.decode(record.raw)
    change(changed)
    patch = merge_patch_between(record.data, changed)
    if subresource != "status":
        return patch
    return {"status": patch["status"]} if "status" in patch else {}


def merge_patch_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest merge patch that makes the one of the other; lists are replaced whole."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            inner = merge_patch_between(old, value)
            if inner:
                patch[key] = inner
        elif key not in before or old != value:
            patch[key] = value
    return patch


_OF_AN_OWNER = ("apiVersion", "kind", "name", "uid")


def owner_reference(owner: Record, *, controller: bool = True) -> dict[str, Any]:
    """How an object names its owner."""
    reference = {"apiVersion": owner.data["apiVersion"], "kind": owner.resource.kind}
    reference |= {"name": owner.name, "uid": owner.uid}
    return reference | ({"controller": True, "blockOwnerDeletion": True} if controller else {})


def owner_references(record: Record) -> list[dict[str, Any]]:
    """Those that name an owner: anybody can write what names none."""
    return [owner for owner in record.metadata.get("ownerReferences") or () if all(map(owner.get, _OF_AN_OWNER))]


def controller_of(record: Record) -> dict[str, Any] | None:
    """The reference to the one owner that controls an object."""
    return next((owner for owner in owner_references(record) if owner.get("controller")), None)


def controller_uid(record: Record) -> str:
    """The uid of what controls an object; empty: nothing does."""
    return str((controller_of(record) or {}).get("uid", ""))


def by_controller(record: Record) -> Iterable[str]:
    """An index: by the uid of what controls an object."""
    return filter(None, (controller_uid(record),))


def oldest_first(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.metadata["creationTimestamp"], record.name))


def owner_uids(record: Record) -> Iterator[str]:
    """An index: by the uids of all owners."""
    return (owner["uid"] for owner in owner_references(record))


def is_leaving(record: Record) -> bool:
    """Whether it is being deleted."""
    return "deletionTimestamp" in record.metadata


def finalizers_of(record: Record) -> list[str]:
    return record.metadata.get("finalizers") or []


def drop_finalizer(data: dict[str, Any], name: str) -> None:
    """For `modify`: let an object go, as far as this finalizer is concerned."""
    metadata = data["metadata"]
    metadata["finalizers"] = [each for each in metadata.get("finalizers", ()) if each != name]
    if not metadata["finalizers"]:
        del metadata["finalizers"]
