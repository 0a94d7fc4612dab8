"""The quota policy: Kueue, KEP-83.

One workload gets flavors (`quota_flavors`); where they need somebody to make way, victims are found
(`quota_preemption`, or `fair_sharing` where that is on). A cycle takes one head of each queue:

1. Order: who borrows less far, higher priority, older. With fair sharing: cohort by cohort, who would have the smaller
   share after admission.
2. Each head is checked against what the heads before it took, with all victims of this cycle counted as gone.
3. Victims that were already claimed: the head is computed again on the same flavors without them.
4. A head that needs victims but has none reserves its quota, unless its queue can always reclaim it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.quota import Amounts, FlavorResource, QuotaNode
from reprieve.policies.fair_sharing import preempt_fairly
from reprieve.policies.quota_candidates import Request
from reprieve.policies.quota_flavors import (
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
from reprieve.policies.quota_preemption import Target, preempt
from reprieve.policies.quota_wishes import wait_seconds
from reprieve.policies.quota_world import QuotaWorld, WorkloadFacts
from reprieve.world import World

NAME = "quota"


Claimed = dict[tuple[str, str], WorkloadFacts]
"""Victims of this cycle so far."""


class Nominee(NamedTuple):
    """A head with the flavors it would get and those who would make way."""

    facts: WorkloadFacts
    queue: QuotaNode
    assignment: Assignment
    targets: list[Target]


class Verdict(NamedTuple):
    """What became of a head in a cycle."""

    nominee: Nominee
    outcome: str
    reason: str = ""


class QuotaPolicy:
    """Decides for quota workloads over one world."""

    def __init__(self, world: World, settings: Settings, now: int = 0) -> None:
        self.settings = settings
        self.quota = QuotaWorld(world, settings, now)
        self._fair = settings.fair_sharing.enable

    # One workload

    def nominate(self, facts: WorkloadFacts, forced: Forced | None = None) -> Nominee:
        """Flavors and victims for one workload; smaller, where it allows that and does not fit whole."""
        queue = facts.queue
        if queue is None:
            raise LookupError(facts.unit)
        assigner = FlavorAssigner(
            self.quota, facts, queue, lambda key, amount: self._simulate(facts, queue, key, amount)
        )
        full = assigner.assign(forced=forced)
        targets = self.targets(facts, queue, full) if NO_FIT < full.mode < FIT else []
        whole = Nominee(facts, queue, full, targets)
        if full.mode == FIT or targets or not self.settings.gate("PartialAdmission"):
            return whole
        return self._smaller(whole, assigner, forced) or whole

    def targets(self, facts: WorkloadFacts, queue: QuotaNode, assignment: Assignment) -> list[Target]:
        request = self._request(facts, queue, assignment.usage, assignment.contested)
        return preempt_fairly(self.quota, request) if self._fair else preempt(self.quota, request)

    def _request(
        self, facts: WorkloadFacts, queue: QuotaNode, usage: Amounts, contested: Iterable[FlavorResource]
    ) -> Request:
        return Request(facts, queue, self.quota.specs[queue.name], usage, frozenset(contested))

    def _simulate(self, facts: WorkloadFacts, queue: QuotaNode, key: FlavorResource, amount: int) -> Rating:
        """What a preemption for one flavor and resource would be."""
        request = self._request(facts, queue, {key: amount}, [key])
        targets = preempt_fairly(self.quota, request) if self._fair else preempt(self.quota, request)
        if not targets:
            return Rating(NO_CANDIDATES, lowest_subtree(queue, key, amount)[0])
        own = any(target.facts.queue is queue for target in targets)
        with self._without(targets):
            level = lowest_subtree(queue, key, amount)[0]
        return Rating(PREEMPT if own else RECLAIM, level)

    def _without(self, targets: Iterable[Target]) -> _Without:
        return _Without([target.facts for target in targets])

    def _smaller(self, whole: Nominee, assigner: FlavorAssigner, forced: Forced | None) -> Nominee | None:
        """Partial admission: the largest size, down to the least counts, that fits or can be made to."""
        pod_sets = whole.facts.workload.spec.pod_sets
        deltas = {item.name: item.count - item.min_count for item in pod_sets if item.min_count is not None}
        total = sum(deltas.values())
        if total <= 0:
            return None
        best: Nominee | None = None
        low, high = 0, total  # how many pods fewer: at `total` it is as small as it may be
        while low <= high:
            middle = (low + high) // 2
            counts = {item.name: item.count - deltas.get(item.name, 0) * middle // total for item in pod_sets}
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

    # A cycle

    def cycle(self) -> list[Verdict]:
        """One head of each queue: the oldest of the highest priority."""
        self.quota.sync()
        heads = [waiting[0] for waiting in self.quota.waiting.values() if waiting]
        nominees = [self.nominate(facts) for facts in heads]
        claimed: Claimed = {}
        closed: set[int] = set()
        return [self._turn(nominee, claimed, closed) for nominee in self._ordered(nominees)]

    def _turn(self, nominee: Nominee, claimed: Claimed, closed: set[int]) -> Verdict:
        """One head; `closed` are the cohorts in which nobody borrows any more, where the settings ask for that."""
        root = id(nominee.queue.root)
        if nominee.assignment.level > 0 and root in closed:
            return Verdict(nominee, "Wait", texts.NO_MORE_BORROWING)
        if nominee.assignment.level == 0 and self.settings.quota.stop_borrowing_after_non_borrower:
            closed.add(root)
        return self._take(nominee, claimed)

    def waits_until(self, nominee: Nominee) -> int | None:
        """When a workload may preempt, if it has to wait for that; in microseconds since 1970."""
        seconds = wait_seconds(nominee.facts.workload, self.settings.quota.wait_before_preemption_seconds)
        until = nominee.facts.created + seconds * 1_000_000
        return until if seconds and until > self.quota.now else None

    def _ordered(self, nominees: list[Nominee]) -> Iterator[Nominee]:
        if not self._fair:
            yield from sorted(nominees, key=_classical_order)
            return
        left = list(nominees)
        while left:
            chosen = self._winner(left)
            left.remove(chosen)
            yield chosen

    def _winner(self, nominees: list[Nominee]) -> Nominee:
        """The next head under fair sharing: the winner of the knock-out in the cohort of the first that waits."""
        first = nominees[0]
        if first.queue.parent is None:
            return first
        winner = self._knock_out(first.queue.root, nominees)
        return winner if winner is not None else first

    def _knock_out(self, cohort: QuotaNode, nominees: list[Nominee]) -> Nominee | None:
        entrants: list[tuple[QuotaNode, Nominee]] = []
        for child in cohort.children:
            if child.queue:
                entrants += ((child, nominee) for nominee in nominees if nominee.queue is child)
            elif (winner := self._knock_out(child, nominees)) is not None:
                entrants.append((child, winner))
        if not entrants:
            return None
        return min(entrants, key=lambda entrant: self._fair_order(*entrant))[1]

    def _fair_order(self, child: QuotaNode, nominee: Nominee) -> tuple[object, ...]:
        """Not borrowing on the flavors it asks for, the share after admission, priority, age."""
        usage = nominee.assignment.usage
        borrows = any(child.exceeds(key, amount) for key, amount in _at(child, nominee.queue, usage).items())
        nominee.queue.add(usage)
        share = child.share().key
        nominee.queue.remove(usage)
        facts = nominee.facts
        return borrows, share, -facts.boosted, facts.order_time, facts.unit

    def _take(self, nominee: Nominee, claimed: Claimed) -> Verdict:
        mode = nominee.assignment.mode
        if mode == NO_FIT:
            return Verdict(nominee, "Unschedulable", nominee.assignment.reason)
        if mode < FIT and not nominee.targets:
            if self.quota.specs[nominee.queue.name].preemption.reclaim_within_cohort != "Any":
                nominee.queue.add(_reserved(nominee))
            return Verdict(nominee, "Unschedulable", texts.NOBODY_MAY_GO)
        until = self.waits_until(nominee) if nominee.targets else None
        if until is not None:
            return Verdict(nominee._replace(targets=[]), "Wait", texts.may_preempt_from(until))
        if any(target.facts.key in claimed for target in nominee.targets):
            if not self.settings.gate("RecomputeAssignmentUponPreemptionTargetsOverlap"):
                return Verdict(nominee, "Wait", texts.VICTIMS_CLAIMED)
            nominee = self._again(nominee, claimed)
        return self._claim(nominee, claimed)

    def _again(self, nominee: Nominee, claimed: Claimed) -> Nominee:
        """The same flavors, with everybody who was claimed gone."""
        with _Without(claimed.values()), self._hidden(claimed):
            flavors = {
                (group.name, resource): item.flavor
                for group in nominee.assignment.pod_sets
                for resource, item in group.flavors.items()
            }
            return self.nominate(nominee.facts, Forced(flavors))

    def _hidden(self, claimed: Claimed) -> _Hidden:
        return _Hidden(self.quota, set(claimed))

    def _claim(self, nominee: Nominee, claimed: Claimed) -> Verdict:
        usage = nominee.assignment.usage
        if nominee.assignment.mode < FIT and not nominee.targets:
            return Verdict(nominee, "Unschedulable", texts.NOBODY_MAY_GO)
        gone = {**claimed, **{target.facts.key: target.facts for target in nominee.targets}}
        with _Without(gone.values()):
            fits = all(amount <= max(0, nominee.queue.available(key)) for key, amount in usage.items())
        if not fits:
            return Verdict(nominee, "Wait", texts.QUOTA_TAKEN)
        fits_now = not nominee.targets and all(
            amount <= max(0, nominee.queue.available(key)) for key, amount in usage.items()
        )
        claimed.update(gone)
        nominee.queue.add(usage)
        if nominee.targets:
            new = any(not target.facts.evicted for target in nominee.targets)
            return Verdict(nominee, "Preempt" if new else "Wait")
        return Verdict(nominee, "Fits" if fits_now else "Wait")


class _Without:
    """The tree without some workloads, for as long as it lasts."""

    def __init__(self, workloads: Iterable[WorkloadFacts]) -> None:
        self._workloads = list(workloads)

    def __enter__(self) -> None:
        for facts in self._workloads:
            if facts.queue is not None:
                facts.queue.remove(facts.usage)

    def __exit__(self, *_: object) -> None:
        for facts in reversed(self._workloads):
            if facts.queue is not None:
                facts.queue.add(facts.usage)


class _Hidden:
    """Some workloads are nobody's candidates, for as long as it lasts."""

    def __init__(self, quota: QuotaWorld, keys: set[tuple[str, str]]) -> None:
        self._quota = quota
        self._keys = keys
        self._before: dict[str, list[WorkloadFacts]] = {}

    def __enter__(self) -> None:
        self._before = self._quota.admitted
        self._quota.admitted = {
            name: [facts for facts in workloads if facts.key not in self._keys]
            for name, workloads in self._before.items()
        }

    def __exit__(self, *_: object) -> None:
        self._quota.admitted = self._before


def _classical_order(nominee: Nominee) -> tuple[object, ...]:
    facts = nominee.facts
    return nominee.assignment.level, -facts.boosted, facts.order_time, facts.uid, facts.unit


def _at(node: QuotaNode, queue: QuotaNode, usage: Amounts) -> dict[FlavorResource, int]:
    """What of a request reaches a node above its queue."""
    remaining = dict(usage)
    for below in (queue, *queue.path()):
        if below is node:
            break
        remaining = {key: max(0, amount - below.kept_left(key)) for key, amount in remaining.items()}
    return remaining


def _reserved(nominee: Nominee) -> dict[FlavorResource, int]:
    """What a head without candidates holds: up to its nominal quota, or to its borrowing limit if it borrows."""
    held: dict[FlavorResource, int] = {}
    for key, amount in nominee.assignment.usage.items():
        quota = nominee.queue.quota(key)
        used = nominee.queue.usage.get(key, 0)
        if nominee.assignment.level > 0:
            limit = quota.borrowing_limit
            held[key] = amount if limit is None else min(amount, quota.nominal + limit - used)
        else:
            held[key] = max(0, min(amount, quota.nominal - used))
    return held
