"""Why a cluster that was looked at has no offer; each answer goes on from "frankfurt is ..."."""

from reprieve.model.resources import NOTHING
from reprieve.policies.federation.placement import Free, fixed, gap
from reprieve.policies.federation.rules import candidates
from reprieve.policies.federation.search import ClusterSearch, cover
from reprieve.texts import federation as texts


def missing_in(search: ClusterSearch, cluster: str, free: Free) -> str:
    """What it lacks as things are, where nobody is asked."""
    replicas = _part(search, cluster, free)
    missing = gap(search.facts.request, replicas, free.get(cluster, NOTHING))
    return texts.lacking(missing) if missing else _enough(search, replicas)


def too_little_in(search: ClusterSearch, cluster: str) -> str:
    """What it lacks though everybody went who may go."""
    replicas = _part(search, cluster, search.view.soon)
    missing = search.view.gap(cluster, replicas)
    residents = search.view.federation.in_cluster(cluster)
    allowed = candidates(search.rules, residents)
    if missing and cover(missing, residents, allowed) is None:
        return texts.short_of(missing, candidates=bool(allowed.any()))
    return texts.FIXED_UNDER_SPREAD if search.fixed and search.constrained else _enough(search, replicas)


def _part(search: ClusterSearch, cluster: str, free: Free) -> int:
    """How many replicas the cluster would have to hold."""
    if not search.fixed or search.constrained:
        return search.facts.missing
    return (fixed(search.facts, search.clusters, free) or {}).get(cluster, 0)


def _enough(search: ClusterSearch, replicas: int) -> str:
    if search.constrained:
        return texts.CLUSTER_BREAKS_SPREAD
    return texts.CLUSTER_ENOUGH if replicas > 0 else texts.CLUSTER_WITHOUT_PART
