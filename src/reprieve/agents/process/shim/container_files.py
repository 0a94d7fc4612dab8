"""The files in the directory of a container, through which the agent and the shim know of each other.

Shared with the shim, so it imports little and nothing of this package.
"""
# pathlib and contextlib would double the time a shim takes to start.
# ruff: noqa: PTH105, PTH123, SIM105

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

CONTAINER, PROCESS, STOP, EXIT = "container.json", "process.json", "stop.json", "exit.json"
ORDER, LOCK = "order", "lock"
LOG, OLD_LOG, COMPLAINTS = "output.log", "output.log.1", "shim.log"
LOCK_DESCRIPTOR, READY_DESCRIPTOR, KEY_DESCRIPTOR = 3, 4, 5
KEY_SIZE = 32

NOT_EXECUTABLE, NOT_FOUND, NOT_STARTED = 126, 127, 128
SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a process."""


def write(path: str, value: Mapping[str, Any], *, durable: bool = False) -> None:
    """Write a file so that a reader finds all of it or nothing; if durable, even after the machine lost its power."""
    import json

    write_text(path, json.dumps(value), durable=durable)


def write_text(path: str, text: str, *, durable: bool = False) -> None:
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, path)


def signed(outcome: Mapping[str, Any], key: bytes, place: str) -> dict[str, Any]:
    """How a container ended, with the proof that it was written by its shim or by the agent: nobody else has the key.
    `place` is the end of the path of its directory, so that the end of one container is not that of another."""
    from _blake2 import blake2s

    names = ("exitCode", "signal", "reason", "message", "startedAt", "finishedAt")
    said = [str(outcome.get(name, "")) for name in names]
    written = "\0".join((place, *said)).encode("utf-8", "surrogatepass")
    return {**outcome, "mac": blake2s(written, key=key).hexdigest()}


def read(path: str) -> dict[str, Any]:
    import json

    with open(path, encoding="utf-8") as file:
        value: dict[str, Any] = json.load(file)
        return value


class Order:
    """What a shim has to know of its container, in a form that is read without JSON: half of a start would go there."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], directory: str) -> None:
        self.command, self.environment, self.directory = command, environment, directory
        self.umask, self.log_limit = 0o022, 1 << 24
        self.group, self.user, self.memory = "", "", 0

    def write(self, path: str) -> None:
        numbers = (self.umask, self.log_limit, self.memory, len(self.command))
        variables = (f"{name}={value}" for name, value in self.environment.items())
        places = (self.group, self.user, self.directory)
        write_text(path, "\0".join((*map(str, numbers), *places, *self.command, *variables)))

    @classmethod
    def read(cls, path: str) -> Order:
        with open(path, encoding="utf-8", newline="") as file:
            umask, log_limit, memory, length, group, user, directory, *words = file.read().split("\0")
        command, variables = words[: int(length)], words[int(length) :]
        order = cls(command, dict(variable.split("=", 1) for variable in variables), directory)
        order.umask, order.log_limit, order.memory = int(umask), int(log_limit), int(memory)
        order.group, order.user = group, user
        return order


def timestamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def not_started(code: int, message: str, began: str) -> dict[str, Any]:
    """The exit of a command that never ran."""
    times = {"startedAt": began, "finishedAt": timestamp()}
    return {"exitCode": code, "signal": 0, "reason": "StartError", "message": message, **times}


class Log:
    """The output of a command, byte for byte, in at most two files of a given size; what is older is dropped."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self.file = os.open(LOG, flags, 0o600)
        self.size = os.fstat(self.file).st_size

    def write(self, output: bytes) -> None:
        """A disk that is full costs output; it neither stops the command nor makes it wait."""
        try:
            if self.size and self.size + len(output) > self.limit:
                self._rotate()
            while output:
                written = os.write(self.file, output)
                self.size += written
                output = output[written:]
        except OSError:
            return

    def _rotate(self) -> None:
        full = self.file
        try:
            os.replace(LOG, OLD_LOG)
        except FileNotFoundError:
            pass  # renamed before, when there was no room for a new one
        self._open()
        os.close(full)
