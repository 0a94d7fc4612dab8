"""The table of kinds: every kind that is read, stored and served, one row each.

A row holds what is known of a kind as data: versions and their types, what it is called, columns, defaults, merge keys.
What has to be worked out stands with whoever does it, by the type that a kind is read as.
"""

from collections.abc import Mapping
from typing import Any

from reprieve.manifests import (
    columns,
    core,
    job_sets,
    karmada,
    kueue,
    kueue_topology,
    kueue_versions,
    limits,
    pods,
    resource_quotas,
    scheduling,
    scheduling_v1alpha2,
    storage,
    workload_templates,
)
from reprieve.manifests.columns import AGE, NAME, at, count, worked_out
from reprieve.manifests.meta import Manifest, Reader
from reprieve.manifests.resource import POD_SPEC, SET, TEMPLATED, Field, Resource, by, group_of, parts, plural_of
from reprieve.model.names import UnitName, unit_name

RESOURCES: dict[tuple[str, str], Resource] = {}
"""All rows, by group and plural."""


def _row(
    kind: str, written: Mapping[str, type[Manifest]], short: str = "", *, subresources: str = "status", **known: Any
) -> Resource:
    """One row; `written` gives the type of each version, the preferred one first, and `short` the short names."""
    group = group_of(next(iter(written)))
    row = Resource(
        kind=kind,
        group=group,
        types={version.rpartition("/")[2]: type_ for version, type_ in written.items()},
        plural=plural_of(kind),
        short_names=tuple(short.split()),
        subresources=tuple(subresources.split()),
        **known,
    )
    RESOURCES[group, row.plural] = row
    return row


# One row takes as few lines as a reader can take in: it is a table.
# fmt: off

