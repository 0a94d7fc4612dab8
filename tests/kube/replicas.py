"""`reprieve run` as it is started on a real cluster, beside the tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.kube.processes import Process, free_ports

PATIENCE = 90.0


class Replica:
    """One process of the scheduler. It begins when it is started, and then is one of those that share a lease."""

    def __init__(self, directory: Path, kubeconfig: Path, options: Sequence[str] = ()) -> None:
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        program = Path(sys.executable).with_name("reprieve")
        command: list[str | Path] = [program, "run", f"--kubeconfig={kubeconfig}", f"--port={port}", *options]
        self.process = Process(command, directory / f"reprieve-{port}.log", self.lives)

    def lives(self) -> bool:
        return self.answer("/healthz") == 200

    def answer(self, path: str) -> int:
        """The status with which it answers; 0: it does not."""
        try:
            return httpx.get(self.url + path, timeout=5.0, trust_env=False).status_code
        except httpx.TransportError:
            return 0

    def said(self) -> str:
        return self.process.log.read_text(errors="replace") if self.process.log.exists() else ""


def until(what: Callable[[], Any], patience: float = PATIENCE, every: float = 0.05) -> Any:
    """What it gives when it gives something; it is asked again and again."""
    end = time.monotonic() + patience
    while not (found := what()):
        assert time.monotonic() < end, f"this did not happen within {patience:.0f} seconds: {what}"
        time.sleep(every)
    return found
