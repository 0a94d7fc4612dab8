"""The processes of this machine: which ones live, which come from which, and signals that reach no other.

Shared with the shim, so it imports little and nothing of this package.
"""
# pathlib and contextlib would double the time a shim takes to start.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal
    from collections.abc import Iterable, Mapping, Sequence
else:
    try:
        import _signal as signal  # the same without names for the numbers, which are a third of a shim's start
    except ImportError:
        import signal

LINUX = sys.platform == "linux"
DEAF_TO = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""Signals meant for a terminal or an agent: a shim must not be parted by them from the command it watches over."""


class Process:
    """One living process. Its number alone says little, for numbers are used again: with `started` it is certain."""

    __slots__ = ("group", "parent", "pid", "session", "started")

    def __init__(self, pid: int, parent: int, group: int, session: int, started: str) -> None:
        self.pid, self.parent, self.group, self.session, self.started = pid, parent, group, session, started


def living(pid: int) -> Process | None:
    """The process with this number, unless it has ended; one that only waits to be reaped has ended."""
    if not LINUX:
        return _listed("-p", str(pid)).get(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name is in parentheses, and may contain spaces and parentheses itself.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20 or (fields[0] in (b"Z", b"X") and int(fields[17]) <= 1):
        return None  # the first thread of a process may have ended while others go on
    return Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), fields[19].decode())


def started(pid: int) -> str:
    process = living(pid)
    return process.started if process else ""


def table() -> dict[int, Process]:
    """All living processes by number."""
    if not LINUX:
        return _listed("-ax")
    found = (living(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def _listed(*selection: str) -> dict[int, Process]:
    """What `ps` tells, where there is no /proc."""
    import subprocess

    command = ["ps", *selection, "-o", "pid=,ppid=,pgid=,stat=,lstart="]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})  # noqa: S603
    rows = [line.split(None, 4) for line in answer.stdout.splitlines()]
    alive = [row for row in rows if len(row) == 5 and not row[3].startswith("Z")]
    return {int(row[0]): Process(int(row[0]), int(row[1]), int(row[2]), 0, row[4].strip()) for row in alive}


def descendants(root: int, processes: Mapping[int, Process]) -> list[Process]:
    """Every process that comes from this one, which itself is not among them."""
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [root]
    while waiting:
        born = children.pop(waiting.pop(), [])
        found += born
        waiting += [process.pid for process in born]
    return found


def send(processes: Iterable[Process], number: int) -> None:
    """Signal exactly these processes: one that took over a number in the meantime is left alone."""
    for process in processes:
        try:
            _send(process, number)
        except OSError:
            continue  # it has ended, or belongs to another user


def _send(process: Process, number: int) -> None:
    descriptor = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
    try:
        current = living(process.pid)
        if current is None or current.started != process.started:
            return
        if descriptor is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def boot() -> str:
    """Which start of this machine it is: process numbers and start times of another one mean nothing."""
    if LINUX:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    import subprocess

    command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603


def ask(processes: Sequence[Process]) -> None:
    """Ask processes to stop; one that is paused is continued, so that it can."""
    for number in (signal.SIGTERM, signal.SIGCONT):
        send(processes, number)
