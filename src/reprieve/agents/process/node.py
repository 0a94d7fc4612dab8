"""This machine as a Node object: registered, kept up to date, and said to be gone when its agent stops."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from reprieve.agents.hollow.nodes import AGENT_LABEL
from reprieve.agents.process.machine import Machine
from reprieve.model.clock import moment_of, timestamp
from reprieve.model.conditions import find_condition, set_condition
from reprieve.texts import agents as texts

Data = dict[str, Any]
PROCESS = "process"
HEARTBEAT = 300.0
"""Seconds after which a node says again that it is ready."""
NOT_READY_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def new_node(machine: Machine, now: datetime) -> Data:
    node = machine.manifest()
    set_labels(node, machine)
    set_ready(node["status"], machine, now)
    return node


def set_labels(node: Data, machine: Machine) -> None:
    """Labels of others stay. Nobody is kept off any more by what this agent said when it stopped."""
    metadata = node["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), **machine.labels, AGENT_LABEL: PROCESS}
    _set_taints(node, [])


def set_ready(status: Data, machine: Machine, now: datetime) -> None:
    status |= machine.manifest()["status"]
    beat = _last_beat(status, now)
    set_condition(status, "Ready", "True", "AgentReady", texts.NODE_READY, now=now, lastHeartbeatTime=beat)


def set_stopped(status: Data, now: datetime) -> None:
    beat = timestamp(now)
    set_condition(status, "Ready", "False", "AgentStopped", texts.NODE_STOPPED, now=now, lastHeartbeatTime=beat)


def taint_stopped(node: Data) -> None:
    """Nothing is to be placed here while nobody would run it."""
    _set_taints(node, [dict(NOT_READY_TAINT)])


def _set_taints(node: Data, own: list[Data]) -> None:
    spec = node.setdefault("spec", {})
    others = [taint for taint in spec.get("taints") or () if not _is_own(taint)]
    if others or own:
        spec["taints"] = [*others, *own]
    else:
        spec.pop("taints", None)


def _is_own(taint: Mapping[str, Any]) -> bool:
    return all(taint.get(name) == value for name, value in NOT_READY_TAINT.items())


def _last_beat(status: Data, now: datetime) -> str:
    """The heartbeat that is still good; a new one where it is not."""
    known = find_condition(status.get("conditions") or (), "Ready")
    last = known.get("lastHeartbeatTime")
    fresh = last and 0 <= (now - moment_of(last)).total_seconds() < HEARTBEAT
    return str(last) if fresh and known.get("status") == "True" else timestamp(now)
