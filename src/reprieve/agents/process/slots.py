"""One container of a pod on this machine: the attempts to run it, and when the next one is due.

1. An attempt has a directory of its own, which says all there is to know about it: whoever comes after a crash goes on
   from there. The attempt before the last is kept as well; of those before, what they wrote (see `kept_logs`).
2. A container that ended and is to run again is started at once the first time, then after 10 seconds, twice as long
   each time, and never more than 300. One that ran for ten minutes begins anew.
3. A container that was ended with its agent counts neither as ended well nor as restarted.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from reprieve.agents.process.command import ContainerSurroundings, identity_of, owner_of, specification
from reprieve.agents.process.containers import ContainerSpec, Directory, Exit, attempts
from reprieve.agents.process.processes import KILLED, UNKNOWN, ContainerProcess
from reprieve.agents.process.shim import container_files as files
from reprieve.agents.process.specs import CREATE_ERROR, CannotRun, ContainerTask, NotYet, RestartPolicy
from reprieve.model.backoff import Backoff
from reprieve.model.clock import moment_of
from reprieve.stores.records import Record
from reprieve.texts import agents as texts

Role = Literal["init", "sidecar", "main"]
AGENT_STOPPED = "AgentStopped"
_MARK = "stopped-with-agent.json"
"""The file that tells the next agent why a container was ended."""
_TERMINATED = 143
_HOME = "files"
_BACK_OFF = Backoff(first=10.0, longest=300.0)
_LONG_RUN = 600.0
_RETRY = timedelta(seconds=2)


class Slot:
    """A container in its pod, whatever attempt it is at."""

    def __init__(self, around: ContainerSurroundings, uid: str, data: Mapping[str, Any], role: Role) -> None:
        self.name: str = data["name"]
        self.data, self.role, self.uid = data, role, uid
        self.container: ContainerProcess | None = None
        self.exit: Exit | None = None
        self.last: Exit | None = None
        self.restarts, self.back_off = 0, 0
        self.disrupted = self.asked = False
        self.hindrance: NotYet | None = None
        self._around = around
        self._retry_at: datetime | None = None
        self._ends_at: float | None = None
        self._stops: set[asyncio.Task[Exit]] = set()

    # How it stands

    @property
    def running(self) -> bool:
        return self.container is not None and self.exit is None

    @property
    def started(self) -> bool:
        """Whether there has been an attempt."""
        return self.container is not None or self.exit is not None

    @property
    def succeeded(self) -> bool:
        """Whether it has ended well, and by itself."""
        return self.exit is not None and self.exit.exit_code == 0 and not self.asked

    def runs_again(self, policy: RestartPolicy) -> bool:
        """Whether an end is not the last one. What must come before others need not run again after success."""
        if self.exit is None or self.role == "sidecar" or (policy == "Always" and self.role == "main"):
            return True
        return policy != "Never" and self.exit.exit_code != 0

    def due(self, policy: RestartPolicy, now: datetime) -> datetime | None:
        """When it is to be started; None: it runs, or never again."""
        if self.running or not self.runs_again(policy):
            return None
        if self.hindrance is not None:
            return self._retry_at
        if self.exit is None:
            return now
        ended = min(now, moment_of(self.exit.finished_at))  # a clock may have been set back
        return ended + timedelta(seconds=self.back_off_seconds)

    @property
    def back_off_seconds(self) -> float:
        return 0.0 if self.disrupted else _BACK_OFF.wait(self._back_off_before)

    @property
    def _back_off_before(self) -> int:
        """How far the back-off has grown; a long run makes good for what came before."""
        if self.exit is None:
            return self.back_off
        ran = moment_of(self.exit.finished_at) - moment_of(self.exit.started_at)
        return 0 if ran.total_seconds() >= _LONG_RUN else self.back_off

    # What happened before, and meanwhile

    async def adopt(self, status: Mapping[str, Any], ended: Callable[[], object]) -> None:
        """Find the last attempt again; what only the status knows of has been lost."""
        kept = attempts(self._around.root, self.uid, self.name)
        while kept and self.container is None:
            found = await ContainerProcess.adopt(kept.pop())
            if found is not None:
                self._hold(await found.settled(), ended)
        if self.container is None:
            self._believe(status)
            return
        self.restarts, self.back_off = self.container.spec.restarts, self.container.spec.back_off
        before = kept[-1].exit() if kept else None
        self.last = _as_seen(before, kept[-1]) if before is not None else None

    def _hold(self, container: ContainerProcess, ended: Callable[[], object]) -> None:
        self.container = container
        self.exit, self.hindrance, self._ends_at = None, None, None
        self.asked = self.disrupted = False
        container.when_ended(ended)

    def _believe(self, status: Mapping[str, Any]) -> None:
        state = status.get("state") or {}
        self.restarts = status.get("restartCount") or 0
        known = state.get("terminated") or (status.get("lastState") or {}).get("terminated")
        if "running" in state or self.restarts or known:
            now = files.timestamp()
            since = (state.get("running") or {}).get("startedAt") or now
            lost = Exit(KILLED, UNKNOWN, since, now, texts.FILES_GONE)
            self.exit = _from_status(known, now) if known and "running" not in state else lost

    async def look(self) -> None:
        """Take in that it has ended."""
        if self.container is None or self.container.running or self.exit is not None:
            return
        directory = self.container.directory
        self.exit = _as_seen(await self.container.wait(), directory)
        self.asked = directory.file(files.STOP).exists()
        self.disrupted = self.exit.reason == AGENT_STOPPED or _machine_restarted(self.exit, directory)
        self._around.devices.release(f"{self.uid}/{self.name}")

    # Starting

    async def start(self, pod: Record, now: datetime, ended: Callable[[], object]) -> None:
        """Begin the next attempt. What cannot be started now is a hindrance; what never can has ended at once."""
        kept = attempts(self._around.root, self.uid, self.name)
        number = kept[-1].attempt + 1 if kept else self._around.kept.next_run(self.uid, self.name)
        directory = Directory.of(self._around.root, self.uid, self.name, number)
        try:
            container = await self._begin(pod, directory)
        except (NotYet, OSError) as problem:
            self._around.devices.release(owner_of(pod, self.name))
            self.hindrance = problem if isinstance(problem, NotYet) else NotYet(str(problem), CREATE_ERROR)
            self._retry_at = now + _RETRY
            return
        self.last = self.exit or self.last
        self._hold(container, ended)
        self.restarts, self.back_off = container.spec.restarts, container.spec.back_off
        for old in kept[:-1]:
            await asyncio.to_thread(self._around.kept.take_run, old, self.uid, self.name)

    async def _begin(self, pod: Record, directory: Directory) -> ContainerProcess:
        counted = self._counted()
        home = directory.file(_HOME)
        try:
            spec = await specification(self._around, pod, ContainerTask.read(self.data), home)
        except CannotRun as problem:
            empty = ContainerSpec(pod=identity_of(pod, self._around.node), name=self.name, command=())
            return await _refused(directory, msgspec.structs.replace(empty, **counted), problem)
        directory.create()
        home.mkdir(mode=0o700, exist_ok=True)
        spec = msgspec.structs.replace(spec, group=self._group(spec, directory), **counted)
        return await (await ContainerProcess.start(directory, spec)).settled()

    def _group(self, spec: ContainerSpec, directory: Directory) -> str:
        """A control group of its own; empty: there are none here."""
        groups = self._around.groups
        name = "-".join(directory.path.parts[-3:])
        made = groups.make(name, milli_cpu=spec.milli_cpu, memory=spec.memory) if groups is not None else None
        return str(made or "")

    def _counted(self) -> dict[str, int]:
        if not self.started:
            return {"restarts": 0, "back_off": 0}
        if self.disrupted:
            return {"restarts": self.restarts, "back_off": self.back_off}
        return {"restarts": self.restarts + 1, "back_off": self._back_off_before + 1}

    # Stopping

    def stop(self, grace: float) -> bool:
        """Ask it to end within the seconds of grace; True when it was not asked before."""
        if self.container is None or not self.container.running:
            return False
        first, ends_at = self._ends_at is None, asyncio.get_running_loop().time() + grace
        if self._ends_at is None or ends_at < self._ends_at:
            self._ends_at = ends_at
            stop = asyncio.create_task(self.container.terminate(grace))
            self._stops.add(stop)
            stop.add_done_callback(self._stopped)
        return first

    def _stopped(self, stop: asyncio.Task[Exit]) -> None:
        self._stops.discard(stop)
        if not stop.cancelled():
            stop.exception()  # whoever looks at the container is told the same

    def stop_with_agent(self, grace: float) -> None:
        """End it because the agent ends; the next one is to know why."""
        if self.container is not None and self.container.running and self._ends_at is None:
            self.container.directory.write(_MARK, {"by": "agent"}, durable=True)
        self.stop(grace)

    @property
    def was_stopped_with_agent(self) -> bool:
        return self.container is not None and self.container.directory.file(_MARK).exists()

    async def close(self) -> None:
        """Stop watching; what runs goes on."""
        stops = list(self._stops)
        for stop in stops:
            stop.cancel()
        await asyncio.gather(*stops, return_exceptions=True)
        if self.container is not None:
            self.container.close()


async def _refused(directory: Directory, spec: ContainerSpec, problem: CannotRun) -> ContainerProcess:
    """An attempt that ended before it began, kept like any other."""
    now = files.timestamp()
    directory.create()
    directory.write(files.CONTAINER, spec)
    directory.write_exit(Exit(files.NOT_STARTED, problem.reason, now, now, str(problem)))
    container = await ContainerProcess.adopt(directory)
    if container is None:
        raise NotYet(str(problem), problem.reason)
    return await container.settled()


def _as_seen(ended: Exit, directory: Directory) -> Exit:
    """What was ended with its agent did not end well, even where it says so."""
    if not directory.file(_MARK).exists():
        return ended
    code = ended.exit_code or _TERMINATED
    return msgspec.structs.replace(ended, exit_code=code, reason=AGENT_STOPPED, message=texts.STOPPED_WITH_AGENT)


def _machine_restarted(ended: Exit, directory: Directory) -> bool:
    record = directory.record()
    return ended.reason == UNKNOWN and record is not None and not record.of_this_boot


def _from_status(terminated: Mapping[str, Any], now: str) -> Exit:
    with suppress(msgspec.ValidationError):
        return msgspec.convert({"startedAt": now, "finishedAt": now, "reason": "", **terminated}, Exit)
    return Exit(KILLED, UNKNOWN, now, now, texts.FILES_GONE)
