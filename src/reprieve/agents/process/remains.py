"""Finding processes of a pod without the help of their shim: to end what it left, and to prove that nothing is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from reprieve.agents.process import process_table
from reprieve.agents.process.containers import ContainerSpec, Record
from reprieve.agents.process.environment import CONTAINER_NAME, POD_UID
from reprieve.agents.process.process_table import Process

_ROUNDS = 100
_PAUSE = 0.02


def marked(pod_uid: str, container: str | None = None) -> list[int]:
    """The processes that were started with the mark of this pod, and container if one is given."""
    marks = {POD_UID: pod_uid} if container is None else {POD_UID: pod_uid, CONTAINER_NAME: container}
    return sorted(_marked(process_table.table(), marks))


def end_remains(spec: ContainerSpec, record: Record | None) -> list[int]:
    """Kill everything that comes from a container whose shim is gone; returns what could not be ended."""
    remains: list[Process] = []
    for _ in range(_ROUNDS):
        remains = _remains(spec, record)
        if not remains:
            break
        process_table.send(remains, signal.SIGKILL)
        time.sleep(_PAUSE)
    return [process.pid for process in remains]


def _remains(spec: ContainerSpec, record: Record | None) -> list[Process]:
    """What carries the mark or is on record, and what shares a session or an ancestor with that.

    The shim began a session of its own, and everything in it, or in one begun by any of its processes, comes from it.
    The number of a session is not used again while one process of it lives: one proven member proves them all.
    """
    processes = process_table.table()
    found = _marked(processes, {POD_UID: spec.pod.uid, CONTAINER_NAME: spec.name})
    if record is not None and record.of_this_boot:
        found |= {one.pid for one in (record.shim, record.command) if one.alive}
    found &= processes.keys() - {1, os.getpid()}
    known = 0
    while known < len(found):
        known = len(found)
        found |= _related(found, processes)
    return [processes[pid] for pid in found]


def _related(found: set[int], processes: Mapping[int, Process]) -> set[int]:
    # A shim that was killed before it began its session has left only itself in the session of the agent.
    sessions = {processes[pid].session for pid in found} - {0, os.getsid(0)}
    groups = {processes[pid].group for pid in found} - {os.getpgid(0)}
    related = {
        process.pid
        for process in processes.values()
        if process.session in sessions or process.group in groups or process.parent in found
    }
    return related - {1, os.getpid()}


def _marked(processes: Mapping[int, Process], marks: Mapping[str, str]) -> set[int]:
    wanted = {f"{name}={value}".encode() for name, value in marks.items()}
    return {pid for pid in processes if wanted <= _environment(pid)}


def _environment(pid: int) -> set[bytes]:
    """The environment a process was started with; nothing where it is another user's, or cannot be read at all."""
    try:
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return set()
