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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reprieve.engine.claims import Claim, NotCovered
from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.manifests.kueue import ClusterQueueSpec, FlavorFungibility, PodSet, ResourceGroup
from reprieve.manifests.pods import pod_requests
from reprieve.model.resources import PODS
from reprieve.policies.quota.claims import no_flavor
from reprieve.policies.quota.flavor_labels import suits
from reprieve.policies.quota.topology_domains import PlaceRequest
from reprieve.policies.quota.topology_wishes import suits_topology
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = 0, 1, 2, 3, 4


class Rating(NamedTuple):
    """How good a flavor is: what it takes, and how far it borrows."""

    mode: int
    level: int = 0
    borrows: bool = False
    """Whether its queue is above its nominal quota with it: see rule 5 of the module."""


class Assigned(NamedTuple):
    """One resource of a pod set on one flavor."""

    flavor: str
    rating: Rating


class PodSetFlavors(NamedTuple):
    name: str
    size: int
    flavors: dict[str, Assigned]
    requests: dict[str, int]


class FlavorDemand(NamedTuple):
    """A domain of the quota policy: so much of each flavor and resource, and for which of it somebody must make way."""

    usage: Amounts
    contested: frozenset[FlavorResource]
    places: tuple[PlaceRequest, ...] = ()
    """What its pods ask of the topologies of flavors."""

    @property
    def name(self) -> str:
        return ",".join(sorted({flavor for flavor, _ in (self.contested or self.usage)}))


class Assignment:
    """The flavors of a whole workload; `claims` say why there are none."""

    def __init__(self, pod_sets: Sequence[PodSetFlavors], claims: Sequence[Claim] = ()) -> None:
        self.pod_sets = pod_sets
        self.claims = claims
        self.mode = NO_FIT if claims else FIT
        """The worst of all: NO_FIT where any resource has no flavor."""
        self.level = 0
        """How far it borrows, at worst, beside all that its queue uses now: by that heads are put in order."""
        self.borrows = False
        usage: dict[FlavorResource, int] = {}
        contested: list[FlavorResource] = []
        for group, resource, (flavor, rating) in self:
            key = (flavor, resource)
            usage[key] = usage.get(key, 0) + group.requests[resource]
            self.mode, self.level = min(self.mode, rating.mode), max(self.level, rating.level)
            self.borrows = self.borrows or rating.borrows
            if rating.mode != FIT:
                contested.append(key)
        self.demand = FlavorDemand(usage, frozenset(contested))

    @property
    def usage(self) -> Amounts:
        return self.demand.usage

    @property
    def sizes(self) -> dict[str, int]:
        return {group.name: group.size for group in self.pod_sets}

    @property
    def by_resource(self) -> dict[tuple[str, str], str]:
        """The flavor of each pod set and resource."""
        return {(group.name, resource): item.flavor for group, resource, item in self}

    def __iter__(self) -> Iterator[tuple[PodSetFlavors, str, Assigned]]:
        return ((group, resource, item) for group in self.pod_sets for resource, item in group.flavors.items())

    def chosen(self) -> dict[str, dict[str, str]]:
        return {group.name: {name: item.flavor for name, item in group.flavors.items()} for group in self.pod_sets}


class Forced(NamedTuple):
    """Flavors to use instead of choosing, by pod set (empty: all) and resource; `preempt`: as if nothing fitted."""

    flavors: Mapping[tuple[str, str], str]
    preempt: bool = False

    def allows(self, pod_set: str, flavor: str, resources: Iterable[str]) -> bool:
        asked = (self.flavors.get((pod_set, name), self.flavors.get(("", name), flavor)) for name in resources)
        return all(name == flavor for name in asked)


# What a preemption on one flavor and resource would be: its mode, and how far the request borrows afterwards.
Simulate = Callable[[FlavorResource, int], Rating]


class FlavorAssigner:
    """Assigns flavors to one workload."""

    def __init__(self, world: QuotaWorld, facts: WorkloadFacts, queue: QuotaNode, simulate: Simulate) -> None:
        self._world = world
        self._facts = facts
        self._queue = queue
        self._spec: ClusterQueueSpec = world.specs[queue.name]
        self._simulate = simulate
        self._fair = world.settings.fair_sharing.enable

    def assign(self, counts: Mapping[str, int], forced: Forced | None = None) -> Assignment:
        """Flavors for so many pods of each set, or the flavors that are `forced`."""
        assumed: dict[FlavorResource, int] = {}
        done: list[PodSetFlavors] = []
        for pod_set in self._facts.pod_sets:
            count = counts[pod_set.name]
            requests = self._requests(pod_set, count)
            found: dict[str, Assigned] = {}
            for group in self._spec.resource_groups:
                # A resource that an earlier group has got belongs to that one; admission refuses a second.
                left = (name for name in group.covered_resources if name in requests and name not in found)
                wanted = {name: requests[name] for name in left}
                if wanted:
                    best = self._best(pod_set, group, wanted, assumed, forced)
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
        return Assignment(done)

    def _no_flavor(
        self, pod_set: PodSet, group: ResourceGroup, wanted: dict[str, int], assumed: Mapping[FlavorResource, int]
    ) -> list[Claim]:
        names = [item.name for item in group.flavors]
        keys = [(flavor, resource) for flavor in names for resource in wanted]
        amounts = {key: assumed.get(key, 0) + wanted[key[1]] for key in keys}
        found = list(no_flavor(self._world, self._queue, pod_set, names, amounts))
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

    def _best(
        self,
        pod_set: PodSet,
        group: ResourceGroup,
        wanted: dict[str, int],
        assumed: Mapping[FlavorResource, int],
        forced: Forced | None,
    ) -> dict[str, Assigned] | None:
        fungibility = self._spec.flavor_fungibility
        best: dict[str, Assigned] | None = None
        rated = Rating(NO_FIT)
        for name in self._usable(pod_set, group, wanted, forced):
            flavors, rating = self._rate(name, wanted, assumed, fungibility)
            if forced is not None and forced.preempt:
                rating = rating._replace(mode=PREEMPT)
                flavors = {resource: Assigned(name, rating) for resource in wanted}
            if rating.mode == NO_FIT:
                continue
            if forced is not None or not _try_next(rating, fungibility):
                return flavors
            if _preferred(rating, rated, fungibility):
                best, rated = flavors, rating
        return best

    def _usable(
        self, pod_set: PodSet, group: ResourceGroup, wanted: Iterable[str], forced: Forced | None
    ) -> Iterator[str]:
        """The flavors that its pods may run on, in the order of the queue."""
        for item in group.flavors:
            flavor = self._world.flavors.get(item.name)
            if flavor is None or not suits(flavor, pod_set.template.spec):
                continue
            if not suits_topology(self._world, self._spec, pod_set, item.name):
                continue
            if forced is None or forced.allows(pod_set.name, item.name, wanted):
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

    def _fits(self, key: FlavorResource, amount: int) -> Rating:
        queue = self._queue
        if amount > queue.most(key):
            return Rating(NO_FIT)
        level, may_reclaim = lowest_subtree(queue, key, amount)
        if amount <= max(0, queue.available(key)):
            return Rating(FIT, level, level > 0)
        if amount <= queue.quota(key).nominal or may_reclaim or self._borrows_while_preempting():
            return self._simulate(key, amount)
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
