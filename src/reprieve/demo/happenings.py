"""What a change on the stage means: somebody starts, is told to leave, has left, or is complete."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from reprieve.controllers.pods.templates import phase_of
from reprieve.demo.stage import StageChange, Work, work_of
from reprieve.manifests.kinds import BINDINGS, JOBS, PODS, QUOTA_WORKLOADS
from reprieve.model.conditions import has_condition
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving

Kind = Literal["runs", "admitted", "leaves", "left", "complete"]


class Happening(NamedTuple):
    """`seconds`: how long somebody may take to leave, or took."""

    kind: Kind
    unit: str
    work: Work
    place: str = ""
    seconds: float | None = None


class Happenings:
    """Reads changes; remembers when each was told to leave, so that it can be said how long that took."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], datetime] = {}

    def read(self, changes: Iterable[StageChange], now: datetime) -> list[Happening]:
        known = [change for change in changes if change.record.resource in _READERS]
        found = (happening for change in known for happening in _READERS[change.record.resource](change))
        return [self._timed(happening, now) for happening in found]

    def _timed(self, happening: Happening, now: datetime) -> Happening:
        key = happening.unit, happening.place
        if happening.kind == "leaves":
            self._told[key] = now
        elif happening.kind == "left" and key in self._told:
            return happening._replace(seconds=(now - self._told.pop(key)).total_seconds())
        return happening


def _pod(change: StageChange) -> Iterator[Happening]:
    before, after = change
    work, node = work_of(change.record), change.record.data["spec"].get("nodeName", "")
    if work is None or not node:
        return
    unit = change.record.unit
    if after is None:
        if before is not None and is_leaving(before) and phase_of(before) == "Running":
            yield Happening("left", unit, work, node)
    elif phase_of(after) == "Running" and (before is None or phase_of(before) != "Running"):
        yield Happening("runs", unit, work, node)
    elif phase_of(after) == "Running" and is_leaving(after) and not (before and is_leaving(before)):
        yield Happening("leaves", unit, work, node, float(after.metadata.get("deletionGracePeriodSeconds") or 0))


def _quota_workload(change: StageChange) -> Iterator[Happening]:
    work = work_of(change.record)
    if work is None or change.after is None:
        return
    old, new = _admitted_by(change.before), _admitted_by(change.after)
    evicted = has_condition(change.after.data, "Evicted")
    if new and not old:
        yield Happening("admitted", change.record.unit, work, new)
    elif new and evicted and change.before is not None and not has_condition(change.before.data, "Evicted"):
        yield Happening("leaves", change.record.unit, work, new)
    elif old and not new:
        yield Happening("left", change.record.unit, work, old)


def _admitted_by(record: Record | None) -> str:
    status: dict[str, Any] = record.data.get("status", {}) if record is not None else {}
    queue: str = (status.get("admission") or {}).get("clusterQueue", "")
    return queue


def _binding(change: StageChange) -> Iterator[Happening]:
    work = work_of(change.record)
    if work is None or change.after is None:
        return
    unit = change.record.unit
    old, new = _clusters(change.before), _clusters(change.after)
    leaving, still = _leaving(change.before), _leaving(change.after)
    yield from (Happening("runs", unit, work, name) for name in new if name not in old)
    yield from (Happening("leaves", unit, work, name) for name in still if name not in leaving)
    yield from (Happening("left", unit, work, name) for name in leaving if name not in still)


def _clusters(record: Record | None) -> list[str]:
    return [each["name"] for each in record.data["spec"].get("clusters") or ()] if record is not None else []


def _leaving(record: Record | None) -> list[str]:
    tasks = record.data["spec"].get("gracefulEvictionTasks") or () if record is not None else ()
    return [task["fromCluster"] for task in tasks]


def _job(change: StageChange) -> Iterator[Happening]:
    job, before = change.after, change.before
    was = before is not None and has_condition(before.data, "Complete")
    if job is not None and has_condition(job.data, "Complete") and not was:
        yield Happening("complete", job.unit, Work(JOBS.kind, job.namespace, job.name))


_READERS = {PODS: _pod, QUOTA_WORKLOADS: _quota_workload, BINDINGS: _binding, JOBS: _job}
