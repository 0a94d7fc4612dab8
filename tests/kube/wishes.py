"""What pods ask for beside room, at random: nodes, neighbours, ports and memory."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

ZONE, HOST, DISK, AGE = "zone", "kubernetes.io/hostname", "disk", "generation"
DEDICATED = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
APPS = "abcd"
Spec = dict[str, Any]


def node_labels(random: Random, zone: str) -> dict[str, str]:
    return {ZONE: zone, DISK: random.choice(("ssd", "hdd")), AGE: str(random.randrange(1, 5))}


def some(random: Random, zones: list[str], most: int) -> Spec:
    """So many wishes at most, as fields of a pod's spec; those of its container are under `container`."""
    wishes: tuple[Callable[[Random, list[str]], Spec], ...] = (
        _nodes,
        _tolerates,
        _apart,
        _together,
        _spread,
        _port,
        _memory,
    )
    found: Spec = {"affinity": {}, "container": {}}
    for wish in random.sample(wishes, random.randrange(most + 1)):
        for key, value in wish(random, zones).items():
            found[key] = {**found[key], **value} if key in ("affinity", "container") else value
    return found


def _nodes(random: Random, zones: list[str]) -> Spec:
    match random.randrange(4):
        case 0:
            expression: Spec = {"key": ZONE, "operator": "NotIn", "values": [random.choice(zones)]}
        case 1:
            expression = {"key": DISK, "operator": "In", "values": ["ssd"]}
        case 2:
            expression = {"key": AGE, "operator": "Gt", "values": [str(random.randrange(0, 3))]}
        case _:
            expression = {"key": "gpu", "operator": "DoesNotExist"}
    terms = [{"matchExpressions": [expression]}]
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }


def _tolerates(random: Random, zones: list[str]) -> Spec:  # noqa: ARG001 - all wishes are asked alike
    exists = {"key": DEDICATED["key"], "operator": "Exists"}
    return {"tolerations": [random.choice((exists, {**DEDICATED, "operator": "Equal"}))]}


def _term(random: Random, topology: str) -> Spec:
    apps = random.sample(APPS, random.randrange(1, 3))
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": apps}]}
    return {"topologyKey": topology, "labelSelector": selector}


def _apart(random: Random, zones: list[str]) -> Spec:  # noqa: ARG001
    term = _term(random, random.choice((HOST, HOST, ZONE)))
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _together(random: Random, zones: list[str]) -> Spec:  # noqa: ARG001
    term = _term(random, random.choice((HOST, ZONE)))
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _spread(random: Random, zones: list[str]) -> Spec:  # noqa: ARG001
    constraint = {
        "maxSkew": random.randrange(1, 4),
        "topologyKey": random.choice((ZONE, HOST)),
        "whenUnsatisfiable": random.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": random.choice(APPS)}},
    }
    if random.random() < 0.3:
        constraint["nodeTaintsPolicy"] = "Honor"
    return {"topologySpreadConstraints": [constraint]}


def _port(random: Random, zones: list[str]) -> Spec:  # noqa: ARG001
    port = random.choice((8080, 9090))
    return {"container": {"ports": [{"containerPort": port, "hostPort": port}]}}


def _memory(random: Random, zones: list[str]) -> Spec:  # noqa: ARG001
    return {"container": {"memory": f"{random.randrange(1, 7)}Gi"}}
