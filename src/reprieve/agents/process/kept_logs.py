"""What containers wrote, kept after they are over: when they were started again, and when their pods are no more.

1. A run that is over is moved here as it is, in one step; then it is cut to what is kept of one: its end. Whatever
   else was in its directory goes. Who is killed in between leaves something that the next agent goes on with.
2. All together are bounded. The oldest are dropped first: of these is kept that there was a log, and that it was
   dropped; and when there are too many of them, nothing.
3. Nothing here is needed to run anything: what cannot be read was never here.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple

import msgspec

from reprieve.agents.process.containers import (
    AlreadyStarted,
    Directory,
    attempts,
    containers,
    directories,
    read_plain,
)
from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.shim_starter import shim_lives

_KEPT, _NEW = "kept.json", "kept.log"
_MOST_RUNS = 5_000
_CHUNK = 1 << 16


class LogLimits(NamedTuple):
    """Bytes that are kept of one run, and of all together."""

    one: int = 1 << 20
    all: int = 256 << 20


USUAL = LogLimits()


class KeptRun(msgspec.Struct, frozen=True, rename="camel"):
    """What is known of a run that is over."""

    size: int
    cut: int = 0
    """Bytes at the beginning that were not kept."""
    dropped: bool = False
    """Nothing is left of it, because later ones needed the room."""


class Run(msgspec.Struct, frozen=True, rename="camel"):
    """One run of a container: what is kept of what it wrote, and how it ended, if it has."""

    container: str
    run: int
    size: int
    cut: int = 0
    dropped: bool = False
    exit_code: int | None = None
    started_at: str = ""
    finished_at: str = ""


class KeptLogs:
    """The logs of one node that outlive their containers. One agent at a time writes here."""

    def __init__(self, root: Path, limits: LogLimits) -> None:
        self._root = root
        self._limits = limits
        self._lock = Lock()
        self._index: dict[Path, tuple[float, KeptRun]] | None = None
        """When each run ended, and what is kept of it; read from the files when first needed."""

    # Keeping

    def take_pod(self, pods: Path, uid: str) -> None:
        """All runs of a pod that is no more; its directory goes."""
        for container in containers(pods, uid):
            for directory in attempts(pods, uid, container):
                self._take(directory, uid, container)
        self._drop_oldest()
        shutil.rmtree(pods / uid, ignore_errors=True)

    def take_run(self, directory: Directory, uid: str, container: str) -> None:
        """A run of a container that has been started again since."""
        self._take(directory, uid, container)
        self._drop_oldest()

    def tidy(self) -> None:
        """Go on with what somebody before left half done."""
        for directory in directories(self._root):
            self._cut(directory)
        self._drop_oldest()

    def _take(self, directory: Directory, uid: str, container: str) -> None:
        if shim_lives(directory):
            raise AlreadyStarted(f"{directory.path}: this container still runs")
        for name in (_KEPT, _NEW):
            _remove(directory.file(name))  # a command may have put it there
        kept = Directory.of(self._root, uid, container, directory.attempt)
        kept.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError):  # it is here already, or was never there
            directory.path.rename(kept.path)
        self._cut(kept)
        with self._lock:
            self._enter(kept)

    def _cut(self, kept: Directory) -> None:
        """The end of a log in a file of its own, the word that this is all, then that file in place of the log."""
        if not kept.path.is_dir():
            return
        if _known(kept) is None:
            parts = [part for name in (files.OLD_LOG, files.LOG) if (part := _plain(kept.file(name))) is not None]
            size = sum(part.stat().st_size for part in parts)
            cut = _write_end(parts, kept.file(_NEW), max(0, size - self._limits.one))
            kept.write(_KEPT, KeptRun(size - cut, cut))
        with suppress(FileNotFoundError):  # it is in its place already
            kept.file(_NEW).replace(kept.file(files.LOG))
        for path in kept.path.iterdir():
            if path.name not in (_KEPT, files.LOG, files.EXIT):
                _remove(path)

    def _enter(self, kept: Directory) -> None:
        known = _known(kept)
        if self._index is not None and known is not None:
            self._index[kept.path] = _ended_at(kept), known

    def _drop_oldest(self) -> None:
        with self._lock:
            if self._index is None:
                self._index = {}
                for directory in directories(self._root):
                    self._enter(directory)
            newest = sorted(self._index.items(), key=lambda each: each[1][0], reverse=True)
            room = self._limits.all
            for place, (path, (ended, run)) in enumerate(newest):
                room -= run.size
                if place >= _MOST_RUNS:
                    _remove_with_parents(Directory(path))
                    del self._index[path]
                elif room < 0 and not run.dropped:
                    self._index[path] = ended, _drop(Directory(path), run)

    # Reading

    def runs(self, uid: str) -> Iterator[Run]:
        """What is here of a pod."""
        for container in containers(self._root, uid):
            for directory in attempts(self._root, uid, container):
                known = _known(directory)
                if known is not None:
                    yield described(directory, container, known)

    def next_run(self, uid: str, container: str) -> int:
        """A number that no run has that is here."""
        here = attempts(self._root, uid, container)
        return here[-1].attempt + 1 if here else 0

    def find(self, uid: str, container: str, run: int) -> Directory | None:
        """The directory of a run whose log is kept; None: it is not here."""
        found = Directory.of(self._root, uid, container, run)
        known = _known(found)
        return found if known is not None and not known.dropped else None


def _drop(directory: Directory, run: KeptRun) -> KeptRun:
    dropped = KeptRun(0, run.cut + run.size, dropped=True)
    directory.write(_KEPT, dropped)
    _remove(directory.file(files.LOG))
    return dropped


def described(directory: Directory, container: str, known: KeptRun) -> Run:
    """A run, with how it ended."""
    ended = directory.claimed_exit()
    times = (ended.exit_code, ended.started_at, ended.finished_at) if ended is not None else ()
    return Run(container, directory.attempt, known.size, known.cut, known.dropped, *times)


def written_so_far(directory: Directory) -> int:
    """Bytes in the log of a run that has not been moved here."""
    parts = (_plain(directory.file(name)) for name in (files.OLD_LOG, files.LOG))
    return sum(part.stat().st_size for part in parts if part is not None)


def _ended_at(directory: Directory) -> float:
    for name in (files.EXIT, _KEPT):
        with suppress(OSError):
            return directory.file(name).stat().st_mtime
    return 0.0


def _known(directory: Directory) -> KeptRun | None:
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(read_plain(directory.file(_KEPT)), type=KeptRun)
    return None


def _plain(path: Path) -> Path | None:
    """A command may put what it likes in place of its log; only a plain file is read."""
    with suppress(OSError):
        return path if path.is_file() and not path.is_symlink() else None
    return None


def _write_end(parts: list[Path], to: Path, cut: int) -> int:
    """What comes after so many bytes, from the next beginning of a line on; how much that left out."""
    left_out = 0
    to.touch(mode=0o600)
    with to.open("wb") as written:
        for part in parts:
            with part.open("rb") as file:
                if left_out < cut:
                    left_out += _skip(file, min(cut - left_out, part.stat().st_size))
                shutil.copyfileobj(file, written, _CHUNK)
    return left_out


def _skip(file: BinaryIO, number: int) -> int:
    """Pass over so many bytes, and over the rest of a line that this ends in; how many that were."""
    file.seek(max(0, number - 1))
    return number - 1 + len(file.readline(_CHUNK)) if number else 0


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _remove_with_parents(directory: Directory) -> None:
    _remove(directory.path)
    with suppress(OSError):
        for parent in directory.path.parents[:2]:
            parent.rmdir()
