"""What is written on bindings while a preemption is carried out, so that it survives whoever carries it out.

1. A preemptor writes down, before anybody has to leave, the place that it is going to take and whose it is. As long as
   it waits, that place is held against everybody who does not rank above it.
2. A victim carries for which hold it was last told to leave a cluster, so that nobody is told twice for the same one,
   and whether it still waits for a place instead.
3. A binding that was given its clusters carries when that was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from reprieve.manifests.meta import Count, Model

HOLD_ANNOTATION = "reprieve.scheduling/hold"
EVICTED_ANNOTATION = "reprieve.scheduling/evicted"
PLACED_ANNOTATION = "reprieve.scheduling/placed-at"


class HoldVictim(Model):
    """Somebody who has to leave a cluster so that the place can be taken: this one, and no later one of that name."""

    unit: Annotated[str, Meta(pattern="^ResourceBinding/[^/]+/[^/]+$")]
    uid: str = ""
    domain: str
    message: str = ""


class Hold(Model):
    """A place that is held: replicas by cluster, and who has to leave for it."""

    preemptor: str = ""
    version: int = 0
    """The highest of all that are part of it when it was decided: of two holds with a victim in common, the later one
    has the higher version."""
    clusters: dict[str, Count] = {}
    victims: tuple[HoldVictim, ...] = ()


class Eviction(Model):
    """That a victim was told to leave a cluster."""

    hold: int
    """The version of the hold for which it was."""
    waits: bool = False
    """Whether it has had no place instead yet."""


_HOLD = msgspec.json.Decoder(Hold)
_EVICTIONS = msgspec.json.Decoder(dict[str, Eviction])


def hold_of(annotations: Mapping[str, str]) -> Hold | None:
    """The hold that annotations carry; one that cannot be read, because somebody changed it by hand, holds nothing."""
    text = annotations.get(HOLD_ANNOTATION)
    if text is None:
        return None
    try:
        return _HOLD.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return Hold()


def evictions_of(annotations: Mapping[str, str]) -> dict[str, Eviction]:
    """When a binding was last told to leave, by cluster."""
    try:
        return _EVICTIONS.decode(annotations.get(EVICTED_ANNOTATION, "{}"))
    except (msgspec.DecodeError, UnicodeError):
        return {}


def settled(evictions: Mapping[str, Eviction]) -> dict[str, Eviction]:
    """The same for a binding that has got a place."""
    return {cluster: Eviction(hold=eviction.hold) for cluster, eviction in evictions.items()}


def written(value: Hold | Mapping[str, Eviction]) -> str:
    """As it stands in an annotation."""
    return msgspec.json.encode(value).decode()
