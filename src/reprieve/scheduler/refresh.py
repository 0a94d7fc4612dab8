"""What those who wait were told may be old: nothing has happened that helps them, but the numbers are others by now.

Once nothing has happened for some seconds, everybody who waits is decided for once more; who says the same as before
writes nothing. However many wait, this takes a small part of the time only, and never any while somebody else has a
turn.
"""

from collections.abc import Callable
from math import inf

QUIET_SECONDS = 5.0
_PART = 50.0
"""So many times as long as the last time took, it is not done again."""


class Refresh:
    """When to decide once more for everybody who waits."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._due = inf
        self._not_before = 0.0
        self._began: float | None = None

    def changed(self) -> None:
        """Something has happened."""
        self._due = self._elapsed() + QUIET_SECONDS

    def due_in(self) -> float:
        """Seconds until it is time; infinite: everybody knows how things are."""
        return max(0.0, max(self._due, self._not_before) - self._elapsed()) if self._due < inf else inf

    def begins(self) -> bool:
        """Whether it is time; then it is taken to be done when `rests` is called next."""
        self.rests()
        if self.due_in() > 0.0:
            return False
        self._due, self._began = inf, self._elapsed()
        return True

    def rests(self) -> None:
        """Nobody has a turn: whatever was begun is over."""
        if self._began is not None:
            ended = self._elapsed()
            self._not_before = ended + _PART * (ended - self._began)
            self._began = None
