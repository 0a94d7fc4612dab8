"""This machine as a Kubernetes node: what it has, as far as this process may use it, and whether its agent runs."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import msgspec
import psutil

from reprieve.agents.hollow.nodes import AGENT_LABEL
from reprieve.agents.process.control_groups import ControlGroups
from reprieve.agents.process.gpus import find_devices
from reprieve.model.clock import moment_of, timestamp
from reprieve.model.conditions import find_condition, set_condition
from reprieve.texts import agents as texts

Data = dict[str, Any]
HEARTBEAT = 300.0
"""Seconds after which a node says again that it is ready."""
NOT_READY_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
MAX_PODS = 110
GPU = "nvidia.com/gpu"
_LONGEST_NAME, _LONGEST_LABEL = 253, 63
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i386": "386", "i686": "386", "armv6l": "arm", "armv7l": "arm"}
_THIS_MACHINE = Path("/")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """CPU in thousandths, memory in bytes, GPUs by their names for the driver."""

    name: str
    milli_cpu: int
    memory: int
    devices: tuple[str, ...] = ()
    operating_system: str = "linux"
    architecture: str = "amd64"

    @classmethod
    def discover(cls, name: str) -> Self:
        """Look around. Asking the driver for GPUs may take seconds."""
        machine = platform.machine().lower()
        return cls(
            name=node_name(name),
            milli_cpu=usable_cpu(),
            memory=usable_memory(),
            devices=find_devices(os.environ),
            operating_system=sys.platform,
            architecture=_ARCHITECTURES.get(machine, machine),
        )

    @property
    def capacity(self) -> dict[str, str]:
        amounts = {
            "cpu": f"{self.milli_cpu}m" if self.milli_cpu % 1000 else str(self.milli_cpu // 1000),
            "memory": f"{self.memory // 1024}Ki",
            "pods": str(MAX_PODS),
        }
        return {**amounts, GPU: str(len(self.devices))} if self.devices else amounts

    def manifest(self) -> dict[str, Any]:
        """The node without conditions: whether it is ready is for the agent to say, and when it said so last."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self.labels},
            "spec": {},
            "status": {
                "capacity": self.capacity,
                "allocatable": self.capacity,
                "addresses": [{"type": "Hostname", "address": self.name}],
                "nodeInfo": self._information(),
            },
        }

    @property
    def labels(self) -> dict[str, str]:
        return {
            "kubernetes.io/hostname": _trimmed(self.name, _LONGEST_LABEL),
            "kubernetes.io/os": self.operating_system,
            "kubernetes.io/arch": self.architecture,
        }

    def _information(self) -> dict[str, str]:
        """Clients insist on every one of these fields; those that would identify the machine are left empty."""
        return {
            "architecture": self.architecture,
            "operatingSystem": self.operating_system,
            "kernelVersion": platform.release(),
            "osImage": platform.system(),
            "containerRuntimeVersion": "process://1",
            "kubeletVersion": "reprieve",
            "kubeProxyVersion": "",
            "bootID": "",
            "machineID": "",
            "systemUUID": "",
        }


def node_name(hostname: str) -> str:
    """The nearest name that Kubernetes accepts for a node."""
    labels = [re.sub(r"[^a-z0-9]+", "-", label).strip("-") for label in hostname.lower().split(".")]
    kept = ".".join(_trimmed(label, _LONGEST_LABEL) for label in labels if label)
    return _trimmed(kept, _LONGEST_NAME) or "localhost"


def new_node(machine: Machine, now: datetime) -> Data:
    node = machine.manifest()
    set_labels(node, machine)
    set_ready(node["status"], machine, now)
    return node


