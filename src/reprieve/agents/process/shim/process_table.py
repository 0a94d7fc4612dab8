"""The processes that a shim watches over: told apart from others, found, and signalled so that no other is reached.

The agent has psutil for this. What tells one process from another with the same number is written down by the shim and
read by the agent, so both take it from here.
"""
# pathlib and contextlib would double the time a shim takes to start.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal
    from collections.abc import Iterable
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

    __slots__ = ("group", "parent", "pid", "started")

    def __init__(self, pid: int, parent: int, group: int, started: str) -> None:
        self.pid, self.parent, self.group, self.started = pid, parent, group, started


def living(pid: int) -> Process | None:
    """The process with this number on Linux, unless it has ended; one that only waits to be reaped has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name is in parentheses, and may contain spaces and parentheses itself.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20 or (fields[0] in (b"Z", b"X") and int(fields[17]) <= 1):
        return None  # the first thread of a process may have ended while others go on
    return Process(pid, int(fields[1]), int(fields[2]), fields[19].decode())


def started(pid: int) -> str:
    """When a process began, in whatever measure this machine has for it; empty: it has ended."""
    if LINUX:
        process = living(pid)
        return process.started if process else ""
    state, _, moment = _output("ps", "-p", str(pid), "-o", "stat=,lstart=").partition(" ")
    return "" if state.startswith("Z") else moment.strip()


def boot() -> str:
    """Which start of this machine it is: process numbers and start times of another one mean nothing."""
    if not LINUX:
        return _output("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid")
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _output(*command: str) -> str:
    import subprocess

    settings = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=settings).stdout.strip()  # noqa: S603


def descendants(root: int) -> list[Process]:
    """Every living process that comes from this one, which itself is not among them; on Linux."""
    children: dict[int, list[Process]] = {}
    for process in (living(int(name)) for name in os.listdir("/proc") if name.isdigit()):
        if process is not None:
            children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [root]
    while waiting:
        born = children.pop(waiting.pop(), [])
        found += born
        waiting += [process.pid for process in born]
    return found


def send(processes: Iterable[Process], *numbers: int) -> None:
    """Signal exactly these processes: one that took over a number in the meantime is left alone."""
    for process in processes:
        try:
            _send(process, numbers)
        except OSError:
            continue  # it has ended, or belongs to another user


def _send(process: Process, numbers: Iterable[int]) -> None:
    descriptor = os.pidfd_open(process.pid)
    try:
        if started(process.pid) == process.started:
            for number in numbers:
                signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def signal_group(group: int, number: int) -> bool:
    """Whether there is anybody left in a group of processes to be signalled."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True
