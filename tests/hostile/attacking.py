"""A real control plane under attack: a process of its own over HTTP on loopback, and somebody who feels its pulse.

How long the loop was held up is told by its own watchdog, of the CPU that its thread used: a machine that others keep
busy cannot make that longer. What `/healthz` took is measured, too, from outside; by the clock on the wall.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

from tests.cli.running import HOLLOW, Running

thorough = pytest.mark.skipif("REPRIEVE_HOSTILE" not in os.environ, reason="only with REPRIEVE_HOSTILE=1")
"""What is tried only where there is time for it."""
UNBEARABLE = 5.0
"""Seconds on the wall within which `/healthz` answers whatever else the machine does."""


class Attacked:
    """The plane, spoken to in plain HTTP."""

    def __init__(self, plane: Running) -> None:
        self.plane = plane
        self.address = urlsplit(plane.wait_for_address())
        token = plane.directory / "token"
        self._token = token.read_text().strip() if token.exists() else ""

    def connect(self, timeout: float = 30.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(str(self.address.hostname), self.address.port, timeout=timeout)

    def headers(self, **more: str) -> dict[str, str]:
        return ({"Authorization": f"Bearer {self._token}"} if self._token else {}) | more

    def ask(self, method: str, path: str, body: Any = None, media: str = "application/json") -> tuple[int, bytes]:
        """One request on a connection of its own: its status and its body."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = self.connect()
        try:
            connection.request(method, path, content, self.headers(**{"Content-Type": media} if content else {}))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        status, content = self.ask("GET", path)
        assert status == 200, content[:500]
        return json.loads(content)

    def metric(self, name: str) -> float:
        _, content = self.ask("GET", "/metrics")
        found = [line.rpartition(" ")[2] for line in content.decode().splitlines() if line.startswith(name)]
        return float(found[0]) if found else 0.0

    def pause(self) -> float:
        """The longest pause of the loop so far, in seconds of the CPU."""
        return self.metric('reprieve_event_loop_longest_pause_seconds{clock="cpu"}')

    def long_pauses(self) -> float:
        """How often the loop was held up for too long."""
        return self.metric("reprieve_event_loop_long_pauses_total")

    def warnings(self) -> str:
        return self.plane.errors.read_text()

    def memory(self) -> int:
        """Bytes in memory."""
        status = Path(f"/proc/{self.plane.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def is_idle(self) -> bool:
        """Whether the whole process hardly works, all its threads together."""
        before = self._worked()
        time.sleep(1)
        return self._worked() - before < 0.3

    def _worked(self) -> float:
        """Seconds of the CPU so far."""
        fields = Path(f"/proc/{self.plane.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self.plane.process.send_signal(signal.SIGKILL)
        self.plane.process.wait()


class Pulse:
    """Asks `/healthz` again and again, and remembers how long that took."""

    def __init__(self, attacked: Attacked) -> None:
        self.longest = 0.0
        self.beats = 0
        self.pauses_before = attacked.long_pauses()
        self._attacked = attacked
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._feel, daemon=True)

    def _feel(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            try:
                status, _ = self._attacked.ask("GET", "/healthz")
                assert status == 200
            except OSError:
                if self._over.is_set() or self._attacked.plane.process.poll() is not None:
                    return
                raise
            self.longest = max(self.longest, time.monotonic() - began)
            self.beats += 1
            time.sleep(0.02)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)


@contextmanager
def attacked(directory: Path, *options: str, **more: str) -> Iterator[Attacked]:
    """A plane with two hollow nodes, unless options say otherwise; it is killed in the end."""
    plane = Running(directory, *(options or HOLLOW), **more)
    try:
        yield Attacked(plane)
    finally:
        if plane.process.poll() is None:
            plane.process.kill()
        plane.process.wait()


def assert_steady(victim: Attacked, pulse: Pulse) -> None:
    """Nothing held up the loop, and it answered all the time."""
    seen = f"loop {victim.pause():.3f} s of CPU, healthz {pulse.longest:.3f} s, {pulse.beats} beats"
    print(seen)
    assert pulse.beats > 0, seen
    assert victim.long_pauses() == pulse.pauses_before, f"{seen}\n{victim.warnings()[-3000:]}"
    assert pulse.longest <= UNBEARABLE, seen
