"""A real `reprieve up` to talk to, and the command line driven against it as a user would."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from reprieve.cli import main
from reprieve.client.connection import Client
from tests.cli.command import REPRIEVE, environment

PATIENCE = 60.0


def until(condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait for something to become true, and give it; a test that waits in vain fails."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


class Done:
    """What a command left behind."""

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code = code
        self.stdout = stdout
        self.stderr = stderr

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """The words of each line."""
        return [line.split() for line in self.lines]

    def json(self) -> Any:
        return json.loads(self.stdout)


def call(*arguments: str, stdin: str = "", cwd: Path | None = None, **more: str) -> Done:
    """The entry point itself, in this process: the same as the command, without the start of an interpreter."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    before = Path.cwd()
    code: Any = 0
    os.chdir(cwd or before)
    try:
        with (
            patch.dict(os.environ, environment(**more), clear=True),
            patch.multiple(sys, argv=["reprieve", *arguments], stdin=given, stdout=out, stderr=err),
        ):
            main()
    except SystemExit as exit_:
        code = exit_.code
    finally:
        os.chdir(before)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Done(int(code or 0), *texts)


class Running:
    """A control plane in a process of its own, with its data and its home."""

    def __init__(self, directory: Path, *options: str, **more: str) -> None:
        self.directory = directory / "data"
        self.home = directory / "home"
        self.output = directory / "up.out"
        self.errors = directory / "up.err"
        command = [*REPRIEVE, "up", "--data", str(self.directory), "--port", "0", *options]
        with self.output.open("wb") as output, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(command, stdout=output, stderr=errors, env=self.environment(**more))

    def environment(self, **more: str) -> dict[str, str]:
        return environment(XDG_DATA_HOME=str(self.home), PYTHONUNBUFFERED="1", **more)

    def wait_for_address(self) -> str:
        def address() -> str:
            assert self.process.poll() is None, self.errors.read_text()
            file = self.directory / "server.json"
            left = json.loads(file.read_text()) if file.exists() else {}
            return str(left["url"]) if left.get("pid") == self.process.pid else ""  # not of one that was killed there

        return str(until(address))

    def token(self) -> str:
        """What it wants of everybody who asks."""
        return (self.directory / "token").read_text().strip()

    def client(self) -> Client:
        return Client(self.wait_for_address(), self.token())

    def http(self, **options: Any) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.token()}", "content-type": "application/json"}
        return httpx.Client(base_url=self.wait_for_address(), headers=headers, timeout=PATIENCE, **options)

    def run(self, *arguments: str, stdin: str = "", cwd: Path | None = None, **more: str) -> Done:
        """A command that finds this control plane by itself."""
        return call(*arguments, stdin=stdin, cwd=cwd, XDG_DATA_HOME=str(self.home), **more)

    def ok(self, *arguments: str, stdin: str = "", cwd: Path | None = None, **more: str) -> Done:
        done = self.run(*arguments, stdin=stdin, cwd=cwd, **more)
        assert done.code == 0, done.stderr
        return done

    def get(self, *words: str) -> Any:
        return self.ok("get", *words, "-o", "json").json()

    def pods(self, *options: str) -> dict[str, dict[str, Any]]:
        """All pods by name."""
        return {item["metadata"]["name"]: item for item in self.get("pods", *options)["items"]}

    def said(self, text: str) -> str:
        """Wait until it has said something; all that it has said."""
        return str(until(lambda: self.output.read_text() if text in self.output.read_text() else ""))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


@contextmanager
def running(directory: Path, *options: str, **more: str) -> Iterator[Running]:
    """It runs, and it has seen everything once; what it warned of, if anything, fails the test that ends it."""
    plane = Running(directory, *options, **more)
    try:
        plane.wait_for_address()
        yield plane
    finally:
        plane.stop()
    assert "Traceback" not in plane.errors.read_text(), plane.errors.read_text()


HOLLOW = ("--agent", "hollow", "--nodes", "2", "--node-cpu", "4", "--node-memory", "8Gi")
