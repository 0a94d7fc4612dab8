"""How decisions are written: one after the other, or many at once while the next ones are made.

A store in this process answers at once, so that nothing is gained by not waiting. An API server takes milliseconds for
each write, and ten at once take hardly longer than one.

1. What is decided for a unit is on its way once at most: until it has arrived, nothing else is decided for that unit.
   Who had its turn meanwhile has it again afterwards.
2. What was decided is assumed to have happened (`Mirror.assume`). What the store refuses is taken back, whoever that
   concerns is woken, and the unit itself is tried again after a back-off.
3. Only so many decisions are on their way: whoever comes then waits until one has arrived.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from reprieve.stores.errors import Conflict, NotFound, StoreError, TooManyRequests, Unavailable

_log = logging.getLogger(__name__)

Work = Callable[[], Awaitable[None]]
_MOST_REMEMBERED = 10_000
_PATIENCE = 1.0
"""Seconds in which a write whose answer was lost mostly arrives, so that it need not be decided again. A binding that
is later still is made void."""


class Writes:
    """What is on its way to the store."""

    def __init__(self, at_once: int = 1) -> None:
        """One at once: whoever writes waits for it, and gets what the store refuses as an error."""
        self.at_once = at_once
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: dict[str, int] = {}
        self._passed_over: dict[str, dict[str, Callable[[], None]]] = {}
        self._failures: dict[str, int] = {}
        """How often in a row the store has refused what was decided for a unit."""
        self._unheard: set[str] = set()
        """Units of which nobody knows yet that the last time was such a one."""

    @property
    def in_parallel(self) -> bool:
        return self.at_once > 1

    def __len__(self) -> int:
        return len(self._tasks)

    def busy(self, unit: str) -> bool:
        """Whether something is on its way for a unit."""
        return unit in self._busy

    def afterwards(self, unit: str, again: Callable[[], None], whose: str = "") -> None:
        """A unit had its turn while something was on its way for it, or for another one that it needs: what to do when
        that has arrived. `whose` turn it was, where it was another's."""
        self._passed_over.setdefault(unit, {})[whose or unit] = again

    def failures(self, unit: str) -> int:
        """How often in a row the store has refused what was decided for a unit; none, when somebody has asked since."""
        if unit not in self._unheard:
            return 0
        self._unheard.discard(unit)
        return self._failures.get(unit, 0)

    async def carry_out(self, units: Iterable[str], work: Work, take_back: Work) -> None:
        """Do it, or have it done; `take_back` is called when the store refuses. The first unit is tried again."""
        if not self.in_parallel:
            return await work()
        concerned = list(dict.fromkeys(units))
        for unit in concerned:
            self._busy[unit] = self._busy.get(unit, 0) + 1
        task = asyncio.create_task(self._do(concerned, work, take_back))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        while len(self._tasks) >= self.at_once:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def _do(self, units: list[str], work: Work, take_back: Work) -> None:
        try:
            await work()
            self._failures.pop(units[0], None)
            self._unheard.discard(units[0])
        except Exception as error:
            self._refused(units[0])
            _tell(units[0], error)
            if isinstance(error, Unavailable):
                await asyncio.sleep(_PATIENCE)
            await take_back()
        finally:
            for unit in units:
                self._over(unit)

    def _refused(self, unit: str) -> None:
        if len(self._failures) >= _MOST_REMEMBERED:  # most of them are gone by then
            self._failures.clear()
            self._unheard.clear()
        self._failures[unit] = self._failures.get(unit, 0) + 1
        self._unheard.add(unit)

    def _over(self, unit: str) -> None:
        self._busy[unit] -= 1
        if not self._busy[unit]:
            del self._busy[unit]
            for again in self._passed_over.pop(unit, {}).values():
                again()

    async def finish(self, within: float = 10.0) -> None:
        """Until nothing is on its way; what a store that does not answer holds up is given up, and told by the objects
        to whoever comes next."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=within)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def _tell(unit: str, error: Exception) -> None:
    if isinstance(error, Conflict | NotFound | TooManyRequests):
        _log.debug("%s is decided again: %s", unit, error)
    elif isinstance(error, StoreError):
        _log.warning("%s is decided again: the store has not taken what was decided: %s", unit, error)
    else:
        _log.error("%s could not be scheduled and is tried again", unit, exc_info=error)
