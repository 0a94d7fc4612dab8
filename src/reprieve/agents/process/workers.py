"""The task that looks after one pod: it looks, acts and waits, again and again, until there is nothing left to do."""

import asyncio
import logging
from collections.abc import Iterable

from reprieve.agents.process.slots import Slot
from reprieve.model.backoff import Backoff
from reprieve.stores.errors import Conflict, NotFound, StoreError
from reprieve.stores.records import Record

OVER = -1.0
"""What a step returns when it was the last one."""
_BACK_OFF = Backoff(first=0.05, longest=30.0)
_TRIES_AT_THE_END = 4
_log = logging.getLogger(__name__)


class Worker:
    """The loop; what one step is, is for others to say. A step that fails is tried again, later each time."""

    def __init__(self, uid: str, pod: Record | None) -> None:
        self.uid = uid
        self._pod = pod
        self._slots: list[Slot] | None = None
        self._woken = asyncio.Event()
        self._stopping = False

    async def step(self) -> float | None:
        """Bring the pod forward; seconds until there is something to do again, None when something must happen."""
        raise NotImplementedError

    def see(self, pod: Record | None) -> None:
        """The pod has changed, or is no more."""
        if pod is None or self._pod is None or pod.version > self._pod.version:
            self._pod = pod
            self._woken.set()

    def wind_up(self) -> None:
        """The agent stops."""
        self._stopping = True
        self._woken.set()

    def stop_all(self, grace: float) -> None:
        for slot in self._slots or ():
            slot.stop(grace)

    async def run(self) -> None:
        """Until there is nothing left to do for this pod."""
        failures = 0
        try:
            while True:
                self._woken.clear()
                try:
                    pause = await self.step()
                    failures = 0
                except Exception as problem:
                    failures += 1
                    pause = _BACK_OFF.wait(failures)
                    await self._recover(problem)
                if (pause == OVER and not self._woken.is_set()) or self._gives_up(failures):
                    return
                await self._rest(pause)
        finally:
            await self.close()

    def _gives_up(self, failures: int) -> bool:
        """A store that cannot be reached does not keep the agent from stopping; the next one tells the rest."""
        return self._stopping and failures > _TRIES_AT_THE_END and not any_running(self._slots or ())

    async def _rest(self, seconds: float | None) -> None:
        if seconds is not None and seconds < 0:
            return
        try:
            # Not `wait_for`: in Python 3.11 that loses a cancellation which comes together with the event.
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _recover(self, problem: Exception) -> None:
        if isinstance(problem, Conflict | NotFound):
            _log.debug("%s: %s", self._name, problem)
        elif isinstance(problem, StoreError):
            _log.warning("%s: %s", self._name, problem)
        else:
            _log.error("%s: looking after it failed, and begins anew", self._name, exc_info=problem)
            await self.close()

    async def close(self) -> None:
        slots, self._slots = self._slots or [], None
        for slot in slots:
            await slot.close()

    @property
    def _name(self) -> str:
        return self._pod.unit if self._pod is not None else self.uid


def any_running(slots: Iterable[Slot]) -> bool:
    return any(slot.running for slot in slots)
