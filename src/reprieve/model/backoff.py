"""How long to wait after failures: longer with each one, up to a limit."""

from collections.abc import Callable
from typing import NamedTuple

_MOST_STEPS = 100
"""No wait grows for longer than this: a power of a huge number of failures is no float any more."""


class Backoff(NamedTuple):
    """Waits in seconds, as numbers only: what a failure is, and which clock measures the wait, is for others to say."""

    first: float
    longest: float
    factor: float = 2.0
    jitter: Callable[[], float] = lambda: 0.0
    """Given from outside, so that a virtual life is the same each time: the share by which the next wait is longer."""

    def wait(self, failures: int) -> float:
        """After so many failures in a row; none: no wait."""
        if failures <= 0:
            return 0.0
        grown = self.first * self.factor ** min(failures - 1, _MOST_STEPS)
        return min(self.longest, grown) * (1.0 + self.jitter())
