"""Work for a request that takes longer than a moment: in a thread, while the loop goes on; a few at a time.

1. The threads share one interpreter with the loop, which has to wait for each of them whenever it wakes: there are few.
2. What ends soon, whatever was asked, does not wait for plans, which may take a minute.
3. Who waits holds what was sent: when too many do, others are told to come again.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import ParamSpec, TypeVar

from reprieve.model.patience import patient_until
from reprieve.stores.errors import TooManyRequests
from reprieve.texts import server as texts

_THREADS = 2
_MOST_WAITING = 50
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "heavy-work")


class Places:
    """Who is at work, and who waits for that."""

    def __init__(self, number: int = _THREADS, most_waiting: int = _MOST_WAITING) -> None:
        self._free = asyncio.Semaphore(number)
        self._most = most_waiting
        self._waiting = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """One of them, when it is free; refused where too many wait for one."""
        if self._waiting >= self._most:
            raise TooManyRequests(texts.TOO_MANY_WAIT, retry_after=1)
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()


async def in_thread(work: Callable[_Given, _Made], *given: _Given.args, **named: _Given.kwargs) -> _Made:
    """What `work` answers or raises; it must only read, and only what nobody changes, and end soon."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), lambda: work(*given, **named))


async def planned(work: Callable[[], _Made], seconds: float) -> _Made:
    """The same for what may take long, in a thread for which the end of the process does not wait. It stops when so
    many seconds have passed, with `OutOfPatience`, or when nobody waits for it any more."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Made] = loop.create_future()
    end = time.monotonic() + seconds

    def run() -> None:
        made: Future[_Made] = Future()
        try:
            with patient_until(lambda: answer.cancelled() or time.monotonic() > end):
                made.set_result(work())
        except BaseException as error:
            made.set_exception(error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_hand_over, made, answer)

    threading.Thread(target=run, name="planning", daemon=True).start()
    return await answer


def _hand_over(made: Future[_Made], answer: asyncio.Future[_Made]) -> None:
    if answer.done():
        return  # who asked has left
    error = made.exception()
    if error is None:
        answer.set_result(made.result())
    else:
        answer.set_exception(error)
