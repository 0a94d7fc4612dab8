"""One scheduler, one shape, a control plane of its own: from the first pod that arrives until all have a place.

What both have in common: the same programs, the same objects, the same requests to make them, no leader election, no
limit on requests that would be felt, and an account of their own, so that the server treats both alike.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

from benchmarks.kube.accounts import cpu_seconds, machine_seconds, writes
from benchmarks.kube.shapes import ARRIVES, Make, Object, Shape, what_is_wrong
from reprieve.manifests.kinds import NODES, POD_GROUPS, PODS, PRIORITY_CLASSES
from reprieve.stores.kubernetes.access import open_access
from reprieve.stores.kubernetes.objects import lines
from reprieve.stores.kubernetes.rate_limit import RateLimit
from reprieve.stores.kubernetes.requests import Requests
from reprieve.stores.kubernetes.store import KubernetesStore
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.namespaces import make_namespace
from tests.kube.processes import DidNotStart, Process, free_ports
from tests.kube.second_scheduler import own_kubeconfig

KUBE, OURS = "kube-scheduler", "reprieve"
SCHEDULERS = (KUBE, OURS)
OTHERS = "everybody else"
"""Whatever runs on this machine and is no part of this."""
_NAMES = {KUBE: "default-scheduler", OURS: "reprieve"}
LONGEST = 600.0
"""Seconds after which a run is given up."""
_SETTING_UP = 600.0
_SETTLING = 3.0
"""Seconds in which a scheduler that says it is ready has seen everything."""
_LAST_WORDS = 180.0
"""Seconds that a scheduler has for the events that it has put off."""
_QUIET = 2.0
_IN_FLIGHT = 50
_TELL_EVERY = 5.0
_STRAGGLERS = 60.0
"""Seconds without anybody getting a node after which the last ones are not waited for."""
_NEARLY_ALL = 0.99
_AGAIN = 0.1
# Nodes are ready from the beginning: nobody has to take a taint from thousands of them first.
_SERVER_OPTIONS = ("--disable-admission-plugins=TaintNodesByCondition",)


class Result(NamedTuple):
    """What came of one run."""

    bound: int
    of: int
    seconds: float
    """Until the last one was bound, or it was given up."""
    most_after: float
    """Until nearly all of them were bound: one that was forgotten for minutes says little about all the others."""
    until_quiet: float
    """Until nothing was written any more: the events, too."""
    cpu: dict[str, float]
    """Seconds that each process has used until the last one was bound."""
    writes: Counter[str]
    """All of them, the last events included."""
    wrong: list[str]

    @property
    def done(self) -> bool:
        return self.bound == self.of and not self.wrong

    @property
    def nearly_done(self) -> bool:
        return self.bound >= self.of * _NEARLY_ALL


def one(make: Make, scheduler: str, programs: Path) -> Result:
    with (
        tempfile.TemporaryDirectory() as directory,
        Cluster(Path(directory), programs, api_server_options=_SERVER_OPTIONS) as cluster,
        cluster.client() as admin,
    ):
        cluster.start_controller_manager()
        return asyncio.run(_Run(cluster, admin, make, scheduler).measure())


class _Run:
    def __init__(self, cluster: Cluster, admin: KubeClient, make: Make, scheduler: str) -> None:
        self._cluster = cluster
        self._admin = admin
        self._scheduler = scheduler
        self._namespace = make_namespace(admin)
        self._shape: Shape = make(self._namespace, _NAMES[scheduler])

    async def measure(self) -> Result:
        requests = Requests(await open_access(self._cluster.kubeconfig()), RateLimit(0, 1), "bench")
        store = KubernetesStore(requests)
        try:
            async with asyncio.timeout(_SETTING_UP):
                await self._set_up(store)
            process = self._start()
            try:
                await asyncio.sleep(_SETTLING)
                return await self._watched(requests, store, process)
            finally:
                process.stop()
        finally:
            await store.close()

    async def _set_up(self, store: KubernetesStore) -> None:
        shape = self._shape
        self._say(f"makes {len(shape.nodes):,} nodes and {len(shape.there):,} pods")
        value = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
        await store.create(PRIORITY_CLASSES, {**value, "value": 9_999_999})
        await _create(store, shape.nodes)
        await _create(store, shape.there)

    async def _watched(self, requests: Requests, store: KubernetesStore, process: Process) -> Result:
        shape = self._shape
        before, cpu, began = writes(self._admin), self._cpu(process), time.perf_counter()
        bound: dict[str, float] = {}
        watching = asyncio.create_task(self._bound(requests, bound))
        telling = asyncio.create_task(self._tell(process, bound, began))
        try:
            async with asyncio.timeout(LONGEST):
                await _create(store, shape.arrives)
                await _first_of(watching, telling)
        except TimeoutError:
            self._say(f"is given up after {LONGEST:.0f} s")
        except _Forgotten:
            self._say(f"is given up: nobody was bound for {_STRAGGLERS:.0f} s")
        finally:
            watching.cancel()
            telling.cancel()
        seconds = time.perf_counter() - began
        used = {name: now - cpu[name] for name, now in self._cpu(process).items()}
        last = await self._until_quiet()
        pods = [record.data for record in (await store.list(PODS, self._namespace)).records]
        return Result(
            bound=len(bound),
            of=len(shape.waits_for),
            seconds=seconds,
            most_after=_most(bound, len(shape.waits_for), began, seconds),
            until_quiet=max(seconds, last - began),
            cpu=used,
            writes=writes(self._admin) - before,
            wrong=what_is_wrong(shape, pods),
        )

    async def _bound(self, requests: Requests, bound: dict[str, float]) -> None:
        """Until all have a node. Only pods that got one are told of, so that watching costs the server next to
        nothing. A watch that the server ends, as it does when it has much to tell, begins anew."""
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        query = {"watch": "true", "labelSelector": ARRIVES, "fieldSelector": "spec.nodeName!="}
        wanted = len(self._shape.waits_for)
        while len(bound) < wanted:
            rest = b""
            async with requests.stream(path, query) as pieces:
                async for piece in pieces:
                    whole, rest = lines([piece], rest)
                    events = [msgspec.json.decode(line) for line in whole]
                    if any(event["type"] == "ERROR" for event in events):
                        break
                    for event in events:
                        bound.setdefault(event["object"]["metadata"]["name"], time.perf_counter())
                    if len(bound) == wanted:
                        return
            await asyncio.sleep(_AGAIN)

    async def _tell(self, process: Process, bound: dict[str, float], began: float) -> None:
        """How far it is; raises when the scheduler is not there any more, or has forgotten the last few."""
        while process.running:
            await asyncio.sleep(_TELL_EVERY)
            if bound and time.perf_counter() - max(bound.values()) > _STRAGGLERS:
                raise _Forgotten
            self._say(
                f"{len(bound):,} of {len(self._shape.waits_for):,} bound after {time.perf_counter() - began:.0f} s"
            )
        raise DidNotStart(f"{self._scheduler} ended. The end of its log:\n{process.tail()}")

    async def _until_quiet(self) -> float:
        """When the last write was, to a second or two."""
        last, known, end = time.perf_counter(), writes(self._admin), time.perf_counter() + _LAST_WORDS
        while time.perf_counter() < end:
            await asyncio.sleep(_QUIET)
            now = writes(self._admin)
            if now == known:
                break
            last, known = time.perf_counter(), now
        return last

    def _start(self) -> Process:
        if self._scheduler == KUBE:
            return self._cluster.start_scheduler()
        (port,) = free_ports(1)
        options = ["--kube-api-qps=0", "--no-leader-elect", "--feature-gates=GenericWorkload=true", f"--port={port}"]
        command = [sys.executable, "-m", "reprieve", "run", *options]
        command.append(f"--kubeconfig={own_kubeconfig(self._cluster, self._admin)}")
        log = self._cluster.directory / "reprieve.log"
        return Process(command, log, lambda: _ready(f"http://127.0.0.1:{port}/readyz")).start()

    def _cpu(self, process: Process) -> dict[str, float]:
        processes = {each.name: each.pid for each in self._cluster.processes if each.name != KUBE}
        known = {
            "scheduler": cpu_seconds(process.pid),
            **{name: cpu_seconds(pid) for name, pid in processes.items()},
            "the benchmark itself": cpu_seconds(os.getpid()),
        }
        return {**known, OTHERS: machine_seconds() - sum(known.values())}

    def _say(self, what: str) -> None:
        print(f"    {self._scheduler}: {what}", file=sys.stderr, flush=True)


class _Forgotten(Exception):
    """Nobody has been bound for long, and not all are."""


def _most(bound: dict[str, float], of: int, began: float, seconds: float) -> float:
    """When nearly all had their node; if so many never had one, when it was given up."""
    in_order, wanted = sorted(bound.values()), math.ceil(of * _NEARLY_ALL)
    return in_order[wanted - 1] - began if len(in_order) >= wanted else seconds


async def _first_of(*tasks: asyncio.Task[None]) -> None:
    """Until one of them is over; what it raises is raised."""
    over, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in over:
        task.result()


async def _create(store: KubernetesStore, objects: Iterable[Object]) -> None:
    """All of them, so many at once."""
    waiting = iter(objects)

    async def worker() -> None:
        for each in waiting:
            await store.create({"Node": NODES, "PodGroup": POD_GROUPS}.get(each["kind"], PODS), each)

    await asyncio.gather(*(worker() for _ in range(_IN_FLIGHT)))


def _ready(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5.0, trust_env=False).is_success
    except httpx.TransportError:
        return False
