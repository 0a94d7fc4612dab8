"""Why there is no place for pods in the domains of a flavor."""

from reprieve.engine.claims import TopologyShort
from reprieve.policies.quota.topology import TopologyLedger
from reprieve.policies.quota.topology_domains import PlaceRequest


def domains_short(ledger: TopologyLedger, places: tuple[PlaceRequest, ...], *, idle: bool = False) -> TopologyShort:
    """The first pod set that has none, and how many of its pods would: now, or if no other workload were there."""
    request, most = ledger.shortest(places, idle=idle)
    level = ledger.levels(request.flavor)[request.level] if request.wish == "required" else ""
    return TopologyShort(
        flavor=request.flavor, pod_set=request.pod_set, level=level, needed=request.pods, most=most, idle=idle
    )
