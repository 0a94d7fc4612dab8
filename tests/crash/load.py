"""Load of all five policies, made by the process that is going to be killed or by clients of it, with a diary of what
was acknowledged.

The diary is a file of lines that reach the operating system before the next step is taken: what the store has
acknowledged is in it, or at most one line is missing. `ask` stands before a deletion, `have` after a creation.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any, Protocol

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.manifests.kinds import CONFIG_MAPS, JOBS, resource_of
from reprieve.manifests.resource import Resource
from reprieve.stores.errors import AlreadyExists, Conflict, NotFound
from reprieve.stores.records import Listing, Record
from tests.builders.federation import hollow_cluster
from tests.planes.running import Dict, job

PRIORITIES = {"idle": -1, "low": 1, "middle": 10, "high": 100}
_NAMES = ("low", "middle", "high")
_MOST_JOBS = 30
_POLICIES = ("pods", "gangs", "quota", "queues", "federation")


class Diary:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, word: str, *parts: object) -> None:
        os.write(self._file, (" ".join((word, *map(str, parts))) + "\n").encode())

    def close(self) -> None:
        os.close(self._file)


def set_up() -> list[Dict]:
    """What is there from the beginning."""
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in PRIORITIES.items()
    ]
    sizes = {"pods": 3, "gangs": 2, "quota": 2, "queues": 1}
    nodes = [
        hollow_node(f"{pool}-{number}", cpu="4", labels={"pool": pool})
        for pool, count in sizes.items()
        for number in range(count)
    ]
    clusters = [hollow_cluster(name, {"cpu": "3"}, grace=1) for name in ("east", "west")]
    return [*classes, *nodes, *clusters, *_quota(), _queues(), _replica_set(), *_federation(), _ledger()]


def _quota() -> list[Dict]:
    flavor = {"apiVersion": _KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "spot"}}
    made = [{**flavor, "spec": {"nodeLabels": {"pool": "quota"}}}]
    for name in ("a", "b"):
        quota = {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
        spec = {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        }
        made.append({"apiVersion": _KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec})
        local = {"apiVersion": _KUEUE, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "default"}}
        made.append({**local, "spec": {"clusterQueue": name}})
    return made


_KUEUE = "kueue.x-k8s.io/v1beta2"
_QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: red
            resources: {guaranteed: {vcore: 2}}
            properties: {preemption.delay: 200ms}
          - name: blue
            resources: {guaranteed: {vcore: 2}}
            properties: {preemption.delay: 200ms}
"""


def _queues() -> Dict:
    metadata = {"name": "yunikorn-configs", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"queues.yaml": _QUEUES}}


def _replica_set() -> Dict:
    """Low work that always comes back."""
    template = job("unused", priority="idle", leaves=0.3, schedulerName="reprieve", nodeSelector={"pool": "pods"})
    spec = {key: value for key, value in template["spec"]["template"]["spec"].items() if key != "restartPolicy"}
    labels = {"app": "web"}
    metadata = {**template["spec"]["template"]["metadata"], "labels": labels}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 10,
            "selector": {"matchLabels": labels},
            "template": {"metadata": metadata, "spec": spec},
        },
    }


def _federation() -> list[Dict]:
    made = []
    for name in _NAMES:
        spec = {
            "resourceSelectors": [
                {"apiVersion": "batch/v1", "kind": "Job", "labelSelector": {"matchLabels": {"spread": name}}}
            ],
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
            "schedulePriority": {"priorityClassSource": "KubePriorityClass", "priorityClassName": name},
        }
        metadata = {"name": name, "namespace": "default"}
        kind = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy"}
        made.append({**kind, "metadata": metadata, "spec": spec})
    return made


