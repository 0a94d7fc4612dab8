"""The table of kinds: every kind that is read, stored and served, one row each.

A row holds what is known of a kind as data: versions and their types, what it is called, columns, defaults, merge keys.
What has to be worked out stands with whoever does it, by the type that a kind is read as.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprieve.manifests import columns, core, karmada, kueue, kueue_versions, pods, scheduling
from reprieve.manifests.columns import AGE, NAME, Column, at, count, worked_out
from reprieve.manifests.merge_keys import POD_SPEC, SET, TEMPLATED, Field, by, parts
from reprieve.manifests.meta import Manifest
from reprieve.manifests.reader import Reader
from reprieve.manifests.resource import Resource, group_of, plural_of

RESOURCES: dict[tuple[str, str], Resource] = {}
"""All rows, by group and plural."""


def _row(kind: str, written: Mapping[str, type[Manifest]], **known: Any) -> Resource:
    """One row; `written` gives the type of each version, the preferred one first."""
    group = group_of(next(iter(written)))
    types = {version.rpartition("/")[2]: type_ for version, type_ in written.items()}
    row = Resource(kind=kind, group=group, types=types, plural=plural_of(kind), **known)
    RESOURCES[group, row.plural] = row
    return row


# Pods, and what they run on

_RUN = {"terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler"}
_RUN_ALWAYS = {"restartPolicy": "Always", **_RUN}
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

PODS = _row(
    "Pod",
    {"v1": pods.Pod},
    short_names=("po",),
    category="all",
    subresources=("status", "binding", "eviction", "log"),
    columns=columns.POD,
    selectable={
        "spec.nodeName": "",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "",
        "status.phase": "Pending",
        "status.nominatedNodeName": "",
    },
    defaults={"spec": _RUN_ALWAYS},
    begins={"status": {"phase": "Pending"}},
    spec_merge=POD_SPEC,
    status_merge=parts(conditions=by("type"), podIPs=by("ip"), hostIPs=by("ip"), resourceClaimStatuses=by("name")),
)
NODES = _row(
    "Node",
    {"v1": core.Node},
    namespaced=False,
    short_names=("no",),
    columns=columns.NODE,
    selectable={"spec.unschedulable": "false"},
    spec_merge=parts(podCIDRs=by(SET)),
    status_merge=parts(conditions=by("type"), addresses=by("type")),
)
NAMESPACES = _row(
    "Namespace",
    {"v1": core.Namespace},
    namespaced=False,
    short_names=("ns",),
    subresources=("status", "finalize"),
    columns=(NAME, at("Status", "status.phase", default="Active"), AGE),
    selectable={"status.phase": "Active"},
    begins={"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
)
CONFIG_MAPS = _row(
    "ConfigMap",
    {"v1": core.ConfigMap},
    short_names=("cm",),
    subresources=(),
    columns=(NAME, worked_out("Data", "data_count"), AGE),
)
EVENTS = _row(
    "Event",
    {"v1": core.Event},
    short_names=("ev",),
    subresources=(),
    columns=columns.EVENT,
    selectable={
        **{f"involvedObject.{name}": "" for name in _INVOLVED},
        **dict.fromkeys(("reason", "type", "reportingComponent"), ""),
    },
)
BUDGETS = _row(
    "PodDisruptionBudget",
    {"policy/v1": core.PodDisruptionBudget},
    short_names=("pdb",),
    columns=columns.BUDGET,
    begins={"status": dict.fromkeys(("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0)},
    spec_merge=parts(selector=Field(replaced=True)),
)

# What makes pods

JOBS = _row(
    "Job",
    {"batch/v1": core.Job},
    category="all",
    columns=columns.JOB,
    defaults={
        "spec": {
            "parallelism": 1,
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "suspend": False,
            # Kubernetes makes users choose between Never and OnFailure; who does not say it gets the safer one.
            "template": {"spec": {"restartPolicy": "Never", **_RUN}},
        }
    },
    spec_merge=TEMPLATED,
)


def _controller(kind: str, short_name: str, *shown: Column, **defaults: Any) -> Resource:
    return _row(
        kind,
        {"apps/v1": core.Controller},
        short_names=(short_name,),
        category="all",
        columns=(NAME, *shown, AGE),
        defaults={"spec": {**defaults, "template": {"spec": _RUN_ALWAYS}}},
        spec_merge=TEMPLATED,
    )


_AVAILABLE, _READY = count("Available", "status.availableReplicas"), count("Ready", "status.readyReplicas")
_REPLICAS = count("Desired", "spec.replicas"), count("Current", "status.replicas")
_SCHEDULED = count("Desired", "status.desiredNumberScheduled"), count("Ready", "status.numberReady")
DEPLOYMENTS = _controller("Deployment", "deploy", columns.REPLICAS_READY, _AVAILABLE, replicas=1)
REPLICA_SETS = _controller("ReplicaSet", "rs", *_REPLICAS, _READY, replicas=1)
STATEFUL_SETS = _controller("StatefulSet", "sts", columns.REPLICAS_READY, replicas=1)
DAEMON_SETS = _controller("DaemonSet", "ds", *_SCHEDULED)

# Priorities and groups of pods

_GROUPS = tuple(f"scheduling.k8s.io/{version}" for version in ("v1beta1", "v1alpha3", "v1alpha2"))
_FIRST_GROUPS = "scheduling.k8s.io/v1alpha1"
PRIORITY_CLASSES = _row(
    "PriorityClass",
    {"scheduling.k8s.io/v1": scheduling.PriorityClass},
    namespaced=False,
    short_names=("pc",),
    subresources=(),
    columns=columns.PRIORITY_CLASS,
    defaults={"preemptionPolicy": "PreemptLowerPriority"},
)
WORKLOADS = _row(
    "Workload", {**dict.fromkeys(_GROUPS, scheduling.WorkloadManifest), _FIRST_GROUPS: scheduling.WorkloadV1alpha1}
)
POD_GROUPS = _row(
    "PodGroup", dict.fromkeys(_GROUPS, scheduling.PodGroupManifest), category="work", columns=columns.POD_GROUP
)
COMPOSITE_POD_GROUPS = _row(
    "CompositePodGroup", dict.fromkeys(_GROUPS, scheduling.CompositePodGroupManifest), columns=columns.POD_GROUP
)

# Quota

_NEW, _OLD, _OLDEST = (f"kueue.x-k8s.io/{version}" for version in ("v1beta2", "v1beta1", "v1alpha2"))
CLUSTER_QUEUES = _row(
    "ClusterQueue",
    {
        _NEW: kueue.ClusterQueue,
        _OLD: kueue_versions.ClusterQueueV1beta1,
        _OLDEST: kueue_versions.ClusterQueueV1alpha2,
    },
    namespaced=False,
    short_names=("cq",),
    columns=(NAME, worked_out("Cohort", "cohort"), *columns.QUEUE_COUNTS, AGE),
)
LOCAL_QUEUES = _row(
    "LocalQueue",
    dict.fromkeys((_NEW, _OLD, _OLDEST), kueue.LocalQueue),
    short_names=("queue", "queues", "lq"),
    columns=(NAME, at("ClusterQueue", "spec.clusterQueue"), *columns.QUEUE_COUNTS, AGE),
)
COHORTS = _row(
    "Cohort",
    dict.fromkeys((_NEW, _OLD), kueue.Cohort),
    namespaced=False,
    columns=(NAME, at("Parent", "spec.parentName"), AGE),
)
RESOURCE_FLAVORS = _row(
    "ResourceFlavor",
    {_NEW: kueue.ResourceFlavor, _OLD: kueue.ResourceFlavor, _OLDEST: kueue_versions.ResourceFlavorV1alpha2},
    namespaced=False,
    short_names=("flavor", "flavors", "rf"),
    subresources=(),
)
WORKLOAD_PRIORITY_CLASSES = _row(
    "WorkloadPriorityClass",
    dict.fromkeys((_NEW, _OLD), kueue.WorkloadPriorityClass),
    namespaced=False,
    subresources=(),
    columns=(NAME, columns.CLASS_VALUE, AGE),
)
QUOTA_WORKLOADS = _row(
    "Workload",
    {
        _NEW: kueue.QuotaWorkload,
        _OLD: kueue_versions.QuotaWorkloadV1beta1,
        _OLDEST: kueue_versions.QuotaWorkloadV1alpha2,
    },
    short_names=("wl",),
    category="work",
    columns=columns.QUOTA_WORKLOAD,
    defaults={"spec": {"active": True, "podSets": [{"name": "main", "count": 1}]}},
)

# Member clusters

_POLICY = {"policy.karmada.io/v1alpha1": karmada.PropagationPolicy}
_BINDING = {"work.karmada.io/v1alpha2": karmada.ResourceBinding}
CLUSTERS = _row("Cluster", {"cluster.karmada.io/v1alpha1": karmada.Cluster}, namespaced=False, columns=columns.CLUSTER)
PROPAGATION_POLICIES = _row("PropagationPolicy", _POLICY, short_names=("pp",), subresources=())
CLUSTER_PROPAGATION_POLICIES = _row(
    "ClusterPropagationPolicy", _POLICY, namespaced=False, short_names=("cpp",), subresources=()
)
BINDINGS = _row("ResourceBinding", _BINDING, short_names=("rb",), category="work", columns=columns.BINDING)
CLUSTER_BINDINGS = _row(
    "ClusterResourceBinding", _BINDING, namespaced=False, short_names=("crb",), columns=columns.BINDING
)

# What follows from the rows

READERS: dict[tuple[str, str], Reader] = {
    (api_version, row.kind): Reader(api_version, row.kind, written)
    for row in RESOURCES.values()
    for api_version, written in ((row.in_version(version), written) for version, written in row.types.items())
}
NAMESPACED: dict[str, bool] = {row.kind: row.namespaced for row in RESOURCES.values()}
KINDS: tuple[str, ...] = tuple(NAMESPACED)
_BY_KIND = {(row.group, row.kind): row for row in RESOURCES.values()}


def resource_of(api_version: str, kind: str) -> Resource | None:
    """The resource that a manifest belongs to; None: it is no kind, or no version, that is stored."""
    return _BY_KIND[group_of(api_version), kind] if (api_version, kind) in READERS else None


def find_resource(word: str) -> Resource | None:
    """A resource by what people type. Two APIs have a kind `Workload`: who does not say which means that with a short
    name, the one that waits in queues."""
    asked = [row for row in RESOURCES.values() if row.answers_to(word)]
    return min(asked, key=lambda row: not row.short_names, default=None)


def unit_name(kind: str, namespace: str, name: str) -> str:
    """How a unit is written: `Pod/default/a`, or `Node//n` where there is no namespace."""
    return f"{kind}/{namespace if NAMESPACED.get(kind, bool(namespace)) else ''}/{name}"
