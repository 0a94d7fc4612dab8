"""Topologies for tests: nodes in racks in blocks, flavors on them, and what pod sets ask for.

*topology("default", "block", "rack", HOSTNAME)
node("n1", cpu=4, block="b1", rack="r1")
asking(workload("a", "team", cpu=1, count=3), required="rack")
"""

from __future__ import annotations

from typing import Any

from tests.builders.pods import Dict, manifest, metadata
from tests.builders.quota import KUEUE, flavor

HOSTNAME = "kubernetes.io/hostname"


def topology(name: str, *levels: str) -> list[Dict]:
    """A Topology, and a flavor of that name whose nodes have the label `pool`."""
    spec = {"levels": [{"nodeLabel": level} for level in levels]}
    return [
        manifest(KUEUE, "Topology", metadata(name), spec=spec),
        flavor(name, nodeLabels={"pool": name}, topologyName=name),
    ]


def node(
    name: str, *, cpu: int = 4, pods: int = 110, ready: str = "True", pool: str = "default", **labels: str
) -> Dict:
    """A node of a flavor; `labels` say where it is."""
    said = {"pool": pool, HOSTNAME: name, **labels}
    status = {
        "allocatable": {"cpu": str(cpu), "memory": "64Gi", "pods": str(pods)},
        "conditions": [{"type": "Ready", "status": ready}],
    }
    return manifest("v1", "Node", {"name": name, "labels": said}, status=status)


def asking(workload: Dict, **request: Any) -> Dict:
    """A workload whose pod sets ask so: `required="rack"`, `preferred="rack"`, `unconstrained=True`."""
    pod_sets = [{**each, "topologyRequest": request} for each in workload["spec"]["podSets"]]
    return {**workload, "spec": {**workload["spec"], "podSets": pod_sets}}


def domains(assignment: Dict) -> dict[tuple[str, ...], int]:
    """Pods by domain, of a `topologyAssignment` as v1beta2 writes it."""
    found: dict[tuple[str, ...], int] = {}
    for part in assignment["slices"]:
        number, columns = part["domainCount"], []
        for level in part["valuesPerLevel"]:
            one = level.get("individual")
            columns.append(
                [f"{one.get('prefix', '')}{root}{one.get('suffix', '')}" for root in one["roots"]]
                if one
                else [level["universal"]] * number
            )
        counts = part["podCounts"].get("individual") or [part["podCounts"]["universal"]] * number
        for values, count in zip(zip(*columns, strict=True), counts, strict=True):
            found[values] = found.get(values, 0) + count
    return found
