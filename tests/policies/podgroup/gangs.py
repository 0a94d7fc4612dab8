"""Small clusters for the tests of groups: nodes of four cores, filled with what each test is about."""

from __future__ import annotations

from typing import Any

import reprieve
from reprieve.planning.result import Decision
from tests.builders.pods import in_workload, node, pod, pod_group, priority_class, workload

Dict = dict[str, Any]
NOW = "2026-01-01T12:00:00Z"
GATES = dict.fromkeys(
    ("GenericWorkload", "CompositePodGroup", "PodGroupPreemptionPolicy", "TopologyAwareWorkloadScheduling"), True
)
CLASSES = [priority_class(name, value) for name, value in (("low", 10), ("middle", 50), ("high", 100))]
JOB, WORKLOAD_JOB = "PodGroup/default/job", "Workload/default/job"
LEAVING: Dict = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}


def decide(*objects: Any, preemptor: str = JOB, gates: dict[str, bool] | None = None, **config: Any) -> Decision:
    """The decision over manifests and lists of them; the classes low, middle and high are always there."""
    flat = [each for item in objects for each in (item if isinstance(item, list) else [item])]
    config = {"validate": True, **config}
    gates = GATES if gates is None else gates
    return reprieve.plan([*CLASSES, *flat], preemptor=preemptor, now=NOW, config=config, feature_gates=gates).decision


def nodes(number: int, **fields: Any) -> list[Dict]:
    return [
        node(f"n{index}", labels={"kubernetes.io/hostname": f"n{index}"}, **fields) for index in range(1, number + 1)
    ]


def running(name: str, where: str, priority: int = 10, cpu: str = "4", **fields: Any) -> Dict:
    return pod(name, node=where, priority=priority, cpu=cpu, **fields)


def gang(size: int, *, least: int | None = None, cpu: str = "4", priority: int = 100, **fields: Any) -> list[Dict]:
    """The PodGroup `job` with pods job-1, job-2, ... that wait."""
    spec = fields.pop("spec", {})
    group = pod_group("job", gang=least or size, whole=True, priority=priority, **fields.pop("group", {}))
    names = [f"job-{number}" for number in range(1, size + 1)]
    return [group, *(pod(name, group="job", priority=priority, cpu=cpu, spec=spec, **fields) for name in names)]


def workload_gang(size: int, *, cpu: str = "4", **fields: Any) -> list[Dict]:
    """The same as a v1alpha1 Workload of class high."""
    spec = {"priorityClassName": "high", **fields}
    item = workload("job", gang=size, **spec)
    return [item, *(pod(f"job-{number}", cpu=cpu, spec=in_workload("job")) for number in range(1, size + 1))]


def victims(decision: Decision) -> list[str]:
    return sorted(victim["unit"].removeprefix("Pod/default/") for victim in decision.victims)


def places(decision: Decision) -> dict[str, str]:
    return {name.removeprefix("Pod/default/"): where for name, where in decision.placement.items()}
