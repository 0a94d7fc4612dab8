"""Hollow nodes: nodes of any number and size on which pods run for as long as they say, and nothing else happens.

1. A pod runs for the seconds of its annotation `run-seconds`, else until it is deleted; then it has succeeded, or
   failed where `exit-code` is not 0.
2. A pod that is deleted takes `termination-seconds` to go, at most its grace period.
3. Everything is worked out from the objects, so that a restart changes nothing.
"""

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from reprieve.controllers.pods.templates import phase_of
from reprieve.controllers.work_queue import WorkQueue
from reprieve.manifests.kinds import NODES, PODS
from reprieve.model.clock import Clock, moment_of, timestamp
from reprieve.model.conditions import changed_condition, conditions_of
from reprieve.stores.caches import GATHER, Cache
from reprieve.stores.errors import NotFound, StoreError
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving

_log = logging.getLogger(__name__)

AGENT_LABEL = "reprieve.scheduling/agent"
HOLLOW = "hollow"
RUN_SECONDS = "reprieve.scheduling/run-seconds"
TERMINATION_SECONDS = "reprieve.scheduling/termination-seconds"
EXIT_CODE = "reprieve.scheduling/exit-code"
_LONGEST = 10.0 * 365 * 86400
_RETRY_SECONDS = 1.0


def hollow_node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: int = 110,
    gpus: int = 0,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A node that this agent plays."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, AGENT_LABEL: HOLLOW, **(labels or {})}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "HollowAgent"}],
            "nodeInfo": {"kubeletVersion": "reprieve-hollow"},
        },
    }


class HollowAgent:
    """Plays all nodes that carry its label."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._signal = asyncio.Event()
        self._queue = WorkQueue()
        self._pods = Cache(PODS, self._pod_changed, {"node": _node_of})
        self._nodes = Cache(NODES, self._node_changed)

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                await self._turn()
        finally:
            self._pods.stop()
            self._nodes.stop()

    async def _turn(self) -> None:
        self._signal.clear()
        try:
            await self._nodes.follow(self._store, self._signal)
            await self._pods.follow(self._store, self._signal)
        except StoreError as error:
            _log.warning("the store cannot be followed: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
            return
        for number, key in enumerate(iter(self._next_key, None)):
            await self._look_after(key)
            if number % 16 == 15:
                await asyncio.sleep(0)
        await self._rest()

    def _next_key(self) -> Any:
        return self._queue.take(self._clock().timestamp())

    async def _rest(self) -> None:
        due = self._queue.next_due()
        try:
            # Not `wait_for`: in Python 3.11 that loses a cancellation which comes together with the signal.
            async with asyncio.timeout(None if due is None else max(due - self._clock().timestamp(), 0.0)):
                await self._signal.wait()
            await asyncio.sleep(GATHER)
        except TimeoutError:
            return

    # What has changed

    def _pod_changed(self, _: Record | None, new: Record | None) -> None:
        if new is not None and new.data["spec"].get("nodeName"):
            self._queue.add(new.key)

    def _node_changed(self, old: Record | None, new: Record | None) -> None:
        if new is not None and (old is None or not _is_hollow(old)) and _is_hollow(new):
            for record in self._pods.by("node", new.name):
                self._queue.add(record.key)

    def _wake_at(self, moment: datetime, record: Record) -> None:
        self._queue.add_at(record.key, moment.timestamp())

    # One pod

    async def _look_after(self, key: tuple[str, str]) -> None:
        record = self._pods.get(key[1], key[0])
        if record is None or not self._is_mine(record):
            return
        try:
            await self._step(record)
        except NotFound:
            self._pods.drop(record)
        except StoreError as error:
            _log.warning("%s: %s", record.unit, error)
            self._wake_at(self._clock() + timedelta(seconds=_RETRY_SECONDS), record)

    def _is_mine(self, record: Record) -> bool:
        node = self._nodes.get(record.data["spec"].get("nodeName", ""))
        return node is not None and _is_hollow(node)

    async def _step(self, record: Record) -> None:
        phase = phase_of(record)
        if is_leaving(record):
            await self._let_go(record)
        elif phase == "Pending":
            changed = await self._patch(record, _running(record, self._clock()))
            self._await_end(changed)
        elif phase == "Running":
            await self._end_if_due(record)

    def _await_end(self, record: Record) -> None:
        end = _end_of(record)
        if end is not None:
            self._wake_at(end, record)

    async def _end_if_due(self, record: Record) -> None:
        end = _end_of(record)
        if end is not None and end <= self._clock():
            await self._patch(record, _ended(record, self._clock()))
        else:
            self._await_end(record)

    async def _let_go(self, record: Record) -> None:
        moment = _gone_at(record)
        if moment > self._clock():
            self._wake_at(moment, record)
            return
        await self._store.delete(PODS, record.name, record.namespace, grace=0, uid=record.uid)
        if not record.metadata.get("finalizers"):
            self._pods.drop(record)

    async def _patch(self, record: Record, status: dict[str, Any]) -> Record:
        changed = await self._store.patch(
            PODS, record.name, record.namespace, {"status": status}, "strategic", subresource="status", uid=record.uid
        )
        self._pods.put(changed)
        return changed


def _node_of(record: Record) -> list[str]:
    name = record.data["spec"].get("nodeName")
    return [name] if name else []


def _is_hollow(record: Record) -> bool:
    return record.labels.get(AGENT_LABEL) == HOLLOW


def seconds_in(record: Record, annotation: str) -> float | None:
    """A number of seconds that a pod says in an annotation; what is no number is not said."""
    text = record.annotations.get(annotation, "")
    try:
        seconds = float(text)
    except ValueError:
        return None
    return min(seconds, _LONGEST) if seconds >= 0 else None


def _end_of(record: Record) -> datetime | None:
    seconds = seconds_in(record, RUN_SECONDS)
    started = record.data.get("status", {}).get("startTime")
    return moment_of(started) + timedelta(seconds=seconds) if started and seconds is not None else None


def _gone_at(record: Record) -> datetime:
    """When a pod that is being deleted has gone: after what it takes, and never later than its grace ends."""
    deadline = moment_of(record.metadata["deletionTimestamp"])
    grace = float(record.metadata.get("deletionGracePeriodSeconds") or 0)
    takes = min(seconds_in(record, TERMINATION_SECONDS) or 0.0, grace)
    return deadline - timedelta(seconds=grace - takes)


def _running(record: Record, now: datetime) -> dict[str, Any]:
    state = {"running": {"startedAt": timestamp(now)}}
    return {"phase": "Running", "startTime": timestamp(now), **_containers(record, state, now, ready=True)}


def _ended(record: Record, now: datetime) -> dict[str, Any]:
    code = int(seconds_in(record, EXIT_CODE) or 0)
    ended = {"exitCode": code, "finishedAt": timestamp(now), "reason": "Error" if code else "Completed"}
    phase = "Failed" if code else "Succeeded"
    return {"phase": phase, **_containers(record, {"terminated": ended}, now, ready=False)}


def _containers(record: Record, state: dict[str, Any], now: datetime, *, ready: bool) -> dict[str, Any]:
    said = {"ready": ready, "restartCount": 0, "state": state}
    return {
        "conditions": [changed_condition(conditions_of(record.data), "Ready", str(ready), now=now)],
        "containerStatuses": [{"name": item["name"], **said} for item in record.data["spec"]["containers"]],
    }
