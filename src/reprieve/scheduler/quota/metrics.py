"""What has happened to quota workloads, counted under Kueue's names; what is so now is in `gauges`.

1. A workload's reservation, admission, eviction and readiness are counted when the store tells of them, once, whoever
   brought them about. What is only assumed has not happened yet: it has the version of what the store told before.
2. What had happened before this scheduler saw a workload for the first time is not counted.
3. Preemptions are counted when victims have been told.
"""

from datetime import datetime
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram

from reprieve.manifests.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, QUOTA_WORKLOADS
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.meta import Condition, find_condition
from reprieve.model.names import key_of
from reprieve.policies.quota.world import QuotaWorld
from reprieve.scheduler.mirror import Seen
from reprieve.stores.records import Record

_WAITS = (1.0, *(2.5 * 2**step for step in range(13)))
_COUNTED = ("QuotaReserved", "Admitted", "Evicted", "PodsReady")


class QueueCounts:
    """The counters of queues of one kind; `labels` tell them apart."""

    def __init__(self, registry: CollectorRegistry, prefix: str, labels: tuple[str, ...]) -> None:
        self._labels = labels

        def counter(name: str, what: str, *more: str) -> Counter:
            return Counter(f"{prefix}_{name}", what, (*labels, *more), registry=registry)

        def waits(name: str, what: str) -> Histogram:
            return Histogram(f"{prefix}_{name}", what, labels, buckets=_WAITS, registry=registry)

        self.reserved = counter("quota_reserved_workloads", "Workloads that got quota.")
        self.admitted = counter("admitted_workloads", "Workloads that were admitted.")
        self.evicted = counter("evicted_workloads", "Workloads that were evicted, by reason.", "reason")
        self.until_reserved = waits("quota_reserved_wait_time_seconds", "From creation or requeuing to quota.")
        self.until_admitted = waits("admission_wait_time_seconds", "From creation or requeuing to admission.")
        self.until_checked = waits("admission_checks_wait_time_seconds", "From quota to admission.")
        self.until_ready = waits("ready_wait_time_seconds", "From creation or requeuing until all pods are ready.")
        self.from_admitted = waits("admitted_until_ready_wait_time_seconds", "From admission until all pods are ready.")

    def forget(self, *values: str) -> None:
        """A queue is gone, and what was counted of it, too."""
        for metric in vars(self).values():
            if isinstance(metric, Counter | Histogram):
                metric.remove_by_labels(dict(zip(self._labels, values, strict=True)))


class ConditionsHeld(NamedTuple):
    """Which conditions of a workload hold, at a version."""

    version: int
    holds: frozenset[str]


class QuotaCounts:
    """All counters of quota."""

    def __init__(self, registry: CollectorRegistry, quota: QuotaWorld) -> None:
        self._quota = quota
        self._attempts = Counter(
            "kueue_admission_attempts",
            "Cycles with somebody waiting: a success if anybody was admitted, else inadmissible.",
            ("result",),
            registry=registry,
        )
        self._duration = Histogram(
            "kueue_admission_attempt_duration_seconds", "Time to decide a cycle.", ("result",), registry=registry
        )
        self._preempted = Counter(
            "kueue_preempted_workloads",
            "Workloads that were told to make way, by the ClusterQueue they make way for.",
            ("preempting_cluster_queue", "reason"),
            registry=registry,
        )
        self._cluster_queues = QueueCounts(registry, "kueue", ("cluster_queue",))
        self._local_queues = QueueCounts(registry, "kueue_local_queue", ("name", "namespace"))
        self._known: dict[str, ConditionsHeld] = {}
        """By uid."""

    def attempted(self, seconds: float, *, admitted: bool) -> None:
        result = "success" if admitted else "inadmissible"
        self._attempts.labels(result).inc()
        self._duration.labels(result).observe(seconds)

    def preempted(self, preemptor: str, reason: str) -> None:
        """A victim has been told."""
        facts = self._quota.find(key_of(preemptor))
        if facts is not None and facts.queue is not None:
            self._preempted.labels(facts.queue.name, reason).inc()

    def react(self, seen: Seen) -> None:
        if seen.resource == QUOTA_WORKLOADS:
            self._workload(seen)
        elif seen.new is None and seen.resource == CLUSTER_QUEUES:
            self._cluster_queues.forget(seen.record.name)
            self._preempted.remove_by_labels({"preempting_cluster_queue": seen.record.name})
        elif seen.new is None and seen.resource == LOCAL_QUEUES:
            self._local_queues.forget(seen.record.name, seen.record.namespace)

    def _workload(self, seen: Seen) -> None:
        record = seen.new
        if record is None:
            self._known.pop(seen.record.uid, None)
            return
        known = self._known.get(record.uid)
        if known is not None and record.version <= known.version:
            return
        conditions = record.manifest.status.conditions
        now = {kind: found for kind in _COUNTED if (found := find_condition(conditions, kind)) is not None}
        holds = frozenset(kind for kind, found in now.items() if found.status == "True")
        self._known[record.uid] = ConditionsHeld(record.version, holds)
        for kind in holds - known.holds if known is not None else ():
            self._count(kind, now[kind], record, seen.old)

    def _count(self, kind: str, condition: Condition, record: Record, old: Record | None) -> None:
        queues: list[tuple[QueueCounts, tuple[str, ...]]] = [
            (self._local_queues, (record.manifest.spec.queue_name, record.namespace))
        ]
        admission = record.manifest.status.admission or (old.manifest.status.admission if old is not None else None)
        if admission is not None:
            queues.append((self._cluster_queues, (admission.cluster_queue,)))
        for counts, labels in queues:
            _count_in(counts, labels, kind, condition, record.manifest)


def _count_in(
    counts: QueueCounts, labels: tuple[str, ...], kind: str, condition: Condition, workload: QuotaWorkload
) -> None:
    at = condition.last_transition_time
    waited = _seconds(_queued_at(workload), at)
    match kind:
        case "QuotaReserved":
            counts.reserved.labels(*labels).inc()
            counts.until_reserved.labels(*labels).observe(waited)
        case "Admitted":
            counts.admitted.labels(*labels).inc()
            counts.until_admitted.labels(*labels).observe(waited)
            counts.until_checked.labels(*labels).observe(_seconds(_since(workload, "QuotaReserved"), at))
        case "Evicted":
            counts.evicted.labels(*labels, condition.reason).inc()
        case "PodsReady":
            counts.until_ready.labels(*labels).observe(waited)
            counts.from_admitted.labels(*labels).observe(_seconds(_since(workload, "Admitted"), at))


def _queued_at(workload: QuotaWorkload) -> datetime | None:
    """When it was created, or queued again."""
    return _since(workload, "Requeued") or workload.metadata.creation_timestamp


def _since(workload: QuotaWorkload, kind: str) -> datetime | None:
    found: Any = find_condition(workload.status.conditions, kind)
    return found.last_transition_time if found is not None and found.status == "True" else None


def _seconds(begin: datetime | None, end: datetime | None) -> float:
    return max(0.0, (end - begin).total_seconds()) if begin is not None and end is not None else 0.0
