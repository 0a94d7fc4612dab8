"""Hollow member clusters: clusters of any number and size that exist on paper, and run whatever bindings bring.

1. A hollow cluster is ready, serves the common kinds, and has what its annotation `allocatable` says. It reports what
   bindings use of it, with what is still leaving, whenever that changes.
2. Replicas that were told to leave are gone when their grace period is over: that of the task, else that of the
   cluster, else 30 seconds. Those whose deletion is suppressed stay.
3. A Job runs for the seconds of its annotation `run-seconds` from when its binding got all its clusters; then it is
   complete, and its binding uses nothing any more. Without the annotation it runs until it is deleted.
4. Everything is worked out from the objects, so that a restart changes nothing. Other clusters are left alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from reprieve.agents.hollow.nodes import RUN_SECONDS, seconds_in
from reprieve.controllers.runner import BaseController, earliest
from reprieve.engine.clusters import Usage
from reprieve.manifests.karmada import is_hollow
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS, CLUSTERS, JOBS
from reprieve.manifests.priorities import Priority
from reprieve.manifests.resource import plural_of
from reprieve.model.clock import Clock, moment_of, timestamp
from reprieve.model.conditions import set_condition, true_condition
from reprieve.model.resources import QuantityError, Resources, print_amount
from reprieve.policies.federation.bindings import FINISHED, BindingFacts
from reprieve.policies.federation.evictions import PLACED_ANNOTATION
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import federation as texts

ALLOCATABLE = "reprieve.scheduling/allocatable"
"""On a cluster: what it has, as a resource list in JSON."""
GRACE_SECONDS = "reprieve.scheduling/eviction-grace-seconds"
"""On a cluster: how long replicas that were told to leave take."""
_SERVED = {
    "v1": ("ConfigMap", "Namespace", "Pod", "Secret", "Service"),
    "apps/v1": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "batch/v1": ("CronJob", "Job"),
    "policy/v1": ("PodDisruptionBudget",),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "kueue.x-k8s.io/v1beta2": ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass"),
}
Key = tuple[str, str, str]


class HollowClusters(BaseController):
    """Plays all clusters that carry its annotation."""

    component = "hollow-clusters"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._usage = Usage()
        self._told: dict[str, str] = {}
        self._clusters = self.watch_changes(CLUSTERS, self._cluster_changed)
        self._bindings = {
            resource.kind: self.watch_changes(resource, self._binding_changed, {"leaves": _leaves, "job": _job_of})
            for resource in (BINDINGS, CLUSTER_BINDINGS)
        }
        self._jobs = self.watch(JOBS, self._bindings_of)

    # What happens

    def _cluster_changed(self, before: Record | None, after: Record | None) -> None:
        (name,) = {record.name for record in (before, after) if record is not None}
        self.enqueue((CLUSTERS.kind, "", name))
        if before is None or after is None or before.annotations != after.annotations:
            for cache in self._bindings.values():
                for binding in cache.by("leaves", name):
                    self.enqueue((binding.resource.kind, *binding.key))

    def _binding_changed(self, before: Record | None, after: Record | None) -> None:
        (key,) = {(record.resource.kind, *record.key) for record in (before, after) if record is not None}
        uses = BindingFacts(after.manifest, Priority(0)).uses() if after is not None else {}
        for name in self._usage.put(key, uses):
            self.enqueue((CLUSTERS.kind, "", name))
        self.enqueue(key)

    def _bindings_of(self, job: Record) -> Iterator[Key]:
        return ((binding.resource.kind, *binding.key) for binding in self._bindings[BINDINGS.kind].by("job", job.key))

    async def reconcile(self, key: Key) -> float | None:
        kind, namespace, name = key
        if kind == CLUSTERS.kind:
            await self._report(self._clusters.get(name))
            return None
        binding = self._bindings[kind].get(name, namespace)
        if binding is None:
            return None
        return earliest(await self._let_go(binding), await self._finish(binding))

    # Reports

    async def _report(self, cluster: Record | None) -> None:
        if cluster is None or not is_hollow(cluster.manifest) or is_leaving(cluster):
            return
        has = await self._allocatable(cluster)
        used = self._usage.of(cluster.name)

        def report(status: dict[str, Any]) -> None:
            set_condition(status, "Ready", "True", "ClusterReady", texts.HOLLOW_READY, now=self.clock())
            status.setdefault("apiEnablements", _api_enablements())
            allocated = {name: print_amount(name, used.of(name)) for name in sorted({**has, **used.positive()})}
            status["resourceSummary"] = {"allocatable": has.to_manifest(), "allocated": allocated}

        await self.modify_status(cluster, report)

    async def _allocatable(self, cluster: Record) -> Resources:
        """What it says it has; what cannot be read is told once, and what it had before stays."""
        text = cluster.annotations.get(ALLOCATABLE)
        summary = cluster.manifest.status.resource_summary
        known: Resources = summary.allocatable if summary is not None else Resources()
        if text is None:
            return known
        try:
            return Resources.parse(msgspec.json.decode(text))
        except (msgspec.DecodeError, QuantityError) as problem:
            if self._told.get(cluster.name) != text:
                self._told[cluster.name] = text
                await self.tell(cluster, "BadAnnotation", texts.bad_annotation(ALLOCATABLE, problem), kind="Warning")
            return known

    # Replicas that leave

    async def _let_go(self, binding: Record) -> float | None:
        """Remove the tasks whose time is over; seconds until the next one's is."""
        now = self.clock()
        left = [self._seconds_left(task, binding.metadata, now) for task in _tasks(binding.data)]
        if any(seconds is not None and seconds <= 0 for seconds in left):
            await self.modify(binding, lambda data: self._drop_gone(data, now))
        return min((seconds for seconds in left if seconds is not None and seconds > 0), default=None)

    def _drop_gone(self, data: dict[str, Any], now: datetime) -> None:
        left = [(task, self._seconds_left(task, data["metadata"], now)) for task in _tasks(data)]
        stay = [task for task, seconds in left if seconds is None or seconds > 0]
        data["spec"].pop("gracefulEvictionTasks", None)
        if stay:
            data["spec"]["gracefulEvictionTasks"] = stay

    def _seconds_left(self, task: Mapping[str, Any], metadata: Mapping[str, Any], now: datetime) -> float | None:
        """How long replicas are still there; None: that is for somebody else to say. In a cluster that is gone, nobody
        is; a task that does not say when it began is as old as its binding."""
        cluster = self._clusters.get(task["fromCluster"])
        if cluster is None:
            return 0.0
        if task.get("suppressDeletion") or not is_hollow(cluster.manifest):
            return None
        began = moment_of(task.get("creationTimestamp") or metadata["creationTimestamp"])
        grace = task.get("gracePeriodSeconds")
        if grace is None:
            grace = seconds_in(cluster, GRACE_SECONDS)
        return (30.0 if grace is None else float(grace)) - (now - began).total_seconds()

    # Jobs

    async def _finish(self, binding: Record) -> float | None:
        """End a Job whose time is over, and let its binding use nothing any more; seconds until that is so."""
        job = self._job(binding)
        if job is None or is_leaving(job):
            return None
        if not true_condition(job.data, "Complete", "Failed"):
            left = self._runs_for(job, binding)
            if left is None or left > 0:
                return left
            spec = job.data["spec"]
            await self.modify_status(job, lambda status: self._complete(status, spec, _placed_at(binding)), tries=1)
        await self.modify_status(binding, self._say_finished)
        return None

    def _job(self, binding: Record) -> Record | None:
        """The Job that is bound, and no later one of the same name."""
        found = [self._jobs.get(name, namespace) for namespace, name in _job_of(binding)]
        uid = binding.data["spec"]["resource"].get("uid")
        return next((job for job in found if job is not None and uid in (None, "", job.uid)), None)

    def _runs_for(self, job: Record, binding: Record) -> float | None:
        """How long a Job still runs; None: nobody knows, or it does not run as a whole in hollow clusters."""
        facts = BindingFacts(binding.manifest, Priority(0))
        homes = [self._clusters.get(name) for name in facts.held]
        hollow = all(cluster is not None and is_hollow(cluster.manifest) for cluster in homes)
        seconds = seconds_in(job, RUN_SECONDS)
        if seconds is None or facts.wants or not hollow or job.data["spec"].get("suspend"):
            return None
        return seconds - (self.clock() - _placed_at(binding)).total_seconds()

    def _complete(self, status: dict[str, Any], spec: Mapping[str, Any], began: datetime) -> None:
        now = self.clock()
        status |= {"startTime": timestamp(began), "completionTime": timestamp(now), "active": 0}
        status["succeeded"] = spec.get("completions") or spec.get("parallelism", 1)
        set_condition(status, "Complete", "True", "RunTimeOver", texts.RUN_TIME_OVER, now=now)

    def _say_finished(self, status: dict[str, Any]) -> None:
        set_condition(status, FINISHED, "True", "JobFinished", texts.JOB_FINISHED, now=self.clock())


def _tasks(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    return data["spec"].get("gracefulEvictionTasks") or []


def _leaves(binding: Record) -> Iterator[str]:
    """An index: by the clusters that a binding still leaves."""
    return (task["fromCluster"] for task in _tasks(binding.data))


def _job_of(binding: Record) -> Iterator[tuple[str, str]]:
    """An index: by the Job that is bound."""
    reference = binding.data["spec"]["resource"]
    if (reference.get("apiVersion"), reference.get("kind")) == (JOBS.api_version, JOBS.kind):
        yield binding.namespace, reference.get("name", "")


def _placed_at(binding: Record) -> datetime:
    """When it got its clusters; one that was placed by hand has had them from the start."""
    with suppress(ValueError, KeyError):
        placed = moment_of(binding.annotations[PLACED_ANNOTATION])
        if placed.tzinfo is not None:
            return placed
    return moment_of(binding.metadata["creationTimestamp"])


def _api_enablements() -> list[dict[str, Any]]:
    return [
        {"groupVersion": version, "resources": [{"name": plural_of(kind), "kind": kind} for kind in kinds]}
        for version, kinds in _SERVED.items()
    ]
