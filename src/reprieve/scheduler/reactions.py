"""What a change in the store means for those who wait: every lane is told, then whoever could be helped is woken.

1. One change that fails holds up no other one, and no other lane: it is kept for the lane that could not take it, and
   told again a moment later.
2. About whom it cannot be said whether something helps: it is tried.
3. That is done before the next turn is taken: else a unit that arrives now would overtake a more important one that
   waits for the very room which has just become free. Only where so many wait, and so few of them are alike, that
   looking through them takes more than a moment, it is done for a fifth of the time at most, so that nobody can keep
   the loop from its work by making things happen.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from math import inf
from typing import TypeVar

from reprieve.model.names import kind_of
from reprieve.scheduler.kept_changes import KeptChanges
from reprieve.scheduler.lanes import Helps, Lane
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.stores.portions import Portions

_log = logging.getLogger(__name__)

_MOMENT = 0.02
"""Seconds that looking through all who wait may always take: thousands of units, where most of them are alike."""
_AT_A_TIME = 100
"""Changes that a lane is told of without a break."""
_REST = 4.0
"""So many times as long as it took beyond that, it is not done again."""
Answer = TypeVar("Answer")
_EVERYBODY: Helps = lambda _: True  # noqa: E731 - about whom nothing can be said, it is tried
_NOBODY: Helps = lambda _: False  # noqa: E731 - nothing has happened in its lane


class Reactions:
    """Takes changes as they come; at the end of a batch, whoever could be helped is woken."""

    def __init__(self, lanes: Iterable[Lane], queue: SchedulingQueue, clock: Callable[[], float]) -> None:
        self._lanes = [(lane, KeptChanges(clock)) for lane in lanes]
        self._queue = queue
        self._clock = clock
        self._next = 0.0

    async def take(self, changes: list[Seen]) -> None:
        for lane, kept in self._lanes:
            portions = Portions(_AT_A_TIME)
            for change in (*kept.due(), *changes):
                seen = kept.with_earlier(change)
                try:
                    await lane.react(seen)
                except Exception:
                    kept.failed(seen)
                else:
                    kept.taken(seen)
                if portions.full(seen.record):
                    await asyncio.sleep(0)
        for lane, _ in self._lanes:
            _guarded(lane, lane.settle, None)
        self._wake()

    def due_in(self) -> float:
        """Seconds until there is something to do here though nothing happens; infinite: there is nothing."""
        kept = min((kept.due_in() for _, kept in self._lanes), default=inf)
        stirred = any(_guarded(lane, lane.stirred, False) for lane, _ in self._lanes)
        return min(kept, max(0.0, self._next - self._clock())) if stirred else kept

    def _wake(self) -> None:
        """Move whoever could be helped."""
        stirred = [lane for lane, _ in self._lanes if _guarded(lane, lane.stirred, False)]
        if not stirred or self._clock() < self._next:
            return
        began = self._clock()
        helps: dict[str, Helps] = {}
        for lane in stirred:
            helps |= dict.fromkeys(lane.kinds, _guarded(lane, lane.whom_it_helps, _EVERYBODY))
        if self._queue.size("unschedulable"):
            self._queue.move(lambda unit: _may_help(helps.get(kind_of(unit), _NOBODY), unit))
        ended = self._clock()
        self._next = ended + _REST * max(0.0, ended - began - _MOMENT)


def _guarded(lane: Lane, ask: Callable[[], Answer], otherwise: Answer) -> Answer:
    """What a lane answers; one that fails holds up no other one."""
    try:
        return ask()
    except Exception:
        _log.exception("%s failed, and the others go on without it", type(lane).__name__)
        return otherwise


def _may_help(helps: Helps, unit: str) -> bool:
    try:
        return helps(unit)
    except Exception:
        _log.exception("it cannot be said what helps %s: it is tried", unit)
        return True
