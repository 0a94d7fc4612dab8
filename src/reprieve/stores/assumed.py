"""What is shown of an object while a write to it is on its way: the object as it will be when the write has arrived.

A write to a store far away takes its time, and decisions go on meanwhile. So what was decided counts at once, and is
taken back when the store refuses it.

1. What the store tells in between is shown with the same change on top.
2. Once the store tells of the change itself, there is nothing to assume any more.
3. It is about one object: a later one of the same name has nothing to do with it.
4. Of several changes to one object, each is accepted or taken back by itself: a pod whose binding is on its way may be
   told to leave meanwhile, and that it need not does not mean that it is not bound.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from reprieve.stores.api.strategic import strategic_merge
from reprieve.stores.records import Record

Arrived = Callable[[Record], bool]
"""Whether the store's own version of an object has the change."""


class Assumption:
    """One change that is on its way."""

    __slots__ = ("arrived", "confirmed", "patch", "record")

    def __init__(self, record: Record, patch: Mapping[str, Any], arrived: Arrived) -> None:
        self.record = record
        self.patch = patch
        self.arrived = arrived
        self.confirmed = False
        """The store has said yes: what is left is to see it."""

    def stands(self, record: Record) -> bool:
        """Whether it is still to be shown on top of what the store tells."""
        return record.uid == self.record.uid and not self.arrived(record)


def shown(record: Record, assumptions: Iterable[Assumption]) -> Record:
    """An object with changes on top that are on their way; its version is the store's."""
    data: Any = None
    for assumption in assumptions:
        data = strategic_merge(record.data if data is None else data, assumption.patch, record.resource)
    if data is None:
        return record
    raw = msgspec.json.encode(data)
    return Record(
        record.resource, raw, namespace=record.namespace, name=record.name, uid=record.uid, version=record.version
    )
