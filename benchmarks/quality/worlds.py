"""Random worlds in which somebody has to make way: one for each seed, as plain manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

Manifest = dict[str, Any]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
GATES = {
    "GenericWorkload": True,
    "PriorityBasedScheduling": True,
    "PriorityBasedPreemptiveScheduling": True,
}
KUEUE = "kueue.x-k8s.io/v1beta2"


class Question(NamedTuple):
    """Manifests, and for whom to decide over them."""

    objects: list[Manifest]
    preemptor: str


def ago(minutes: int) -> str:
    return (NOON - timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def _node(name: str, cpu: int, memory: int) -> Manifest:
    allocatable = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": ago(10_000)},
        "status": {"allocatable": allocatable},
    }


def _pod(name: str, cpu: int, memory: int, priority: int, **more: Any) -> Manifest:
    node, minutes = more.pop("node", ""), more.pop("minutes", 10)
    labels, group = more.pop("labels", {}), more.pop("group", "")
    requests = {"cpu": str(cpu), "memory": f"{memory}Gi"}
    spec: Manifest = {"priority": priority, "containers": [{"name": "main", "resources": {"requests": requests}}]}
    status: Manifest = {}
    if node:
        spec["nodeName"] = node
        status = {"phase": "Running", "startTime": ago(minutes)}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    metadata = {"name": name, "namespace": "default", "creationTimestamp": ago(minutes), "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _group(name: str, least: int, *, whole: bool, priority: int) -> Manifest:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": least}},
        "disruptionMode": {"all": {}} if whole else {"single": {}},
        "priority": priority,
    }
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _crowd(random: Random, nodes: int, *, groups: int = 0) -> list[Manifest]:
    """Nodes that are nearly full of pods below 100; some of these in groups that go as a whole."""
    objects: list[Manifest] = []
    group_priority = [random.choice((0, 10, 20)) for _ in range(groups)]
    objects += [_group(f"set-{number}", 1, whole=True, priority=group_priority[number]) for number in range(groups)]
    for number in range(nodes):
        cpu = random.choice((8, 16, 32))
        memory = cpu * random.choice((2, 4))
        objects.append(_node(f"n{number:02d}", cpu, memory))
        left_cpu, left_memory = cpu, memory
        for place in range(random.randint(4, 16)):
            size, much = random.choice((1, 1, 2, 3, 4, 6, 8, 12)), random.choice((1, 2, 4, 4, 8, 16))
            if size > left_cpu or much > left_memory:
                continue
            left_cpu, left_memory = left_cpu - size, left_memory - much
            group = random.randrange(groups) if groups and random.random() < 0.5 else None
            priority = random.choice((0, 0, 10, 20)) if group is None else group_priority[group]
            objects.append(
                _pod(
                    f"low-{number:02d}-{place}",
                    size,
                    much,
                    200 if random.random() < 0.06 and group is None else priority,
                    node=f"n{number:02d}",
                    minutes=random.randint(1, 600),
                    group="" if group is None else f"set-{group}",
                )
            )
    return objects


def pods(seed: int) -> Question:
    random = Random(seed)
    objects = _crowd(random, random.randint(3, 12))
    objects.append(_pod("ask", random.choice((2, 4, 6, 8)), random.choice((4, 8, 16)), 100))
    return Question(objects, "Pod/default/ask")


def _gang(random: Random, shapes: int, *, groups: int = 0, tight: bool = False) -> Question:
    nodes = random.randint(4, 14)
    objects = _crowd(random, nodes, groups=groups)
    each = [(random.choice((1, 2, 3, 4, 6)), random.choice((2, 4, 6, 8, 12))) for _ in range(shapes)]
    size = random.randint(nodes * 2, nodes * 5) if tight else random.randint(4, nodes * 2)
    objects.append(_group("gang", size, whole=True, priority=100))
    for number in range(size):
        cpu, memory = each[number % shapes]
        objects.append(_pod(f"gang-{number:02d}", cpu, memory, 100, group="gang"))
    return Question(objects, "PodGroup/default/gang")


def gangs(seed: int) -> Question:
    return _gang(Random(seed), 1)


def gangs_of_shapes(seed: int) -> Question:
    return _gang(Random(seed), 3)


def gangs_and_groups(seed: int) -> Question:
    random = Random(seed)
    return _gang(random, random.choice((1, 1, 2)), groups=random.randint(2, 6))


def gangs_at_the_edge(seed: int) -> Question:
    return _gang(Random(seed), 3, tight=True)


def gangs_just_possible(seed: int) -> Question:
    """A gang of several shapes that was cut to fit exactly into what is free, and what those have who may leave."""
    random = Random(seed)
    objects = _crowd(random, random.randint(2, 4), groups=random.choice((0, 0, 2)))
    held: dict[str, list[int]] = {}
    for item in objects:
        if item["kind"] == "Node":
            room = item["status"]["allocatable"]
            held[item["metadata"]["name"]] = [int(room["cpu"]), int(room["memory"].removesuffix("Gi"))]
    for item in objects:
        if item["kind"] == "Pod" and item["spec"]["priority"] >= 100:
            requests = item["spec"]["containers"][0]["resources"]["requests"]
            held[item["spec"]["nodeName"]][0] -= int(requests["cpu"])
            held[item["spec"]["nodeName"]][1] -= int(requests["memory"].removesuffix("Gi"))
    shapes = [(random.choice((1, 2, 3, 4, 5, 7)), random.choice((1, 2, 4, 6, 9, 12))) for _ in range(3)]
    members: list[tuple[int, int]] = []
    for cpu, memory in held.values():
        while fitting := [shape for shape in shapes if shape[0] <= cpu and shape[1] <= memory]:
            shape = random.choice(fitting)
            members.append(shape)
            cpu, memory = cpu - shape[0], memory - shape[1]
    objects.append(_group("gang", len(members), whole=True, priority=100))
    for number, (cpu, memory) in enumerate(members):
        objects.append(_pod(f"gang-{number:02d}", cpu, memory, 100, group="gang"))
    return Question(objects, "PodGroup/default/gang")


def quota(seed: int) -> Question:
    """A few queues in one cohort, or one below another, and one workload that waits."""
    random = Random(seed)
    names = [f"q{number}" for number in range(random.randint(2, 4))]
    nominal = {name: random.choice((4, 8, 12, 16)) for name in names}
    objects: list[Manifest] = [{"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "default"}}]
    for name in names:
        preemption = {
            "withinClusterQueue": random.choice(("LowerPriority", "LowerOrNewerEqualPriority", "Never")),
            "reclaimWithinCohort": random.choice(("Any", "Any", "LowerPriority")),
        }
        objects += _cluster_queue(name, nominal[name], preemption)
    cpu, memory = sum(nominal.values()), sum(nominal.values()) * 4
    number = 0
    for _ in range(random.randint(6, 24)):
        size, much = random.choice((1, 1, 2, 2, 3, 4, 6)), random.choice((1, 4, 8, 12, 16))
        if size > cpu or much > memory:
            continue
        cpu, memory, number = cpu - size, memory - much, number + 1
        queue = random.choice(names[1:] if random.random() < 0.8 else names)
        priority = random.choice((0, 0, 10, 20))
        objects.append(_workload(f"w{number:02d}", queue, size, much, priority, random.randint(1, 600)))
    ask = random.choice((2, 3, 4, 6, 8))
    objects.append(_workload("ask", names[0], ask, random.choice((1, 4, 8, 16)), random.choice((5, 100)), 0))
    return Question(objects, "Workload/default/ask")


def quota_at_the_edge(seed: int) -> Question:
    """Queues that borrow a little more than they have, of few and large workloads: who goes first decides who may."""
    random = Random(seed)
    names = [f"q{number}" for number in range(random.randint(2, 4))]
    nominal = {name: random.choice((2, 3, 4, 6)) for name in names}
    nominal[names[0]] = random.choice((6, 8, 10))
    objects: list[Manifest] = [{"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "default"}}]
    for name in names:
        preemption = {"withinClusterQueue": "Never", "reclaimWithinCohort": "Any"}
        objects += _cluster_queue(name, nominal[name], preemption)
    total, number = sum(nominal.values()), 0
    left, memory = total, total * 4
    while left > 0 and number < 20:
        queue = random.choice(names[1:])
        size, much = min(left, random.choice((1, 2, 3, 5, 7))), random.choice((1, 4, 8))
        if much > memory:
            break
        left, memory, number = left - size, memory - much, number + 1
        objects.append(
            _workload(f"w{number:02d}", queue, size, much, random.choice((0, 0, 10)), random.randint(1, 600))
        )
    ask = random.randint(2, nominal[names[0]])
    objects.append(_workload("ask", names[0], ask, random.choice((1, 4)), 100, 0))
    return Question(objects, "Workload/default/ask")


def _cluster_queue(name: str, nominal: int, preemption: Manifest) -> list[Manifest]:
    amounts = [{"name": "cpu", "nominalQuota": str(nominal)}, {"name": "memory", "nominalQuota": str(nominal * 4)}]
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": amounts}]}]
    spec = {"namespaceSelector": {}, "cohortName": "all", "resourceGroups": groups, "preemption": preemption}
    local = {"name": name, "namespace": "default"}
    return [
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": name}},
    ]


def _workload(name: str, queue: str, cpu: int, memory: int, priority: int, minutes: int) -> Manifest:
    requests = {"cpu": str(cpu), "memory": str(memory)}
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}}
    status: Manifest = {}
    if minutes:
        flavors = dict.fromkeys(requests, "default")
        assigned = {"name": "main", "count": 1, "flavors": flavors, "resourceUsage": requests}
        status["admission"] = {"clusterQueue": queue, "podSetAssignments": [assigned]}
        status["conditions"] = [
            {
                "type": "QuotaReserved",
                "status": "True",
                "reason": "QuotaReserved",
                "message": "",
                "lastTransitionTime": ago(minutes),
            }
        ]
    spec = {"queueName": queue, "priority": priority, "podSets": [{"name": "main", "count": 1, "template": template}]}
    metadata = {"name": name, "namespace": "default", "creationTimestamp": ago(minutes + 1), "uid": f"uid-{name}"}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata, "spec": spec, "status": status}


def queues(seed: int) -> Question:
    """YuniKorn's queues over a few nodes."""
    random = Random(seed)
    names = [f"q{number}" for number in range(random.randint(2, 4))]
    tree = [
        {"name": name, "resources": {"guaranteed": {"vcore": str(random.choice((2, 4, 6, 8)))}}} for name in names[1:]
    ]
    tree.insert(0, {"name": names[0], "resources": {"guaranteed": {"vcore": "16"}}})
    partitions = {"partitions": [{"name": "default", "queues": [{"name": "root", "queues": tree}]}]}
    data = {"queues.yaml": json.dumps(partitions)}
    metadata = {"name": "yunikorn-configs", "namespace": "yunikorn"}
    objects: list[Manifest] = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]
    for number in range(random.randint(1, 4)):
        cpu, name = random.choice((8, 12, 16)), f"n{number:02d}"
        objects.append(_node(name, cpu, cpu * 4))
        left = cpu
        for place in range(random.randint(2, 9)):
            size = random.choice((1, 1, 2, 3, 4, 5, 7))
            if size > left:
                continue
            left -= size
            queue = random.choice(names[1:])
            labels = {"queue": f"root.{queue}", "applicationId": f"app-{queue}-{random.randint(0, 2)}"}
            objects.append(
                _pod(
                    f"low-{number:02d}-{place}",
                    size,
                    random.choice((1, 2, 4)),
                    random.choice((0, 0, 0, 10)),
                    node=name,
                    minutes=random.randint(2, 600),
                    labels=labels,
                )
            )
    labels = {"queue": f"root.{names[0]}", "applicationId": "ask"}
    ask = _pod("ask", random.choice((3, 4, 5, 6, 7)), random.choice((1, 4, 8)), 10, labels=labels, minutes=60)
    return Question([*objects, ask], "Pod/default/ask")


