"""Loading a whole cluster: a JSON list of 5,000 nodes and 100,000 pods as `kubectl get -o json` prints them."""

from __future__ import annotations

import gc
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import best_of, peak_memory
from reprieve.manifests.admission import admit_all
from reprieve.manifests.loading import load

NODES = 5_000
PODS = 100_000
_GOAL_RATIO = 1.5
_GOAL_MEMORY = 1024


def run(nodes: int = NODES, pods: int = PODS) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "cluster.json"
        file.write_text(json.dumps(cluster(nodes, pods)))
        size = file.stat().st_size / 2**20
        print(f"  {nodes:,} nodes and {pods:,} pods, {size:.0f} MiB of JSON")
        plain = best_of(3, lambda: json.loads(file.read_bytes()))
        typed = best_of(3, lambda: _load(file))
        print(f"  json.loads            {plain:6.2f} s  {size / plain:6.0f} MiB/s")
        print(f"  json.loads without gc {best_of(3, lambda: _loads_without_gc(file)):6.2f} s")
        print(f"  read, typed           {best_of(3, lambda: load([str(file)])):6.2f} s")
        print(f"  read, typed, admitted {typed:6.2f} s  {size / typed:6.0f} MiB/s")
        print(f"  ratio                 {typed / plain:6.2f}    (goal: at most {_GOAL_RATIO})")
        code = f"from pathlib import Path\nfrom benchmarks.loading import _load\nkept = _load(Path({str(file)!r}))"
        print(f"  peak memory           {peak_memory(code):6.0f} MiB  (goal: under {_GOAL_MEMORY})")


def _loads_without_gc(file: Path) -> object:
    """What is left of json.loads when nothing looks for cycles: for those who would say the race is unfair."""
    gc.disable()
    try:
        return json.loads(file.read_bytes())
    finally:
        gc.enable()


def _load(file: Path) -> object:
    loaded = load([str(file)])
    problems = [*loaded.problems, *admit_all(loaded.entries)]
    if problems:
        raise SystemExit(f"the generated cluster is not valid: {problems[0]}")
    return loaded


def cluster(nodes: int, pods: int) -> dict[str, Any]:
    """The same cluster every time."""
    chance = random.Random(1)
    items = [_node(index) for index in range(nodes)] + [_pod(index, nodes, chance) for index in range(pods)]
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def _node(index: int) -> dict[str, Any]:
    name = f"node-{index:05d}"
    resources = {"cpu": "32", "ephemeral-storage": "99Gi", "hugepages-2Mi": "0", "memory": "131072Mi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"00000000-0000-4000-8000-{index:012d}",
            "resourceVersion": str(index),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": f"zone-{index % 3}",
                "node.kubernetes.io/instance-type": "large",
            },
        },
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"example:///{name}"},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [_condition(kind, "False") for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")]
            + [_condition("Ready", "True")],
            "nodeInfo": {"architecture": "amd64", "kernelVersion": "6.1.0", "kubeletVersion": "v1.35.0"},
        },
    }


def _pod(index: int, nodes: int, chance: random.Random) -> dict[str, Any]:
    app = f"app-{chance.randrange(2000)}"
    name = f"{app}-{index:06d}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{app}-",
            "namespace": f"team-{chance.randrange(50)}",
            "uid": f"10000000-0000-4000-8000-{index:012d}",
            "resourceVersion": str(10**6 + index),
            "creationTimestamp": "2026-01-01T08:00:00Z",
            "labels": {"app.kubernetes.io/name": app, "pod-template-hash": f"{index % 997:x}", "tier": "backend"},
            "annotations": {"checksum/config": f"{index:064x}"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": "ReplicaSet",
                    "name": app,
                    "uid": f"20000000-0000-4000-8000-{index % 2000:012d}",
                }
            ],
        },
        "spec": _pod_spec(app, index, nodes, chance),
        "status": {
            "phase": "Running",
            "startTime": "2026-01-01T08:00:05Z",
            "qosClass": "Burstable",
            "hostIP": f"10.1.{index % 250}.{index % 199}",
            "podIP": f"10.2.{index % 250}.{index % 197}",
            "conditions": [_condition(kind, "True") for kind in ("PodScheduled", "Initialized", "Ready")],
        },
    }


def _pod_spec(app: str, index: int, nodes: int, chance: random.Random) -> dict[str, Any]:
    cpu, memory = chance.choice(["100m", "250m", "500m", "1"]), chance.choice(["128Mi", "512Mi", "1Gi", "2Gi"])
    return {
        "containers": [
            {
                "name": "main",
                "image": f"images.example.com/{app}:1.{index % 20}",
                "imagePullPolicy": "IfNotPresent",
                "env": [{"name": "LEVEL", "value": "info"}, {"name": "REGION", "value": "one"}],
                "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
                "resources": {"limits": {"memory": memory}, "requests": {"cpu": cpu, "memory": memory}},
                "terminationMessagePath": "/dev/termination-log",
                "volumeMounts": [{"mountPath": "/etc/config", "name": "config"}],
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "nodeName": f"node-{index % nodes:05d}",
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"effect": "NoExecute", "key": f"node.kubernetes.io/{what}", "operator": "Exists", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
        "volumes": [{"configMap": {"name": app}, "name": "config"}],
    }


def _condition(kind: str, status: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "lastTransitionTime": "2026-01-01T08:00:10Z"}
