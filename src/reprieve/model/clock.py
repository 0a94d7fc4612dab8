"""Time, given and never taken: the clock of this machine, and a virtual one that jumps from event to event.

In virtual time the event loop itself is virtual: whenever all tasks wait, it moves on to the next moment for which
anything is due. `asyncio.sleep` and everything built on it follow, so that the same control plane lives through a day
in seconds, and the same way each time.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

Clock = Callable[[], datetime]
Result = TypeVar("Result")

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When virtual time begins, unless somebody says otherwise."""


class SteadyClock:
    """The time of this machine, but never backwards: what waits for a moment waits no longer because somebody set the
    clock back.

    1. Set forward, it follows at once. Set back, it goes on from where it was, by the monotonic clock, and a tenth
       slower than that until the machine's clock has caught up.
    2. What was written before a restart may be of a time that the machine has yet to reach; then it goes on from there,
       unless that is more than a day away, and so a mistake of its own.
    """

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._measured = monotonic()
        self._shown = wall()

    def __call__(self) -> datetime:
        wall, measured = self._wall(), self._monotonic()
        passed, self._measured = measured - self._measured, measured
        ahead = self._shown + passed - wall
        self._shown = max(wall, self._shown + passed * (_SLOWER if ahead > _AHEAD else 1.0))
        return datetime.fromtimestamp(self._shown, UTC)

    def not_before(self, moment: datetime) -> None:
        """It was this late already."""
        if 0.0 < moment.timestamp() - self._shown <= _MOST_AHEAD:
            self._shown = moment.timestamp()


_AHEAD, _SLOWER, _MOST_AHEAD = 0.001, 0.9, 86_400.0
system_clock = SteadyClock()


class Deadlock(RuntimeError):
    """Virtual time cannot go on: every task waits for another one, and nothing is due."""


class _Leap(selectors.DefaultSelector):
    """A selector that does not wait: the time it was asked to wait for has simply passed."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise Deadlock("nothing is due, and no task can go on")
        if not ready and timeout is not None:
            self.passed += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while nobody has anything to do."""

    def __init__(self, start: datetime = START) -> None:
        self._leap = _Leap()
        self._start = start
        super().__init__(self._leap)

    def time(self) -> float:
        return self._leap.passed

    def now(self) -> datetime:
        """The clock to give to whatever runs on this loop."""
        return self._start + timedelta(seconds=self._leap.passed)


def run_virtually(main: Callable[[Clock], Coroutine[Any, Any, Result]], start: datetime = START) -> Result:
    """Run a program in virtual time; it is given the clock."""
    loop = VirtualLoop(start)
    try:
        return loop.run_until_complete(main(loop.now))
    finally:
        _cancel_all(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def moment_of(text: str) -> datetime:
    """A moment as it is written in an object."""
    return datetime.fromisoformat(text)


def timestamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it in most places: whole seconds."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def precise_timestamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it where order matters: microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"