def queues_at_the_edge(seed: int) -> Question:
    """Full nodes, and guarantees that leave little to give: law 2 lets some go alone that may not go after others."""
    random = Random(seed)
    names = [f"q{number}" for number in range(random.randint(2, 4))]
    nodes = random.randint(1, 3)
    guaranteed = {name: random.choice((1, 2, 2, 3, 4)) * nodes for name in names[1:]}
    tree = [{"name": name, "resources": {"guaranteed": {"vcore": str(much)}}} for name, much in guaranteed.items()]
    tree.insert(0, {"name": names[0], "resources": {"guaranteed": {"vcore": "32"}}})
    data = {
        "queues.yaml": json.dumps({"partitions": [{"name": "default", "queues": [{"name": "root", "queues": tree}]}]})
    }
    metadata = {"name": "yunikorn-configs", "namespace": "yunikorn"}
    objects: list[Manifest] = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]
    for number in range(nodes):
        cpu, name = random.choice((8, 10, 12)), f"n{number:02d}"
        objects.append(_node(name, cpu, cpu * 4))
        left = cpu
        for place in range(9):
            size = min(left, random.choice((1, 1, 2, 2, 3, 5, 7)))
            if not size:
                break
            left -= size
            queue = random.choice(names[1:])
            labels = {"queue": f"root.{queue}", "applicationId": f"app-{queue}-{random.randint(0, 1)}"}
            minutes = random.randint(2, 600)
            pod = _pod(f"low-{number:02d}-{place}", size, 1, 0, node=name, minutes=minutes, labels=labels)
            objects.append(pod)
    labels = {"queue": f"root.{names[0]}", "applicationId": "ask"}
    ask = _pod("ask", random.randint(4, 8), 1, 10, labels=labels, minutes=60)
    return Question([*objects, ask], "Pod/default/ask")


