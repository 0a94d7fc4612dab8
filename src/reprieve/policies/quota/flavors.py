"""Which flavor each resource of a workload gets: fit, preempt or no fit, borrowing or not.

1. Flavors are tried in the order of the queue, for each pod set and group of resources; taints and node labels of a
   flavor rule it out for pods that do not tolerate or match them.
2. A flavor is rated by its worst resource: no fit, nobody to preempt, preempt, reclaim (victims elsewhere only), fit;
   and by the height of the lowest subtree that holds the request: how far it borrows.
3. Preemption is only considered where the request is within the nominal quota, or some cohort below the root could
   hold it, or the queue may borrow while it preempts.
4. The search stops at the first flavor that is good enough for `flavorFungibility`, else the best is taken.
5. Who borrows: whoever's queue uses more than its nominal quota with it, once its victims are gone. Where nobody can
   make way, it waits for others to end, of its own queue too: then it borrows only if it asks for more than the nominal
   quota ("assignments that require preemption implicitly do not borrow", KEP-83).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from reprieve.engine.claims import Claim, NotCovered
from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.manifests.kueue import ClusterQueueSpec, FlavorFungibility, PodSet, ResourceGroup
from reprieve.manifests.pods import pod_requests
from reprieve.model.resources import PODS
from reprieve.policies.quota.assignments import (
    FIT,
    NO_CANDIDATES,
    NO_FIT,
    PREEMPT,
    Assigned,
    Assignment,
    Forced,
    PodSetFlavors,
    Rating,
)
from reprieve.policies.quota.claims import no_flavor
from reprieve.policies.quota.flavor_labels import suits
from reprieve.policies.quota.topology_claims import domains_short
from reprieve.policies.quota.topology_domains import PlaceRequest
from reprieve.policies.quota.topology_wishes import place_request, suits_topology
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld

Simulate = Callable[[FlavorResource, int, tuple[PlaceRequest, ...]], Rating]
"""What a preemption on one flavor and resource, for these places, would be: its mode, and how far the request borrows
afterwards."""


class GroupDemand(NamedTuple):
    """What one pod set asks of one group of resources."""

    pod_set: PodSet
    group: ResourceGroup
    wanted: Mapping[str, int]
    assumed: Mapping[FlavorResource, int]
    """What the pod sets before it take."""
    forced: Forced | None = None


class FlavorAssigner:
    """Assigns flavors to one workload."""

    def __init__(self, world: QuotaWorld, facts: WorkloadFacts, queue: QuotaNode, simulate: Simulate) -> None:
        self._world = world
        self._facts = facts
        self._queue = queue
        self._spec: ClusterQueueSpec = world.specs[queue.name]
        self._simulate = simulate
        self._fair = world.settings.fair_sharing.enable
        self._count = 0
        """Pods of the set whose flavor is looked for."""
        self._places: tuple[PlaceRequest, ...] = ()
        """What those before it ask of topologies."""

    def assign(self, counts: Mapping[str, int], forced: Forced | None = None) -> Assignment:
        """Flavors for so many pods of each set, or the flavors that are `forced`."""
        assumed: dict[FlavorResource, int] = {}
        done: list[PodSetFlavors] = []
        self._places = ()
        for pod_set in self._facts.pod_sets:
            count = self._count = counts[pod_set.name]
            requests = self._requests(pod_set, count)
            found: dict[str, Assigned] = {}
            for group in self._spec.resource_groups:
                # A resource that an earlier group has got belongs to that one; admission refuses a second.
                left = (name for name in group.covered_resources if name in requests and name not in found)
                wanted = {name: requests[name] for name in left}
                if wanted:
                    best = self._best(GroupDemand(pod_set, group, wanted, assumed, forced))
                    if best is None:
                        return Assignment([], self._no_flavor(pod_set, group, wanted, assumed))
                    found.update(best)
            missing = [name for name in requests if name not in found]
            if missing:
                return Assignment([], [NotCovered(queue=self._queue.name, resources=tuple(missing))])
            for resource, item in found.items():
                key = (item.flavor, resource)
                assumed[key] = assumed.get(key, 0) + requests[resource]
            done.append(PodSetFlavors(pod_set.name, count, found, requests))
            self._places = self._places_on(pod_set, next((item.flavor for item in found.values()), ""))
        return Assignment(done)

    def _no_flavor(
        self, pod_set: PodSet, group: ResourceGroup, wanted: dict[str, int], assumed: Mapping[FlavorResource, int]
    ) -> list[Claim]:
        names = [item.name for item in group.flavors]
        keys = [(flavor, resource) for flavor in names for resource in wanted]
        amounts = {key: assumed.get(key, 0) + wanted[key[1]] for key in keys}
        found = list(no_flavor(self._world, self._queue, pod_set, names, amounts))
        found += self._no_domains(pod_set, names)
        return found or [NotCovered(queue=self._queue.name, resources=tuple(wanted))]

    def _requests(self, pod_set: PodSet, count: int) -> dict[str, int]:
        """What a pod set asks for; the number of its pods counts where the queue has quota for pods.

        None of a resource that the queue has no quota for is no request; none of one that it has gets a flavor.
        """
        covered = {name for group in self._spec.resource_groups for name in group.covered_resources}
        requests = dict(pod_requests(pod_set.template.spec))
        if PODS in covered:
            requests[PODS] = 1
        return {name: units * count for name, units in requests.items() if units * count or name in covered}

    def _best(self, asked: GroupDemand) -> dict[str, Assigned] | None:
        """The best flavor for what is asked, for each of its resources."""
        pod_set, forced = asked.pod_set, asked.forced
        fungibility = self._spec.flavor_fungibility
        best: dict[str, Assigned] | None = None
        rated = Rating(NO_FIT)
        for name in self._usable(asked):
            flavors, rating = self._rate(name, asked.wanted, asked.assumed, fungibility)
            flavors, rating = self._as_domains_see_it(pod_set, name, flavors, rating)
            if forced is not None and forced.preempt:
                rating = rating._replace(mode=PREEMPT)
                flavors = {resource: Assigned(name, rating) for resource in asked.wanted}
            if rating.mode == NO_FIT:
                continue
            if forced is not None or not _try_next(rating, fungibility):
                return flavors
            if _preferred(rating, rated, fungibility):
                best, rated = flavors, rating
        return best

    def _usable(self, asked: GroupDemand) -> Iterator[str]:
        """The flavors that its pods may run on, in the order of the queue."""
        pod_set, forced = asked.pod_set, asked.forced
        for item in asked.group.flavors:
            flavor = self._world.flavors.get(item.name)
            if flavor is None or not suits(flavor, pod_set.template.spec):
                continue
            if not suits_topology(self._world, self._spec, pod_set, item.name):
                continue
            if forced is None or forced.allows(pod_set.name, item.name, asked.wanted):
                yield item.name

    def _rate(
        self,
        flavor: str,
        wanted: Mapping[str, int],
        assumed: Mapping[FlavorResource, int],
        fungibility: FlavorFungibility,
    ) -> tuple[dict[str, Assigned], Rating]:
        flavors: dict[str, Assigned] = {}
        worst = Rating(FIT)
        for resource, amount in wanted.items():
            rating = self._fits((flavor, resource), assumed.get((flavor, resource), 0) + amount)
            if _preferred(worst, rating, fungibility):
                worst = rating
            if worst.mode == NO_FIT:
                return {}, worst
            flavors[resource] = Assigned(flavor, rating)
        return flavors, worst

    # Topologies: pod sets before it have their places, and it needs one beside them

    def _places_on(self, pod_set: PodSet, flavor: str) -> tuple[PlaceRequest, ...]:
        ledger = self._world.topology
        if ledger is None or flavor not in ledger or not self._count:
            return self._places
        return *self._places, place_request(ledger, pod_set, flavor, self._count)

    def _has_domains(self, pod_set: PodSet, flavor: str, *, idle: bool = False) -> bool:
        """Whether the domains of a flavor have room for it: now, or if no other workload were there."""
        ledger, places = self._world.topology, self._places_on(pod_set, flavor)
        if ledger is None or places is self._places:
            return True
        return ledger.fits_idle(places) if idle else ledger.fits(places)

    def _no_domains(self, pod_set: PodSet, flavors: Iterable[str]) -> Iterator[Claim]:
        """Of those that would suit it, where it has no place, also without any other workload."""
        ledger = self._world.topology
        for name in flavors if ledger is not None else ():
            suitable = suits_topology(self._world, self._spec, pod_set, name)
            if suitable and ledger is not None and not self._has_domains(pod_set, name, idle=True):
                yield domains_short(ledger, self._places_on(pod_set, name), idle=True)

    def _as_domains_see_it(
        self, pod_set: PodSet, flavor: str, flavors: dict[str, Assigned], rating: Rating
    ) -> tuple[dict[str, Assigned], Rating]:
        """A flavor that has the quota, and no room in its domains: somebody has to make way there, if anybody can."""
        if rating.mode == NO_FIT or self._has_domains(pod_set, flavor):
            return flavors, rating
        if not self._has_domains(pod_set, flavor, idle=True):
            return {}, Rating(NO_FIT)
        if rating.mode < FIT:
            return flavors, rating
        amounts = {name: self._count * units for name, units in pod_requests(pod_set.template.spec).items()}
        places = self._places_on(pod_set, flavor)
        found = (self._simulate((flavor, name), amounts.get(name, 0), places).mode for name in flavors)
        rating = rating._replace(mode=min(found, default=rating.mode))
        return {
            name: Assigned(flavor, item.rating._replace(mode=rating.mode)) for name, item in flavors.items()
        }, rating

    def _fits(self, key: FlavorResource, amount: int) -> Rating:
        queue = self._queue
        if amount > queue.most(key):
            return Rating(NO_FIT)
        level, may_reclaim = lowest_subtree(queue, key, amount)
        if amount <= max(0, queue.available(key)):
            return Rating(FIT, level, level > 0)
        if amount <= queue.quota(key).nominal or may_reclaim or self._borrows_while_preempting():
            return self._simulate(key, amount, ())
        return Rating(NO_FIT)

    def _borrows_while_preempting(self) -> bool:
        fair = self._fair and self._spec.preemption.reclaim_within_cohort != "Never"
        return fair or borrows_while_preempting(self._spec)


def borrows_while_preempting(spec: ClusterQueueSpec) -> bool:
    borrow = spec.preemption.borrow_within_cohort
    return borrow is not None and borrow.policy != "Never"


def lowest_subtree(queue: QuotaNode, key: FlavorResource, amount: int) -> tuple[int, bool]:
    """The height of the lowest subtree that holds a request within its quota, and whether that is below the root."""
    if not queue.exceeds(key, amount) or queue.parent is None:
        return 0, queue.parent is not None
    remaining = amount - queue.kept_left(key)
    height = 0
    for cohort in queue.path():
        height = cohort.height
        if not cohort.exceeds(key, remaining):
            return height, cohort.parent is not None
        remaining -= cohort.kept_left(key)
    return height, False


def _try_next(rating: Rating, fungibility: FlavorFungibility) -> bool:
    if rating.mode <= NO_CANDIDATES:
        return True
    if rating.mode < FIT and fungibility.when_can_preempt == "TryNextFlavor":
        return True
    return rating.level > 0 and fungibility.when_can_borrow == "TryNextFlavor"


def _preferred(one: Rating, other: Rating, fungibility: FlavorFungibility) -> bool:
    """Whether one rating is strictly better than another."""
    if NO_FIT in (one.mode, other.mode) or NO_CANDIDATES in (one.mode, other.mode):
        return one.mode > other.mode if one.mode != other.mode else one.level < other.level
    if fungibility.preference == "PreemptionOverBorrowing":
        return (one.level, -one.mode) < (other.level, -other.mode)
    return (-one.mode, one.level) < (-other.mode, other.level)