def _ledger() -> Dict:
    """A counter that only grows: what was acknowledged last must be there, or more."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ledger", "namespace": "default"}}


class Storing(Protocol):
    """What load is made with: the store itself, or a client of a server."""

    async def list(self, resource: Resource) -> Listing: ...

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Record: ...

    async def create(self, resource: Resource, data: Dict) -> Record: ...

    async def delete(self, resource: Resource, name: str, namespace: str = "") -> Any: ...

    async def patch(
        self, resource: Resource, name: str, namespace: str, patch: Dict, *, version: int | None = None
    ) -> Record: ...


class Load:
    """Creates and deletes work of all kinds, at a pace, until it is cancelled."""

    def __init__(self, store: Storing, diary: Diary, seed: int) -> None:
        self._store = store
        self._diary = diary
        self._chance = random.Random(seed)  # noqa: S311
        self._seed = seed
        self._number = 0

    async def begin(self) -> None:
        for data in set_up():
            try:
                await self._create(data)
            except AlreadyExists:
                continue

    async def run(self) -> None:
        while True:
            self._number += 1
            await self._count()
            jobs = (await self._store.list(JOBS)).records
            if len(jobs) >= _MOST_JOBS or (jobs and self._chance.random() < 0.1):
                await self._delete(self._chance.choice(jobs).name)
            else:
                await self._arrive()
            await asyncio.sleep(self._chance.uniform(0.0, 0.03))

    async def _arrive(self) -> None:
        policy = self._chance.choice(_POLICIES)
        priority = self._chance.choice(_NAMES)
        name = f"{policy}-{self._seed}-{self._number}"
        for data in getattr(self, f"_{policy}")(name, priority):
            await self._create(data)

    def _parts(self, priority: str, pool: str) -> dict[str, Any]:
        return {
            "priority": priority,
            "run": self._chance.choice((0.3, 1.0, 2.0)),
            "leaves": self._chance.choice((0.0, 0.1, 0.3)),
            "nodeSelector": {"pool": pool},
        }

    def _pods(self, name: str, priority: str) -> list[Dict]:
        cpu = self._chance.choice(("1", "2", "4"))
        return [job(name, cpu=cpu, schedulerName="reprieve", **self._parts(priority, "pods"))]

    def _gangs(self, name: str, priority: str) -> list[Dict]:
        count = self._chance.choice((2, 3, 4, 6))
        group = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": count}},
                "disruptionMode": {"all": {}},
                "priorityClassName": priority,
            },
        }
        parts = self._parts(priority, "gangs")
        member: Dict = {"schedulerName": "reprieve", "schedulingGroup": {"podGroupName": name}}
        return [group, job(name, replicas=count, **parts, **member)]

    def _quota(self, name: str, priority: str) -> list[Dict]:
        queue = {"kueue.x-k8s.io/queue-name": self._chance.choice("ab")}
        replicas = self._chance.choice((1, 2, 4, 6))
        parts = self._parts(priority, "quota")
        return [job(name, replicas=replicas, labels=queue, schedulerName="reprieve", **parts)]

    def _queues(self, name: str, priority: str) -> list[Dict]:
        labels = {"queue": f"root.{self._chance.choice(('red', 'blue'))}", "applicationId": name}
        made = job(name, replicas=self._chance.choice((1, 2, 4)), **self._parts(priority, "queues"))
        made["spec"]["template"]["metadata"]["labels"] = labels
        return [made]

    def _federation(self, name: str, priority: str) -> list[Dict]:
        made = job(name, replicas=self._chance.choice((1, 2, 3)), **self._parts(priority, "none"))
        made["metadata"]["labels"] = {"spread": priority}
        made["metadata"]["annotations"] = {"reprieve.scheduling/run-seconds": "2"}
        return [made]

    # Writing, with the diary

    async def _create(self, data: Dict) -> None:
        resource: Resource | None = resource_of(data["apiVersion"], data["kind"])
        assert resource is not None
        record = await self._store.create(resource, data)
        self._diary.write("have", resource.full_name, record.namespace or "-", record.name, record.uid)

    async def _delete(self, name: str) -> None:
        self._diary.write("ask", JOBS.full_name, "default", name, "-")
        try:
            await self._store.delete(JOBS, name, "default")
        except NotFound:
            return

    async def _count(self) -> None:
        known = await self._store.get(CONFIG_MAPS, "ledger", "default")
        number = int((known.data.get("data") or {}).get("count", "0")) + 1
        try:
            await self._store.patch(
                CONFIG_MAPS, "ledger", "default", {"data": {"count": str(number)}}, version=known.version
            )
        except Conflict:
            return  # somebody else counted
        self._diary.write("count", number)
