"""An end for tests that would have none: a loop in virtual time that never lets time go on."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Restless(BaseException):
    """Somebody is busy without end, and virtual time does not go on. Nobody catches this."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Whoever is busy after so long, in real time, is stopped, and the test has failed: nothing else would end it."""
    lost: list[str] = []

    def stop(_: int, frame: FrameType | None) -> None:
        lost.append("".join(traceback.format_stack(frame, limit=6)))
        raise Restless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Restless:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if lost:
        raise AssertionError(f"still busy after {seconds} seconds:\n{lost[0]}")
