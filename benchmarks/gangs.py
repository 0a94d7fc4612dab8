"""A gang preempts: on the shapes that kube-scheduler was measured on, and where half of the work runs in groups."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from benchmarks.measure import beside, in_turns
from benchmarks.pods import MEBI, NOW, cluster, running
from reprieve.configuration import Settings
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.meta import ObjectMeta
from reprieve.manifests.pods import Pod, SchedulingGroup
from reprieve.manifests.scheduling import GroupPolicy, PodGroup
from reprieve.policies.podgroup.groups import Groups
from reprieve.policies.podgroup.policy import PodGroupPolicy
from reprieve.world import World

# Milliseconds kube-scheduler takes, on two shared cores, for gangs of 8, 64 and 512.
PEER = {
    (500, 4): (59, 433, 3_885),
    (500, 20): (391, 2_690, 32_519),
    (5000, 4): (574, 4_128, 44_445),
    (5000, 20): (3_158, 27_416, None),
}
SIZES = (8, 64, 512)
GANG_PRIORITY = 1_000_000
GROUP_SIZE = 10
SETTINGS = Settings(feature_gates={"GenericWorkload": True}, search="Design")
BEST = msgspec.structs.replace(SETTINGS, search="Best")


def run() -> None:
    print("  one decision for a gang                victims       Design         Best          kube-scheduler")
    for nodes, density in PEER:
        for grouped in (False, True):
            world = cluster(nodes, density, priorities=1)
            if grouped:
                _group_half(world)
            for size, peer in zip(SIZES, PEER[nodes, density], strict=True):
                _report(world, nodes, density, size, None if grouped else peer, grouped=grouped)
    print("  (goals: 512 pods on 5,000 nodes × 20 pods under 250 ms by Design, under 400 ms by Best)")


def _report(world: World, nodes: int, density: int, size: int, peer: int | None, *, grouped: bool) -> None:
    names = _put_gang(world, size)
    works, victims = [], []
    for settings in (SETTINGS, BEST):
        decided = _deciding(world, settings)
        plan = decided()
        if plan.outcome != "Preempt" or len(plan.placement) != size:
            raise SystemExit(f"expected a preemption for all {size}, got {plan.message}")
        works.append(decided)
        victims.append(len(plan.victims))
    if victims[1] > victims[0]:
        raise SystemExit(f"expected at most {victims[0]} victims by Best, got {victims[1]}")
    against = f"{peer:9,} ms" if peer else ""
    what = "half in groups" if grouped else "single pods"
    shape = f"{size:3} on {nodes:5,} × {density:2}, {what}"
    print(f"  {shape:36}  {victims[1]:6,} {beside(in_turns(2, *works))} {against}")
    for pod in names:
        world.delete(Pod, pod, "default")


def _deciding(world: World, settings: Settings) -> Callable[[], Plan]:
    """The decision for the only gang that waits, over a ledger that is up to date."""
    policy = PodGroupPolicy(NodeLedger(world, settings))
    groups = Groups(world, settings)
    (name, members), *_ = groups.gathered(world.pending()).items()
    group = groups.group(name, members)
    return lambda: decide(policy, group, NOW)


def _put_gang(world: World, size: int) -> list[str]:
    policy = GroupPolicy(min_count=size, unit="PodGroup", priority=GANG_PRIORITY)
    world.put(PodGroup(metadata=ObjectMeta(name="gang", namespace="default"), policy=policy))
    names = [f"gang-{number:03d}" for number in range(size)]
    for name in names:
        pod = running(name, "", 1000, 500 * MEBI, GANG_PRIORITY, 0)
        world.put(_in_group(pod, "gang"))
    return names


def _group_half(world: World) -> None:
    """Every second pod goes into a group of ten that is preempted as a whole and runs all over the cluster."""
    pods = sorted(world.pods.values(), key=lambda facts: facts.key)[::2]
    groups = len(pods) // GROUP_SIZE
    for number in range(groups):
        name = f"group-{number:06d}"
        policy = GroupPolicy(min_count=GROUP_SIZE, unit="PodGroup", priority=0)
        world.put(PodGroup(metadata=ObjectMeta(name=name, namespace="default"), policy=policy))
        for facts in pods[number::groups]:
            world.put(_in_group(facts.pod, name))


def _in_group(pod: Pod, name: str) -> Pod:
    spec = msgspec.structs.replace(pod.spec, scheduling_group=SchedulingGroup(pod_group_name=name))
    return msgspec.structs.replace(pod, spec=spec)
