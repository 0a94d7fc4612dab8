"""Which flavor each resource gets in KEP-83, where Kueue went on to rate them (`flavors`).

For each group of resources, flavors are tried in the order of the queue:
0. The first that still has quota in the cohort, and does not go above what the queue may borrow. Whether it borrows is
   kept.
1. Where there is none, the first that could hold the request within the nominal quota: somebody has to make way.
An assignment from step 1 does not borrow. So whoever needs one somewhere must not borrow anywhere: all that does not
fit within the nominal quota beside what is used now is contested.
"""

from collections.abc import Callable, Mapping

from reprieve.engine.quota_tree import FlavorResource
from reprieve.policies.quota.assignments import (
    FIT,
    PREEMPT,
    Assigned,
    Assignment,
    FlavorDemand,
    Forced,
    Rating,
)
from reprieve.policies.quota.flavors import FlavorAssigner, GroupDemand

Step = Callable[[FlavorResource, int], Rating | None]


class FirstFlavor(FlavorAssigner):
    """Assigns flavors to one workload as KEP-83 has it."""

    def assign(self, counts: Mapping[str, int], forced: Forced | None = None) -> Assignment:
        assignment = super().assign(counts, forced)
        if assignment.pod_sets and assignment.mode != FIT and not (forced is not None and forced.preempt):
            usage = assignment.usage
            lacking = (key for key, amount in usage.items() if not self._fits_within_nominal(key, amount))
            assignment.demand = FlavorDemand(usage, frozenset(lacking))
        return assignment

    def _best(self, asked: GroupDemand) -> dict[str, Assigned] | None:
        wanted, assumed, forced = asked.wanted, asked.assumed, asked.forced
        steps: tuple[tuple[Step, bool], ...] = ((self._has, False), (self._could_hold, True))
        if forced is not None and forced.preempt:
            steps = ((lambda *_: Rating(PREEMPT), True),)
        for step, idle in steps:
            for flavor in self._usable(asked):
                if not self._has_domains(asked.pod_set, flavor, idle=idle):
                    continue
                rated = {name: step((flavor, name), assumed.get((flavor, name), 0) + wanted[name]) for name in wanted}
                found = {name: Assigned(flavor, rating) for name, rating in rated.items() if rating is not None}
                if len(found) == len(wanted):
                    return found
        return None

    def _has(self, key: FlavorResource, amount: int) -> Rating | None:
        """Step 0."""
        return Rating(FIT, borrows=self._queue.exceeds(key, amount)) if self._queue.has({key: amount}) else None

    def _could_hold(self, key: FlavorResource, amount: int) -> Rating | None:
        """Step 1."""
        return Rating(PREEMPT) if amount <= self._queue.quota(key).nominal else None

    def _fits_within_nominal(self, key: FlavorResource, amount: int) -> bool:
        return self._queue.has({key: amount}) and not self._queue.exceeds(key, amount)
