"""The process agent: this machine as a node, on which the command of each container runs as a process.

1. Every pod that is bound to this node is looked after by a task of its own (see `pods`); images are not used.
2. What runs belongs to its pod, not to the agent: when the agent is killed, the work goes on and the next one finds it
   again. What belongs to no pod of this node any more is ended.
3. When the agent is stopped in good order it ends everything first and leaves nothing behind. What was ended that way
   runs again with the next agent, or is replaced by its Job, and counts as no failure.
"""

import asyncio
import fcntl
import logging
import os
import socket
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reprieve.agents.process import machine as machines
from reprieve.agents.process.command import ContainerSurroundings
from reprieve.agents.process.containers import Directory, attempts, containers, directories, pod_uids
from reprieve.agents.process.control_groups import ControlGroups
from reprieve.agents.process.gpus import Devices
from reprieve.agents.process.kept_logs import USUAL, KeptLogs, KeptRun, LogLimits, Run, described, written_so_far
from reprieve.agents.process.logs import chosen_container, log_directory, open_log
from reprieve.agents.process.machine import Machine
from reprieve.agents.process.pods import STOP_GRACE, PodWorker
from reprieve.agents.process.shim_starter import shim_lives
from reprieve.agents.process.users import NO_USERS, Users
from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.runner import BaseController
from reprieve.manifests.kinds import NODES, PODS
from reprieve.manifests.problems import ReprieveError
from reprieve.model.clock import Clock
from reprieve.model.resources import Resources
from reprieve.stores.errors import BadRequest, StoreError
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import agents as texts

_LOCK, _PODS, _KEPT = "agent.lock", "pods", "kept"
_NODE, _POD, _ORPHANS = "node", "pod", "orphans"
_PATIENCE = 5.0
"""Seconds beyond what containers are given, for writes and for what does not even end when it is killed."""
_log = logging.getLogger(__name__)


class AgentRunsAlready(ReprieveError):
    """Two agents must not look after the same containers."""


