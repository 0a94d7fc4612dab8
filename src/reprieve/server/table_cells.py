"""What stands in a cell of a table: read from plain data of which only the parts that scheduling reads were checked."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from reprieve.manifests.columns import UNSET

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
# Up to so long, an age is told in the larger unit and the smaller one; the smaller one is left out when it is 0.
_STEPS: tuple[tuple[int, int, str, int, str], ...] = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * 365 * _DAY, _DAY, "d", 0, ""),
    (8 * 365 * _DAY, 365 * _DAY, "y", _DAY, "d"),
)


def dig(data: Any, *path: str) -> Any:
    """What stands at a path; None where anything on the way is missing, or is no object."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def text(data: Any, *path: str, default: str = UNSET) -> str:
    found = dig(data, *path)
    return default if found is None or found == "" or isinstance(found, (dict, list)) else str(found)


def number(data: Any, *path: str) -> int:
    found = dig(data, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def objects(data: Any, *path: str) -> Iterator[dict[str, Any]]:
    """The objects in a list."""
    found = dig(data, *path)
    return (item for item in found if isinstance(item, dict)) if isinstance(found, list) else iter(())


def condition(data: Any, kind: str) -> dict[str, Any]:
    return next((item for item in objects(data, "status", "conditions") if item.get("type") == kind), {})


def holds(data: Any, kind: str) -> bool:
    return condition(data, kind).get("status") == "True"


def moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def age(value: Any, now: datetime) -> str:
    """How long ago a time was, as kubectl tells it."""
    found = moment(value)
    return UNKNOWN if found is None else duration(now - found)


def duration(passed: timedelta) -> str:
    seconds = max(0, int(passed.total_seconds()))
    for limit, large, large_name, small, small_name in _STEPS:
        if seconds < limit:
            rest = seconds % large // small if small else 0
            return f"{seconds // large}{large_name}" + (f"{rest}{small_name}" if rest else "")
    return f"{seconds // (365 * _DAY)}y"


def pod_status(pod: Any) -> str:
    """One word for how a pod is doing."""
    if dig(pod, "metadata", "deletionTimestamp"):
        return "Terminating"
    for status in objects(pod, "status", "containerStatuses"):
        for state in ("waiting", "terminated"):
            reason = text(status, "state", state, "reason", default="")
            if reason:
                return reason
    if text(pod, "status", "reason", default=""):
        return text(pod, "status", "reason")
    if condition(pod, "PodScheduled").get("reason") == "SchedulingGated":
        return "SchedulingGated"
    return text(pod, "status", "phase", default="Pending")


def pod_ready(pod: Any) -> str:
    ready = sum(status.get("ready") is True for status in objects(pod, "status", "containerStatuses"))
    return f"{ready}/{sum(1 for _ in objects(pod, 'spec', 'containers'))}"


def pod_restarts(pod: Any) -> int:
    return sum(number(status, "restartCount") for status in objects(pod, "status", "containerStatuses"))


def node_status(node: Any) -> str:
    ready = "Ready" if holds(node, "Ready") else "NotReady" if condition(node, "Ready") else "Unknown"
    return f"{ready},SchedulingDisabled" if dig(node, "spec", "unschedulable") is True else ready


def node_roles(node: Any) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = dig(node, "metadata", "labels")
    roles = sorted(key.removeprefix(prefix) for key in labels or () if key.startswith(prefix))
    return ",".join(roles) or UNSET


def job_status(job: Any) -> str:
    for kind in ("Complete", "Failed", "Suspended"):
        if holds(job, kind):
            return kind
    if dig(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    return "Suspended" if dig(job, "spec", "suspend") is True else "Running"


def job_completions(job: Any) -> str:
    wanted = dig(job, "spec", "completions") or dig(job, "spec", "parallelism") or 1
    return f"{number(job, 'status', 'succeeded')}/{wanted}"


def job_duration(job: Any, now: datetime) -> str:
    started = moment(dig(job, "status", "startTime"))
    ended = moment(dig(job, "status", "completionTime")) or now
    return "" if started is None else duration(ended - started)


def clusters(binding: Any) -> str:
    """Where a binding's replicas are: `member1:2,member2:1`."""
    placed = (f"{text(item, 'name')}:{number(item, 'replicas')}" for item in objects(binding, "spec", "clusters"))
    return ",".join(placed) or UNSET


def requests(binding: Any) -> str:
    """What one replica asks for: `cpu=2,memory=1Gi`."""
    asked = dig(binding, "spec", "replicaRequirements", "resourceRequest")
    parts = (f"{name}={value}" for name, value in sorted(asked.items())) if isinstance(asked, dict) else ()
    return ",".join(parts) or UNSET


def leaving(binding: Any) -> str:
    """The clusters that a binding has been told to leave."""
    return ",".join(text(task, "fromCluster") for task in objects(binding, "spec", "gracefulEvictionTasks")) or UNSET


def waits_for(binding: Any) -> str:
    """Why a binding has no clusters yet."""
    if dig(binding, "spec", "suspension", "scheduling") is True:
        return "suspended"
    said = condition(binding, "Scheduled")
    return text(said, "message") if said.get("status") == "False" else UNSET


def gang(group: Any) -> str:
    """How a pod group is scheduled: `Gang(4)` or `Basic`."""
    policy = dig(group, "spec", "schedulingPolicy", "gang")
    if not isinstance(policy, dict):
        return "Basic"
    return f"Gang({policy.get('minCount') or policy.get('minGroupCount')})"


def event_object(event: Any) -> str:
    return f"{text(event, 'involvedObject', 'kind').lower()}/{text(event, 'involvedObject', 'name')}"


def last_seen(event: Any, now: datetime) -> str:
    seen = event.get("lastTimestamp") or event.get("eventTime") or dig(event, "metadata", "creationTimestamp")
    return age(seen, now)


def replicas_ready(controller: Any) -> str:
    wanted = 1 if dig(controller, "spec", "replicas") is None else number(controller, "spec", "replicas")
    return f"{number(controller, 'status', 'readyReplicas')}/{wanted}"


def global_default(priority_class: Any) -> str:
    return "true" if dig(priority_class, "globalDefault") is True else "false"


def cohort(queue: Any) -> str:
    return text(queue, "spec", "cohortName", default="") or text(queue, "spec", "cohort", default="")


def data_count(config_map: Any) -> int:
    return len(dig(config_map, "data") or ())


def _whenever(cell: Callable[[Any], Any]) -> Callable[[Any, datetime], Any]:
    return lambda data, _: cell(data)


_TIMELESS: tuple[Callable[[Any], Any], ...] = (
    *(pod_ready, pod_status, pod_restarts, node_status, node_roles, job_status, job_completions, replicas_ready),
    *(global_default, gang, cohort, clusters, requests, leaving, waits_for, event_object, data_count),
)
CELLS: dict[str, Callable[[Any, datetime], Any]] = {
    "age": lambda data, now: age(dig(data, "metadata", "creationTimestamp"), now),
    "last_seen": last_seen,
    "job_duration": job_duration,
    **{cell.__name__: _whenever(cell) for cell in _TIMELESS},
}
"""The cells that are worked out, by the name that columns call them."""
