"""What a preemptor holds while its victims leave, written on the preemptor itself.

A decision is carried out by many writes, and the scheduler may die between any two. So the first write of all is the
decision: who goes, and where the preemptor then goes. Whoever starts next reads it and does what is left to do. Nobody
is chosen twice, and nobody has left in vain.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from reprieve.stores.records import Record

HOLD = "reprieve.scheduling/hold"
Unit = Annotated[str, Meta(pattern=r"^[A-Za-z]+/[^/]+/[^/]+$")]
"""Kind, namespace and name: whatever else stands in an annotation, somebody else has written it."""


class HeldVictim(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Somebody who has to go: this one, and no later one of the same name."""

    unit: Unit
    uid: str
    message: str = ""
    ends: bool = False
    reason: str = ""
    since: str = ""
    """Of a quota workload: since when it has the quota that it is to give back. It may come back, as the same one."""


class Hold(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A decision that is being carried out."""

    preemptor: str
    victims: list[HeldVictim] = []
    placement: dict[Unit, str] = {}
    """Unit to node, for a group: where each of its pods goes."""
    members: dict[Unit, str] = {}
    """Unit to uid, for a group: which pods these are. Later ones of the same names have no place yet."""
    counts: dict[str, int] = {}
    """Pod sets of a quota workload: for so many pods of each it has preempted, and more it does not get."""
    decision: int = 0

    def text(self) -> str:
        return msgspec.json.encode(self).decode()


def hold_of(record: Record | None) -> Hold | None:
    """What an object holds; what cannot be read (somebody changed it by hand) holds nothing."""
    if record is None:
        return None
    annotations: dict[str, Any] = record.metadata.get("annotations") or {}
    written = annotations.get(HOLD)
    if not written:
        return None
    try:
        return msgspec.json.decode(written, type=Hold)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
