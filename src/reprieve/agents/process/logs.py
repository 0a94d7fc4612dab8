"""Which log is asked for, and reading it: all that is kept, the last lines, a number of bytes, or as it comes.

The shim renames a full file and begins a new one at any time. A reader keeps open what it reads, so it loses nothing
by that, unless more is written meanwhile than is kept.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO

from reprieve.agents.process.containers import Directory, attempts
from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.shim_starter import shim_lives
from reprieve.controllers.pods.templates import container_statuses
from reprieve.stores.errors import BadRequest
from reprieve.stores.records import Record
from reprieve.texts import agents as texts

_CHUNK = 1 << 16
_POLL = 0.1


def chosen_container(pod: Record, asked: str) -> str:
    """The container that is meant; the only one when none is named."""
    spec = pod.data["spec"]
    main = [each["name"] for each in spec["containers"]]
    known = [*(each["name"] for each in spec.get("initContainers") or ()), *main]
    if asked:
        if asked not in known:
            raise _refused(pod, texts.no_such_container(asked, pod.name, known))
        return asked
    if len(main) != 1:
        raise _refused(pod, texts.which_container(pod.name, known))
    return str(main[0])


def log_directory(root: Path, pod: Record, container: str, *, previous: bool) -> Directory:
    """The attempt whose log is meant; while a container waits to run again, its last run is the previous one."""
    kept = attempts(root, pod.uid, container)
    if previous and not _waits(pod, container):
        kept = kept[:-1]
    if not kept:
        text = texts.no_previous if previous else texts.not_started_yet
        raise _refused(pod, text(container, pod.name))
    return kept[-1]


def _waits(pod: Record, container: str) -> bool:
    entries = container_statuses(pod)
    return any(entry["name"] == container and "waiting" in (entry.get("state") or {}) for entry in entries)


def open_log(directory: Directory, *, tail: int | None, limit_bytes: int | None, follow: bool) -> AsyncIterator[bytes]:
    for name, value in (("tailLines", tail), ("limitBytes", limit_bytes)):
        if value is not None and value < 0:
            raise BadRequest(texts.must_not_be_negative(name))
    if follow:
        return follow_log(directory, tail=tail, limit=limit_bytes)
    return _read(directory, tail, limit_bytes)


async def _read(directory: Directory, tail: int | None, limit: int | None) -> AsyncIterator[bytes]:
    for piece in read_log(directory, tail=tail, limit=limit):
        yield piece
        await asyncio.sleep(0)


def _refused(pod: Record, message: str) -> BadRequest:
    return BadRequest(message, kind="pods", name=pod.name)


def read_log(directory: Directory, *, tail: int | None = None, limit: int | None = None) -> Iterator[bytes]:
    """What has been written so far, in pieces: from the last `tail` lines on, and at most `limit` bytes of that."""
    reader = _Reader(directory, tail, limit)
    try:
        while piece := reader.read():
            yield piece
    finally:
        reader.close()


async def follow_log(
    directory: Directory, *, tail: int | None = None, limit: int | None = None
) -> AsyncIterator[bytes]:
    """The same, and then what is written until the container has ended."""
    reader = _Reader(directory, tail, limit)
    try:
        while not reader.full:
            over = not shim_lives(directory)
            while piece := reader.read():
                yield piece
                await asyncio.sleep(0)
            if over:
                break
            await asyncio.sleep(_POLL)
    finally:
        reader.close()


class _Reader:
    """Goes through the files of a log, from the older to the newer, and on to those that are begun meanwhile."""

    def __init__(self, directory: Directory, tail: int | None, limit: int | None) -> None:
        for name, value in (("tail", tail), ("limit", limit)):
            if value is not None and value < 0:
                raise ValueError(f"{name} must not be negative: {value}")
        self._directory = directory
        self._left = limit
        self._files = _newer(directory, None)
        if tail is not None:
            self._files = _at_tail(self._files, tail)

    @property
    def full(self) -> bool:
        return self._left == 0

    def read(self) -> bytes:
        """The next piece; nothing if there is no more at the moment."""
        size = _CHUNK if self._left is None else min(_CHUNK, self._left)
        while size and (self._files or self._advance()):
            if piece := self._files[0].read(size):
                self._left = None if self._left is None else self._left - len(piece)
                return piece
            if not self._advance():
                break
        return b""

    def _advance(self) -> bool:
        """To the next file. One that is full is read once more before it is left: it may have grown to the last."""
        if len(self._files) > 1:
            self._files.pop(0).close()
            return True
        newer = _newer(self._directory, self._files[0] if self._files else None)
        self._files += newer
        return bool(newer)

    def close(self) -> None:
        for file in self._files:
            file.close()


def _newer(directory: Directory, seen: BinaryIO | None) -> list[BinaryIO]:
    """The files that were begun after the one that was seen last, opened."""
    while True:
        newest, older = _open(directory, files.LOG), _open(directory, files.OLD_LOG)
        if _is_newest(directory, newest):
            break
        _close(newest, older)
    last = _number(seen)
    if seen is None or last not in (_number(older), _number(newest)):
        passed: list[BinaryIO | None] = []
    else:
        passed = [older] if last == _number(older) else [older, newest]
    _close(*passed)
    return [file for file in (older, newest) if file is not None and file not in passed]


def _is_newest(directory: Directory, file: BinaryIO | None) -> bool:
    """Whether no new file was begun since this one was opened."""
    try:
        found = directory.file(files.LOG).lstat()
    except OSError:
        return file is None
    return not stat.S_ISREG(found.st_mode) or found.st_ino == _number(file)


def _open(directory: Directory, name: str) -> BinaryIO | None:
    """A command may put what it likes in place of its log; only a plain file in the directory is read."""
    try:
        descriptor = os.open(directory.file(name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return open(descriptor, "rb", buffering=0)  # noqa: PTH123


def _close(*opened: BinaryIO | None) -> None:
    for file in opened:
        if file is not None:
            file.close()


def _number(file: BinaryIO | None) -> int | None:
    return None if file is None else os.fstat(file.fileno()).st_ino


def _at_tail(parts: list[BinaryIO], lines: int) -> list[BinaryIO]:
    """The files that hold the last lines, the first of them moved to where those begin."""
    if not parts:
        return []
    index, position = len(parts) - 1, parts[-1].seek(0, os.SEEK_END)
    if lines:
        index, position = _beginning(parts, lines)
    _close(*parts[:index])
    for part in parts[index:]:
        part.seek(0)
    parts[index].seek(position)
    return parts[index:]


def _beginning(parts: list[BinaryIO], lines: int) -> tuple[int, int]:
    """Where the last lines begin: the file, and the place in it. The end of line at the very end begins none."""
    wanted = lines + _ends_with_a_line(parts)
    for index in reversed(range(len(parts))):
        size = parts[index].seek(0, os.SEEK_END)
        for block in reversed(range(0, size, _CHUNK)):
            data = os.pread(parts[index].fileno(), min(_CHUNK, size - block), block)
            ends = data.count(b"\n")
            if ends >= wanted:
                return index, block + _nth_last(data, wanted) + 1
            wanted -= ends
    return 0, 0


def _ends_with_a_line(parts: list[BinaryIO]) -> bool:
    """Whether the last that was written is the end of a line."""
    for part in reversed(parts):
        size = part.seek(0, os.SEEK_END)
        if size:
            return os.pread(part.fileno(), 1, size - 1) == b"\n"
    return False


def _nth_last(data: bytes, number: int) -> int:
    """Where the end of line stands that is so many from the last."""
    place = len(data)
    for _ in range(number):
        place = data.rfind(b"\n", 0, place)
    return place
