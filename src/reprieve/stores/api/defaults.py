"""What an API server fills in where a manifest says nothing, as far as anybody here reads it.

What is always the same stands in the table of kinds; here is what has to be worked out, by the type a kind is read as.
The data has been read as its kind before, so typed fields are what they should be.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reprieve.manifests.admission.metadata import is_dns_label
from reprieve.manifests.core import Controller, Job, Namespace
from reprieve.manifests.kinds import NODES, PODS
from reprieve.manifests.meta import Manifest
from reprieve.manifests.pods import Pod
from reprieve.manifests.resource import Resource
from reprieve.manifests.scheduling import CompositePodGroupManifest, PodGroupManifest
from reprieve.stores.api.incoming import decode, encode

Data = dict[str, Any]
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"
_OLD_JOB_LABELS = {"controller-uid": CONTROLLER_UID, "job-name": JOB_NAME}


def fill_in(resource: Resource, data: Data, typed: Any) -> None:
    """What every object of its kind has, new or changed, when it is written as in the preferred version."""
    if resource.types[data["apiVersion"].rpartition("/")[2]] is resource.newest:
        work_out = _WORKED_OUT.get(resource.newest)
        if work_out is not None:
            work_out(data, typed)
        _fill(data, resource.defaults)


def _fill(data: Data, defaults: Mapping[str, Any]) -> None:
    for name, value in defaults.items():
        if isinstance(value, Mapping):
            _fill(data.setdefault(name, {}), value)
        elif isinstance(value, list):
            for item in data.get(name, ()):
                _fill(item, value[0])
        else:
            data.setdefault(name, value)


def first_status(resource: Resource, data: Data, typed: Any) -> None:
    """The status of a new object: nobody but its controllers gives it one. Nodes alone register with theirs."""
    if resource is NODES:
        status = data.get("status", {})
        if "capacity" in status:
            status.setdefault("allocatable", status["capacity"])
        return
    data.pop("status", None)
    data |= decode(encode(resource.begins))
    if resource is PODS:
        data["status"]["qosClass"] = quality_of_service(typed)


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


def _fill_requests(data: Data, typed: Pod) -> None:
    """A limit without a request is one."""
    for group, containers in (("containers", typed.spec.containers), ("initContainers", typed.spec.init_containers)):
        for index, container in enumerate(containers):
            if container.resources.limits:
                resources = data["spec"][group][index]["resources"]
                resources["requests"] = {**resources["limits"], **resources.get("requests", {})}


def _fill_namespace(data: Data, _: Any) -> None:
    metadata = data["metadata"]
    if is_dns_label(metadata["name"]):  # else it is refused, and not for a label that nobody gave it
        metadata["labels"] = {**metadata.get("labels", {}), NAMESPACE_LABEL: metadata["name"]}


def _fill_job(data: Data, _: Any) -> None:
    spec, metadata = data["spec"], data["metadata"]
    if "parallelism" not in spec and "completions" not in spec:
        spec["completions"] = 1
    if not spec.get("manualSelector"):
        own = {CONTROLLER_UID: metadata["uid"], JOB_NAME: metadata["name"]}
        own |= {old: own[new] for old, new in _OLD_JOB_LABELS.items()}
        template = spec["template"].setdefault("metadata", {})
        template["labels"] = {**template.get("labels", {}), **own}
        spec.setdefault("selector", {"matchLabels": {CONTROLLER_UID: metadata["uid"]}})


def _fill_selector(data: Data, _: Any) -> None:
    labels = data["spec"]["template"].get("metadata", {}).get("labels")
    if labels:
        data["spec"].setdefault("selector", {"matchLabels": dict(labels)})


def _fill_group(data: Data, _: Any) -> None:
    """Who does not say it lets its pods, or the groups below it, go one by one."""
    data["spec"].setdefault("disruptionMode", {"single": {}})


_WORKED_OUT: dict[type[Manifest], Callable[[Data, Any], None]] = {
    Pod: _fill_requests,
    Namespace: _fill_namespace,
    Job: _fill_job,
    Controller: _fill_selector,
    PodGroupManifest: _fill_group,
    CompositePodGroupManifest: _fill_group,
}
