"""What admission changes in an object that is being created: queues hold it back, its priority class gives it a number.

A store that admits objects itself calls these; before a store that does not, a webhook does.
"""

from typing import Any

from reprieve.manifests import kueue
from reprieve.manifests.admission import Neighbours
from reprieve.manifests.admission.pods import check_new_priority
from reprieve.manifests.kinds import COMPOSITE_POD_GROUPS, POD_GROUPS, PODS, WORKLOADS
from reprieve.manifests.kueue import ADMISSION_GATE, PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from reprieve.manifests.limits import UnsaidRequests
from reprieve.manifests.priorities import recorded_priorities
from reprieve.manifests.resource import Resource
from reprieve.manifests.scheduling import Workload
from reprieve.model.resources import print_amount
from reprieve.stores.errors import not_admitted

Data = dict[str, Any]


def hold_job(job: Data) -> bool:
    """A Job or a JobSet in a queue waits, suspended, until its workload is admitted; the Job of a JobSet goes with it,
    unless that is in no queue: then whoever makes workloads suspends it."""
    spec = job.get("spec", {})
    if not _queued(job) or spec.get("suspend") is True or _of(job, "JobSet"):
        return False
    spec["suspend"] = True
    return True


def queue_pods(deployment: Data) -> bool:
    """The pods of a Deployment in a queue are in that queue, each with a workload of its own."""
    if not _queued(deployment) or not isinstance(deployment.get("spec", {}).get("template"), dict):
        return False
    labels = deployment["metadata"]["labels"]
    said = {name: labels[name] for name in (QUEUE_NAME_LABEL, PRIORITY_CLASS_LABEL) if name in labels}
    metadata = deployment["spec"]["template"].setdefault("metadata", {})
    before = metadata.get("labels") or {}
    metadata["labels"] = {**before, **said}
    return bool(metadata["labels"] != before)


def group_pods(stateful_set: Data) -> bool:
    """The pods of a StatefulSet in a queue are one group, with the workload of their StatefulSet."""
    if not _queued(stateful_set) or not isinstance(stateful_set.get("spec", {}).get("template"), dict):
        return False
    spec = stateful_set["spec"]
    queue_pods(stateful_set)
    metadata = spec["template"]["metadata"]
    metadata["labels"][kueue.GROUP_LABEL] = kueue.stateful_set_workload(stateful_set["metadata"].get("name", ""))
    said = {kueue.SUSPENDING_PARENT: kueue.STATEFUL_SET, kueue.TOTAL_COUNT: str(spec.get("replicas", 1))}
    said |= dict.fromkeys((kueue.FAST_ADMISSION, kueue.SERVING), "true")
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **said}
    return True


def hold_pod(pod: Data) -> bool:
    """A pod in a queue waits behind a gate; the pod of a Job waits with its owner."""
    spec = pod.get("spec", {})
    gates = spec.get("schedulingGates", [])
    if not _queued(pod) or _of(pod, "Job") or spec.get("nodeName"):
        return False
    if any(gate.get("name") == ADMISSION_GATE for gate in gates):
        return False
    spec["schedulingGates"] = [*gates, {"name": ADMISSION_GATE}]
    return True


def mutate(data: Data) -> bool:
    """All that the designs change in a new object of its kind; whether anything was."""
    match data.get("apiVersion"), data.get("kind"):
        case ("batch/v1", "Job") | ("jobset.x-k8s.io/v1alpha2", "JobSet"):
            return hold_job(data)
        case "v1", "Pod":
            return hold_pod(data)
        case "apps/v1", "Deployment":
            return queue_pods(data)
        case "apps/v1", "StatefulSet":
            return group_pods(data)
    return False


def follow_queue(data: Data) -> None:
    """What the designs change in an object that is changed: pods follow their owner into a queue."""
    if data.get("kind") in ("Deployment", "StatefulSet"):
        mutate(data)


def _queued(data: Data) -> bool:
    return bool(data["metadata"].get("labels", {}).get(QUEUE_NAME_LABEL))


def _of(data: Data, kind: str) -> bool:
    """Whether an object of that kind controls it."""
    owners = data["metadata"].get("ownerReferences", [])
    return any(owner.get("controller") and owner.get("kind") == kind for owner in owners)


def ask_for_unsaid(pod: Data, neighbours: Neighbours) -> None:
    """A new pod asks for what its namespace and its runtime class have it ask for."""
    unsaid = UnsaidRequests(neighbours.all("LimitRange"), neighbours.all("RuntimeClass"))
    if not unsaid:
        return
    spec, requests = pod["spec"], unsaid.of_containers(pod["metadata"]["namespace"])
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())) if requests else ():
        resources = container.setdefault("resources", {})
        said = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        missing = {name: print_amount(name, units) for name, units in requests.items() if name not in said}
        if missing:
            resources["requests"] = {**missing, **said}
    overhead = unsaid.overhead_of(spec.get("runtimeClassName") or "")
    if overhead and not spec.get("overhead"):
        spec["overhead"] = {name: print_amount(name, units) for name, units in overhead.items()}


HAVE_PRIORITIES = (PODS, POD_GROUPS, COMPOSITE_POD_GROUPS)
"""Kinds that a class gives a number once, when they are made."""


def resolve_priority(resource: Resource, data: Data, spec: Any, neighbours: Neighbours) -> None:
    """The class gives a new pod or group its number; one that says another number is refused."""
    findings = list(check_new_priority(spec, neighbours))
    if findings:
        # said again and again in the same words
        name = data["metadata"].get("generateName") or data["metadata"]["name"]
        raise not_admitted(resource, name, findings)
    resolved = neighbours.classes.resolve(spec.priority_class_name)
    given = data["spec"]
    given["priority"] = resolved.value
    given["preemptionPolicy"] = resolved.preemption_policy
    if resolved.class_name:
        given["priorityClassName"] = resolved.class_name


def keep_priority(resource: Resource, new: Data, before: Data) -> None:
    """What is replaced without saying its priority keeps it: the class was asked once, when it was made."""
    if resource in HAVE_PRIORITIES and isinstance(new.get("spec"), dict):
        for field in ("priorityClassName", "priority", "preemptionPolicy"):
            if field in before["spec"]:
                new["spec"].setdefault(field, before["spec"][field])


# Workloads that hold their groups: their priorities stand in the status

_RECORDED = ("priority", "preemptionPriority", "preemptionPolicy")


def record_priorities(data: Data, workload: Workload, neighbours: Neighbours) -> None:
    """The classes give a new Workload its numbers, with the same defaults as for pods."""
    if not workload.holds_groups:
        return
    resolved = neighbours.classes.of_workload(workload)
    if resolved.class_name:
        data["spec"]["priorityClassName"] = resolved.class_name
    data["status"] = {**data.get("status", {}), **recorded_priorities(workload, neighbours.classes)}


def keep_recorded(resource: Resource, new: Data, before: Data) -> None:
    """What was recorded stays: whoever writes the status need not repeat it, and cannot change it."""
    if resource is WORKLOADS and before["apiVersion"] == new["apiVersion"]:
        kept = {name: value for name, value in before.get("status", {}).items() if name in _RECORDED}
        if kept and isinstance(new.get("status", {}), dict):
            new["status"] = {**new.get("status", {}), **kept}
        if isinstance(new.get("spec"), dict) and "priorityClassName" in before["spec"]:
            new["spec"].setdefault("priorityClassName", before["spec"]["priorityClassName"])