def federations(seed: int) -> Question:
    """Member clusters that are nearly full, and a binding that waits."""
    random = Random(seed)
    objects: list[Manifest] = []
    names = [f"m{number}" for number in range(random.randint(1, 4))]
    for name in names:
        cpu = random.choice((8, 12, 16, 24))
        left, memory = cpu, cpu * 4
        number = 0
        for _ in range(random.randint(2, 9)):
            size, replicas, much = random.choice((1, 1, 2, 3, 4)), random.randint(1, 3), random.choice((1, 4, 8))
            if size * replicas > left or much * replicas > memory:
                continue
            left, memory, number = left - size * replicas, memory - much * replicas, number + 1
            priority = random.choice((0, 0, 10, 20))
            objects.append(_binding(f"{name}-b{number}", size, much, replicas, priority, {name: replicas}))
        objects.append(_cluster(name, (cpu, cpu * 4), (cpu - left, cpu * 4 - memory)))
    ask = _binding("ask", random.choice((1, 2, 3, 4)), random.choice((1, 4, 8)), random.randint(1, 8), 100, {})
    return Question([*objects, ask], "ResourceBinding/default/ask")


def federations_of_many(seed: int) -> Question:
    """Many clusters, each full of many bindings, and a binding that no single one of them could hold."""
    random = Random(seed)
    objects: list[Manifest] = []
    for number in range(random.randint(12, 20)):
        name, cpu, memory = f"m{number:02d}", 0, 0
        for place in range(random.randint(45, 60)):
            size, much, replicas = random.choice((1, 1, 2, 3, 5)), random.choice((1, 2, 4, 8)), random.randint(1, 2)
            cpu, memory = cpu + size * replicas, memory + much * replicas
            priority = random.choice((0, 0, 10, 20, 200))
            objects.append(_binding(f"{name}-b{place:02d}", size, much, replicas, priority, {name: replicas}))
        objects.append(_cluster(name, (cpu + random.randint(0, 4), memory), (cpu, memory)))
    ask = _binding("ask", random.choice((15, 20, 30)), random.choice((1, 20, 40)), random.randint(12, 24), 100, {})
    return Question([*objects, ask], "ResourceBinding/default/ask")


