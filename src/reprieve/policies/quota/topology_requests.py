"""What topologies say to the flavors that a workload would get.

Flavors are chosen by quota. Where the chosen ones have no room for it in their domains now, somebody has to make way
there; where they would have none without any other workload, they do not fit at all.
"""

from collections.abc import Iterator

from reprieve.engine.claims import TopologyShort
from reprieve.manifests.kueue import PodSet
from reprieve.policies.quota.assignments import FIT, NO_FIT, PREEMPT, Assigned, Assignment, PodSetFlavors
from reprieve.policies.quota.topology import TopologyLedger
from reprieve.policies.quota.topology_claims import domains_short
from reprieve.policies.quota.topology_domains import PlaceRequest
from reprieve.policies.quota.topology_wishes import place_request
from reprieve.policies.quota.world import QuotaWorld


def with_topology(quota: QuotaWorld, pod_sets: tuple[PodSet, ...], assignment: Assignment) -> Assignment:
    """Flavors that were chosen by quota, as their topologies see them."""
    ledger = quota.topology
    if ledger is None or assignment.mode == NO_FIT:
        return assignment
    places = tuple(_requests(ledger, {pod_set.name: pod_set for pod_set in pod_sets}, assignment))
    if not places:
        return assignment
    if not ledger.fits_idle(places):
        return Assignment([], [domains_short(ledger, places, idle=True)])
    if assignment.mode == FIT and not ledger.fits(places):
        asking = {place.pod_set for place in places}
        assignment = Assignment([_contested(group) if group.name in asking else group for group in assignment.pod_sets])
    assignment.demand = assignment.demand._replace(places=places)
    return assignment


def _requests(ledger: TopologyLedger, pod_sets: dict[str, PodSet], assignment: Assignment) -> Iterator[PlaceRequest]:
    for group in assignment.pod_sets:
        flavor = next((item.flavor for item in group.flavors.values() if item.flavor in ledger), "")
        if flavor and group.size:
            yield place_request(ledger, pod_sets[group.name], flavor, group.size)


def _contested(group: PodSetFlavors) -> PodSetFlavors:
    """It has the quota, and no place: somebody has to make way."""
    flavors = {
        name: Assigned(item.flavor, item.rating._replace(mode=min(item.rating.mode, PREEMPT)))
        for name, item in group.flavors.items()
    }
    return group._replace(flavors=flavors)


def topology_short(quota: QuotaWorld, places: tuple[PlaceRequest, ...]) -> list[TopologyShort]:
    """Why there is no place for it now, where that is so."""
    ledger = quota.topology
    if ledger is None or not places or ledger.fits(places):
        return []
    return [domains_short(ledger, places)]
