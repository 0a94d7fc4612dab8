"""What is written on bindings besides a hold while a preemption is carried out, so that it survives the scheduler.

1. A victim carries for which hold it was last told to leave a cluster, so that nobody is told twice for the same one,
   and whether it still waits for a place instead.
2. A binding that was given its clusters carries when that was.
"""

from collections.abc import Mapping

import msgspec

from reprieve.manifests.meta import Model

EVICTED_ANNOTATION = "reprieve.scheduling/evicted"
PLACED_ANNOTATION = "reprieve.scheduling/placed-at"


class ToldEviction(Model):
    """That a victim was told to leave a cluster."""

    hold: int
    """The version of the hold for which it was."""
    waits: bool = False
    """Whether it has had no place instead yet."""


_EVICTIONS = msgspec.json.Decoder(dict[str, ToldEviction])


def evictions_of(annotations: Mapping[str, str]) -> dict[str, ToldEviction]:
    """When a binding was last told to leave, by cluster."""
    try:
        return _EVICTIONS.decode(annotations.get(EVICTED_ANNOTATION, "{}"))
    except (msgspec.DecodeError, UnicodeError):
        return {}


def settled(evictions: Mapping[str, ToldEviction]) -> dict[str, ToldEviction]:
    """The same for a binding that has got a place."""
    return {cluster: ToldEviction(hold=eviction.hold) for cluster, eviction in evictions.items()}


def written(evictions: Mapping[str, ToldEviction]) -> str:
    """As it stands in an annotation."""
    return msgspec.json.encode(evictions).decode()
