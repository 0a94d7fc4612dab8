"""Hollow nodes: nodes of any number and size on which pods run for as long as they say, and nothing else happens.

1. A pod runs for the seconds of its annotation `run-seconds`, else until it is deleted; then it has succeeded, or
   failed where `exit-code` is not 0.
2. A pod that is deleted takes `termination-seconds` to go, at most its grace period.
3. Everything is worked out from the objects, so that a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from reprieve.controllers.pods.templates import phase_of
from reprieve.controllers.runner import Controller
from reprieve.manifests.kinds import NODES, PODS
from reprieve.model.clock import Clock, moment_of, timestamp
from reprieve.model.conditions import changed_condition, conditions_of
from reprieve.stores.errors import NotFound
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import finalizers_of, is_leaving

AGENT_LABEL = "reprieve.scheduling/agent"
HOLLOW = "hollow"
RUN_SECONDS = "reprieve.scheduling/run-seconds"
TERMINATION_SECONDS = "reprieve.scheduling/termination-seconds"
EXIT_CODE = "reprieve.scheduling/exit-code"
_LONGEST = 10.0 * 365 * 86400


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
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, AGENT_LABEL: HOLLOW, **(labels or {})},
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "HollowAgent"}],
            "nodeInfo": {"kubeletVersion": "reprieve-hollow"},
        },
    }


class HollowAgent(Controller):
    """Plays all nodes that carry its label."""

    component = "hollow-nodes"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._nodes = self.watch_changes(NODES, self._node_changed)
        self._pods = self.watch_changes(PODS, self._pod_changed, {"node": _node_of})

    def _pod_changed(self, _: Record | None, new: Record | None) -> None:
        if new is not None and new.data["spec"].get("nodeName"):
            self.enqueue(new.key)

    def _node_changed(self, old: Record | None, new: Record | None) -> None:
        if new is not None and (old is None or not _is_hollow(old)) and _is_hollow(new):
            for pod in self._pods.by("node", new.name):
                self.enqueue(pod.key)

    async def reconcile(self, key: tuple[str, str]) -> float | None:
        namespace, name = key
        pod = self._pods.get(name, namespace)
        if pod is None or not self._is_mine(pod):
            return None
        try:
            return await self._step(pod)
        except NotFound:
            self.forget(pod)
            return None

    def _is_mine(self, pod: Record) -> bool:
        node = self._nodes.get(pod.data["spec"].get("nodeName", ""))
        return node is not None and _is_hollow(node)

    async def _step(self, pod: Record) -> float | None:
        """Bring a pod forward; seconds until there is something to do again, None when something must happen."""
        if is_leaving(pod):
            return await self._let_go(pod)
        if phase_of(pod) == "Pending":
            await self._patch(pod, _running(pod, self.clock()))
        elif phase_of(pod) == "Running" and (end := _end_of(pod)) is not None:
            left = (end - self.clock()).total_seconds()
            if left > 0:
                return left
            await self._patch(pod, _ended(pod, self.clock()))
        return None

    async def _let_go(self, pod: Record) -> float | None:
        left = (_gone_at(pod) - self.clock()).total_seconds()
        if left > 0:
            return left
        await self.store.delete(PODS, pod.name, pod.namespace, grace=0, uid=pod.uid)
        if not finalizers_of(pod):
            self.forget(pod)
        return None

    async def _patch(self, pod: Record, status: dict[str, Any]) -> None:
        change = {"status": status}
        self._written(
            await self.store.patch(
                PODS, pod.name, pod.namespace, change, "strategic", subresource="status", uid=pod.uid
            )
        )


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
    at = timestamp(now)
    return {
        "phase": "Running",
        "startTime": at,
        "conditions": [changed_condition(conditions_of(record.data), "Ready", "True", now=now)],
        "containerStatuses": [
            {"name": item["name"], "ready": True, "restartCount": 0, "state": {"running": {"startedAt": at}}}
            for item in record.data["spec"]["containers"]
        ],
    }


def _ended(record: Record, now: datetime) -> dict[str, Any]:
    at = timestamp(now)
    code = int(seconds_in(record, EXIT_CODE) or 0)
    state = {"terminated": {"exitCode": code, "finishedAt": at, "reason": "Error" if code else "Completed"}}
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [changed_condition(conditions_of(record.data), "Ready", "False", now=now)],
        "containerStatuses": [
            {"name": item["name"], "ready": False, "restartCount": 0, "state": state}
            for item in record.data["spec"]["containers"]
        ],
    }
