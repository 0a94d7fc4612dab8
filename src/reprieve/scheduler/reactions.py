"""What a change in the store means for those who wait: every lane is told, then whoever could be helped is woken.

1. One change that fails holds up no other one, and no other lane: it is kept for the lane that could not take it, and
   told again a moment later.
2. About whom it cannot be said whether something helps: it is tried.
3. Looking through all who wait takes longer the more they are, so it is done a few times a second at most, on a clock
   that nobody can set.
"""

import logging
from collections.abc import Callable, Iterable
from math import inf

from reprieve.model.names import kind_of
from reprieve.scheduler.kept_changes import KeptChanges
from reprieve.scheduler.lanes import Helps, Lane
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.scheduling_queue import SchedulingQueue

_log = logging.getLogger(__name__)

_INTERVAL = 0.05


class Reactions:
    """Takes changes as they come; at the end of a batch, whoever could be helped is woken."""

    def __init__(self, lanes: Iterable[Lane], queue: SchedulingQueue, clock: Callable[[], float]) -> None:
        self._lanes = [(lane, KeptChanges(clock)) for lane in lanes]
        self._queue = queue
        self._clock = clock
        self._next = 0.0

    async def take(self, changes: list[Seen]) -> None:
        for lane, kept in self._lanes:
            for seen in (*kept.due(), *changes):
                await self._tell(lane, kept, kept.with_earlier(seen))
        try:
            for lane, _ in self._lanes:
                lane.settle()
            self._wake()
        except Exception:
            _log.exception("those who wait could not be looked through, and are looked through again")

    async def _tell(self, lane: Lane, kept: KeptChanges, seen: Seen) -> None:
        try:
            await lane.react(seen)
        except Exception:
            kept.failed(seen)
        else:
            kept.taken(seen)

    def due_in(self) -> float:
        """Seconds until there is something to do here though nothing happens; infinite: there is nothing."""
        kept = min((kept.due_in() for _, kept in self._lanes), default=inf)
        stirred = any(lane.stirred() for lane, _ in self._lanes)
        return min(kept, max(0.0, self._next - self._clock())) if stirred else kept

    def _wake(self) -> None:
        """Move whoever could be helped."""
        stirred = [lane for lane, _ in self._lanes if lane.stirred()]
        if not stirred or self._clock() < self._next:
            return
        helps: dict[str, Helps] = {}
        for lane in stirred:
            helps |= dict.fromkeys(lane.kinds, lane.whom_it_helps())
        if self._queue.size("unschedulable"):
            self._next = self._clock() + _INTERVAL
            self._queue.move(lambda unit: kind_of(unit) in helps and _may_help(helps[kind_of(unit)], unit))


def _may_help(helps: Helps, unit: str) -> bool:
    try:
        return helps(unit)
    except Exception:
        _log.exception("it cannot be said what helps %s: it is tried", unit)
        return True
