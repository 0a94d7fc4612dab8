"""Containers as processes of this machine: started, found again after a restart, waited for and stopped."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import msgspec
import psutil

from reprieve.agents.process.containers import (
    ContainerRecord,
    ContainerSpec,
    Directory,
    Exit,
    ProcessIdentity,
    read_plain,
)
from reprieve.agents.process.control_groups import end_group
from reprieve.agents.process.remains import end_remains, send
from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.shim_starter import SHIMS, shim_lives, start_shim

_POLL = 0.05
_BETWEEN_KILLS = 0.2
KILLED, UNKNOWN = files.SIGNALLED + signal.SIGKILL, "ContainerStatusUnknown"


class _Stop(msgspec.Struct):
    """Until when what outlives the command may go on."""

    deadline: float


class ContainerProcess:
    """One container, running or ended. Whoever drops it while it runs calls `close`, which leaves the work alone."""

    def __init__(self, directory: Directory, spec: ContainerSpec, *, child: int | None = None) -> None:
        self.directory = directory
        self.spec = spec
        self._record = directory.record()
        self._child = child
        self._asked = False
        self._end = asyncio.get_running_loop().create_task(self._ended())

    @classmethod
    async def start(cls, directory: Directory, spec: ContainerSpec) -> Self:
        """Returns once the command runs, or is known not to; a command that cannot be started is an exit."""
        spec.validate()
        child, ready = start_shim(directory, spec)
        try:
            await _readable(ready)
        finally:
            os.close(ready)
        return cls(directory, spec, child=child)

    @classmethod
    async def adopt(cls, directory: Directory) -> Self | None:
        """Find a container again; None if it was never started, which is the case when a crash came first."""
        spec = directory.spec()
        while directory.record() is None and directory.exit() is None and shim_lives(directory):
            await asyncio.sleep(_POLL)
        if spec is None or (directory.record() is None and directory.exit() is None):
            return None
        return cls(directory, spec)

    @property
    def running(self) -> bool:
        return not self._end.done()

    @property
    def pid(self) -> int | None:
        """The number of the command's process, which is also that of its group and session."""
        return self._record.command.pid if self._record else None

    @property
    def started_at(self) -> str | None:
        return self._record.started_at if self._record else None

    async def wait(self) -> Exit:
        """The exit, once nothing of the container runs any more. To give up waiting does not disturb it."""
        return await asyncio.shield(self._end)

    async def settled(self) -> Self:
        """Itself; one that has ended already is known to have."""
        if self.directory.exit() is not None or not shim_lives(self.directory):
            await self.wait()
        return self

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Be told once nothing of the container runs any more, or nobody watches it."""
        self._end.add_done_callback(lambda _: callback())

    def close(self) -> None:
        """Stop watching. The container goes on, and can be adopted again."""
        self._end.cancel()

    async def terminate(self, grace: float) -> Exit:
        """Ask the command's group to stop, and kill all that comes from it when the seconds of grace are over.

        Called again with less grace, the earlier end counts.
        """
        if grace > 0 and self.running:
            self._grant(grace)
            self._ask()
            await asyncio.wait({self._end}, timeout=grace)
        if self.running:
            self._grant(0)
            self._signal_group(signal.SIGKILL)
            await asyncio.wait({self._end}, timeout=_BETWEEN_KILLS)
        while self.running:
            # The shim ends the rest once the command has ended. It may itself be paused, or too slow.
            await asyncio.to_thread(self._kill_descendants)
            await asyncio.wait({self._end}, timeout=_BETWEEN_KILLS)
        return await self.wait()

    def _grant(self, grace: float) -> None:
        """Let the shim know until when children that outlive the command may go on."""
        deadline = time.monotonic() + grace
        with contextlib.suppress(OSError, msgspec.DecodeError):
            granted = msgspec.json.decode(read_plain(self.directory.file(files.STOP)), type=_Stop)
            deadline = min(deadline, granted.deadline)
        with contextlib.suppress(OSError):
            self.directory.write(files.STOP, {"deadline": deadline})

    def _ask(self) -> None:
        """Once: programs take a second request for impatience. A paused process is continued, so that it can stop."""
        if not self._asked:
            self._asked = True
            self._signal_group(signal.SIGTERM)
            self._signal_group(signal.SIGCONT)

    def _signal_group(self, number: int) -> None:
        record = self._record
        if record is not None and record.of_this_boot and record.command.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(record.command.pid, number)

    def _kill_descendants(self) -> None:
        record = self._record
        if record is None or not record.of_this_boot:
            return
        with contextlib.suppress(psutil.Error):
            shim = psutil.Process(record.shim.pid)
            if record.shim.alive:
                send(shim.children(recursive=True), signal.SIGKILL)
                send([shim], signal.SIGCONT)

    async def _ended(self) -> Exit:
        await self._shim_gone()
        if self._child is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._child, os.WNOHANG)
            SHIMS.discard(self._child)
        if self.spec.group:
            await asyncio.to_thread(end_group, Path(self.spec.group))
        known = self.directory.exit()
        return known if known is not None else await asyncio.to_thread(self._vanished)

    async def _shim_gone(self) -> None:
        descriptor = _watchable(self._record, self._child)
        if descriptor is None:
            while shim_lives(self.directory):
                await asyncio.sleep(_POLL)
            return
        try:
            await _readable(descriptor)
        finally:
            os.close(descriptor)

    def _vanished(self) -> Exit:
        """The shim was killed, so nobody saw the end of the command; what is left of it is not left alone."""
        left = end_remains(self.spec, self._record)
        ending = _unseen(self.directory, self._record)
        if left:
            message = f"{ending.message}; these processes of it could not be ended: {', '.join(map(str, left))}"
            ending = msgspec.structs.replace(ending, message=message)
        with contextlib.suppress(OSError):
            self.directory.write_exit(ending)
        return ending


def _unseen(directory: Directory, record: ContainerRecord | None) -> Exit:
    now = files.timestamp()
    if record is None:
        message = f"the command was not started: its shim ended. {_last_complaint(directory)}".rstrip()
        return Exit(files.NOT_STARTED, "StartError", now, now, message)
    happened = "the shim that watched over the command was killed"
    if not record.of_this_boot:
        happened = "the machine was restarted while the command ran"
    return Exit(KILLED, UNKNOWN, record.started_at, now, happened, signal.SIGKILL)


def _last_complaint(directory: Directory) -> str:
    try:
        lines = read_plain(directory.file(files.COMPLAINTS)).decode(errors="replace").splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def _watchable(record: ContainerRecord | None, child: int | None) -> int | None:
    """A descriptor that can be read once the shim is gone; None where only its lock can tell."""
    if not hasattr(os, "pidfd_open"):
        return None
    shim = record.shim if record else ProcessIdentity(child or 0, "")
    try:
        descriptor = os.pidfd_open(shim.pid)
    except OSError:
        return None
    # A child cannot lose its number to another process before it is reaped.
    if child is None and not (record and record.of_this_boot and shim.alive):
        os.close(descriptor)
        return None
    return descriptor


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
