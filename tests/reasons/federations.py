"""Random federations: a few clusters full of bindings of all kinds and in all states, and one binding that waits."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.generators.federations import DIVIDED, DUPLICATED, binding, cluster, weighted

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
STYLES = [DIVIDED, DIVIDED, DUPLICATED, weighted(), weighted(("m0", 2), ("m1", 1))]


def federation(random: Random) -> list[Dict]:
    used = [[0, 0] for _ in range(random.randint(1, 3))]
    objects = [_resident(number, used, random) for number in range(random.randint(2, 8))]
    objects += [_member(home, cpu, gpu, random) for home, (cpu, gpu) in enumerate(used)]
    return [*objects, _waiting(random)]


def _resident(number: int, used: list[list[int]], random: Random) -> Dict:
    cpu, gpu = random.randint(0, 6), random.choice([0, 0, 1])
    where = random.sample(range(len(used)), random.randint(1, min(2, len(used))))
    for home in where:
        used[home][0] += cpu
        used[home][1] += gpu
    item = binding(
        f"b{number}",
        priority=random.randint(-2, 6),
        cpu=str(cpu),
        gpu=str(gpu),
        replicas=len(where),
        on={f"m{home}": 1 for home in where},
        kind=random.choice(["ResourceBinding"] * 6 + ["ClusterResourceBinding"]),
        created=f"2026-01-01T{random.randint(8, 11):02}:00:00Z",
        spec={"schedulerName": random.choice(["default-scheduler"] * 6 + ["other"])},
    )
    _state(item, random)
    return item


def _state(item: Dict, random: Random) -> None:
    """It is being deleted, has finished, asks for nothing, or was told to leave one of its clusters."""
    chance = random.random()
    if chance < 0.08:
        item["metadata"]["deletionTimestamp"] = NOW
        item["metadata"]["finalizers"] = ["karmada.io/binding-controller"]
    elif chance < 0.14:
        item["status"] = {"conditions": [{"type": "Finished", "status": "True", "lastTransitionTime": NOW}]}
    elif chance < 0.2:
        item["spec"].pop("replicaRequirements")
    elif chance < 0.3:
        told = item["spec"]["clusters"].pop()
        task = {"fromCluster": told["name"], "replicas": 1, "reason": "Preempted", "creationTimestamp": NOW}
        item["spec"]["gracefulEvictionTasks"] = [task]
        item["spec"]["replicas"] = max(1, len(item["spec"]["clusters"]))


def _member(home: int, cpu: int, gpu: int, random: Random) -> Dict:
    fields: Dict = {"gpu": str(gpu + random.randint(0, 1)), "gpu_used": str(gpu), "ready": random.random() > 0.05}
    if random.random() < 0.06:
        fields["taints"] = [{"key": "x", "effect": random.choice(["NoSchedule", "NoExecute"])}]
    return cluster(f"m{home}", cpu=str(cpu + random.choice([0, 0, 1, 2])), used=str(cpu), **fields)


def _waiting(random: Random) -> Dict:
    more: Dict = {}
    chance = random.random()
    if chance < 0.12:
        more["reach"] = random.sample(["m0", "m1", "m2"], random.randint(1, 2))
    elif chance < 0.2:
        terms = [{"affinityName": name, "clusterNames": [name]} for name in ("m0", "m1")]
        more["placement"] = {"clusterAffinities": terms}
    return binding(
        "high",
        priority=random.randint(0, 8),
        policy=random.choice(["PreemptLowerPriority"] * 9 + ["Never"]),
        cpu=str(random.randint(1, 7)),
        gpu=str(random.choice([0, 0, 0, 1])),
        replicas=random.randint(1, 4),
        scheduling=random.choice(STYLES),
        created="2026-01-01T11:30:00Z",
        **more,
    )
