"""Room on the disk that is kept for when it is full: what ends objects is still written then.

A file beside the data takes the room, so that no other program can. When a write that ends something finds no room, the
file is given up and the write tried again; when there is room again, the file is made again.
"""

import os
from contextlib import suppress
from pathlib import Path

BYTES = 8 << 20


class Reserve:
    """A file of some size beside another one; without a path, nothing is kept."""

    def __init__(self, beside: str) -> None:
        self._path = None if beside == ":memory:" else Path(f"{beside}.reserve")
        self.keep()

    def keep(self) -> None:
        """Take the room, unless it is taken already or there is none. Another write may have it then."""
        if self._path is None or (self._path.exists() and self._path.stat().st_size >= BYTES):
            return
        with suppress(OSError):
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(file, 0, BYTES)
            except OSError:
                self._path.unlink(missing_ok=True)
            finally:
                os.close(file)

    def give_up(self) -> bool:
        """Let others have the room; whether there was any."""
        if self._path is None or not self._path.exists():
            return False
        with suppress(OSError):
            self._path.unlink()
        return True
