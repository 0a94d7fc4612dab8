"""An end for tests that would have none: a loop in virtual time that never lets time go on."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_IDLE = 10


class Restless(BaseException):
    """Somebody is busy without end, and virtual time does not go on. Nobody catches this."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Whoever is busy after so many seconds of the CPU is stopped, and the test has failed: nothing else would end it.
    So is whoever does nothing for ten times as long; that others keep the machine busy is no fault."""
    lost: list[str] = []

    def stop(_: int, frame: FrameType | None) -> None:
        lost.append("".join(traceback.format_stack(frame, limit=6)))
        raise Restless

    before = {each: signal.signal(each, stop) for each in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * _IDLE)
    try:
        yield
    except Restless:
        pass
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for each, handler in before.items():
            signal.signal(each, handler)
    if lost:
        raise AssertionError(f"still busy after {seconds} seconds:\n{lost[0]}")
