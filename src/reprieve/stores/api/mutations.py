"""What the designs change in an object that is being created. Pure: data in, whether it was changed out.

A store that admits objects itself calls these; before a store that does not, a webhook does.
"""

from typing import Any

Data = dict[str, Any]
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
ADMISSION_GATE = "kueue.x-k8s.io/admission"


def hold_job(job: Data) -> bool:
    """A Job in a queue waits, suspended, until its workload is admitted."""
    spec = job.get("spec", {})
    if not _queued(job) or spec.get("suspend") is True:
        return False
    spec["suspend"] = True
    return True


def hold_pod(pod: Data) -> bool:
    """A pod of its own in a queue waits behind a gate; a pod that a controller makes waits with its owner."""
    spec = pod.get("spec", {})
    gates = spec.get("schedulingGates", [])
    if not _queued(pod) or _controlled(pod) or spec.get("nodeName"):
        return False
    if any(gate.get("name") == ADMISSION_GATE for gate in gates):
        return False
    spec["schedulingGates"] = [*gates, {"name": ADMISSION_GATE}]
    return True


def mutate(data: Data) -> bool:
    """All that the designs change in a new object of its kind; whether anything was."""
    match data.get("apiVersion"), data.get("kind"):
        case "batch/v1", "Job":
            return hold_job(data)
        case "v1", "Pod":
            return hold_pod(data)
    return False


def _queued(data: Data) -> bool:
    return bool(data["metadata"].get("labels", {}).get(QUEUE_NAME))


def _controlled(data: Data) -> bool:
    return any(owner.get("controller") for owner in data["metadata"].get("ownerReferences", []))
