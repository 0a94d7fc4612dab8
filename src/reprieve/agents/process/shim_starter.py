"""Starting a shim, and the lock that tells whether it lives."""

import fcntl
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reprieve.agents.process.containers import AlreadyStarted, ContainerSpec, Directory, inherited
from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.shim.process_table import DEAF_TO

_SHIM = Path(__file__).parent / "shim" / "shim.py"
SHIMS: set[int] = set()
"""Processes that were started here. Where orphans come here, any other child of this process is one."""
SPAWNING = threading.Lock()
"""Held while there is a shim that is not among them yet."""
_OUT_OF_THE_WAY = 10
"""Descriptors are handed over from above those that the shim expects, so that none is overwritten on the way."""


@contextmanager
def locked(directory: Directory) -> Iterator[int | None]:
    """The lock of a directory, or None while a shim holds it, from the moment of its start to that of its death."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    low = os.open(directory.file(files.LOCK), flags, 0o600)
    try:
        lock = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    finally:
        os.close(low)
    try:
        yield lock if _taken(lock, fcntl.LOCK_EX) else None
    finally:
        os.close(lock)


def shim_lives(directory: Directory) -> bool:
    """Those who only look share the lock, so that they do not take each other for a shim."""
    try:
        descriptor = os.open(directory.file(files.LOCK), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not _taken(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def start_shim(directory: Directory, spec: ContainerSpec) -> tuple[int, int]:
    """The number of the new process, and a pipe that can be read once the command has begun, or could not."""
    directory.create()
    with locked(directory) as lock:
        if lock is None or directory.record() or directory.exit():
            raise AlreadyStarted(f"{directory.path}: this container was started before")
        directory.write(files.CONTAINER, spec)
        order = files.Order(spec.command, spec.environment, spec.working_directory)
        order.umask, order.log_limit = spec.umask, spec.log_limit
        order.group, order.user, order.memory = spec.group, spec.user, 0 if spec.group_limits_memory else spec.memory
        order.write(str(directory.file(files.ORDER)))
        return _spawn(directory, spec, lock)


def _taken(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _spawn(directory: Directory, spec: ContainerSpec, lock: int) -> tuple[int, int]:
    ready, low = os.pipe()
    tell = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    os.close(low)
    key = _in_pipe(directory.key())
    complaints = str(directory.file(files.COMPLAINTS))
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, complaints, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, lock, files.LOCK_DESCRIPTOR),
        (os.POSIX_SPAWN_DUP2, tell, files.READY_DESCRIPTOR),
        (os.POSIX_SPAWN_DUP2, key, files.KEY_DESCRIPTOR),
    ]
    command = [sys.executable, "-I", "-S", str(_SHIM), str(directory.path)]
    try:
        with SPAWNING:
            pid = os.posix_spawn(sys.executable, command, _environment(spec), file_actions=actions, setsigmask=DEAF_TO)
            SHIMS.add(pid)
    except OSError:
        os.close(ready)
        raise
    finally:
        os.close(tell)
        os.close(key)
    return pid, ready


def _in_pipe(content: bytes) -> int:
    """A descriptor from which a few bytes can be read, and that no other process has."""
    low, end = os.pipe()
    os.write(end, content)
    os.close(end)
    read = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    os.close(low)
    return read


def _environment(spec: ContainerSpec) -> dict[str, str]:
    """The shim needs to find its own libraries, and carries the mark of its pod like all that comes from it."""
    libraries = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    return {**inherited(os.environ), **libraries, **spec.pod.variables(spec.name)}
