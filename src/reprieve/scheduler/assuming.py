"""What a decision will have done when it has been written: shown to the next decisions at once, in every lane.

Only where writes are under way while decisions go on (`writes`). What the store refuses is taken back.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from reprieve.model.backoff import Backoff
from reprieve.model.names import kind_of
from reprieve.scheduler.context import Context
from reprieve.scheduler.lanes import Services
from reprieve.scheduler.writes import Work
from reprieve.stores.assumed import Arrived, Assumption
from reprieve.stores.errors import NotFound, StoreError
from reprieve.stores.records import Record

_log = logging.getLogger(__name__)

_BACK_OFF = Backoff(first=0.5, longest=10.0)


class AssumedObjects:
    """The objects that one decision concerns, as they will be; until the store tells so, or `take_back`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._changes: list[Assumption] = []

    def assume(self, record: Record | None, patch: Mapping[str, Any], arrived: Arrived) -> None:
        """One of them, as the store has it, and what is going to be written to it."""
        if self._context.writes.in_parallel and record is not None and patch and not arrived(record):
            self._changes.append(self._context.mirror.assume(record, patch, arrived))

    def written(self) -> None:
        """All of it has been, and what the store answered was absorbed: there is nothing to assume any more, whatever
        else has been written to these objects since."""
        for change in self._changes:
            self._context.mirror.withdraw(change)

    async def take_back(self) -> None:
        """What has been written stands; all else has not happened. A write whose answer was lost may have been either:
        so the store is asked, for as long as it takes, before anybody is given a place that may be taken."""
        for change in self._changes:
            await self._look_again(change)
            self._context.mirror.withdraw(change)

    async def _look_again(self, change: Assumption) -> None:
        tries, record = 0, change.record
        while self._context.mirror.assumes(change):
            try:
                return self._context.absorb(await self._as_it_is(change))
            except NotFound:
                return self._context.mirror.absorb(record, gone=True)
            except StoreError as error:
                tries += 1
                _log.warning("it is not known yet what became of %s: %s", record.unit, error)
                await asyncio.sleep(_BACK_OFF.wait(tries))

    async def _as_it_is(self, change: Assumption) -> Record:
        """The object after a write to it that was accepted, refused or lost."""
        record = change.record
        return await self._context.store.get(record.resource, record.name, record.namespace)


def taking_back(assumed: AssumedObjects, wake: Callable[[], None]) -> Work:
    """What to do when the store refuses: as if nothing had been decided, and the unit is tried again."""

    async def take_back() -> None:
        await assumed.take_back()
        wake()

    return take_back


def has_to_wait(services: Services, unit: str, wake: Callable[[], None]) -> bool:
    """Whether something is on its way for a unit whose turn it is, or has just been refused; it then waits."""
    writes = services.context.writes
    if writes.busy(unit):
        writes.afterwards(unit, wake)
        services.queue.unschedulable(unit)
        return True
    failures = writes.failures(unit)
    if failures:
        services.context.log.failed(kind_of(unit))
        services.queue.failed(unit, failures)
    return bool(failures)
