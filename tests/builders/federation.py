"""A federation that lives: templates, policies and hollow clusters in a store, with all that acts on them.

`Witness` sees every binding at every version, and complains when a cluster is ever given more than it has, or when
somebody is told twice to leave for the same hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from reprieve.agents.hollow.clusters import ALLOCATABLE, GRACE_SECONDS, HollowClusters
from reprieve.configuration import Settings
from reprieve.controllers.federation.detector import Detector
from reprieve.engine.clusters import Usage
from reprieve.engine.holds import HOLD_ANNOTATION
from reprieve.manifests.karmada import HOLLOW_ANNOTATION
from reprieve.manifests.kinds import (
    BINDINGS,
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTERS,
    DEPLOYMENTS,
    JOBS,
    PRIORITY_CLASSES,
    PROPAGATION_POLICIES,
)
from reprieve.manifests.priorities import Priority
from reprieve.manifests.resource import Resource
from reprieve.model.clock import Clock
from reprieve.model.resources import Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.evictions import evictions_of
from reprieve.scheduler.history import History
from reprieve.scheduler.loop import ALL_NAMES, Scheduler
from reprieve.stores.embedded.store import EmbeddedStore
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record, WatchEvent
from tests.builders.gates import GANGS_AND_BINDINGS

Dict = dict[str, Any]
POLICIES = PROPAGATION_POLICIES
CLUSTER_POLICIES = CLUSTER_PROPAGATION_POLICIES
DIVIDED: Dict = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
DUPLICATED: Dict = {"replicaSchedulingType": "Duplicated"}
SETTINGS = Settings(feature_gates=GANGS_AND_BINDINGS)


def hollow_cluster(
    name: str, allocatable: Mapping[str, str], *, grace: int | None = None, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A member cluster that the hollow agent plays."""
    said = {HOLLOW_ANNOTATION: "true", ALLOCATABLE: msgspec.json.encode(dict(allocatable)).decode()}
    if grace is not None:
        said[GRACE_SECONDS] = str(grace)
    metadata = {"name": name, "annotations": said, **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "metadata": metadata, "spec": {}}


def deployment(name: str, *, cpu: str = "1", replicas: int = 1, tier: str = "low", **metadata: Any) -> Dict:
    """A template whose label `tier` says which policy selects it."""
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    labels = {"app": name, "tier": tier}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels, **metadata},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}},
        },
    }


def job(name: str, *, seconds: int | None, cpu: str = "1", tier: str = "low") -> Dict:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    said = {"reprieve.scheduling/run-seconds": str(seconds)} if seconds is not None else {}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"tier": tier}, "annotations": said},
        "spec": {"template": {"spec": {"containers": containers, "restartPolicy": "Never"}}},
    }


def policy(tier: str, *, kind: str = "Deployment", scheduling: Dict | None = DIVIDED, **spec: Any) -> Dict:
    """Selects what carries the label, with the priority class of that name."""
    group = "batch/v1" if kind == "Job" else "apps/v1"
    selector = {"apiVersion": group, "kind": kind, "labelSelector": {"matchLabels": {"tier": tier}}}
    placement = {"replicaScheduling": scheduling} if scheduling else {}
    return {
        "metadata": {"name": f"{tier}-{kind.lower()}", "namespace": "default"},
        "spec": {
            "resourceSelectors": [selector],
            "placement": placement,
            "schedulePriority": {"priorityClassSource": "KubePriorityClass", "priorityClassName": tier},
            **spec,
        },
    }


