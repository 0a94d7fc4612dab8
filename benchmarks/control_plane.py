"""A whole control plane on its SQLite file: pods scheduled and preemptions a second, and how long an arrival waits.

The load comes from the same process and the same event loop, so its own cost is in the figures.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reprieve.agents.hollow.nodes import TERMINATION_SECONDS, hollow_node
from reprieve.configuration import Settings
from reprieve.control_plane import ControlPlane, calm_garbage_collection
from reprieve.embedded_plane import open_plane
from reprieve.manifests.kinds import NODES, PODS, PRIORITY_CLASSES
from reprieve.model.clock import system_clock
from reprieve.stores.protocol import Versioned
from reprieve.stores.records import WatchEvent

NODE_COUNT = 1_000
SLOTS = 8
"""Pods of one CPU that a node holds."""
BURST = 6_000
PREEMPTORS = 1_000
ARRIVALS_A_SECOND = 100
SECONDS = 10
_PATIENCE = 300.0


def run() -> None:
    print(f"Control plane: {NODE_COUNT:,} hollow nodes, SQLite file, whole process")
    thresholds = gc.get_threshold()
    try:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(_measure(Path(directory)))
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


async def _measure(directory: Path) -> None:
    plane = open_plane(directory, system_clock, Settings(search="Design"))
    await plane.start()
    try:
        for number in range(NODE_COUNT):
            await plane.store.create(NODES, hollow_node(f"n{number:04}", cpu=str(SLOTS)))
        await plane.store.create(PRIORITY_CLASSES, _class("high", 1000))
        await _until(lambda: plane.ready)
        calm_garbage_collection()
        await _throughput(plane)
        await _preemptions(plane)
        await _latency(plane)
    finally:
        await plane.stop()


async def _throughput(plane: ControlPlane) -> None:
    watcher = _Watcher(plane, "burst-")
    started = time.perf_counter()
    for number in range(BURST):
        await plane.store.create(PODS, _pod(f"burst-{number}", "1"))
        if number % 50 == 49:
            await asyncio.sleep(0)
    await _until(lambda: watcher.count("bound") >= BURST)
    bound = BURST / (time.perf_counter() - started)
    await _until(lambda: watcher.count("running") >= BURST)
    running = BURST / (time.perf_counter() - started)
    watcher.close()
    print(f"  scheduled: {bound:,.0f} pods a second bound, {running:,.0f} running (goal: over 500)")


async def _preemptions(plane: ControlPlane) -> None:
    """Every preemptor takes a whole node's worth of two, on a cluster that is filled up first."""
    filler = NODE_COUNT * SLOTS - BURST
    watcher = _Watcher(plane, "fill-")
    for number in range(filler):
        await plane.store.create(PODS, _pod(f"fill-{number}", "1"))
    await _until(lambda: watcher.count("running") >= filler)
    watcher.close()
    watcher = _Watcher(plane, "wave-")
    started = time.perf_counter()
    for number in range(PREEMPTORS):
        await plane.store.create(PODS, _pod(f"wave-{number}", "2", "high"))
    await _until(lambda: watcher.count("nominated") >= PREEMPTORS)
    nominated = PREEMPTORS / (time.perf_counter() - started)
    await _until(lambda: watcher.count("bound") >= PREEMPTORS)
    bound = PREEMPTORS / (time.perf_counter() - started)
    await _until(lambda: watcher.count("running") >= PREEMPTORS)
    watcher.close()
    print(f"  preemptions: {nominated:,.0f} a second decided with their victims told, {bound:,.0f} placed")


async def _latency(plane: ControlPlane) -> None:
    """Arrivals at a steady pace, each of which has to preempt; from its creation to its nomination."""
    watcher = _Watcher(plane, "late-")
    start = time.perf_counter()
    count = ARRIVALS_A_SECOND * SECONDS
    for number in range(count):
        await asyncio.sleep(max(0.0, start + number / ARRIVALS_A_SECOND - time.perf_counter()))
        watcher.created[f"late-{number}"] = time.perf_counter()
        await plane.store.create(PODS, _pod(f"late-{number}", "1", "high"))
    await _until(lambda: watcher.count("nominated") >= count)
    waits = sorted(watcher.seen["nominated"][name] - at for name, at in watcher.created.items())
    watcher.close()
    p50, p99 = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
    print(
        f"  from arrival to nomination at {ARRIVALS_A_SECOND} a second: p50 {p50 * 1000:.1f} ms, "
        f"p99 {p99 * 1000:.1f} ms, worst {waits[-1] * 1000:.1f} ms (goal for p99: 100)"
    )


class _Watcher:
    """Notes when pods of a name are first seen nominated, bound and running, by a watch as any client has it."""

    def __init__(self, plane: ControlPlane, prefix: str) -> None:
        self._prefix = prefix
        since = plane.store.version if isinstance(plane.store, Versioned) else 0
        self._watch = plane.store.watch(PODS, since)
        self.created: dict[str, float] = {}
        self.seen: dict[str, dict[str, float]] = {"nominated": {}, "bound": {}, "running": {}}
        self._task = asyncio.create_task(self._follow())

    def count(self, what: str) -> int:
        return len(self.seen[what])

    def close(self) -> None:
        self._task.cancel()
        self._watch.close()

    async def _follow(self) -> None:
        async for event in self._watch:
            self._note(event)

    def _note(self, event: WatchEvent) -> None:
        if not event.record.name.startswith(self._prefix):
            return
        pod = event.record.manifest
        now = time.perf_counter()
        for what, holds in (
            ("nominated", bool(pod.status.nominated_node_name)),
            ("bound", bool(pod.spec.node_name)),
            ("running", pod.status.phase == "Running"),
        ):
            if holds:
                self.seen[what].setdefault(event.record.name, now)


async def _until(done: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + _PATIENCE
    while not done():
        if time.perf_counter() > deadline:
            raise TimeoutError("the control plane did not get there")
        await asyncio.sleep(0.005)


def _class(name: str, value: int) -> dict[str, Any]:
    metadata = {"name": name}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value}


def _pod(name: str, cpu: str, priority: str = "") -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], **({"priorityClassName": priority} if priority else {})}
    metadata = {"name": name, "namespace": "default", "annotations": {TERMINATION_SECONDS: "0"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
