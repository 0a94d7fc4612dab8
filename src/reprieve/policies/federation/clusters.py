"""Which member clusters a binding can reach at all: what no preemption can change.

Readiness, the API of the resource, taints and affinity, each under the name that claims use.
"""

from reprieve.engine.claims import ClusterReason
from reprieve.engine.nodes.reach import tolerates
from reprieve.manifests.karmada import BindingSpec, Cluster, ClusterAffinity, Placement
from reprieve.manifests.meta import Reference, SelectorRequirement, find_condition


def affinity_groups(placement: Placement) -> tuple[ClusterAffinity, ...]:
    """The groups of clusters to try, in order; without any, one that means all."""
    if placement.cluster_affinities:
        return placement.cluster_affinities
    return (placement.cluster_affinity or ClusterAffinity(),)


def obstacle(cluster: Cluster, spec: BindingSpec, group: ClusterAffinity) -> ClusterReason | None:
    """Why a cluster is out; None: it is not."""
    ready = find_condition(cluster.status.conditions, "Ready")
    if ready is not None and ready.status != "True":
        return "NotReady"
    if not _serves(cluster, spec.resource):
        return "WithoutApi"
    if not _tolerated(cluster, spec):
        return "Taint"
    return None if meant(cluster, group) else "NotMeant"


def _serves(cluster: Cluster, resource: Reference) -> bool:
    """A cluster that tells what it serves has to serve this; one that does not tell is trusted."""
    enabled = cluster.status.api_enablements
    return not enabled or any(
        item.group_version == resource.api_version and any(found.kind == resource.kind for found in item.resources)
        for item in enabled
    )


def _tolerated(cluster: Cluster, spec: BindingSpec) -> bool:
    """Where it is already, a taint that only keeps newcomers away does not count."""
    here = any(target.name == cluster.name for target in spec.clusters)
    tolerations = spec.placement.cluster_tolerations if spec.placement else ()
    return all(
        taint.effect == "PreferNoSchedule"
        or (here and taint.effect == "NoSchedule")
        or any(tolerates(item, taint) for item in tolerations)
        for taint in cluster.spec.taints
    )


def meant(cluster: Cluster, group: ClusterAffinity) -> bool:
    """Whether an affinity means a cluster: by name, labels and fields."""
    if cluster.name in group.exclude or (group.cluster_names and cluster.name not in group.cluster_names):
        return False
    if group.label_selector is not None and not group.label_selector.matches(cluster.metadata.labels):
        return False
    expressions = group.field_selector.match_expressions if group.field_selector else ()
    return all(_field_holds(item, cluster) for item in expressions)


def _field_holds(requirement: SelectorRequirement, cluster: Cluster) -> bool:
    spec = cluster.spec
    values = {"provider": {spec.provider}, "region": {spec.region}, "zone": {spec.zone, *spec.zones}}
    found = values.get(requirement.key, set()) - {""}
    match requirement.operator:
        case "In":
            return bool(found & set(requirement.values))
        case "NotIn":
            return not found & set(requirement.values)
        case "Exists":
            return bool(found)
        case "DoesNotExist":
            return not found
