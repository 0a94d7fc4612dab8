"""Objects as tables: the columns of each kind, for kubectl and for Reprieve's own `get`.

A column with a priority above 0 is for wide output only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from reprieve.server import table_cells as cells
from reprieve.server.table_cells import dig, holds, number, text
from reprieve.stores.records import Record
from reprieve.stores.resources import Resource

Include = Literal["", "Metadata", "Object", "None"]
Cell = Callable[[Any, datetime], Any]
META = "meta.k8s.io/v1"


class Column(NamedTuple):
    name: str
    cell: Cell
    description: str = ""
    priority: int = 0
    type: str = "string"
    format: str = ""

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def _path(name: str, *path: str, default: str = cells.UNSET, wide: bool = False, description: str = "") -> Column:
    return Column(name, lambda data, _: text(data, *path, default=default), description, int(wide))


def _count(name: str, *path: str, wide: bool = False, description: str = "") -> Column:
    return Column(name, lambda data, _: number(data, *path), description, int(wide), "integer")


def _plain(name: str, cell: Callable[[Any], Any], *, wide: bool = False, description: str = "") -> Column:
    return Column(name, lambda data, _: cell(data), description, int(wide))


def _condition(name: str, kind: str, description: str = "") -> Column:
    return Column(name, lambda data, _: text(cells.condition(data, kind), "status", default=""), description)


NAME = Column(
    "Name", lambda data, _: text(data, "metadata", "name"), "The name, unique in its namespace.", format="name"
)
AGE = Column(
    "Age", lambda data, now: cells.age(dig(data, "metadata", "creationTimestamp"), now), "How long ago it was created."
)
_REPLICAS = (_count("Desired", "spec", "replicas"), _count("Current", "status", "replicas"))
_DEPLOYED = Column("Ready", lambda data, _: f"{number(data, 'status', 'readyReplicas')}/{_wanted(data)}")


def _wanted(data: Any) -> int:
    return 1 if dig(data, "spec", "replicas") is None else number(data, "spec", "replicas")


def _yes(*path: str) -> Callable[[Any], str]:
    return lambda data: "true" if dig(data, *path) is True else "false"


_POD = (
    NAME,
    _plain("Ready", cells.pod_ready, description="Containers that are ready, of all."),
    _plain("Status", cells.pod_status, description="How the pod is doing, in one word."),
    Column(
        "Restarts", lambda data, _: cells.pod_restarts(data), "How often its containers started again.", 0, "integer"
    ),
    AGE,
    _path("IP", "status", "podIP", wide=True),
    _path("Node", "spec", "nodeName", wide=True, description="Where it runs."),
    _path("Nominated Node", "status", "nominatedNodeName", wide=True, description="Where victims make way for it."),
    _path("Priority", "spec", "priority", wide=True, description="The larger, the more important."),
)
_NODE = (
    NAME,
    _plain("Status", cells.node_status),
    _plain("Roles", cells.node_roles),
    AGE,
    _path("Version", "status", "nodeInfo", "kubeletVersion", default=""),
    _path("CPU", "status", "allocatable", "cpu", wide=True, description="What pods may use."),
    _path("Memory", "status", "allocatable", "memory", wide=True, description="What pods may use."),
)
_JOB = (
    NAME,
    _plain("Status", cells.job_status),
    _plain("Completions", cells.job_completions),
    Column("Duration", cells.job_duration),
    AGE,
    _path("Queue", "metadata", "labels", "kueue.x-k8s.io/queue-name", wide=True),
)
_QUEUE = (
    _count("Pending Workloads", "status", "pendingWorkloads", description="Workloads that wait."),
    _count("Admitted Workloads", "status", "admittedWorkloads", description="Workloads that run."),
)
_CLASS = (
    NAME,
    _count("Value", "value", description="The larger, the more important."),
    _plain("Global-Default", _yes("globalDefault")),
    AGE,
    _path("PreemptionPolicy", "preemptionPolicy", default="PreemptLowerPriority"),
)
_BINDING = (
    NAME,
    _condition("Scheduled", "Scheduled"),
    _plain("Clusters", cells.clusters, description="Where its replicas are."),
    _count("Replicas", "spec", "replicas"),
    _path("Priority", "spec", "schedulePriority", "priority", default="0", wide=True),
    AGE,
)
_GROUP = (
    NAME,
    _plain("Policy", cells.gang, description="Gang(n): at least n pods together."),
    _condition("Scheduled", "PodGroupScheduled"),
    _path("Priority Class", "spec", "priorityClassName", wide=True),
    AGE,
)
_EVENT = (
    Column("Last Seen", lambda data, now: cells.age(cells.event_seen(data), now)),
    _path("Type", "type"),
    _path("Reason", "reason"),
    _plain("Object", cells.event_object),
    _path("Message", "message", default=""),
    _path("Name", "metadata", "name", wide=True),
)

_COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Pod"): _POD,
    ("", "Node"): _NODE,
    ("", "Namespace"): (NAME, _path("Status", "status", "phase", default="Active"), AGE),
    ("", "ConfigMap"): (NAME, _plain("Data", lambda data: len(dig(data, "data") or ())), AGE),
    ("", "Event"): _EVENT,
    ("policy", "PodDisruptionBudget"): (
        NAME,
        _path("Min Available", "spec", "minAvailable", default="N/A"),
        _path("Max Unavailable", "spec", "maxUnavailable", default="N/A"),
        _count("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
    ("batch", "Job"): _JOB,
    ("apps", "Deployment"): (NAME, _DEPLOYED, _count("Available", "status", "availableReplicas"), AGE),
    ("apps", "StatefulSet"): (NAME, _DEPLOYED, AGE),
    ("apps", "ReplicaSet"): (NAME, *_REPLICAS, _count("Ready", "status", "readyReplicas"), AGE),
    ("apps", "DaemonSet"): (
        NAME,
        _count("Desired", "status", "desiredNumberScheduled"),
        _count("Ready", "status", "numberReady"),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): _CLASS,
    ("scheduling.k8s.io", "PodGroup"): _GROUP,
    ("scheduling.k8s.io", "CompositePodGroup"): _GROUP,
    ("kueue.x-k8s.io", "WorkloadPriorityClass"): (NAME, _CLASS[1], AGE),
    ("kueue.x-k8s.io", "ClusterQueue"): (NAME, _plain("Cohort", lambda data: _cohort(data)), *_QUEUE, AGE),
    ("kueue.x-k8s.io", "LocalQueue"): (NAME, _path("ClusterQueue", "spec", "clusterQueue"), *_QUEUE, AGE),
    ("kueue.x-k8s.io", "Cohort"): (NAME, _path("Parent", "spec", "parentName"), AGE),
    ("kueue.x-k8s.io", "Workload"): (
        NAME,
        _path("Queue", "spec", "queueName"),
        _path(
            "Reserved in", "status", "admission", "clusterQueue", default="", description="The queue it has quota of."
        ),
        _condition("Admitted", "Admitted"),
        _plain("Finished", lambda data: "True" if holds(data, "Finished") else ""),
        AGE,
        _path("Priority", "spec", "priority", wide=True),
    ),
    ("cluster.karmada.io", "Cluster"): (
        NAME,
        _path("Version", "status", "kubernetesVersion", default=""),
        _path("Mode", "spec", "syncMode", default="Push"),
        _condition("Ready", "Ready"),
        AGE,
    ),
    ("work.karmada.io", "ResourceBinding"): _BINDING,
    ("work.karmada.io", "ClusterResourceBinding"): _BINDING,
}


def _cohort(data: Any) -> str:
    return text(data, "spec", "cohortName", default="") or text(data, "spec", "cohort", default="")


def columns_of(resource: Resource) -> tuple[Column, ...]:
    return _COLUMNS.get((resource.group, resource.kind), (NAME, AGE))


def table(
    resource: Resource,
    records: Iterable[Record],
    now: datetime,
    *,
    include: Include = "",
    metadata: dict[str, Any] | None = None,
    headings: bool = True,
) -> dict[str, Any]:
    """A `Table` as kubectl prints it; in a watch only the first one has headings."""
    columns = columns_of(resource)
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata or {},
        "columnDefinitions": [column.definition() for column in columns] if headings else None,
        "rows": [_row(record, columns, now, include) for record in records],
    }


def _row(record: Record, columns: Sequence[Column], now: datetime, include: Include) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": [column.cell(record.data, now) for column in columns]}
    if include == "Object":
        row["object"] = record.data
    elif include != "None":
        row["object"] = partial(record)
    return row


def partial(record: Record) -> dict[str, Any]:
    """Only what an object is called and carries: kubectl reads names and namespaces from it."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": record.metadata}
