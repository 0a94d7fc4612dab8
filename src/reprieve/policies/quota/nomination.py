"""Which flavors one workload gets, and who would make way for it on them; smaller, where it allows that."""

from collections.abc import Callable

from reprieve.engine.quota_tree import FlavorResource
from reprieve.policies.quota.assignments import (
    FIT,
    NO_CANDIDATES,
    NO_FIT,
    PREEMPT,
    RECLAIM,
    FlavorDemand,
    Forced,
    Rating,
)
from reprieve.policies.quota.first_flavor import FirstFlavor
from reprieve.policies.quota.flavors import FlavorAssigner, lowest_subtree
from reprieve.policies.quota.search import Found, Without
from reprieve.policies.quota.topology_domains import PlaceRequest
from reprieve.policies.quota.topology_requests import with_topology
from reprieve.policies.quota.view import Nomination, Sizes, WorkloadView

Search = Callable[[WorkloadView, FlavorDemand], Found]


class Nominator:
    """Nominates one workload: flavors are rated by the very search that finds its victims."""

    def __init__(self, view: WorkloadView, search: Search, forced: Forced | None = None) -> None:
        self._view = view
        self._forced = forced or view.forced
        self._search = search
        self._last: Found | None = None

    def nominate(self) -> Nomination:
        """It whole; or, by partial admission, smaller, where it does not fit whole and nobody could make way for it."""
        view, sizes = self._view, self._sizes()
        made = FirstFlavor if view.quota.settings.quota.as_written else FlavorAssigner
        assigner = made(view.quota, view.facts, view.queue, self._simulate)
        whole = self._assign(assigner, sizes)
        if possible(whole) or not self._may_be_smaller(sizes) or not view.gate("PartialAdmission"):
            return whole
        return self._smaller(assigner, sizes, whole)

    def _assign(self, assigner: FlavorAssigner, sizes: Sizes) -> Nomination:
        assignment = assigner.assign(sizes, self._forced)
        assignment = with_topology(self._view.quota, self._view.facts.pod_sets, assignment)
        if not NO_FIT < assignment.mode < FIT:
            return Nomination(assignment)
        found = self._find(assignment.demand)
        assignment.demand = found.domain  # an equal one: it need not be kept twice
        return Nomination(assignment, found)

    def _find(self, domain: FlavorDemand) -> Found:
        """Who makes way; where the same was just asked to rate a flavor, the answer is still good."""
        if self._last is None or self._last.domain != domain:
            self._last = self._search(self._view, domain)
        return self._last

    def _simulate(self, key: FlavorResource, amount: int, places: tuple[PlaceRequest, ...]) -> Rating:
        """What a preemption for one flavor and resource, or for these places, would be."""
        queue = self._view.queue
        victims = self._find(FlavorDemand({key: amount}, frozenset([key]), places)).victims
        if not victims:
            return Rating(NO_CANDIDATES, lowest_subtree(queue, key, amount)[0], amount > queue.quota(key).nominal)
        own = any(item.facts.queue is queue for item in victims)
        with Without(item.facts for item in victims):
            level = lowest_subtree(queue, key, amount)[0]
        return Rating(PREEMPT if own else RECLAIM, level, level > 0)

    def _sizes(self) -> Sizes:
        """As many pods as it asks for; of those sets that may be smaller, not more than it has preempted for."""
        most = self._view.most
        return {
            item.name: item.count
            if item.min_count is None
            else max(item.min_count, min(item.count, most.get(item.name, item.count)))
            for item in self._view.facts.pod_sets
        }

    def _may_be_smaller(self, sizes: Sizes) -> bool:
        pod_sets = self._view.facts.pod_sets
        return any(item.min_count is not None and item.min_count < sizes[item.name] for item in pod_sets)

    def _smaller(self, assigner: FlavorAssigner, sizes: Sizes, whole: Nomination) -> Nomination:
        """The largest size, down to the least counts, that fits or can be made to; it whole, where there is none."""
        pod_sets = self._view.facts.pod_sets
        deltas = {item.name: sizes[item.name] - item.min_count for item in pod_sets if item.min_count is not None}
        total = sum(deltas.values())
        best, tried = None, whole
        low, high = 0, total  # how many pods fewer: at `total` it is as small as it may be
        while low <= high:
            middle = (low + high) // 2
            counts = {name: size - deltas.get(name, 0) * middle // total for name, size in sizes.items()}
            tried = self._assign(assigner, counts)
            if possible(tried):
                best, high = tried, middle - 1
            else:
                low = middle + 1
        # Why nobody could make way is said of the least size, which was tried last: it is the easiest to make room for.
        return best or (whole._replace(found=tried.found) if whole.found and tried.found else whole)


def possible(nomination: Nomination) -> bool:
    """Whether it fits, or somebody could make way for it."""
    return nomination.assignment.mode == FIT or bool(nomination.found and nomination.found.victims)
