"""One pod preempts: cold, warm, and many in a row, on the shapes that kube-scheduler was measured on."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from benchmarks.measure import best_of
from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.preemption import decide
from reprieve.manifests.core import Node, NodeStatus
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.pods import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from reprieve.model.resources import CPU, PODS, Resources
from reprieve.policies.on_nodes import commit_pods
from reprieve.policies.pod import PodPolicy
from reprieve.world import PodFacts, World, microseconds

START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = microseconds(START + timedelta(days=2))
# Milliseconds kube-scheduler takes for all nodes, and for the tenth it really looks at, on two shared cores.
PEER = {(500, 4): (5.2, 1.1), (500, 20): (23, 4.8), (5000, 4): (78, 7.8), (5000, 20): (266, 22)}
MEBI = 2**20
DESIGN = Settings(search="Design")
"""What a design's own search costs, and not what looking for less does."""


def run() -> None:
    print("  one decision over all nodes          cold        warm    kube-scheduler: all nodes / its sample")
    for nodes, density in [*PEER, (20_000, 20)]:
        cold, warm = _one(nodes, density)
        peer = PEER.get((nodes, density))
        against = f"{peer[0]:7.1f} ms / {peer[1]:.1f} ms" if peer else ""
        print(f"  {nodes:6,} nodes × {density:2} pods         {cold * 1e3:8.2f} ms {warm * 1e3:8.3f} ms  {against}")
    print("  (goals on two ordinary cores, 5,000 × 20 with 3 resources and 5 priorities: cold 5 ms, warm 0.5 ms)")
    for nodes in (500, 5_000):
        seconds, count = _row(nodes)
        rate = f"{count / seconds:,.0f} decisions a second (goal 2,000)"
        print(f"  {count:,} preemptors in a row on {nodes:,} × 4: {rate}")


def _one(nodes: int, density: int) -> tuple[float, float]:
    world = cluster(nodes, density, priorities=5)
    ledger = NodeLedger(world, DESIGN)
    policy = PodPolicy(ledger)
    preemptor = _put(world, _preemptor("p"))

    def cold() -> object:
        policy._kept.clear()
        return decide(policy, preemptor, NOW)

    times = [best_of(5, cold)]
    changes = []
    for number in range(20):
        world.put(running(f"late-{number}", f"node-{number:05d}", 1, 1, 0, 10**6 + number))
        ledger.sync()
        start = time.perf_counter()
        decide(policy, preemptor, NOW)
        changes.append(time.perf_counter() - start)
    return min(times), min(changes)


def _row(nodes: int) -> tuple[float, int]:
    """Each decision is committed: its victims are gone, its place is held, before the next is asked for."""
    world = cluster(nodes, 4, priorities=1)
    ledger = NodeLedger(world, DESIGN)
    policy = PodPolicy(ledger)
    waiting = [_put(world, _preemptor(f"p-{number:05d}")) for number in range(nodes)]
    ledger.sync()
    start = time.perf_counter()
    for facts in waiting:
        plan = decide(policy, facts, NOW)
        if plan.outcome != "Preempt":
            raise SystemExit(f"expected a preemption, got {plan}")
        commit_pods(world, [facts], plan)
    return time.perf_counter() - start, nodes


def cluster(nodes: int, density: int, *, priorities: int) -> World:
    """Nodes of 4 cpu, 32Gi and 110 pods, all full; pod i, node after node, started i seconds after the first."""
    offers = Resources({CPU: 4000, "memory": 32 * 2**30, PODS: 110})
    items: list[Node | Pod] = []
    for number in range(nodes):
        name = f"node-{number:05d}"
        items.append(Node(metadata=ObjectMeta(name=name), status=NodeStatus(allocatable=offers)))
        for place in range(density):
            index = number * density + place
            cpu, memory = 3600 // density, 2000 // density * MEBI
            items.append(running(f"low-{index:06d}", name, cpu, memory, index % priorities, index))
    return World(items)


def running(name: str, node: str, cpu: int, memory: int, priority: int, second: int) -> Pod:
    requests = Resources({CPU: cpu, "memory": memory})
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=PodSpec(
            containers=(Container(name="main", resources=ResourceRequirements(requests=requests)),),
            node_name=node,
            priority=priority,
        ),
        status=PodStatus(start_time=START + timedelta(seconds=second)),
    )


def _preemptor(name: str) -> Pod:
    return running(name, "", 3000, 500 * MEBI, 1_000_000, 0)


def _put(world: World, pod: Pod) -> PodFacts:
    world.put(pod)
    return world.pods[pod.namespace, pod.name]
