"""What an API server fills in where a manifest says nothing, as far as anybody here reads it.

The data has been read as its kind before, so typed fields are what they should be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reprieve.manifests.pods import Pod

Data = dict[str, Any]
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
NAMESPACE_FINALIZER = "kubernetes"
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"
_OLD_JOB_LABELS = {"controller-uid": CONTROLLER_UID, "job-name": JOB_NAME}
_SCHEDULER, _GRACE = "default-scheduler", 30


def fill_in(data: Data, typed: Any) -> None:
    """What every object of its kind has, new or changed."""
    known = _DEFAULTS.get((data["apiVersion"], data["kind"]))
    if known is not None:
        known(data, typed)


def first_status(data: Data, typed: Any) -> None:
    """The status of a new object: nobody but its controllers gives it one. Nodes alone register with theirs."""
    match data["kind"]:
        case "Node":
            _fill_node_status(data)
            return
        case "Pod":
            data["status"] = {"phase": "Pending", "qosClass": quality_of_service(typed)}
        case "Namespace":
            data["spec"] = {"finalizers": [NAMESPACE_FINALIZER]}
            data["status"] = {"phase": "Active"}
        case "PodDisruptionBudget":
            counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
            data["status"] = dict.fromkeys(counts, 0)
        case _:
            data.pop("status", None)


def quality_of_service(pod: Pod) -> str:
    """Guaranteed: every container's limits for cpu and memory are its requests. BestEffort: nothing is asked for."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    asked = [
        {name: (limits.get(name), requests.get(name)) for name in ("cpu", "memory")}
        for limits, requests in ((each.resources.limits, each.resources.effective) for each in containers)
    ]
    if all(not limit and not request for each in asked for limit, request in each.values()):
        return "BestEffort"
    if all(limit and limit == request for each in asked for limit, request in each.values()):
        return "Guaranteed"
    return "Burstable"


def _fill_pod(data: Data, typed: Pod) -> None:
    _fill_pod_spec(data["spec"], "Always")
    for group, containers in (("containers", typed.spec.containers), ("initContainers", typed.spec.init_containers)):
        for index, container in enumerate(containers):
            if container.resources.limits:
                _limits_are_requests(data["spec"][group][index]["resources"])


def _fill_pod_spec(spec: Data, restart_policy: str) -> None:
    spec.setdefault("restartPolicy", restart_policy)
    spec.setdefault("terminationGracePeriodSeconds", _GRACE)
    spec.setdefault("schedulerName", _SCHEDULER)


def _limits_are_requests(resources: Data) -> None:
    """A limit without a request is one."""
    resources["requests"] = {**resources["limits"], **resources.get("requests", {})}


def _fill_node_status(data: Data) -> None:
    status = data.get("status", {})
    if "capacity" in status:
        status.setdefault("allocatable", status["capacity"])


def _fill_namespace(data: Data, _: Any) -> None:
    metadata = data["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), NAMESPACE_LABEL: metadata["name"]}


def _fill_job(data: Data, _: Any) -> None:
    spec, metadata = data["spec"], data["metadata"]
    if "parallelism" not in spec and "completions" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    # Kubernetes makes users choose between Never and OnFailure; a Job that does not say it gets the safer one.
    _fill_pod_spec(spec["template"]["spec"], "Never")
    if not spec.get("manualSelector"):
        own = {CONTROLLER_UID: metadata["uid"], JOB_NAME: metadata["name"]}
        own |= {old: own[new] for old, new in _OLD_JOB_LABELS.items()}
        template = spec["template"].setdefault("metadata", {})
        template["labels"] = {**template.get("labels", {}), **own}
        spec.setdefault("selector", {"matchLabels": {CONTROLLER_UID: metadata["uid"]}})


def _fill_controller(data: Data, _: Any) -> None:
    spec = data["spec"]
    if data["kind"] != "DaemonSet":
        spec.setdefault("replicas", 1)
    _fill_pod_spec(spec["template"]["spec"], "Always")
    labels = spec["template"].get("metadata", {}).get("labels")
    if labels:
        spec.setdefault("selector", {"matchLabels": dict(labels)})


def _fill_quota_workload(data: Data, _: Any) -> None:
    data["spec"].setdefault("active", True)
    for pod_set in data["spec"].get("podSets", ()):
        pod_set.setdefault("name", "main")
        pod_set.setdefault("count", 1)


def _fill_priority_class(data: Data, _: Any) -> None:
    data.setdefault("preemptionPolicy", "PreemptLowerPriority")


_DEFAULTS: dict[tuple[str, str], Callable[[Data, Any], None]] = {
    ("v1", "Pod"): _fill_pod,
    ("v1", "Namespace"): _fill_namespace,
    ("batch/v1", "Job"): _fill_job,
    ("scheduling.k8s.io/v1", "PriorityClass"): _fill_priority_class,
    ("kueue.x-k8s.io/v1beta2", "Workload"): _fill_quota_workload,
    **{("apps/v1", kind): _fill_controller for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")},
}