class ProcessAgent(BaseController):
    """Runs the pods of one node, which is this machine."""

    component = "process-agent"

    def __init__(
        self,
        store: Store,
        clock: Clock,
        directory: Path,
        name: str | None = None,
        *,
        machine: Machine | None = None,
        logs: LogLimits = USUAL,
        users: Users = NO_USERS,
        groups: bool = False,
    ) -> None:
        """With `machine`, the node has what that says; without, what is found here. `logs`: how much is kept of what
        is over. `users`: as whom containers run. `groups`: whether to use control groups, where they can be."""
        super().__init__(store, clock)
        self.name = machine.name if machine is not None else machines.node_name(name or socket.gethostname())
        self._directory = directory.absolute()
        self._root = self._directory / _PODS
        self._kept = KeptLogs(self._directory / _KEPT, logs)
        self._machine = machine
        self._users = users
        self._use_groups = groups
        self._groups: ControlGroups | None = None
        self._around: ContainerSurroundings | None = None
        self._workers: dict[str, tuple[PodWorker, asyncio.Task[None]]] = {}
        self._nodes = self.watch(NODES, lambda node: [(_NODE, node.name)] if node.name == self.name else [])
        self._pods = self.watch(PODS, self._own_pods, {"uid": self._own_uids})

    def _own_pods(self, pod: Record) -> list[tuple[str, str]]:
        return [(_POD, uid) for uid in self._own_uids(pod)]

    def _own_uids(self, pod: Record) -> list[str]:
        """An index: by uid, of the pods on this node."""
        return [pod.uid] if pod.manifest.spec.node_name == self.name else []

    # Running and stopping

    async def run(self) -> None:
        """Until cancelled; then everything is ended first. When it fails instead, the work goes on."""
        with _locked(self._directory):
            await self._look_around()
            await asyncio.to_thread(self._kept.tidy)
            self.enqueue((_NODE, self.name))
            self.enqueue((_ORPHANS, ""))
            try:
                await super().run()
            except asyncio.CancelledError:
                await self._wind_up()
                raise
            finally:
                await self._abandon()

    async def _look_around(self) -> None:
        """What this machine has, and who has which of its devices already."""
        if self._machine is None:
            self._machine = await asyncio.to_thread(Machine.discover, self.name)
        given = {}
        for directory in directories(self._root):
            spec = directory.spec()
            if spec is not None and spec.devices and shim_lives(directory):
                given[f"{spec.pod.uid}/{spec.name}"] = spec.devices
        capacity = Resources.parse(self._machine.capacity)
        devices = Devices(self._machine.devices, given)
        self._groups = await asyncio.to_thread(ControlGroups.find, self._directory) if self._use_groups else None
        self._around = ContainerSurroundings(
            *(self.name, self._root, self.store, os.environ, capacity, devices, self._kept),
            *(self._groups, self._users),
        )

    async def _wind_up(self) -> None:
        tasks = []
        for worker, task in self._workers.values():
            worker.wind_up()
            tasks.append(task)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_GRACE + _PATIENCE)
            if late:
                await self._end_by_force()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._say_stopped()
        except (StoreError, TimeoutError) as problem:
            _log.warning("node %s: it could not be said that its agent stopped: %s", self.name, problem)

    async def _end_by_force(self) -> None:
        """For those whose pods could not be written: that must not keep anything running."""
        for worker, _ in self._workers.values():
            worker.stop_all(0)
        await asyncio.wait([task for _, task in self._workers.values()], timeout=_PATIENCE)

    async def _abandon(self) -> None:
        tasks = [task for _, task in self._workers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._workers.clear()

    # Whatever has changed

    async def reconcile(self, key: tuple[str, str]) -> float | None:
        kind, name = key
        if kind == _NODE:
            await self._register()
            return machines.HEARTBEAT
        if kind == _ORPHANS:
            for uid in pod_uids(self._root):
                self._look_after(uid)
            return None
        self._look_after(name)
        return None

    def _look_after(self, uid: str) -> None:
        """Tell the one who looks after a pod; find somebody where there is something to do."""
        pod = next(iter(self._pods.by("uid", uid)), None)
        if uid in self._workers:
            self._workers[uid][0].see(pod)
        elif _is_work(pod) if pod is not None else (self._root / uid).exists():
            assert self._around is not None  # noqa: S101 - it was looked around first
            worker = PodWorker(self, self._around, uid, pod)
            self._workers[uid] = worker, self._in_background(uid, worker.run())

    def _in_background(self, uid: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        def over(ended: asyncio.Task[None]) -> None:
            known = self._workers.get(uid)
            if known is not None and known[1] is ended:
                del self._workers[uid]
                self.enqueue((_POD, uid))  # it may have changed at the last moment

        task = asyncio.create_task(work, name=f"pod {uid}")
        task.add_done_callback(over)
        return task

    # The node

    async def _register(self) -> None:
        assert self._machine is not None  # noqa: S101 - it was looked around first
        machine, node = self._machine, self._nodes.get(self.name)
        if node is None:
            node = await self.create(NODES, machines.new_node(machine, self.clock()))
        node = await self.modify(node, lambda data: machines.set_labels(data, machine))
        await self.modify_status(node, self._say_ready)

    def _say_ready(self, status: dict[str, Any]) -> None:
        assert self._machine is not None  # noqa: S101 - it was looked around first
        machines.set_ready(status, self._machine, self.clock())
        machines.set_limits(status, self._groups, self.clock())

    async def _say_stopped(self) -> None:
        node = self._nodes.get(self.name)
        if node is not None:
            node = await self.modify(node, machines.taint_stopped)
            await self.modify_status(node, lambda status: machines.set_stopped(status, self.clock()))

    # Logs

    def logs(
        self,
        pod: Record,
        container: str,
        *,
        tail: int | None = None,
        since_seconds: int | None = None,
        limit_bytes: int | None = None,
        follow: bool = False,
        previous: bool = False,
        timestamps: bool = False,
    ) -> AsyncIterator[bytes] | None:
        """What a container wrote; None: its pod is not on this node."""
        if pod.data["spec"].get("nodeName") != self.name:
            return None
        name = chosen_container(pod, container)
        if since_seconds is not None or timestamps:
            raise BadRequest(texts.NO_TIMES, kind="pods", name=pod.name)
        directory = log_directory(self._root, pod, name, previous=previous)
        return open_log(directory, tail=tail, limit_bytes=limit_bytes, follow=follow)

    def runs(self, uid: str) -> list[Run]:
        """The runs of a pod's containers of which anything is known here, also after the pod is gone: by container,
        the oldest first."""
        here = (
            described(directory, container, KeptRun(written_so_far(directory)))
            for container in containers(self._root, uid)
            for directory in attempts(self._root, uid, container)
        )
        return sorted([*self._kept.runs(uid), *here], key=lambda run: (run.container, run.run))

    def run_log(
        self, uid: str, container: str, run: int, *, tail: int | None = None, limit_bytes: int | None = None
    ) -> AsyncIterator[bytes] | None:
        """What one run wrote; None: nothing is left of it here."""
        running = Directory.of(self._root, uid, container, run)
        found = running if running.path.is_dir() else self._kept.find(uid, container, run)
        return None if found is None else open_log(found, tail=tail, limit_bytes=limit_bytes, follow=False)


def _is_work(pod: Record) -> bool:
    """Whether there is anything to do for a pod; one that has ended only waits to be deleted."""
    if not is_finished(pod):
        return True
    return is_leaving(pod) and bool(pod.metadata.get("deletionGracePeriodSeconds"))


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AgentRunsAlready(texts.agent_runs_already(directory)) from None
        yield
    finally:
        os.close(lock)
