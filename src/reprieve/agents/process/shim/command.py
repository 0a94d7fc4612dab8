"""The command of a container as its shim sees it: from its start to the end of the last process that comes from it.

Part of the shim, so it imports little and nothing of this package.
"""
# pathlib and contextlib would double the time a shim takes to start.
# ruff: noqa: PTH123, SIM105

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

if TYPE_CHECKING or __package__:
    from reprieve.agents.process.shim import container_files as files
    from reprieve.agents.process.shim import process_table as processes
else:
    import container_files as files
    import process_table as processes

signal = processes.signal

_CHUNK = 1 << 16
_PAUSE = 20
_PIPEFUL = 1 << 20
_SET_DEATH_SIGNAL, _SET_DUMPABLE, _SET_SUBREAPER = 1, 4, 36
_IDENTITY = '{"pid": %d, "started": "%s"}'
_RECORD = f'{{"boot": "%s", "startedAt": "%s", "shim": {_IDENTITY}, "command": {_IDENTITY}}}'


class Failure(Exception):
    """The command could not be started."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Command:
    """The command from its start to the end of the last process that comes from it."""

    def __init__(self, order: files.Order) -> None:
        self.order = order
        self.log = files.Log(order.log_limit)
        self.output, self.output_end = os.pipe()
        self.control = process_control()
        self.pid = 0
        self.status: int | None = None
        self.started = self.finished = files.timestamp()
        self.asked = False

    def start(self) -> None:
        """Fork, put the process on record, and only then let it become the command."""
        self.control(_SET_SUBREAPER, 1)
        permission, permit = os.pipe()
        failure, fail = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(permit)
            self._become(permission, fail)
        for descriptor in (permission, fail, self.output_end):
            os.close(descriptor)
        for number in processes.DEAF_TO:
            signal.signal(number, signal.SIG_IGN)
        self._record()
        tell(permit, b"go")
        self._raise_failure(failure)

    def _record(self) -> None:
        self.started = files.timestamp()
        record = _RECORD % (processes.boot(), self.started, *_identity(os.getpid()), *_identity(self.pid))
        files.write_text(files.PROCESS, record)

    def _raise_failure(self, failure: int) -> None:
        """The pipe closes without a word when the command takes over."""
        with open(failure, "rb") as file:
            words = file.read()
        if words:
            os.waitpid(self.pid, 0)
            code, _, message = words.decode().partition(" ")
            raise Failure(int(code), message)

    def _become(self, permission: int, fail: int) -> NoReturn:
        """In the new process. Signals sent to it so far are delivered when the command takes over."""
        try:
            self.control(_SET_DEATH_SIGNAL, signal.SIGKILL)
            os.setsid()
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            for descriptor in (1, 2):
                os.dup2(self.output_end, descriptor)
            if os.read(permission, 2):
                self._execute()
        except Failure as problem:
            tell(fail, f"{problem.code} {problem}".encode())
        except (OSError, ValueError) as problem:
            tell(fail, f"{files.NOT_STARTED} cannot start: {problem}".encode())
        finally:
            os._exit(files.NOT_STARTED)

    def _execute(self) -> None:
        words = [word.encode() for word in self.order.command]
        variables = {name.encode(): value.encode() for name, value in self.order.environment.items()}
        directory = self.order.directory
        if self.order.group:
            with open(f"{self.order.group}/cgroup.procs", "w") as members:
                members.write("0")
        if self.order.memory:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (self.order.memory, self.order.memory))
        if self.order.user:
            _become_user(self.order.user)
        try:
            os.chdir(directory.encode())
        except OSError as problem:
            raise Failure(files.NOT_STARTED, f"working directory {directory}: {problem.strerror}") from None
        os.umask(self.order.umask)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        try:
            os.execvpe(words[0], words, variables)  # noqa: S606
        except OSError as problem:
            raise _explained(self.order.command[0], problem) from None

    def follow(self) -> None:
        """Copy output and reap until nothing is left that comes from the command."""
        woken = _wake_on_child()
        os.set_blocking(self.output, False)
        events = select.poll()
        for descriptor in (self.output, woken):
            events.register(descriptor, select.POLLIN)
        while self._anything_left():
            pause = None if self.status is None else self._end_the_rest()
            for descriptor, _ in events.poll(pause):
                take = self.log.write if descriptor == self.output else len
                if not _move(descriptor, take):
                    events.unregister(descriptor)
        self._copy_the_last()

    def _copy_the_last(self) -> None:
        """What is still in the pipe, and no more: somebody else may have been given its other end."""
        for _ in range(_PIPEFUL // _CHUNK):
            if not select.select([self.output], [], [], 0)[0] or not _move(self.output, self.log.write):
                break

    def _anything_left(self) -> bool:
        children = self._reap()
        if self.status is None or processes.LINUX:
            return children
        return processes.signal_group(self.pid, 0)

    def _reap(self) -> bool:
        """Whether there are children still: the command, or an orphan of it that the kernel gave to the shim."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self.pid:
                self.status, self.finished = status, files.timestamp()

    def _rest(self) -> list[processes.Process]:
        """All that comes from the command. Only on Linux is there more than its group that could be found."""
        return processes.descendants(os.getpid()) if processes.LINUX else []

    def _end_the_rest(self) -> float:
        """Kill what the command left, unless it was asked to stop: then all of it may use the time that was granted."""
        granted = _time_granted()
        if granted <= 0:
            processes.send(self._rest(), signal.SIGKILL)
            if not processes.LINUX:
                processes.signal_group(self.pid, signal.SIGKILL)
            return _PAUSE
        if not self.asked:
            # Its own group was asked by the agent; nobody else can ask those that left the group.
            # One that is paused is continued, so that it can stop.
            self.asked = True
            strays = [process for process in self._rest() if process.group != self.pid]
            processes.send(strays, signal.SIGTERM, signal.SIGCONT)
        return min(granted, 1) * 1000

    def outcome(self) -> dict[str, Any]:
        code = os.waitstatus_to_exitcode(self.status or 0)
        return {
            "exitCode": code if code >= 0 else files.SIGNALLED - code,
            "signal": max(-code, 0),
            "reason": "Error" if code else "Completed",
            "message": f"ended by signal {-code} ({_signal_name(-code)})" if code < 0 else "",
            "startedAt": self.started,
            "finishedAt": self.finished,
        }


