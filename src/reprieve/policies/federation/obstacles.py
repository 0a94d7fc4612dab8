"""Why a cluster that was looked at has no offer."""

import numpy as np

from reprieve.engine.claims import ClusterOut, ClusterReason, ClusterShort
from reprieve.model.resources import NOTHING
from reprieve.policies.federation.placement import Free, fixed, gap
from reprieve.policies.federation.rules import candidates
from reprieve.policies.federation.search import ClusterSearch, cover


def missing_in(search: ClusterSearch, cluster: str, free: Free) -> ClusterShort | ClusterOut:
    """What it lacks as things are, where nobody is asked."""
    replicas = _part(search, cluster)
    missing = gap(search.facts.request, replicas, free.get(cluster, NOTHING))
    if missing and _silent(search, cluster):
        return ClusterOut(cluster=cluster, why="NoReport")
    if missing:
        return ClusterShort(cluster=cluster, replicas=replicas, missing=dict(missing))
    return ClusterOut(cluster=cluster, why=_enough(search, replicas))


def too_little_in(search: ClusterSearch, cluster: str, *, placed: bool = False) -> ClusterShort | ClusterOut:
    """What it lacks though everybody went who may go; `placed`: others were freed instead."""
    replicas = _part(search, cluster)
    missing = search.view.gap(cluster, replicas)
    residents = search.view.federation.in_cluster(cluster)
    allowed = candidates(search.rules, residents)
    if missing and _silent(search, cluster):
        return ClusterOut(cluster=cluster, why="NoReport")
    if missing and cover(missing, residents, allowed) is None:
        asked = int(np.count_nonzero(allowed))
        return ClusterShort(cluster=cluster, replicas=replicas, missing=dict(missing), candidates=asked)
    if placed and search.fixed and search.constrained:
        return ClusterOut(cluster=cluster, why="NotNeeded")
    return ClusterOut(cluster=cluster, why=_enough(search, replicas))


def _part(search: ClusterSearch, cluster: str) -> int:
    """How many replicas the cluster would have to hold."""
    if not search.fixed or search.constrained:
        return search.facts.missing
    return fixed(search.facts, search.clusters).get(cluster, 0)


def _silent(search: ClusterSearch, cluster: str) -> bool:
    """A cluster that has never reported what it has: nothing can be counted on there."""
    return search.clusters[cluster].status.resource_summary is None


def _enough(search: ClusterSearch, replicas: int) -> ClusterReason:
    if search.constrained:
        return "BreaksSpread"
    return "Enough" if replicas > 0 else "WithoutPart"