# Pods, and what they run on
_RUN = {"terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler"}
_RUN_ALWAYS = {"restartPolicy": "Always", **_RUN}
_INVOLVED = tuple(f"involvedObject.{name}" for name in
                  ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"))
_NO_COUNTS = dict.fromkeys(("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0)
PODS = _row(
    "Pod", {"v1": pods.Pod}, "po", category="all", columns=columns.POD, subresources="status binding eviction log",
    selectable={"spec.nodeName": "", "spec.restartPolicy": "Always", "spec.schedulerName": "default-scheduler",
                "spec.serviceAccountName": "", "status.phase": "Pending", "status.nominatedNodeName": ""},
    defaults={"spec": _RUN_ALWAYS}, begins={"status": {"phase": "Pending"}},
    spec_merge=POD_SPEC,
    status_merge=parts(conditions=by("type"), podIPs=by("ip"), hostIPs=by("ip"), resourceClaimStatuses=by("name")))
NODES = _row(
    "Node", {"v1": core.Node}, "no", namespaced=False, columns=columns.NODE,
    selectable={"spec.unschedulable": "false"},
    spec_merge=parts(podCIDRs=by(SET)), status_merge=parts(conditions=by("type"), addresses=by("type")))
NAMESPACES = _row(
    "Namespace", {"v1": core.Namespace}, "ns", namespaced=False, subresources="status finalize",
    columns=(NAME, at("Status", "status.phase", default="Active"), AGE), selectable={"status.phase": "Active"},
    begins={"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
CONFIG_MAPS = _row(
    "ConfigMap", {"v1": core.ConfigMap}, "cm", subresources="", columns=(NAME, worked_out("Data", "data_count"), AGE))
EVENTS = _row(
    "Event", {"v1": core.Event}, "ev", subresources="", columns=columns.EVENT,
    selectable=dict.fromkeys((*_INVOLVED, "reason", "type", "reportingComponent"), ""))
BUDGETS = _row(
    "PodDisruptionBudget", {"policy/v1": core.PodDisruptionBudget}, "pdb", columns=columns.BUDGET,
    begins={"status": _NO_COUNTS}, spec_merge=parts(selector=Field(replaced=True)))

RESOURCE_QUOTAS = _row("ResourceQuota", {"v1": resource_quotas.ResourceQuota}, "quota", columns=(NAME, AGE))
LIMIT_RANGES = _row("LimitRange", {"v1": limits.LimitRange}, "limits", subresources="", columns=(NAME, AGE))
RUNTIME_CLASSES = _row(
    "RuntimeClass", {"node.k8s.io/v1": limits.RuntimeClass}, namespaced=False, subresources="",
    columns=(NAME, at("Handler", "handler"), AGE))

# Volumes
VOLUME_CLAIMS = _row(
    "PersistentVolumeClaim", {"v1": storage.PersistentVolumeClaim}, "pvc", columns=columns.VOLUME_CLAIM,
    begins={"status": {"phase": "Pending"}})
VOLUMES = _row(
    "PersistentVolume", {"v1": storage.PersistentVolume}, "pv", namespaced=False, columns=columns.VOLUME)
STORAGE_CLASSES = _row(
    "StorageClass", {"storage.k8s.io/v1": storage.StorageClass}, "sc", namespaced=False, subresources="",
    columns=columns.STORAGE_CLASS, defaults={"volumeBindingMode": "Immediate"})
CSI_NODES = _row("CSINode", {"storage.k8s.io/v1": storage.CSINode}, namespaced=False, subresources="")

# What makes pods
JOBS = _row(
    "Job", {"batch/v1": core.Job}, category="all", columns=columns.JOB, spec_merge=TEMPLATED,
    defaults={"spec": {"parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False,
                       # Kubernetes makes users choose: Never or OnFailure. Who does not say it gets the safer one.
                       "template": {"spec": {"restartPolicy": "Never", **_RUN}}}})
JOB_SETS = _row(
    "JobSet", {"jobset.x-k8s.io/v1alpha2": job_sets.JobSet}, category="all", columns=columns.JOB_SET,
    defaults={"spec": {"suspend": False, "replicatedJobs": [{"replicas": 1}]}})
_CONTROLLER = {"apps/v1": core.Controller}
_MADE = {"template": {"spec": _RUN_ALWAYS}}
_SCALED: dict[str, Any] = {"category": "all", "spec_merge": TEMPLATED, "defaults": {"spec": {"replicas": 1, **_MADE}}}
_READY, _AVAILABLE = worked_out("Ready", "replicas_ready"), count("Available", "status.availableReplicas")
DEPLOYMENTS = _row("Deployment", _CONTROLLER, "deploy", columns=(NAME, _READY, _AVAILABLE, AGE), **_SCALED)
REPLICA_SETS = _row("ReplicaSet", _CONTROLLER, "rs", columns=columns.REPLICA_SET, **_SCALED)
STATEFUL_SETS = _row("StatefulSet", _CONTROLLER, "sts", columns=(NAME, _READY, AGE), **_SCALED)
DAEMON_SETS = _row(
    "DaemonSet", _CONTROLLER, "ds", columns=columns.DAEMON_SET, **{**_SCALED, "defaults": {"spec": _MADE}})

# Priorities and groups of pods
_TODAY = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
PRIORITY_CLASSES = _row(
    "PriorityClass", {"scheduling.k8s.io/v1": scheduling.PriorityClass}, "pc", namespaced=False, subresources="",
    columns=columns.PRIORITY_CLASS, defaults={"preemptionPolicy": "PreemptLowerPriority"})
WORKLOADS = _row("Workload", {**dict.fromkeys(_TODAY, workload_templates.WorkloadManifest),
                              "scheduling.k8s.io/v1alpha2": scheduling_v1alpha2.WorkloadV1alpha2,
                              "scheduling.k8s.io/v1alpha1": scheduling.WorkloadV1alpha1})
POD_GROUPS = _row(
    "PodGroup", {**dict.fromkeys(_TODAY, scheduling.PodGroupManifest),
                 "scheduling.k8s.io/v1alpha2": scheduling_v1alpha2.PodGroupV1alpha2},
    category="work", columns=columns.POD_GROUP, spec_merge=parts(resourceClaims=by("name")))
COMPOSITE_POD_GROUPS = _row(
    "CompositePodGroup", {"scheduling.k8s.io/v1alpha3": scheduling.CompositePodGroupManifest},
    columns=columns.POD_GROUP)

# Quota
_V1BETA2, _V1BETA1, _V1ALPHA2 = (f"kueue.x-k8s.io/{version}" for version in ("v1beta2", "v1beta1", "v1alpha2"))
CLUSTER_QUEUES = _row(
    "ClusterQueue", {_V1BETA2: kueue.ClusterQueue, _V1BETA1: kueue_versions.ClusterQueueV1beta1,
                     _V1ALPHA2: kueue_versions.ClusterQueueV1alpha2}, "cq", namespaced=False,
    columns=columns.CLUSTER_QUEUE)
LOCAL_QUEUES = _row(
    "LocalQueue", dict.fromkeys((_V1BETA2, _V1BETA1, _V1ALPHA2), kueue.LocalQueue), "queue queues lq",
    columns=columns.LOCAL_QUEUE)
COHORTS = _row(
    "Cohort", dict.fromkeys((_V1BETA2, _V1BETA1), kueue.Cohort), namespaced=False,
    columns=(NAME, at("Parent", "spec.parentName"), AGE))
RESOURCE_FLAVORS = _row(
    "ResourceFlavor", {**dict.fromkeys((_V1BETA2, _V1BETA1), kueue.ResourceFlavor),
                       _V1ALPHA2: kueue_versions.ResourceFlavorV1alpha2}, "flavor flavors rf",
    namespaced=False, subresources="")
TOPOLOGIES = _row(
    "Topology", dict.fromkeys((_V1BETA2, _V1BETA1, "kueue.x-k8s.io/v1alpha1"), kueue_topology.Topology),
    namespaced=False, subresources="")
WORKLOAD_PRIORITY_CLASSES = _row(
    "WorkloadPriorityClass", dict.fromkeys((_V1BETA2, _V1BETA1), kueue.WorkloadPriorityClass), namespaced=False,
    subresources="", columns=(NAME, columns.CLASS_VALUE, AGE))
ADMISSION_CHECKS = _row(
    "AdmissionCheck", dict.fromkeys((_V1BETA2, _V1BETA1), kueue.AdmissionCheck), namespaced=False,
    columns=(NAME, at("Controller", "spec.controllerName"), columns.condition("Active", "Active"), AGE))
QUOTA_WORKLOADS = _row(
    "Workload", {_V1BETA2: kueue.QuotaWorkload, _V1BETA1: kueue_versions.QuotaWorkloadV1beta1,
                 _V1ALPHA2: kueue_versions.QuotaWorkloadV1alpha2}, "wl kwl kueueworkload kueueworkloads",
    category="work", columns=columns.QUOTA_WORKLOAD,
    defaults={"spec": {"active": True, "podSets": [{"name": "main", "count": 1}]}})

# Member clusters
_POLICY = {"policy.karmada.io/v1alpha1": karmada.PropagationPolicy}
_BINDING = {"work.karmada.io/v1alpha2": karmada.ResourceBinding}
CLUSTERS = _row("Cluster", {"cluster.karmada.io/v1alpha1": karmada.Cluster}, namespaced=False, columns=columns.CLUSTER)
PROPAGATION_POLICIES = _row("PropagationPolicy", _POLICY, "pp", subresources="")
CLUSTER_PROPAGATION_POLICIES = _row("ClusterPropagationPolicy", _POLICY, "cpp", namespaced=False, subresources="")
BINDINGS = _row("ResourceBinding", _BINDING, "rb binding bindings", category="work", columns=columns.BINDING)
CLUSTER_BINDINGS = _row("ClusterResourceBinding", _BINDING, "crb", namespaced=False, columns=columns.BINDING)

# fmt: on

# What follows from the rows

READERS: dict[tuple[str, str], Reader] = {
    (api_version, row.kind): Reader(api_version, row.kind, written)
    for row in RESOURCES.values()
    for api_version, written in ((row.in_version(version), written) for version, written in row.types.items())
}
NAMESPACED: dict[str, bool] = {row.kind: row.namespaced for row in RESOURCES.values()}
KINDS: tuple[str, ...] = tuple(NAMESPACED)
_BY_KIND = {(row.group, row.kind): row for row in RESOURCES.values()}


UNDECIDED_OVER = (EVENTS, RESOURCE_QUOTAS)
"""What no decision reads: nobody who only decides needs the right to read it."""


def resource_of(api_version: str, kind: str) -> Resource | None:
    """The resource that a manifest belongs to; None: it is no kind, or no version, that is stored."""
    return _BY_KIND[group_of(api_version), kind] if (api_version, kind) in READERS else None


def find_resource(word: str) -> Resource | None:
    """A resource by what people type. Two APIs have a kind `Workload`: who does not say which means that with a short
    name, the one that waits in queues."""
    asked = [row for row in RESOURCES.values() if row.answers_to(word)]
    return min(asked, key=lambda row: not row.short_names, default=None)


def namesakes(resource: Resource) -> list[Resource]:
    """What else answers to the plural of a resource, in other groups."""
    return [row for row in RESOURCES.values() if row is not resource and row.plural == resource.plural]


def written_name(kind: str, namespace: str, name: str) -> UnitName:
    """The name of an object as its kind has it: without a namespace where it lives in none."""
    return unit_name(kind, namespace if namespace and NAMESPACED.get(kind, True) else "", name)
