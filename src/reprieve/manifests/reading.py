"""Reading all of a file or a pipe, with somebody told how far it is, and an end to waiting.

1. Whoever watches is told how much has come, also while nothing comes.
2. A pipe on which nothing comes for five minutes is given up, and so is what is larger than anything that is read.
"""

import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from typing import IO, NamedTuple

STDIN, STDIN_NAME = "-", "standard input"
PATIENCE = 300.0
"""Seconds without a byte after which a pipe is given up."""
LARGEST = 4 << 30
"""Bytes: what is larger is not read. A pipe that never ends would fill the memory."""
_PIECE = 1 << 20
_EVERY = 0.25


class Reading(NamedTuple):
    """How far reading is: how many bytes have come, or were understood, and of how many where that is known.

    Without a name: all is read, so many objects, and somebody works on them.
    """

    name: str
    done: int
    total: int = 0
    understanding: bool = False


Tell = Callable[[Reading | None], None]
"""Called with how far it is, and with None when something else is to be said."""
_LISTENER: ContextVar[Tell | None] = ContextVar("listener", default=None)


@contextmanager
def listening(tell: Tell) -> Iterator[None]:
    """Have `tell` called while something is read."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def unheard() -> Iterator[None]:
    """Nobody is told: what is read from now on is not what somebody waits for."""
    told(None)
    with listening(lambda _: None):
        yield


def told(reading: Reading | None) -> None:
    """Say how far it is, to whoever listens; None: be still."""
    tell = _LISTENER.get()
    if tell is not None:
        tell(reading)


def read_all(file: str, name: str) -> bytes:
    """All bytes of a file, or of standard input."""
    if file == STDIN:
        if sys.stdin is None:
            raise OSError(0, "it is closed")
        return _all_of(sys.stdin.buffer, name)
    # A pipe that nobody writes to yet is opened at once, and waited for below.
    number = os.open(file, os.O_RDONLY | (os.O_NONBLOCK if stat.S_ISFIFO(os.stat(file).st_mode) else 0))  # noqa: PTH116
    with os.fdopen(number, "rb") as stream:
        return _all_of(stream, name)


def _all_of(stream: IO[bytes], name: str) -> bytes:
    try:
        number = stream.fileno()
        size = os.fstat(number)
    except (OSError, ValueError):  # no file of the system, as in tests
        return stream.read()
    whole = BytesIO()  # which holds all of it once, and not its pieces beside it
    for piece in _pieces(number, name, size.st_size) if stat.S_ISREG(size.st_mode) else _arriving(number, name):
        whole.write(piece)
    return whole.getvalue()


def _pieces(number: int, name: str, total: int) -> Iterator[bytes]:
    done = 0
    while piece := os.read(number, _PIECE):
        done += len(piece)
        _check(done)
        told(Reading(name, done, total))
        yield piece


def _arriving(number: int, name: str) -> Iterator[bytes]:
    """What comes through a pipe, or from a terminal."""
    done, last = 0, time.monotonic()
    while True:
        told(Reading(name, done))
        if _ready(number):
            piece = os.read(number, _PIECE)
            if not piece:
                return
            done, last = done + len(piece), time.monotonic()
            _check(done)
            yield piece
        elif time.monotonic() - last > PATIENCE:
            raise OSError(0, f"nothing came for {PATIENCE:.0f} seconds")


def _ready(number: int) -> bool:
    """Whether something has come, or has ended. A named pipe that nobody has opened yet is neither."""
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], _EVERY)[0])
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    return bool(waiting.poll(_EVERY * 1000))


def _check(done: int) -> None:
    if done > LARGEST:
        raise OSError(0, f"more than {LARGEST >> 30} GiB; give it in several files")
