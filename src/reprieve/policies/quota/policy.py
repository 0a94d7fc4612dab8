"""The quota policy: Kueue, KEP-83.

1. One workload gets flavors (`flavors`), smaller where it allows that and does not fit whole.
2. Where they need somebody to make way, victims are found (`preemption`, or `fair_sharing` where that is on).
3. A cycle takes one head of each queue (`cycle`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reprieve.configuration import Settings
from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.policies.quota.annotations import seconds_to_wait
from reprieve.policies.quota.candidates import Request
from reprieve.policies.quota.fair_sharing import preempt_fairly
from reprieve.policies.quota.flavors import (
    FIT,
    NO_CANDIDATES,
    NO_FIT,
    PREEMPT,
    RECLAIM,
    Assignment,
    FlavorAssigner,
    Forced,
    Rating,
    lowest_subtree,
)
from reprieve.policies.quota.preemption import Target, preempt
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World

NAME = "quota"
Sizes = Mapping[str, int]
"""So many pods of each pod set."""


class Nominee(NamedTuple):
    """A head with the flavors it would get and those who would make way."""

    facts: WorkloadFacts
    queue: QuotaNode
    assignment: Assignment
    targets: list[Target]


class QuotaPolicy:
    """Decides for quota workloads over one world."""

    def __init__(self, world: World, settings: Settings, now: int = 0) -> None:
        self.settings = settings
        self.quota = QuotaWorld(world, settings, now)
        self._fair = settings.fair_sharing.enable
        self._last: tuple[object, list[Target]] | None = None

    # One workload

    def nominate(self, facts: WorkloadFacts, forced: Forced | None = None, most: Sizes | None = None) -> Nominee:
        """Flavors and victims for one workload; smaller, where it allows that and does not fit whole.

        `most`: it has preempted for so many pods of each set. It gets no more: else whoever made way for a small one
        would have made way for a large one.
        """
        queue = facts.queue
        if queue is None:
            raise LookupError(facts.unit)
        self._last = None
        assigner = FlavorAssigner(
            self.quota, facts, queue, lambda key, amount: self._simulate(facts, queue, key, amount)
        )
        sizes = _sizes(facts, most or {})
        full = assigner.assign(sizes, forced)
        targets = self.targets(facts, queue, full) if NO_FIT < full.mode < FIT else []
        whole = Nominee(facts, queue, full, targets)
        if full.mode == FIT or targets or not self.settings.gate("PartialAdmission"):
            return whole
        return self._smaller(whole, assigner, forced, sizes) or whole

    def targets(self, facts: WorkloadFacts, queue: QuotaNode, assignment: Assignment) -> list[Target]:
        return self._search(self._request(facts, queue, assignment.usage, assignment.contested))

    def _search(self, request: Request) -> list[Target]:
        """Who makes way; where the same was just asked to rate a flavor, the answer is still good."""
        asked = (request.facts.key, tuple(request.usage.items()), request.contested)
        if self._last is None or self._last[0] != asked:
            found = preempt_fairly(self.quota, request) if self._fair else preempt(self.quota, request)
            self._last = asked, found
        return self._last[1]

    def _request(
        self, facts: WorkloadFacts, queue: QuotaNode, usage: Amounts, contested: Iterable[FlavorResource]
    ) -> Request:
        return Request(facts, queue, self.quota.specs[queue.name], usage, frozenset(contested))

    def _simulate(self, facts: WorkloadFacts, queue: QuotaNode, key: FlavorResource, amount: int) -> Rating:
        """What a preemption for one flavor and resource would be."""
        request = self._request(facts, queue, {key: amount}, [key])
        targets = self._search(request)
        if not targets:
            return Rating(NO_CANDIDATES, lowest_subtree(queue, key, amount)[0])
        own = any(target.facts.queue is queue for target in targets)
        with Without(target.facts for target in targets):
            level = lowest_subtree(queue, key, amount)[0]
        return Rating(PREEMPT if own else RECLAIM, level)

    def _smaller(self, whole: Nominee, assigner: FlavorAssigner, forced: Forced | None, sizes: Sizes) -> Nominee | None:
        """Partial admission: the largest size, down to the least counts, that fits or can be made to."""
        pod_sets = whole.facts.workload.spec.pod_sets
        deltas = {item.name: sizes[item.name] - item.min_count for item in pod_sets if item.min_count is not None}
        total = sum(deltas.values())
        if total <= 0:
            return None
        best: Nominee | None = None
        low, high = 0, total  # how many pods fewer: at `total` it is as small as it may be
        while low <= high:
            middle = (low + high) // 2
            counts = {name: size - deltas.get(name, 0) * middle // total for name, size in sizes.items()}
            tried = self._try(whole, assigner.assign(counts, forced))
            if tried is not None:
                best, high = tried, middle - 1
            else:
                low = middle + 1
        return best

    def _try(self, whole: Nominee, assignment: Assignment) -> Nominee | None:
        if assignment.mode == FIT:
            return whole._replace(assignment=assignment, targets=[])
        if assignment.mode == NO_FIT:
            return None
        targets = self.targets(whole.facts, whole.queue, assignment)
        return whole._replace(assignment=assignment, targets=targets) if targets else None

    def waits_until(self, nominee: Nominee) -> int | None:
        """When a workload may preempt, if it has to wait for that; in microseconds since 1970."""
        seconds = seconds_to_wait(nominee.facts.workload, self.settings.quota.wait_before_preemption_seconds)
        until = nominee.facts.created + seconds * 1_000_000
        return until if seconds and until > self.quota.now else None


def _sizes(facts: WorkloadFacts, most: Sizes) -> Sizes:
    """As many pods as it asks for; of those sets that may be smaller, not more than `most`."""
    return {
        item.name: item.count
        if item.min_count is None
        else max(item.min_count, min(item.count, most.get(item.name, item.count)))
        for item in facts.workload.spec.pod_sets
    }


class Without:
    """The tree without some workloads, for as long as it lasts."""

    def __init__(self, workloads: Iterable[WorkloadFacts]) -> None:
        self._workloads = list(workloads)

    def __enter__(self) -> None:
        for facts in self._workloads:
            if facts.queue is not None:
                facts.queue.remove(facts.usage)

    def extend(self, workloads: Iterable[WorkloadFacts]) -> None:
        """More of them."""
        more = Without(workloads)
        more.__enter__()
        self._workloads += more._workloads

    def __exit__(self, *_: object) -> None:
        for facts in reversed(self._workloads):
            if facts.queue is not None:
                facts.queue.add(facts.usage)