def _cluster(name: str, has: tuple[int, int], uses: tuple[int, int]) -> Manifest:
    amounts = [{"cpu": str(cpu), "memory": f"{memory}Gi"} for cpu, memory in (has, uses)]
    summary = {"allocatable": amounts[0], "allocated": amounts[1]}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "resourceSummary": summary}
    api = "cluster.karmada.io/v1alpha1"
    return {"apiVersion": api, "kind": "Cluster", "metadata": {"name": name}, "spec": {}, "status": status}


def _binding(name: str, cpu: int, memory: int, replicas: int, priority: int, on: dict[str, int]) -> Manifest:
    requests = {"cpu": str(cpu), "memory": f"{memory}Gi"}
    scheduling = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    spec = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
        "replicas": replicas,
        "replicaRequirements": {"resourceRequest": requests},
        "schedulePriority": {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"},
        "placement": {"replicaScheduling": scheduling},
        "clusters": [{"name": cluster, "replicas": number} for cluster, number in on.items()],
    }
    metadata = {"name": name, "namespace": "default", "creationTimestamp": ago(100)}
    return {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": metadata, "spec": spec}


WORLDS: dict[str, Callable[[int], Question]] = {
    "pods": pods,
    "gangs, one shape": gangs,
    "gangs, several shapes": gangs_of_shapes,
    "gangs, whole units": gangs_and_groups,
    "gangs, at the edge": gangs_at_the_edge,
    "gangs, just possible": gangs_just_possible,
    "quota": quota,
    "quota, at the edge": quota_at_the_edge,
    "queues": queues,
    "queues, at the edge": queues_at_the_edge,
    "federation": federations,
    "federation, many clusters": federations_of_many,
}
