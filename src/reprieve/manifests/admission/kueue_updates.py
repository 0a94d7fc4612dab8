"""What of queued objects may not change while they have quota, as Kueue's webhooks have it.

1. A Job or a JobSet that is not suspended, or a pod that is let go, stays in its queue, and may run as long as it might
   before.
2. A Workload that holds quota keeps its queue and its pod sets; one that is admitted keeps its longest time.
3. A StatefulSet in a queue stays there while pods of it are ready. It has the size that it asked quota for: it can only
   be scaled to zero, and from zero once all its pods are gone.
4. Pods that have done their work do not come back: reclaimablePods only grows while quota is held.
"""

from collections.abc import Iterator
from typing import Any

from reprieve.manifests.core import Controller, Job
from reprieve.manifests.job_sets import JobSet
from reprieve.manifests.kueue import (
    ADMISSION_GATE,
    MAXIMUM_TIME_LABEL,
    QUEUE_NAME_LABEL,
    QuotaWorkload,
)
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import Pod
from reprieve.manifests.problems import Finding, found, join_path, show

_NOT_SUSPENDED = "while the {} is not suspended"
_LET_GO = "while the pod is not held by a gate"
_RESERVED = "while the workload has quota"
_ADMITTED = "while the workload is admitted"
_READY = "while pods of the StatefulSet are ready"


def check_update(new: Any, old: Any) -> Iterator[Finding]:
    """All that has changed and may not."""
    if isinstance(new, Job | JobSet) and isinstance(old, Job | JobSet):
        yield from _check_job(new, old)
    elif isinstance(new, Pod) and isinstance(old, Pod):
        if not _gated(new):
            yield from _label(QUEUE_NAME_LABEL, new, old, _LET_GO)
    elif isinstance(new, Controller) and isinstance(old, Controller) and new.kind == "StatefulSet":
        yield from _check_stateful_set(new, old)
    elif isinstance(new, QuotaWorkload) and isinstance(old, QuotaWorkload):
        yield from _check_workload(new, old)


def _check_job(new: Job | JobSet, old: Job | JobSet) -> Iterator[Finding]:
    if not new.spec.suspend:
        yield from _label(QUEUE_NAME_LABEL, new, old, _NOT_SUSPENDED.format(new.kind))
    if not new.spec.suspend or not old.spec.suspend:
        yield from _label(MAXIMUM_TIME_LABEL, new, old, _NOT_SUSPENDED.format(new.kind))


def _check_stateful_set(new: Controller, old: Controller) -> Iterator[Finding]:
    if old.status.ready_replicas:
        yield from _label(QUEUE_NAME_LABEL, new, old, _READY)
    now, before = new.spec.replicas, old.spec.replicas
    if now == before or not old.metadata.labels.get(QUEUE_NAME_LABEL):
        return
    if now and before:
        right = f"in a queue it can be scaled to 0, and from 0 to any size: it was {before}"
        yield Finding("$.spec.replicas", found(now), right)
    elif now and old.status.replicas:
        right = f"it can be scaled up when {old.status.replicas} pods of before are gone"
        yield Finding("$.spec.replicas", found(now), right)


def _check_workload(new: QuotaWorkload, old: QuotaWorkload) -> Iterator[Finding]:
    if _both(new, old, "QuotaReserved"):
        yield from _fixed("$.spec.queueName", new.spec.queue_name, old.spec.queue_name, _RESERVED)
        if new.spec.pod_sets != old.spec.pod_sets:
            yield Finding("$.spec.podSets", "they have changed", f"the field is immutable {_RESERVED}")
        yield from _check_done(new, old)
    if _both(new, old, "Admitted"):
        most = new.spec.maximum_execution_time_seconds, old.spec.maximum_execution_time_seconds
        yield from _fixed("$.spec.maximumExecutionTimeSeconds", *most, _ADMITTED)


def _check_done(new: QuotaWorkload, old: QuotaWorkload) -> Iterator[Finding]:
    now, before = (_done(workload) for workload in (new, old))
    for name, count in before.items():
        if now.get(name, 0) < count:
            right = f"the field cannot become smaller {_RESERVED}: it was {count}"
            yield Finding(f"$.status.reclaimablePods[{name}].count", found(now.get(name, 0)), right)


def _done(workload: QuotaWorkload) -> dict[str, int]:
    return {item.name: item.count for item in workload.status.reclaimable_pods}


def _both(new: QuotaWorkload, old: QuotaWorkload, condition: str) -> bool:
    found_in = (find_condition(workload.status.conditions, condition) for workload in (new, old))
    return all(each is not None and each.status == "True" for each in found_in)


def _gated(pod: Pod) -> bool:
    return any(gate.name == ADMISSION_GATE for gate in pod.spec.scheduling_gates)


def _label(name: str, new: Any, old: Any, when: str) -> Iterator[Finding]:
    now, before = new.metadata.labels.get(name, ""), old.metadata.labels.get(name, "")
    yield from _fixed(join_path("$.metadata.labels", name), now, before, when)


def _fixed(path: str, value: Any, before: Any, when: str) -> Iterator[Finding]:
    if value != before:
        was = f"it was {show(before)}" if before else "it was not set"
        yield Finding(path, found(value) if value else "missing", f"the field is immutable {when}: {was}")