def keep_to_itself() -> None:
    """Nobody of the same user looks into this process, or makes it do something else."""
    process_control()(_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """What outlives its parents becomes a child of this process, and not of the first one of the machine."""
    process_control()(_SET_SUBREAPER, 1)


def process_control() -> Callable[[int, int], object]:
    """Linux alone can give orphans to the shim, and end the command when the shim is killed."""
    if not processes.LINUX:
        return lambda _option, _value: None
    import ctypes

    control, number = ctypes.CDLL(None).prctl, ctypes.c_ulong
    return lambda option, value: control(option, number(value), number(0), number(0), number(0))


def _become_user(user: str) -> None:
    """Numbers of the user, and of its groups, the first of them its own."""
    number, *groups = map(int, user.split())
    os.setgroups(groups)
    os.setresgid(groups[0], groups[0], groups[0])
    os.setresuid(number, number, number)


def _explained(command: str, problem: OSError) -> Failure:
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return Failure(files.NOT_FOUND, f"command not found: {command}")
    if isinstance(problem, PermissionError):
        return Failure(files.NOT_EXECUTABLE, f"command is not executable: {command}")
    return Failure(files.NOT_EXECUTABLE, f"command cannot be started: {command}: {problem.strerror}")


def _wake_on_child() -> int:
    """A pipe that can be read when a child has ended."""
    woken, wake = os.pipe()
    for descriptor in (woken, wake):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def _identity(pid: int) -> tuple[int, str]:
    return pid, processes.started(pid)


def _signal_name(number: int) -> str:
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return "a real-time signal"


def _time_granted() -> float:
    try:
        deadline: float = files.read(files.STOP)["deadline"]
    except (OSError, ValueError, KeyError):
        return 0.0
    return deadline - time.monotonic()


def _move(source: int, take: Callable[[bytes], object]) -> bool:
    """Pass on what there is to read; False at the end of the pipe."""
    try:
        data = os.read(source, _CHUNK)
    except BlockingIOError:
        return True
    take(data)
    return bool(data)


def tell(descriptor: int, words: bytes) -> None:
    try:
        os.write(descriptor, words)
    except OSError:
        pass  # nobody listens any more
    os.close(descriptor)
