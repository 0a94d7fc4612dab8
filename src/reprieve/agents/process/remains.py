"""Finding processes of a pod without the help of their shim: to end what it left, and to prove that nothing is left."""

import os
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import psutil

from reprieve.agents.process.containers import CONTAINER_NAME, POD_UID, ContainerRecord, ContainerSpec
from reprieve.agents.process.shim.command import adopt_orphans
from reprieve.agents.process.shim.process_table import LINUX
from reprieve.agents.process.shim_starter import SHIMS, SPAWNING

_ORPHANS_COME_HERE = False
_ROUNDS = 100
_PAUSE = 0.02


class _Relative(NamedTuple):
    """A living process and what it shares with others."""

    process: psutil.Process
    parent: int
    group: int
    session: int


def marked(pod_uid: str, container: str | None = None) -> list[int]:
    """The processes that were started with the mark of this pod, and container if one is given."""
    marks = {POD_UID: pod_uid} if container is None else {POD_UID: pod_uid, CONTAINER_NAME: container}
    return sorted(_marked(_living(), marks))


def end_remains(spec: ContainerSpec, record: ContainerRecord | None) -> list[int]:
    """Kill everything that comes from a container whose shim is gone; returns what could not be ended."""
    remains: list[psutil.Process] = []
    for _ in range(_ROUNDS):
        remains = _remains(spec, record)
        if not remains:
            break
        send(remains, signal.SIGKILL)
        time.sleep(_PAUSE)
        _reap_orphans()
    return [process.pid for process in remains]


def send(processes: Iterable[psutil.Process], number: int) -> None:
    """Signal exactly these processes: psutil leaves one alone that took over a number in the meantime."""
    for process in processes:
        with suppress(psutil.Error):  # it has ended, or belongs to another user
            process.send_signal(number)


def _remains(spec: ContainerSpec, record: ContainerRecord | None) -> list[psutil.Process]:
    """What carries the mark or is on record, and what shares a session or an ancestor with that.

    The shim began a session of its own, and everything in it, or in one begun by any of its processes, comes from it.
    The number of a session is not used again while one process of it lives: one proven member proves them all.
    """
    living = _living()
    found = _marked(living, {POD_UID: spec.pod.uid, CONTAINER_NAME: spec.name})
    if record is not None and record.of_this_boot:
        found |= {one.pid for one in (record.shim, record.command) if one.alive}
    found |= _orphans()
    found &= living.keys()
    known = 0
    while known < len(found):
        known = len(found)
        found |= _related(found, living)
    return [living[pid].process for pid in found]


def take_in_orphans() -> None:
    """For a process that is an agent and nothing else: what outlives its shim becomes its child, and is ended."""
    global _ORPHANS_COME_HERE
    _ORPHANS_COME_HERE = LINUX
    adopt_orphans()


def _orphans() -> set[int]:
    """Children of this process that it never started: their shims are gone, and they came to the next one above."""
    if not _ORPHANS_COME_HERE:
        return set()
    with SPAWNING:
        return {process.pid for process in psutil.Process().children()} - SHIMS


def _reap_orphans() -> None:
    for pid in _orphans():
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _related(found: set[int], living: Mapping[int, _Relative]) -> set[int]:
    # A shim that was killed before it began its session has left only itself in the session of the agent.
    sessions = {living[pid].session for pid in found} - {0, os.getsid(0)}
    groups = {living[pid].group for pid in found} - {os.getpgid(0)}
    return {
        pid for pid, each in living.items() if each.session in sessions or each.group in groups or each.parent in found
    }


def _living() -> dict[int, _Relative]:
    """All processes that have not ended, but for this one and those that belong to the machine."""
    found = {}
    for pid in {*psutil.pids()} - {0, 1, os.getpid()}:
        with suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            if not _has_ended(process):
                found[pid] = _Relative(process, process.ppid(), os.getpgid(pid), os.getsid(pid))
    return found


def _has_ended(process: psutil.Process) -> bool:
    """Whether it only waits to be reaped. The first thread of a process may have ended while others go on."""
    return process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD) and process.num_threads() <= 1


def _marked(living: Mapping[int, _Relative], marks: Mapping[str, str]) -> set[int]:
    return {pid for pid, each in living.items() if _carries(each.process, marks)}


def _carries(process: psutil.Process, marks: Mapping[str, str]) -> bool:
    """Whether a process was started with these variables; one of another user cannot be asked."""
    with suppress(psutil.Error, OSError):
        return marks.items() <= process.environ().items()
    return False
