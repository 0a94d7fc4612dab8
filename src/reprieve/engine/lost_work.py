"""Work that is lost when somebody makes way: what it holds, for as long as it has run since it last saved it.

What it holds is its largest share of what there is of any resource, in millionths; so an hour of a tenth of all GPUs is
as much as an hour of a tenth of all memory. Where the settings say so, it counts what is said of it: since its last
checkpoint, or as many seconds as its disruption costs by now.
"""

from collections.abc import Mapping
from typing import NamedTuple

from reprieve.manifests.kueue_annotations import Milestones
from reprieve.manifests.lost_work import Said
from reprieve.world import microseconds

_MILLION = 1_000_000
_SECOND = 1_000_000
NOTHING_SAID = Said()


class Totals(NamedTuple):
    """What there is of each resource, and the moment at which it is asked."""

    amounts: Mapping[str, int]
    now: int
    asks: bool = False
    """Whether it counts what is said of lost work."""

    def size(self, holds: Mapping[str, int]) -> int:
        """The largest share of what there is of anything, in millionths."""
        shares = (held * _MILLION // total for name, held in holds.items() if (total := self.amounts.get(name, 0)) > 0)
        return max(shares, default=0)

    def lost(self, size: int, since: int, said: Said = NOTHING_SAID) -> int:
        """For whoever holds so much, and has begun at a moment in microseconds."""
        return size * seconds_lost(since, self.now, said)


def seconds_lost(since: int, now: int, said: Said = NOTHING_SAID) -> int:
    """Of work that began at a moment: what an interruption costs, or how long it is ago that it was saved, or began."""
    if said.milestones:
        return disruption_cost(said.milestones, since, now) // 1000
    if said.checkpoint is not None:
        saved = min(microseconds(said.checkpoint), now)
        since = max(since, saved) if since <= now else saved
    return max(0, (now - since) // _SECOND)


def disruption_cost(milestones: Milestones, since: int, now: int) -> int:
    """What an interruption costs now, in thousandths: from 0 at the start, linear between milestones, level after."""
    running = max(0, now - since)
    before = (0, 0)
    for seconds, cost in milestones:
        if running < seconds * _SECOND:
            passed, span = running - before[0] * _SECOND, (seconds - before[0]) * _SECOND
            return before[1] * 1000 + (cost - before[1]) * 1000 * passed // span
        before = (seconds, cost)
    return before[1] * 1000
