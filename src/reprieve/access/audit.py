"""Who did what: one line of JSON for each change, and for what was refused, in files that stay small.

Reading leaves no line. Of refusals only some a second are told, with the number of those that are not, so that nobody
can push out of the files what was done.
"""

import os
from datetime import datetime
from pathlib import Path

import msgspec

from reprieve.model.clock import Clock, timestamp

AUDIT_FILE = "audit.log"
LARGEST = 8 * 1024 * 1024
"""Bytes before a new file is begun; one older file is kept."""
_REFUSALS_A_SECOND = 5
_LONGEST_PATH = 400


class AuditEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was asked for, by whom, and the answer."""

    time: str
    user: str
    verb: str
    path: str
    code: int
    more: int = 0
    """So many more were refused in the second before, and are not told."""


class AuditLog:
    """Appends to a file; a disk that is full costs lines, and stops nothing."""

    def __init__(self, file: Path, clock: Clock, largest: int = LARGEST) -> None:
        self._file = file
        self._clock = clock
        self._largest = largest
        self._second: datetime | None = None
        self._refused = self._untold = 0
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self._file, flags, 0o600)
        os.fchmod(self._descriptor, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def done(self, user: str, verb: str, path: str, code: int) -> None:
        """Something was changed, or was tried to be."""
        self._write(user, verb, path, code)

    def refused(self, user: str, verb: str, path: str, code: int) -> None:
        second = self._clock().replace(microsecond=0)
        if second != self._second:
            self._second, self._refused = second, 0
        self._refused += 1
        if self._refused <= _REFUSALS_A_SECOND:
            self._write(user, verb, path, code)
        else:
            self._untold += 1

    def _write(self, user: str, verb: str, path: str, code: int) -> None:
        more, self._untold = self._untold, 0
        entry = AuditEntry(timestamp(self._clock()), user, verb, path[:_LONGEST_PATH], code, more)
        line = msgspec.json.encode(entry) + b"\n"
        try:
            if self._size + len(line) > self._largest:
                self._rotate()
            self._size += os.write(self._descriptor, line)
        except OSError:
            return

    def _rotate(self) -> None:
        full = self._descriptor
        self._file.replace(self._file.with_name(f"{self._file.name}.1"))
        self._open()
        os.close(full)

    def close(self) -> None:
        os.close(self._descriptor)
