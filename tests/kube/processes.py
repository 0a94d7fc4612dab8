"""Programs that run beside the tests, and never longer than these."""

from __future__ import annotations

import atexit
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

PATIENCE = 60.0
_POLITE = 10.0
# Linux kills the child when its parent dies, however that happens. The launcher asks for it and then becomes the
# program: asking between fork and exec is not safe in a process that has threads. A parent that died before this was
# said is seen by its number.
_LAUNCHER = """
import ctypes, os, sys
parent, program = int(sys.argv[1]), sys.argv[2:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)
    if os.getppid() != parent:
        sys.exit("the parent is gone")
os.execv(program[0], program)
"""
# Below the ports that systems give to connections, so that a port is still free when its server comes back.
_PORTS = range(20_000, 32_000)


class DidNotStart(Exception):
    """A program ended or was not ready in time; the message has the end of its log."""


class Process:
    """One program in a process group of its own. It can be stopped, killed, halted, and started again as it was.

    Start it from a thread that lives as long as it is needed: the system takes the end of that thread for the parent's.
    """

    def __init__(self, command: Sequence[str | Path], log: Path, ready: Callable[[], bool]) -> None:
        self.command = [str(word) for word in command]
        self._ready = ready
        self._running: subprocess.Popen[bytes] | None = None
        self.name = Path(self.command[0]).name
        self.log = log

    @property
    def pid(self) -> int:
        assert self._running is not None, f"{self.name} was never started"
        return self._running.pid

    @property
    def running(self) -> bool:
        return self._running is not None and self._running.poll() is None

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None while it runs. Killed by a signal: its number, negative."""
        return self._running.poll() if self._running is not None else None

    def start(self, patience: float = PATIENCE) -> Process:
        """Come back when it is ready; nothing happens when it runs already."""
        if not self.running:
            self.launch()
            self.wait_until_ready(patience)
        return self

    def launch(self) -> None:
        """Start it without waiting until it is ready."""
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *self.command]
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                launcher, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        atexit.register(self.kill)

    def wait_until_ready(self, patience: float = PATIENCE) -> None:
        end = time.monotonic() + patience
        while not self._ready():
            if not self.running:
                raise DidNotStart(f"{self.name} ended{self._last_words()}")
            if time.monotonic() > end:
                self.kill()
                raise DidNotStart(f"{self.name} was not ready after {patience:.0f} seconds{self._last_words()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Politely, and when that takes too long, not."""
        if self.running:
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._wait(_POLITE)
        self.kill()

    def kill(self) -> None:
        """As kill -9 does, and what it may have started, too."""
        if self._running is not None:
            self._signal(signal.SIGKILL)
            self._wait(None)
            atexit.unregister(self.kill)

    def restart(self) -> None:
        self.stop()
        self.start()

    def halt(self) -> None:
        """It stays there and answers nobody, until it is told to go on. Each of its threads has stopped by then."""
        self._signal(signal.SIGSTOP)
        end = time.monotonic() + _POLITE
        while any(state not in "TtZX" for state in self._states()) and time.monotonic() < end:
            time.sleep(0.001)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _states(self) -> list[str]:
        """Of its threads, as Linux tells them; elsewhere nothing is told."""
        found = []
        for task in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with suppress(OSError):
                found.append(task.read_text().rpartition(")")[2].split()[0])
        return found

    def tail(self, lines: int = 30) -> str:
        written = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(written[-lines:])

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _wait(self, seconds: float | None) -> None:
        assert self._running is not None
        self._running.wait(seconds)

    def _last_words(self) -> str:
        return f". The end of its log, {self.log}:\n{self.tail()}"


def free_ports(number: int) -> list[int]:
    """So many ports of loopback that nobody uses."""
    found: set[int] = set()
    while len(found) < number:
        port = random.SystemRandom().choice(_PORTS)
        if _is_free(port):
            found.add(port)
    return list(found)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
