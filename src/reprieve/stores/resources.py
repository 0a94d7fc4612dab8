"""What the kinds are called in paths: `pods`, `clusterqueues.kueue.x-k8s.io`, and the short names that people type."""

from __future__ import annotations

import msgspec

from reprieve.manifests.registry import NAMESPACED, READERS, group_of


class Resource(msgspec.Struct, frozen=True):
    """One kind in one API group, in whatever versions it is written."""

    group: str
    plural: str
    kind: str
    namespaced: bool
    versions: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    status: bool = True
    """Whether its status is written apart from the rest."""

    @property
    def api_version(self) -> str:
        """The version that is preferred, with its group."""
        return self.in_version(self.versions[0])

    def in_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    @property
    def full_name(self) -> str:
        """`pods`, or `jobs.batch`: as errors and people write it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def custom(self) -> bool:
        """Whether Kubernetes itself does not have it: a custom resource of one of the designs."""
        return self.group not in _BUILT_IN

    def __str__(self) -> str:
        return self.full_name


_BUILT_IN = ("", "apps", "batch", "policy", "scheduling.k8s.io")
_WITHOUT_STATUS = (
    "ConfigMap",
    "Event",
    "PriorityClass",
    "WorkloadPriorityClass",
    "ResourceFlavor",
    "PropagationPolicy",
    "ClusterPropagationPolicy",
)
_SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "Pod": ("po",),
    "Node": ("no",),
    "Namespace": ("ns",),
    "ConfigMap": ("cm",),
    "Event": ("ev",),
    "PodDisruptionBudget": ("pdb",),
    "Deployment": ("deploy",),
    "ReplicaSet": ("rs",),
    "StatefulSet": ("sts",),
    "DaemonSet": ("ds",),
    "PriorityClass": ("pc",),
    "ClusterQueue": ("cq",),
    "LocalQueue": ("queue", "queues", "lq"),
    "ResourceFlavor": ("flavor", "flavors", "rf"),
    "PropagationPolicy": ("pp",),
    "ClusterPropagationPolicy": ("cpp",),
    "ResourceBinding": ("rb",),
    "ClusterResourceBinding": ("crb",),
}


def _plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith("s") else "s")


def _resources() -> dict[tuple[str, str], Resource]:
    versions: dict[tuple[str, str], list[str]] = {}
    for api_version, kind in READERS:
        versions.setdefault((group_of(api_version), kind), []).append(api_version.rpartition("/")[2])
    made = (
        Resource(
            group=group,
            plural=_plural(kind),
            kind=kind,
            namespaced=NAMESPACED[kind],
            versions=tuple(_newest_first(known)),
            short_names=("wl",) if (group, kind) == ("kueue.x-k8s.io", "Workload") else _SHORT_NAMES.get(kind, ()),
            status=kind not in _WITHOUT_STATUS,
        )
        for (group, kind), known in versions.items()
    )
    return {(resource.group, resource.plural): resource for resource in made}


def _newest_first(versions: list[str]) -> list[str]:
    """v1 before v1beta2 before v1beta1 before v1alpha3: as discovery lists them."""
    stability = {"": 0, "beta": 1, "alpha": 2}

    def rank(version: str) -> tuple[int, str]:
        word = version.lstrip("v0123456789").rstrip("0123456789")
        return stability[word], "".join(chr(255 - ord(letter)) for letter in version)

    return sorted(versions, key=rank)


RESOURCES: dict[tuple[str, str], Resource] = _resources()
_BY_KIND = {(resource.group, resource.kind): resource for resource in RESOURCES.values()}


def resource_of(api_version: str, kind: str) -> Resource | None:
    """The resource that a manifest belongs to; None: it is no kind, or no version, that is stored."""
    resource = _BY_KIND.get((group_of(api_version), kind))
    known = resource is not None and api_version.rpartition("/")[2] in resource.versions
    return resource if known else None


def named(group: str, kind: str) -> Resource:
    """A resource that is known to be there."""
    return _BY_KIND[group, kind]


def find_resource(word: str) -> Resource | None:
    """A resource by what people type: plural, singular or short name, with or without its group, in any case."""
    asked, _, group = word.lower().partition(".")
    fitting = [
        resource
        for resource in RESOURCES.values()
        if asked in (resource.plural, resource.kind.lower(), *resource.short_names)
        and (not group or resource.group == group or resource.group.startswith(f"{group}."))
    ]
    return fitting[0] if fitting else None


PODS = named("", "Pod")
NODES = named("", "Node")
NAMESPACES = named("", "Namespace")
CONFIG_MAPS = named("", "ConfigMap")
EVENTS = named("", "Event")
BUDGETS = named("policy", "PodDisruptionBudget")
JOBS = named("batch", "Job")
REPLICA_SETS = named("apps", "ReplicaSet")
PRIORITY_CLASSES = named("scheduling.k8s.io", "PriorityClass")
POD_GROUPS = named("scheduling.k8s.io", "PodGroup")
QUOTA_WORKLOADS = named("kueue.x-k8s.io", "Workload")
CLUSTER_QUEUES = named("kueue.x-k8s.io", "ClusterQueue")
LOCAL_QUEUES = named("kueue.x-k8s.io", "LocalQueue")
RESOURCE_FLAVORS = named("kueue.x-k8s.io", "ResourceFlavor")
CLUSTERS = named("cluster.karmada.io", "Cluster")
BINDINGS = named("work.karmada.io", "ResourceBinding")
CLUSTER_BINDINGS = named("work.karmada.io", "ClusterResourceBinding")