class Witness:
    """Follows all bindings as they are written, one version after the other."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.faults: list[str] = []
        self.evictions: list[tuple[str, str]] = []
        """Who was told to leave, and for which hold."""
        self._usage = Usage()
        self._has: dict[str, Resources] = {}
        self._tasks: dict[str, int] = {}
        for resource, see in ((BINDINGS, self._see), (CLUSTERS, self._cluster)):
            watch = store.watch(resource, store.version)
            watch.feed = see  # type: ignore[method-assign]

    def _cluster(self, event: WatchEvent) -> None:
        summary = event.record.manifest.status.resource_summary
        if summary is not None:
            self._has[event.record.name] = summary.allocatable

    def _see(self, event: WatchEvent) -> None:
        record = event.record
        gone = event.type == "DELETED"
        uses = {} if gone else BindingFacts(record.manifest, Priority(0)).uses()
        for name in self._usage.put(("ResourceBinding", *record.key), uses):
            if not self._usage.of(name) <= self._has.get(name, Resources()):
                self.faults.append(f"{name} is over its capacity: {self._usage.of(name)} by {record.unit}")
        self._count(record)

    def _count(self, record: Record) -> None:
        tasks = len(record.manifest.spec.graceful_eviction_tasks)
        if tasks > self._tasks.get(record.uid, 0):
            told = evictions_of(record.manifest.metadata.annotations)
            last = max((eviction.hold for eviction in told.values() if eviction.waits), default=0)
            if (record.name, str(last)) in self.evictions:
                self.faults.append(f"{record.unit} was told twice to leave for {last}")
            self.evictions.append((record.name, str(last)))
        self._tasks[record.uid] = tasks

    @property
    def told(self) -> list[str]:
        return [name for name, _ in self.evictions]


class Plane:
    """A store with a federation in it."""

    def __init__(self, store: EmbeddedStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.history = History(":memory:", clock)
        self.witness = Witness(store)

    def scheduler(self, store: Store | None = None) -> Scheduler:
        return Scheduler(store or self.store, self.clock, SETTINGS, self.history, names=ALL_NAMES)

    def controllers(self) -> list[Any]:
        return [Detector(self.store, self.clock, SETTINGS), HollowClusters(self.store, self.clock)]

    async def begin(self, clusters: dict[str, str], *, grace: int = 20, scheduling: Dict | None = DIVIDED) -> None:
        """Classes and policies for three tiers, and clusters by their cpu."""
        for name, value in (("low", 1), ("middle", 10), ("high", 100)):
            await self.store.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
            await self.store.create(POLICIES, policy(name, scheduling=scheduling if name == "low" else DIVIDED))
        for name, cpu in clusters.items():
            await self.store.create(CLUSTERS, hollow_cluster(name, {"cpu": cpu}, grace=grace))

    async def add(self, *templates: Dict, resource: Resource = DEPLOYMENTS) -> None:
        for template in templates:
            await self.store.create(resource, template)

    async def scale(self, name: str, replicas: int) -> None:
        await self.store.patch(DEPLOYMENTS, name, "default", {"spec": {"replicas": replicas}})

    async def binding(self, name: str, kind: str = "deployment") -> Record:
        return await self.store.get(BINDINGS, f"{name}-{kind}", "default")

    async def places(self) -> dict[str, dict[str, int]]:
        """Where everybody is, by the name of the template."""
        records = (await self.store.list(BINDINGS)).records
        return {
            record.name.rpartition("-")[0]: {
                target["name"]: target.get("replicas", 0) for target in record.data["spec"].get("clusters") or ()
            }
            for record in records
        }

    def placed(self, **wanted: dict[str, int]) -> Callable[[], Any]:
        """For `until`: whether some templates are just there."""

        async def check() -> bool:
            places = await self.places()
            return all(places.get(name) == where for name, where in wanted.items())

        return check

    async def held(self) -> list[str]:
        """Who holds a place."""
        records = (await self.store.list(BINDINGS)).records
        return [record.name for record in records if HOLD_ANNOTATION in record.metadata.get("annotations", {})]

    async def condition(self, name: str, kind: str = "Scheduled") -> Dict:
        conditions: Iterable[Dict] = (await self.binding(name)).data.get("status", {}).get("conditions", ())
        return next((item for item in conditions if item["type"] == kind), {})


__all__ = ["BINDINGS", "CLUSTERS", "JOBS", "Plane", "Witness", "deployment", "job", "policy"]
