"""What a workload gets of flavors: one for each resource of each pod set, how good it is, and what all comes to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reprieve.engine.claims import Claim
from reprieve.engine.quota_tree import Amounts, FlavorResource
from reprieve.policies.quota.topology_domains import PlaceRequest

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
