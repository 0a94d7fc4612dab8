"""What controllers say about what they did, in conditions and events."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from reprieve.model.clock import timestamp
from reprieve.texts.parts import count, listed

_MOST_NAMED = 10
JOB_SUSPENDED = "the Job is suspended; its pods are asked to end"
JOB_RESUMED = "the Job was resumed"
JOB_COMPLETE = "the Job is complete"
JOB_SET_SUSPENDED = "the JobSet is suspended, and so are its Jobs"
JOB_SET_RESUMED = "the JobSet was resumed"
JOB_SET_COMPLETE = "all Jobs are complete that the JobSet needs"


def job_failed(name: str, restarts: int) -> str:
    allows = "allows no restart" if restarts == 0 else f"allows {count(restarts, 'restart')}"
    return f"the Job {name} has failed; spec.failurePolicy.maxRestarts {allows}"


def backoff_limit_exceeded(failed: int, limit: int) -> str:
    return f"{failed} pods failed; spec.backoffLimit allows {limit}"


def restarts_exceeded(restarts: int, limit: int) -> str:
    return f"containers were restarted {restarts} times; spec.backoffLimit allows {limit}"


def deadline_exceeded(seconds: int) -> str:
    return f"the Job was active for longer than spec.activeDeadlineSeconds: {seconds} s"


def cannot_create_pods(why: Exception) -> str:
    return f"pods cannot be created: {why}"


def daemon_pod_failed(pod: str, node: str) -> str:
    return f"{pod} failed on {node}: it is deleted, and made again"


def enough_pods(healthy: int, desired: int) -> str:
    return f"{healthy} pods are healthy, {desired} must stay"


def minimum_available(available: int, wanted: int) -> str:
    return f"{available} of {wanted} pods are available"


def content_remains(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    return f"still there: {listed}"


# The life of quota workloads: queued, started, stopped, held back, finished

NOT_ADMITTED = "It waits for quota: it is kept suspended until its Workload is admitted."
POD_NOT_ADMITTED = (
    "Its scheduling gate was removed without quota, so it is ended: pods start when their Workload is admitted."
)
WAITS_AGAIN = "All pods are gone, and the quota is free; it waits for quota again."
STAYS_OUT = "All pods are gone, and the quota is free; it is not active, and is not queued again."
QUEUED_AGAIN = "It waits for quota again."
NOT_QUEUED_AGAIN = "It is not active, and is not queued again."
BACK_OFF_OVER = "Its time to wait is over: it waits for quota again."
ADMITTED = "All admission checks are ready: it may run."
PODS_READY = "All pods are ready or have succeeded."
PODS_NOT_READY = "Not all pods are ready or have succeeded."
REACTIVATED = "It was made active again, and waits for quota."
DEACTIVATED = "It was made inactive."
CHANGED_WHILE_ADMITTED = "Its Job was changed and is no longer what was admitted: it has to ask again."
JOB_SET_CHANGED = "Its JobSet was changed and is no longer what was admitted: it has to ask again."
STATEFUL_SET_CHANGED = "Its StatefulSet was changed and is no longer what was admitted: it has to ask again."
CAN_ADMIT = "It admits workloads."
QUEUE_STOPPED = "It is stopped, and admits nobody."
PODS_FINISHED = "All pods have finished."
WORKLOAD_DELETED = "Its Workload was deleted, and with it its quota."


def workload_made(unit: str, queue: str) -> str:
    return f"{unit} waits for quota in the LocalQueue {queue}."


def started(cluster_queue: str, pods: int, flavors: list[str]) -> str:
    on = f" on {listed(flavors)}" if flavors else ""
    return f"Admitted by {cluster_queue}: {count(pods, 'pod')}{on}."


def stopped(why: str) -> str:
    return why or "It has lost its quota."


def finished(kind: str, name: str, *, failed: bool) -> str:
    return f"The {kind} {name} has {'failed' if failed else 'completed'}."


def ran_too_long(seconds: int) -> str:
    return f"It ran for longer than its maximum of {count(seconds, 'second')}."


def nodes_failed(names: list[str]) -> str:
    return (
        f"Its pods were sent to {listed(names)}, which {'has' if len(names) == 1 else 'have'} failed: it starts anew."
    )


def queue_drained(kind: str, name: str) -> str:
    return f"The {kind} {name} is stopped, and what it has admitted has to leave."


def kept_in_use(kind: str, name: str, users: list[str]) -> str:
    return f"The {kind} {name} is kept until it is no longer in use: by {listed(users)}."


def queue_terminating(workloads: int) -> str:
    """Said of a ClusterQueue that is deleted."""
    kept = f" It is kept until {count(workloads, 'workload')} have given back their quota." if workloads > 1 else ""
    kept = " It is kept until one workload has given back its quota." if workloads == 1 else kept
    return f"It is being deleted, and admits nobody.{kept}"


def checks_unusable(why: str) -> str:
    return f"It admits nobody: {why}."


def queued_again_at(when: datetime) -> str:
    return f"It waits for quota again from {timestamp(when)} on."


def not_ready_in_time(seconds: float, *, recovering: bool) -> str:
    what = "were not all ready again" if recovering else "were not all ready"
    return f"Its pods {what} within {seconds:g} seconds (waitForPodsReady)."


def queued_too_often(times: int) -> str:
    return f"It was queued again {times} times because its pods were not ready in time, and is not queued once more."


def check_reset(state: str) -> str:
    return f"Reset to Pending after eviction. Previously: {state}"


def checks_retry(names: list[str], said: list[str]) -> str:
    return f"{_the_checks(names)} {'ask' if len(names) > 1 else 'asks'} for it to be tried again.{_said(said)}"


def checks_rejected(names: list[str], said: list[str]) -> str:
    return f"{_the_checks(names)} rejected it.{_said(said)}"


def _the_checks(names: list[str]) -> str:
    return f"The AdmissionCheck{'s' if len(names) > 1 else ''} {listed(names)}"


def _said(messages: list[str]) -> str:
    return "".join(f" {message.rstrip('.')}." for message in messages if message)


def check_contradicts(name: str, pod_set: str, what: str) -> str:
    return f"The AdmissionCheck {name} sets {what} of the pod set {pod_set}, which is set otherwise already."


def flavors_missing(names: list[str]) -> str:
    return f"It admits nobody: there is no ResourceFlavor {listed(names)}."


def topologies_missing(names: list[str]) -> str:
    return f"It admits nobody: there is no Topology {listed(names)}, which its flavors name."


def flavor_gone(name: str) -> str:
    return f"It cannot start: there is no ResourceFlavor {name}, on which it was admitted."


def class_missing(kind: str, name: str) -> str:
    return f"It cannot be queued: there is no {kind} {name}."


def cluster_queue_missing(name: str) -> str:
    return f"There is no ClusterQueue {name}."


def cluster_queue_inactive(name: str) -> str:
    return f"The ClusterQueue {name} admits nobody at present."


def group_disagrees(name: str) -> str:
    return f"The pods of the group {name} do not name the same queue and the same number of pods: it cannot be queued."


def group_incomplete(name: str, there: int, total: int) -> str:
    return f"The group {name} has {there} of its {count(total, 'pod')}: it asks for quota when all of them are there."


def too_many_shapes(name: str, shapes: int, most: int) -> str:
    return f"The pods of the group {name} have {shapes} different shapes, and at most {most} can be queued together."


def name_taken(unit: str) -> str:
    return f"It cannot be queued: {unit} exists already, and is not of these pods."


def annotation_ignored(name: str, right: str) -> str:
    return f"The annotation {name} cannot be read and counts as not said: {right}."


def workload_refused(why: str) -> str:
    return f"It cannot be queued: {why}"


def pods_not_matching(pods: Sequence[tuple[str, int]], priority: int) -> str:
    """Pods of a Workload that say another priority than it, by name and own priority."""
    named = [f"{name} has priority {own}" for name, own in pods[:_MOST_NAMED]]
    more = f" and {count(len(pods) - _MOST_NAMED, 'more pod')} differ" if len(pods) > _MOST_NAMED else ""
    return f"{listed(named)}{more}; {priority}, the Workload's, is what counts for them"


def pods_match(priority: int) -> str:
    return f"all its pods have its priority, {priority}"
