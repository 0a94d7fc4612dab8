"""Many objects one after the other: after so many of them, or so many bytes, others on this loop have their turn.

Not after so many seconds: virtual time knows none, and what happens in which order must be the same each time.
"""

from reprieve.stores.records import Record

_LARGE = 64 * 1024
"""Bytes of objects that are looked at without a break. A pod may have very many containers."""


class Portions:
    """Tells when one is full."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._number = self._size = 0

    def full(self, record: Record) -> bool:
        """Whether a portion ends with this object."""
        self._number += 1
        self._size += len(record.raw)
        if self._number < self._most and self._size < _LARGE:
            return False
        self._number = self._size = 0
        return True
