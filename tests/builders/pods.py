"""Manifests for tests: plain dicts as a user would write them, with only what the test is about.

    node("n1", cpu="4")
    pod("a", cpu="1", node="n1", priority=5)
    priority_class("high", 1000)

Resources are keywords (`cpu`, `memory`, `gpu`); anything else goes in `requests` by its full name. `spec` and `status`
add to what the other arguments built, so that no test has to wait for a builder to learn a field.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

GPU = "nvidia.com/gpu"
ROOMY = {"cpu": "1000", "memory": "1Ti", "pods": "110"}

Dict = dict[str, Any]


def resources(
    *, cpu: str | None = None, memory: str | None = None, gpu: str | None = None, requests: Dict | None = None
) -> Dict:
    """A resource list of what was given."""
    named = {"cpu": cpu, "memory": memory, GPU: gpu}
    return {**{name: amount for name, amount in named.items() if amount is not None}, **(requests or {})}


def without_nothing(**fields: Any) -> Dict:
    """The fields that have a value: what a manifest does not say stays out of it."""
    return {name: value for name, value in fields.items() if value is not None and value != {} and value != []}


def metadata(name: str, namespace: str | None = None, **fields: Any) -> Dict:
    """`labels`, `annotations`, `uid`, and `created` and `deleted` as times."""
    spelled = {"created": "creationTimestamp", "deleted": "deletionTimestamp"}
    return without_nothing(name=name, namespace=namespace, **{spelled.get(key, key): fields[key] for key in fields})


def manifest(api_version: str, kind: str, meta: Dict, **parts: Any) -> Dict:
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **without_nothing(**parts)}


def container(name: str = "main", *, limits: Dict | None = None, **amounts: Any) -> Dict:
    """A container; `restart_policy="Always"` makes an init container a sidecar."""
    restart_policy = amounts.pop("restart_policy", None)
    wanted = without_nothing(requests=resources(**amounts), limits=limits)
    return without_nothing(name=name, resources=wanted, restartPolicy=restart_policy)


def node(
    name: str = "n1",
    *,
    cpu: str = "4",
    labels: dict[str, str] | None = None,
    taints: list[Dict] | None = None,
    unschedulable: bool | None = None,
    **amounts: Any,
) -> Dict:
    """A node with room for 110 pods and plenty of all that is not named."""
    return manifest(
        "v1",
        "Node",
        metadata(name, labels=labels),
        spec=without_nothing(taints=taints, unschedulable=unschedulable),
        status={"allocatable": {**ROOMY, **resources(cpu=cpu, **amounts)}},
    )


def pod(
    name: str = "p",
    *,
    namespace: str = "default",
    node: str | None = None,
    priority: int | None = None,
    priority_class: str | None = None,
    policy: str | None = None,
    containers: list[Dict] | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    created: str | None = None,
    deleted: str | None = None,
    started: str | None = None,
    nominated: str | None = None,
    group: str | None = None,
    spec: Dict | None = None,
    status: Dict | None = None,
    **amounts: Any,
) -> Dict:
    """A pod: running when it has a `node`, pending when not; `group` names its PodGroup."""
    whole_spec = without_nothing(
        containers=containers or [container(**amounts)],
        nodeName=node,
        priority=priority,
        priorityClassName=priority_class,
        preemptionPolicy=policy,
        schedulingGroup={"podGroupName": group} if group else None,
    )
    whole_status = without_nothing(
        phase="Running" if node else "Pending", startTime=started, nominatedNodeName=nominated
    )
    meta = metadata(name, namespace, labels=labels, annotations=annotations, created=created, deleted=deleted)
    return manifest("v1", "Pod", meta, spec={**whole_spec, **(spec or {})}, status={**whole_status, **(status or {})})


def priority_class(
    name: str, value: int, *, default: bool | None = None, policy: str | None = None, **meta: Any
) -> Dict:
    """A PriorityClass; `annotations={...}` for tolerations, `description` like any other field of it."""
    description = meta.pop("description", None)
    return manifest(
        "scheduling.k8s.io/v1",
        "PriorityClass",
        metadata(name, **meta),
        value=value,
        globalDefault=default,
        preemptionPolicy=policy,
        description=description,
    )


def budget(name: str, match: dict[str, str], *, allowed: int, namespace: str = "default") -> Dict:
    """A PodDisruptionBudget that allows so many more disruptions."""
    return manifest(
        "policy/v1",
        "PodDisruptionBudget",
        metadata(name, namespace),
        spec={"selector": {"matchLabels": match}},
        status={"disruptionsAllowed": allowed},
    )


def pod_group(
    name: str, *, gang: int | None = None, whole: bool = False, version: str = "v1beta1", **spec: Any
) -> Dict:
    """A PodGroup: a gang of at least so many or basic; `whole` when it is disrupted as one."""
    policy: Dict = {"gang": {"minCount": gang}} if gang else {"basic": {}}
    mode: Dict = {"all": {}} if whole else {"single": {}}
    return manifest(
        f"scheduling.k8s.io/{version}",
        "PodGroup",
        metadata(name, "default"),
        spec={"schedulingPolicy": policy, "disruptionMode": mode, **spec},
    )


def workload(
    name: str, *, gang: int | None = None, mode: str | None = None, topology: str | None = None, **spec: Any
) -> Dict:
    """A v1alpha1 Workload with one group, `workers`; `mode` is its preemption mode."""
    policy: Dict = {"gang": without_nothing(minCount=gang, preemptionMode=mode)} if gang else {"basic": {}}
    constraints = {"topology": [{"key": topology}]} if topology else None
    return manifest(
        "scheduling.k8s.io/v1alpha1",
        "Workload",
        metadata(name, "default"),
        spec={"podGroups": [without_nothing(name="workers", policy=policy, schedulingConstraints=constraints)], **spec},
    )


def in_workload(name: str, replica: str | None = None) -> Dict:
    """What the spec of a pod of such a Workload says."""
    return {"workloadRef": without_nothing(name=name, podGroup="workers", podGroupReplicaKey=replica)}


def config_map(name: str, data: dict[str, str], namespace: str = "default") -> Dict:
    return manifest("v1", "ConfigMap", metadata(name, namespace), data=data)


def item_list(*items: Dict, kind: str = "List", api_version: str = "v1") -> Dict:
    """A list as `kubectl get` prints one."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"resourceVersion": ""}, "items": list(items)}


def to_yaml(*manifests: Dict) -> str:
    """Many documents, as in a file that is applied."""
    return yaml.safe_dump_all(manifests, sort_keys=False)


def to_json(manifest: Any) -> str:
    return json.dumps(manifest, indent=2)
