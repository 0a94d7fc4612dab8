"""Who is known to be inadmissible: nobody is looked at again before anything has changed in its tree.

It saves work and decides nothing: what is remembered is what a search would find again.
"""

from reprieve.engine.quota_tree import QuotaNode
from reprieve.model.names import UnitName
from reprieve.policies.quota.assignments import Assignment
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld

_MOST = 100_000


class Refusals:
    """The flavors of those for whom there was no quota and no victims, as long as that must be so."""

    def __init__(self) -> None:
        self._known: dict[UnitName, tuple[tuple[object, ...], QuotaNode, Assignment]] = {}

    def get(self, quota: QuotaWorld, facts: WorkloadFacts) -> Assignment | None:
        known = self._known.get(facts.unit)
        if known is None or known[1] is not facts.queue or known[0] != _circumstances(quota, facts):
            return None
        return known[2]

    def add(self, quota: QuotaWorld, facts: WorkloadFacts, assignment: Assignment) -> None:
        if facts.queue is None:
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[facts.unit] = _circumstances(quota, facts), facts.queue, assignment

    def forget(self, unit: UnitName) -> None:
        """It has not been told: the next cycle decides for it again."""
        self._known.pop(unit, None)


def _circumstances(quota: QuotaWorld, facts: WorkloadFacts) -> tuple[object, ...]:
    """All that a refusal depends on; a tree that was made anew has other nodes."""
    order = quota.order_of(facts.queue.name) if facts.queue is not None else quota.order
    moment = 0 if order.lasting and quota.long_runners is None else quota.now
    spec = facts.uid, facts.workload.spec, facts.pod_sets, facts.boosted, facts.order_time, facts.hold
    before = quota.outside(facts.queue) if facts.queue is not None and facts.has_preempted else ""
    return quota.stamp(facts.queue), moment, before, *spec