def set_labels(node: Data, machine: Machine) -> None:
    """Labels of others stay. Nobody is kept off any more by what this agent said when it stopped."""
    metadata = node["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), **machine.labels, AGENT_LABEL: "process"}
    _set_taints(node, [])


def set_ready(status: Data, machine: Machine, now: datetime) -> None:
    status |= machine.manifest()["status"]
    beat = _last_beat(status, now)
    set_condition(status, "Ready", "True", "AgentReady", texts.NODE_READY, now=now, lastHeartbeatTime=beat)


def set_limits(status: Data, groups: ControlGroups | None, now: datetime) -> None:
    """How far limits are enforced here, and what a job is ended by."""
    enforced = sorted(groups.controllers) if groups is not None else []
    whole = texts.WHOLE_BY_GROUPS if groups is not None else texts.WHOLE_BY_SHIM
    limits = texts.LIMITS_BY_GROUPS.format(" and ".join(enforced)) if enforced else texts.LIMITS_BY_RLIMIT
    reason = "ControlGroups" if enforced else "ResourceLimits"
    set_condition(status, "LimitsEnforced", str(bool(enforced)), reason, f"{limits}; {whole}", now=now)


def set_stopped(status: Data, now: datetime) -> None:
    beat = timestamp(now)
    set_condition(status, "Ready", "False", "AgentStopped", texts.NODE_STOPPED, now=now, lastHeartbeatTime=beat)


def taint_stopped(node: Data) -> None:
    """Nothing is to be placed here while nobody would run it."""
    _set_taints(node, [dict(NOT_READY_TAINT)])


def _set_taints(node: Data, own: list[Data]) -> None:
    spec = node.setdefault("spec", {})
    others = [taint for taint in spec.get("taints") or () if not NOT_READY_TAINT.items() <= taint.items()]
    if others or own:
        spec["taints"] = [*others, *own]
    else:
        spec.pop("taints", None)


def _last_beat(status: Data, now: datetime) -> str:
    """The heartbeat that is still good; a new one where it is not."""
    known = find_condition(status.get("conditions") or (), "Ready")
    last = known.get("lastHeartbeatTime")
    fresh = last and 0 <= (now - moment_of(last)).total_seconds() < HEARTBEAT
    return str(last) if fresh and known.get("status") == "True" else timestamp(now)


# What this process may use


def usable_cpu(root: Path = _THIS_MACHINE) -> int:
    """Thousandths of CPUs: those this process may run on, and no more than its control groups allow."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([count * 1000, *_cpu_limits(root)]))


def usable_memory(root: Path = _THIS_MACHINE) -> int:
    """Bytes: what is built in, and no more than the control groups allow."""
    return min([psutil.virtual_memory().total, *_memory_limits(root)])


def _cpu_limits(root: Path) -> Iterator[int]:
    for group in _control_groups(root, ""):
        yield from _share(_words(group / "cpu.max"))
    for group in _control_groups(root, "cpu"):
        yield from _share(_words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us"))


def _share(words: list[str]) -> Iterator[int]:
    """Quota and period in microseconds; a quota that is not a positive number is no limit."""
    if len(words) == 2 and all(word.isdigit() and int(word) for word in words):
        quota, period = words
        yield int(quota) * 1000 // int(period)


def _memory_limits(root: Path) -> Iterator[int]:
    limits = [_words(group / "memory.max") for group in _control_groups(root, "")]
    limits += [_words(group / "memory.limit_in_bytes") for group in _control_groups(root, "memory")]
    yield from (int(words[0]) for words in limits if words and words[0].isdigit() and int(words[0]))


def _control_groups(root: Path, controller: str) -> Iterator[Path]:
    """This process's group and those around it, as far as they can be seen; the second version has no controller.

    Inside a container the path may be that of the host: then the groups that are visible begin at the mount.
    """
    mounts = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controller not in controllers.split(","):
            continue
        bases = [mounts / controllers, mounts / controller] if controller else [mounts, mounts / "unified"]
        for base in dict.fromkeys(bases):
            group = base / path.strip("/")
            yield from (one for one in (group, *group.parents) if one.is_relative_to(base) and one.is_dir())


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def _words(file: Path) -> list[str]:
    lines = _lines(file)
    return lines[0].split() if lines else []


def _trimmed(name: str, longest: int) -> str:
    return name[:longest].strip("-.")
