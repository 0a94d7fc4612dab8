"""What must hold on a control plane once everything has come to rest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from reprieve.manifests.kinds import BINDINGS, EVENTS, POD_GROUPS, PODS, QUOTA_WORKLOADS, RESOURCES
from reprieve.manifests.loading import load_objects
from reprieve.scheduler.queues.configuration import in_force
from reprieve.stores.records import Record
from tests.planes.laws import Eye
from tests.planes.running import Plane, condition


async def everything(plane: Plane) -> list[dict[str, Any]]:
    found = [record for resource in RESOURCES.values() for record in (await plane.store.list(resource)).records]
    return [record.data for record in in_force(found) if record.resource != EVENTS]


async def what_is_wrong(plane: Plane, eye: Eye) -> list[str]:
    """All that must not be so once everything has come to rest."""
    return [
        *eye.faults,
        *eye.bindings.faults,
        *[fault async for fault in _silent(plane)],
        *[fault async for fault in _half_placed(plane, eye)],
        *await could_still_act(plane),
    ]


async def _silent(plane: Plane) -> AsyncIterator[str]:
    """Whoever waits says why."""
    for pod in (await plane.store.list(PODS)).records:
        spec = pod.data["spec"]
        if not spec.get("nodeName") and not spec.get("schedulingGates") and not pod.manifest.finished:
            told = condition(pod, "PodScheduled")
            if told.get("status") != "False" or not told.get("message"):
                yield f"{pod.unit} waits and does not say why"
            if pod.data["status"].get("nominatedNodeName"):
                yield f"{pod.unit} is nominated at rest"
    for workload in (await plane.store.list(QUOTA_WORKLOADS)).records:
        reserved = condition(workload, "QuotaReserved")
        if condition(workload, "Finished").get("status") != "True" and not reserved.get("message"):
            yield f"{workload.unit} waits and does not say why"
    for binding in (await plane.store.list(BINDINGS)).records:
        if not condition(binding, "Scheduled").get("message"):
            yield f"{binding.unit} does not say what became of it"


async def _half_placed(plane: Plane, eye: Eye) -> AsyncIterator[str]:
    pods = (await plane.store.list(PODS)).records
    for group in (await plane.store.list(POD_GROUPS)).records:
        least = group.data["spec"]["schedulingPolicy"].get("gang", {}).get("minCount", 0)
        whole = "all" in group.data["spec"].get("disruptionMode", {})
        members = [pod for pod in pods if _group_of(pod) == group.name]
        placed = sum(1 for pod in members if pod.data["spec"].get("nodeName"))
        waiting = len(members) > placed  # whose pods were taken away, by its owner, is small and not half placed
        if 0 < placed < least and waiting and (whole or group.name not in eye.disrupted_groups):
            yield f"{group.unit} is half placed: {placed} of at least {least}"


def _group_of(pod: Record) -> str:
    name: str = (pod.data["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
    return name


async def could_still_act(plane: Plane) -> list[str]:
    """Whoever waits, waits for a reason: a scheduler that starts now finds nothing to do for anybody."""
    planner = plane.plane.planner(load_objects(await everything(plane)), plane.clock())
    decisions: Iterable[Any] = planner.cycle().decisions
    return [
        f"{made.preemptor} could be helped: {made.outcome}: {made.message}"
        for made in decisions
        if made.outcome in ("Fits", "Preempt") and not made.preemptor.startswith("Queue/")
    ]
