"""Queues, classes and Jobs in them, for stories about quota on a whole control plane."""

from __future__ import annotations

from typing import Any

from reprieve.stores.records import Record
from tests.builders.quota import flavor, queue
from tests.planes.running import Dict, Plane, job

QUEUE = "kueue.x-k8s.io/queue-name"


async def company(plane: Plane, **queues: Dict) -> None:
    """Two nodes of one flavor, three classes, and queues by name with their quota and policies."""
    for name in ("n1", "n2"):
        await plane.node(name, cpu="8", labels={"pool": "a"})
    for name, value in (("low", 1), ("middle", 10), ("high", 100)):
        await plane.priority(name, value)
    await plane.apply(flavor("default", nodeLabels={"pool": "a"}))
    for name, parts in queues.items():
        cpu = parts.pop("cpu")
        await plane.apply(*queue(name, {"default": {"cpu": cpu}}, **parts))


def shared(cpu: Any = 2, **parts: Any) -> Dict:
    return {"cpu": cpu, "cohort": "all", "reclaim": "Any", "within": "LowerPriority", **parts}


def work(name: str, queue: str, *, cpu: int = 1, said: Dict | None = None, **parts: Any) -> Dict:
    made = job(name, labels={QUEUE: queue}, cpu=str(cpu), **parts)
    made["metadata"]["annotations"] = said or {}
    return made


def admitted_by(workload: Record) -> str:
    found: str = workload.data.get("status", {}).get("admission", {}).get("clusterQueue", "")
    return found


async def running(plane: Plane, name: str) -> int:
    return sum(
        1
        for record in await plane.starting_with(name)
        if record.data["status"]["phase"] == "Running" and "deletionTimestamp" not in record.metadata
    )
