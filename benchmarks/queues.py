"""One pod preempts between queues: on the shapes that YuniKorn was measured on, and in a tree of a thousand leaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Literal

import msgspec

from benchmarks.measure import beside, best_of, in_turns
from benchmarks.pods import MEBI, NOW, START, cluster, running
from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.preemption import decide
from reprieve.manifests.core import Node
from reprieve.manifests.pods import Pod
from reprieve.manifests.yunikorn import Bounds, Partition, Queue, QueueConfiguration, QueueResources
from reprieve.model.resources import CPU
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.world import PodFacts, World

# Milliseconds YuniKorn takes for one decision over all nodes, on two shared cores; 1,000 leaves were not measured.
PEER = {
    (500, 4, 100): 182,
    (500, 20, 100): 380,
    (5000, 4, 1): 592,
    (5000, 20, 1): 3_152,
    (5000, 4, 100): 1_724,
    (5000, 20, 100): 4_643,
}
TALL = (5000, 20, 1000)
ASKING = "root.asking"
_FANOUT = 10


def run() -> None:
    print("  one decision over all nodes and queues    as it is    after a change    YuniKorn")
    for shape in [*PEER, TALL]:
        nodes, density, leaves = shape
        known, changed = _one(*shape)
        peer = f"{PEER[shape]:8,} ms" if shape in PEER else ""
        what = f"{nodes:5,} nodes × {density:2} pods, {leaves:5,} leaves"
        print(f"  {what:40} {known * 1e3:8.1f} ms {changed * 1e3:14.1f} ms {peer}")
    print("  (goal: under 50 ms with 1,000 leaves, 5,000 nodes and 100,000 pods)")
    print("  as it is, by search                       Design         Best")
    for nodes, density, leaves in [*PEER, TALL]:
        world = queues(cluster(nodes, density, priorities=1), nodes, leaves)
        ask = _put(world, _ask())
        works = [_deciding(world, ask, search) for search in ("Design", "Best")]
        print(f"  {f'{nodes:5,} nodes × {density:2} pods, {leaves:5,} leaves':40} {beside(in_turns(5, *works))}")


def _deciding(world: World, ask: PodFacts, search: Literal["Design", "Best"]) -> Callable[[], object]:
    policy = QueuePolicy(NodeLedger(world, Settings(search=search)))
    decide(policy, ask, NOW)
    return lambda: decide(policy, ask, NOW)


def _one(nodes: int, density: int, leaves: int) -> tuple[float, float]:
    """A decision over a tree and a table that are up to date; and one after a pod has come and another gone."""
    world = queues(cluster(nodes, density, priorities=1), nodes, leaves)
    policy = QueuePolicy(NodeLedger(world, Settings(search="Design")))
    ask = _put(world, _ask())
    plan = decide(policy, ask, NOW)
    expected = 3 if density == 4 else 15
    if plan.outcome != "Preempt" or len(plan.victims) != expected:
        raise SystemExit(f"expected {expected} victims, got {plan}")
    known = best_of(5, lambda: decide(policy, ask, NOW))
    changes = []
    for number in range(5):
        world.put(_in_queue(running(f"late-{number}", f"node-{number:05d}", 1, 1, 0, 10**6), _leaf(number, leaves)))
        world.delete(Pod, f"low-{number * density:06d}", "default")
        start = time.perf_counter()
        decide(policy, ask, NOW)
        changes.append(time.perf_counter() - start)
    return known, min(changes)


def queues(world: World, nodes: int, leaves: int) -> World:
    """Low pods shared out over leaves that guarantee one unit each; the asking queue guarantees half of the cluster."""
    asking = Queue(name="asking", resources=Bounds(guaranteed=QueueResources({CPU: nodes * 2000})))
    one = Bounds(guaranteed=QueueResources({CPU: 1}))
    below: dict[str, list[Queue]] = {}
    for number in range(leaves):
        *_, parent, name = _leaf(number, leaves).split(".")
        below.setdefault(parent, []).append(Queue(name=name, resources=one))
    parents = [Queue(name=name, parent=True, queues=tuple(children)) for name, children in below.items()]
    flat = leaves <= max(PEER)[2]
    root = Queue(name="root", queues=(asking, *(below["root"] if flat else parents)))
    configuration = QueueConfiguration(partitions=(Partition(name="default", queues=(root,)),))
    low = sorted(world.pods.values(), key=lambda facts: facts.key)
    placed = [_in_queue(facts.pod, _leaf(number, leaves)) for number, facts in enumerate(low)]
    filled = World([*world.all(Node), *placed])
    filled.put(configuration)
    return filled


def _leaf(number: int, leaves: int) -> str:
    """A hundred leaves stand below root; a thousand below a hundred parents."""
    number %= leaves
    if leaves <= 100:
        return f"root.leaf-{number}"
    return f"root.parent-{number // _FANOUT}.leaf-{number}"


def _in_queue(pod: Pod, queue: str) -> Pod:
    created = pod.status.start_time or START
    labels = {"queue": queue, "applicationId": f"app-{queue}"}
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels, creation_timestamp=created)
    )


def _ask() -> Pod:
    pod = running("ask", "", 3000, 500 * MEBI, 1000, 0)
    labels = {"queue": ASKING, "applicationId": "ask"}
    created = START + timedelta(days=1)
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels, creation_timestamp=created)
    )


def _put(world: World, pod: Pod) -> PodFacts:
    world.put(pod)
    return world.pods[pod.namespace, pod.name]
