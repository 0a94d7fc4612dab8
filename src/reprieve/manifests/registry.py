"""Which kinds Reprieve reads, in which versions, and as what."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from reprieve.manifests import core, karmada, kueue, kueue_versions, pods, scheduling
from reprieve.manifests.meta import Manifest, decode_custom
from reprieve.manifests.yunikorn import QueueConfiguration
from reprieve.model.resources import exact_number


class Reader:
    """How one kind in one version is read: the type it is written in and, from there, the type it becomes."""

    def __init__(self, api_version: str, kind: str, written: type[Any], *, namespaced: bool) -> None:
        self.api_version = api_version
        self.kind = kind
        self.written = written
        self.namespaced = namespaced

    @cached_property
    def json(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.written, dec_hook=decode_custom, float_hook=exact_number)

    def convert(self, data: Any) -> Any:
        return msgspec.convert(data, self.written, dec_hook=decode_custom)

    def internal(self, written: Any) -> Any:
        convert = getattr(written, "internal", None)
        return written if convert is None else convert()


_KUEUE = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
_GROUPS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2")
_ALPHA = "kueue.x-k8s.io/v1alpha2"

# Kind, the type it is written in, whether it lives in a namespace, and the versions that are written so.
_TABLE: tuple[tuple[str, type[Manifest], bool, tuple[str, ...]], ...] = (
    ("Pod", pods.Pod, True, ("v1",)),
    ("Node", core.Node, False, ("v1",)),
    ("Namespace", core.Namespace, False, ("v1",)),
    ("ConfigMap", core.ConfigMap, True, ("v1",)),
    ("Event", core.Event, True, ("v1",)),
    ("PodDisruptionBudget", core.PodDisruptionBudget, True, ("policy/v1",)),
    ("Job", core.Job, True, ("batch/v1",)),
    ("Deployment", core.Controller, True, ("apps/v1",)),
    ("ReplicaSet", core.Controller, True, ("apps/v1",)),
    ("StatefulSet", core.Controller, True, ("apps/v1",)),
    ("DaemonSet", core.Controller, True, ("apps/v1",)),
    ("PriorityClass", scheduling.PriorityClass, False, ("scheduling.k8s.io/v1",)),
    ("Workload", scheduling.WorkloadV1alpha1, True, ("scheduling.k8s.io/v1alpha1",)),
    ("Workload", scheduling.WorkloadManifest, True, _GROUPS),
    ("PodGroup", scheduling.PodGroupManifest, True, _GROUPS),
    ("CompositePodGroup", scheduling.CompositePodGroupManifest, True, _GROUPS),
    ("ClusterQueue", kueue.ClusterQueue, False, ("kueue.x-k8s.io/v1beta2",)),
    ("ClusterQueue", kueue_versions.ClusterQueueV1beta1, False, ("kueue.x-k8s.io/v1beta1",)),
    ("ClusterQueue", kueue_versions.ClusterQueueV1alpha2, False, (_ALPHA,)),
    ("LocalQueue", kueue.LocalQueue, True, (*_KUEUE, _ALPHA)),
    ("Cohort", kueue.Cohort, False, _KUEUE),
    ("ResourceFlavor", kueue.ResourceFlavor, False, _KUEUE),
    ("ResourceFlavor", kueue_versions.ResourceFlavorV1alpha2, False, (_ALPHA,)),
    ("WorkloadPriorityClass", kueue.WorkloadPriorityClass, False, _KUEUE),
    ("Workload", kueue.QuotaWorkload, True, ("kueue.x-k8s.io/v1beta2",)),
    ("Workload", kueue_versions.QuotaWorkloadV1beta1, True, ("kueue.x-k8s.io/v1beta1",)),
    ("Workload", kueue_versions.QuotaWorkloadV1alpha2, True, (_ALPHA,)),
    ("Cluster", karmada.Cluster, False, ("cluster.karmada.io/v1alpha1",)),
    ("PropagationPolicy", karmada.PropagationPolicy, True, ("policy.karmada.io/v1alpha1",)),
    ("ClusterPropagationPolicy", karmada.PropagationPolicy, False, ("policy.karmada.io/v1alpha1",)),
    ("ResourceBinding", karmada.ResourceBinding, True, ("work.karmada.io/v1alpha2",)),
    ("ClusterResourceBinding", karmada.ResourceBinding, False, ("work.karmada.io/v1alpha2",)),
)

READERS: dict[tuple[str, str], Reader] = {
    (version, kind): Reader(version, kind, written, namespaced=namespaced)
    for kind, written, namespaced, versions in _TABLE
    for version in versions
}
KINDS: tuple[str, ...] = tuple(dict.fromkeys(kind for kind, *_ in _TABLE))
NAMESPACED: dict[str, bool] = {kind: namespaced for kind, _, namespaced, _ in _TABLE}
QUEUES = Reader("", "QueueConfiguration", QueueConfiguration, namespaced=False)


def group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def versions_of(kind: str, group: str) -> list[str]:
    """The versions of a kind that are read, in one API group."""
    return [version for version, known in READERS if known == kind and group_of(version) == group]


def unit_name(kind: str, namespace: str, name: str) -> str:
    """How a unit is written: `Pod/default/a`, or `Node//n` where there is no namespace."""
    return f"{kind}/{namespace if NAMESPACED.get(kind, bool(namespace)) else ''}/{name}"
