"""`make bench-kube`: the whole path against a real API server, next to kube-scheduler, on the same objects in one run.

Each scheduler gets a control plane of its own: the same programs, one after the other. What counts is the ratio.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from reprieve.kubernetes_plane import open_store
from reprieve.manifests.kinds import NODES, POD_GROUPS, PODS, PRIORITY_CLASSES
from reprieve.stores.errors import NotFound
from reprieve.stores.kubernetes.store import KubernetesStore
from tests.kube import programs
from tests.kube.cluster import Cluster
from tests.kube.hollow import node
from tests.kube.namespaces import make_namespace

_IN_FLIGHT = 50
_LONGEST = 600.0
Object = dict[str, Any]
Scheduler = str
KUBE, OURS = "kube-scheduler", "reprieve"
_NAMES = {KUBE: "default-scheduler", OURS: "reprieve"}


class Shape(NamedTuple):
    """What is there, and what arrives."""

    title: str
    nodes: list[Object]
    there: list[Object]
    arrives: list[Object]


def pod(name: str, namespace: str, scheduler: str, cpu: str, *, memory: str = "500Mi", **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    container = {"name": "c", "image": "none", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": scheduler, "containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def nodes(number: int) -> list[Object]:
    return [node(f"node-{index:05d}", cpu="4", memory="32Gi") for index in range(number)]


def preemption_basic(number: int, namespace: str, scheduler: str) -> Shape:
    low = [
        pod(f"low-{index}-{each}", namespace, scheduler, "900m", nodeName=f"node-{index:05d}")
        for index in range(number)
        for each in range(4)
    ]
    high = [pod(f"high-{index}", namespace, scheduler, "3970m", priorityClassName="high") for index in range(number)]
    return Shape(f"PreemptionBasic, {number:,} nodes", nodes(number), low, high)


def plain(number: int, namespace: str, scheduler: str) -> Shape:
    pods = [pod(f"pod-{index}", namespace, scheduler, "100m", memory="100Mi") for index in range(number)]
    return Shape(f"plain scheduling of {number:,} pods on 1,000 nodes", nodes(1000), [], pods)


def gang(size: int, namespace: str, scheduler: str) -> Shape:
    low = [
        pod(f"low-{index}-{each}", namespace, scheduler, "390m", memory="100Mi", nodeName=f"node-{index:05d}")
        for index in range(size)
        for each in range(10)
    ]
    group: Object = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": size}}, "priorityClassName": "high"},
    }
    member: Object = {"priorityClassName": "high", "schedulingGroup": {"podGroupName": "gang"}}
    members = [pod(f"gang-{index}", namespace, scheduler, "3900m", memory="100Mi", **member) for index in range(size)]
    return Shape(f"a gang of {size} preempts {10 * size:,}", nodes(size), low, [group, *members])


Make = Callable[[str, str], Shape]
SHAPES: dict[str, Make] = {
    "preemption-500": lambda namespace, name: preemption_basic(500, namespace, name),
    "preemption-1000": lambda namespace, name: preemption_basic(1000, namespace, name),
    "preemption-5000": lambda namespace, name: preemption_basic(5000, namespace, name),
    "plain-5000": lambda namespace, name: plain(5000, namespace, name),
    "gang-100": lambda namespace, name: gang(100, namespace, name),
}
USUAL = ("preemption-500", "preemption-1000", "plain-5000", "gang-100")


async def create(store: KubernetesStore, objects: Iterable[Object]) -> None:
    """All of them, so many at once."""
    waiting = iter(objects)

    async def worker() -> None:
        for each in waiting:
            resource = {"Node": NODES, "PodGroup": POD_GROUPS}.get(each["kind"], PODS)
            await store.create(resource, each)

    await asyncio.gather(*(worker() for _ in range(_IN_FLIGHT)))


async def bound(store: KubernetesStore, namespace: str, names: set[str]) -> float:
    """Until all have a node; when that was."""
    listing = await store.list(PODS, namespace)
    watch = store.watch(PODS, listing.version, namespace)
    left = set(names)
    async with asyncio.timeout(_LONGEST):
        for record in listing.records:
            if record.data["spec"].get("nodeName"):
                left.discard(record.name)
        async for event in watch:
            if event.record.name in left and event.record.data["spec"].get("nodeName"):
                left.discard(event.record.name)
                if not left:
                    break
    watch.close()
    return time.perf_counter()


@asynccontextmanager
async def running(scheduler: Scheduler, cluster: Cluster) -> AsyncIterator[Callable[[], float]]:
    """A scheduler; yields what CPU it has used."""
    if scheduler == KUBE:
        process = cluster.start_scheduler({"percentageOfNodesToScore": 0})
        pid = process.pid
        yield lambda: cpu_seconds(pid)
        return
    arguments = ["run", "--kubeconfig", str(cluster.kubeconfig()), "--kube-api-qps", "0", "--port", "0"]
    arguments += ["--feature-gates", "GenericWorkload=true", "--no-leader-elect"]
    log = (cluster.directory / "reprieve.log").open("w")
    command = [sys.executable, "-m", "reprieve", *arguments]
    own = subprocess.Popen(command, stderr=log)
    try:
        yield lambda: cpu_seconds(own.pid)
    finally:
        own.terminate()
        own.wait(30)
        log.close()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Result(NamedTuple):
    seconds: float
    own: float
    """CPU seconds of the scheduler."""
    server: float
    """CPU seconds of the API server and etcd."""


async def measure(make: Make, scheduler: Scheduler, cluster: Cluster, namespace: str) -> Result:
    async with open_store(str(cluster.kubeconfig()), qps=0) as store:
        shape = make(namespace, _NAMES[scheduler])
        value = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
        await store.create(PRIORITY_CLASSES, {**value, "value": 9_999_999})
        await create(store, shape.nodes)
        await asyncio.gather(*(_untaint(store, each["metadata"]["name"]) for each in shape.nodes))
        await create(store, shape.there)
        async with running(scheduler, cluster) as cpu:
            await asyncio.sleep(3)
            server = [cluster.api_server.pid, cluster.etcd.pid]
            used, own, began = sum(map(cpu_seconds, server)), cpu(), time.perf_counter()
            names = {each["metadata"]["name"] for each in shape.arrives if each["kind"] == "Pod"}
            waiting = asyncio.create_task(bound(store, namespace, names))
            await create(store, shape.arrives)
            ended = await waiting
            return Result(ended - began, cpu() - own, sum(map(cpu_seconds, server)) - used)


async def _untaint(store: KubernetesStore, name: str) -> None:
    try:
        await store.patch(NODES, name, "", {"spec": {"taints": None}})
    except NotFound:
        return


def one(make: Make, scheduler: Scheduler) -> Result:
    with tempfile.TemporaryDirectory() as directory, Cluster(Path(directory), programs.folder()) as cluster:
        cluster.start_controller_manager()
        with cluster.client() as admin:
            namespace = make_namespace(admin)
        return asyncio.run(measure(make, scheduler, cluster, namespace))


def main() -> None:
    chosen = [word for word in sys.argv[1:] if word not in (KUBE, OURS)] or list(USUAL)
    schedulers = [word for word in sys.argv[1:] if word in (KUBE, OURS)] or [KUBE, OURS]
    for name in chosen:
        title = SHAPES[name]("", "").title
        print(f"\n{title}", flush=True)
        results = {}
        for scheduler in schedulers:
            results[scheduler] = found = one(SHAPES[name], scheduler)
            print(
                f"  {scheduler:15} {found.seconds:7.1f} s   CPU: {found.own:6.1f} s its own, {found.server:6.1f} s of"
                " API server and etcd",
                flush=True,
            )
        if len(results) > 1:
            print(f"  {results[KUBE].seconds / results[OURS].seconds:.1f} times as fast as kube-scheduler")


if __name__ == "__main__":
    main()
