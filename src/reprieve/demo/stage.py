"""What is on the stage: everything in the namespaces of the scenes as last seen, and whose work each unit is.

A *work* is what a person applied: a Job, a ReplicaSet, a Deployment. Pods, quota workloads and bindings come and go;
the work stays, so that it can be said to have made way and to have come back.
"""

import asyncio
from typing import NamedTuple

from reprieve.controllers.pods.templates import phase_of
from reprieve.manifests import kinds
from reprieve.manifests.kinds import BINDINGS, JOBS, PODS, QUOTA_WORKLOADS, REPLICA_SETS
from reprieve.manifests.resource import Resource
from reprieve.model.conditions import has_condition
from reprieve.stores.caches import Cache
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import controller_of, is_leaving

_PLACES = (kinds.NODES, kinds.CLUSTERS, kinds.CLUSTER_QUEUES, kinds.CONFIG_MAPS)
_WATCHED = (*_PLACES, JOBS, REPLICA_SETS, BINDINGS, QUOTA_WORKLOADS, PODS)
"""Works before their units, so that whoever hears of a unit knows its work."""


class Work(NamedTuple):
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Progress(NamedTuple):
    """How many of a work's pods or replicas run, how many should, and how many have run to their end."""

    running: int
    wanted: int
    finished: int = 0

    @property
    def whole(self) -> bool:
        return 0 < self.wanted <= self.running


class StageChange(NamedTuple):
    before: Record | None
    after: Record | None

    @property
    def record(self) -> Record:
        record = self.after or self.before
        assert record is not None  # noqa: S101 - a change is of something
        return record


class Stage:
    """Follows the store."""

    def __init__(self, store: Store) -> None:
        self.signal = asyncio.Event()
        self._store = store
        self._changes: list[StageChange] = []
        self._owners: dict[str, Work] = {}
        self._caches = {resource: Cache(resource, self._changed) for resource in _WATCHED}

    async def follow(self) -> list[StageChange]:
        """All that has changed since the last time."""
        self.signal.clear()
        for cache in self._caches.values():
            await cache.follow(self._store, self.signal)
        changes, self._changes = self._changes, []
        return changes

    def close(self) -> None:
        for cache in self._caches.values():
            cache.stop()

    def _changed(self, before: Record | None, after: Record | None) -> None:
        change = StageChange(before, after)
        self._changes.append(change)
        if (work := work_of(change.record)) is not None:
            self._owners[change.record.unit] = work

    def all(self, resource: Resource, namespace: str = "") -> list[Record]:
        found = (record for record in self._caches[resource] if not namespace or record.namespace == namespace)
        return sorted(found, key=lambda record: record.key)

    def find(self, resource: Resource, name: str, namespace: str) -> Record | None:
        return self._caches[resource].get(name, namespace)

    def owner(self, unit: str) -> Work | None:
        """Whose a unit is, or was."""
        return self._owners.get(unit)

    # How a work stands

    def standing(self, work: Work) -> Progress:
        binding = self._binding(work)
        if binding is not None:
            clusters = binding.data["spec"].get("clusters") or ()
            return Progress(sum(each.get("replicas", 0) for each in clusters), binding.data["spec"].get("replicas", 0))
        template = self.find(JOBS if work.kind == JOBS.kind else REPLICA_SETS, work.name, work.namespace)
        pods = self.pods(work)
        running, finished = sum(map(is_running, pods)), sum(phase_of(pod) == "Succeeded" for pod in pods)
        return Progress(running, _wanted(template), finished)

    def _binding(self, work: Work) -> Record | None:
        found = (record for record in self.all(BINDINGS, work.namespace) if self.owner(record.unit) == work)
        return next(found, None)

    def pods(self, work: Work) -> list[Record]:
        return [pod for pod in self.all(PODS, work.namespace) if self.owner(pod.unit) == work]

    def is_complete(self, work: Work) -> bool:
        job = self.find(JOBS, work.name, work.namespace) if work.kind == JOBS.kind else None
        return job is not None and has_condition(job.data, "Complete")


def work_of(record: Record) -> Work | None:
    """What a pod, a quota workload or a binding is a part of."""
    if record.resource == BINDINGS:
        bound = record.data["spec"]["resource"]
        return Work(bound["kind"], record.namespace, bound["name"])
    if record.resource in (PODS, QUOTA_WORKLOADS):
        owner = controller_of(record)
        return Work(owner["kind"], record.namespace, owner["name"]) if owner is not None else None
    return None


def is_running(pod: Record) -> bool:
    return phase_of(pod) == "Running" and not is_leaving(pod)


def _wanted(template: Record | None) -> int:
    if template is None:
        return 0
    return int(template.data["spec"].get("parallelism" if template.resource == JOBS else "replicas", 1))
