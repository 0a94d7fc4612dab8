"""Commands on a real terminal of some width, and what a person sees there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable

from tests.cli.command import environment

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\r")
PATIENCE = 60.0


class Terminal:
    """A command that runs on a terminal of its own."""

    def __init__(self, command: list[str], width: int, **more: str) -> None:
        self.raw = b""
        own, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        given = {name: text for name, text in environment(**more).items() if name != "COLUMNS"}
        self._own = own
        self.process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=given, start_new_session=True)
        os.close(its)

    @property
    def text(self) -> str:
        """All that was shown, without what moves the cursor and without colours."""
        return _ESCAPES.sub("", self.raw.decode(errors="replace"))

    def until(self, done: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Look at what is shown until something is so, or the command has ended."""
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, self.text
            if select.select([self._own], [], [], 0.1)[0]:
                try:
                    piece = os.read(self._own, 65536)
                except OSError:  # nobody has the other side open any more
                    return
                self.raw += piece

    def type(self, keys: bytes) -> None:
        os.write(self._own, keys)

    def close(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(PATIENCE)
        os.close(self._own)
        return code


def on_terminal(command: list[str], width: int, **more: str) -> Terminal:
    """Run it to its end."""
    terminal = Terminal(command, width, **more)
    terminal.until(lambda: False, PATIENCE)
    terminal.process.wait(PATIENCE)
    terminal.close()
    return terminal
