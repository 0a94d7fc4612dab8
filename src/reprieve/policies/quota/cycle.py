"""A cycle of the quota policy: one head of each queue.

1. Order: who borrows less far, higher priority, older. With fair sharing: cohort by cohort, who would have the smaller
   share after admission.
2. Each head is checked against what the heads before it took, with all victims of this cycle counted as gone.
3. Victims that were already claimed: the head is computed again on the same flavors without them.
4. A head that needs victims but has none reserves its quota, unless its queue can always reclaim it.
5. Where the settings say so, as in KEP-83, nobody in a cohort borrows any more after a workload that need not.
6. Whoever has preempted and still waits comes before all others, but those of its own queue that are more important:
   else whoever made way for it could slip back, and be preempted again, without end. For the same reason it is
   admitted with no more pods than it has preempted for.
When the cycle is over the tree is what it was before.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from reprieve import texts
from reprieve.engine.quota_tree import Amounts, FlavorResource, QuotaNode
from reprieve.policies.quota.flavors import FIT, NO_FIT, Forced
from reprieve.policies.quota.policy import Nominee, QuotaPolicy, Sizes, Without
from reprieve.policies.quota.workloads import WorkloadFacts

_HIGHEST = 2**63


class Verdict(NamedTuple):
    """What became of a head in a cycle."""

    nominee: Nominee
    outcome: str
    reason: str = ""


Held = Mapping[str, Sizes]
"""Units that have preempted and still wait, with the sizes for which they have."""
_NOBODY: Held = {}


def cycle(policy: QuotaPolicy, parked: Container[str] = (), held: Held = _NOBODY) -> list[Verdict]:
    """One head of each queue: the oldest of the highest priority; `parked` and `held` as in `QuotaWorld.heads`."""
    policy.quota.sync()
    heads = policy.quota.heads(parked, held)
    return _Cycle(policy, held).run([policy.nominate(facts, most=held.get(facts.unit)) for facts in heads])


class _Cycle:
    def __init__(self, policy: QuotaPolicy, held: Held) -> None:
        self._policy = policy
        self._held = held
        self._settings = policy.settings
        self._fair = policy.settings.fair_sharing.enable
        self._claimed: dict[tuple[str, str], WorkloadFacts] = {}
        """Victims of this cycle so far."""
        self._taken: list[tuple[QuotaNode, Amounts]] = []
        """What heads of this cycle took or reserved."""
        self._gone = Without([])
        """Claimed victims that are out of the tree already. Under fair sharing shares still count them."""
        self._closed: set[int] = set()
        """Cohorts in which nobody borrows any more."""

    def run(self, nominees: list[Nominee]) -> list[Verdict]:
        try:
            return [self._turn(nominee) for nominee in self._ordered(nominees)]
        finally:
            for queue, usage in reversed(self._taken):
                queue.remove(usage)
            self._gone.__exit__()

    def _turn(self, nominee: Nominee) -> Verdict:
        root = id(nominee.queue.root)
        if nominee.assignment.level > 0 and root in self._closed:
            return Verdict(nominee, "Wait", texts.NO_MORE_BORROWING)
        if self._settings.quota.stop_borrowing_after_non_borrower and _needs_no_borrowing(nominee):
            self._closed.add(root)
        return self._take(nominee)

    # Whose turn it is

    def _ordered(self, nominees: list[Nominee]) -> Iterator[Nominee]:
        first = self._promised(nominees)
        yield from sorted(first, key=lambda nominee: (-nominee.facts.boosted, *_classical_order(nominee)))
        left = [nominee for nominee in nominees if nominee not in first] if first else list(nominees)
        if not self._fair:
            yield from sorted(left, key=_classical_order)
            return
        while left:
            chosen = self._winner(left)
            left.remove(chosen)
            yield chosen

    def _promised(self, nominees: list[Nominee]) -> list[Nominee]:
        """Those who have preempted, and whoever is more important in a queue of theirs."""
        lowest: dict[int, int] = {}
        for nominee in nominees:
            if nominee.facts.unit in self._held:
                queue, priority = id(nominee.queue), nominee.facts.boosted
                lowest[queue] = min(priority, lowest.get(queue, priority))
        return [
            nominee
            for nominee in nominees
            if nominee.facts.unit in self._held or nominee.facts.boosted > lowest.get(id(nominee.queue), _HIGHEST)
        ]

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
        return borrows, share, -facts.boosted, facts.order_time, child.queue, child.name

    # What becomes of it

    def _take(self, nominee: Nominee) -> Verdict:
        mode = nominee.assignment.mode
        if mode == NO_FIT:
            return Verdict(nominee, "Unschedulable", nominee.assignment.reason)
        if mode < FIT and not nominee.targets:
            if self._policy.quota.specs[nominee.queue.name].preemption.reclaim_within_cohort != "Any":
                self._add(nominee.queue, self._reserved(nominee))
            return Verdict(nominee, "Unschedulable", texts.NOBODY_MAY_GO)
        until = self._policy.waits_until(nominee) if nominee.targets else None
        if until is not None:
            return Verdict(nominee, "Wait", texts.may_preempt_from(until))
        if not any(target.facts.key in self._claimed for target in nominee.targets):
            return self._claim(nominee)
        if not self._settings.gate("RecomputeAssignmentUponPreemptionTargetsOverlap"):
            return Verdict(nominee, "Wait", texts.VICTIMS_CLAIMED)
        return self._claim(self._again(nominee), again=True)

    def _again(self, nominee: Nominee) -> Nominee:
        """The same flavors, with everybody who was claimed gone and nobody's candidate any more."""
        flavors = {
            (group.name, resource): item.flavor
            for group in nominee.assignment.pod_sets
            for resource, item in group.flavors.items()
        }
        self._policy.quota.hidden = set(self._claimed)
        try:
            with Without(self._present()):
                return self._policy.nominate(nominee.facts, Forced(flavors), self._held.get(nominee.facts.unit))
        finally:
            self._policy.quota.hidden = set()

    def _claim(self, nominee: Nominee, *, again: bool = False) -> Verdict:
        """Take the quota, if it is there once all victims of this cycle are gone."""
        usage = nominee.assignment.usage
        if nominee.assignment.mode < FIT and not nominee.targets:
            return Verdict(nominee, "Wait", texts.VICTIMS_CLAIMED)
        gone = {target.facts.key: target.facts for target in nominee.targets}
        if not self._fits(nominee.queue, usage, gone):
            return Verdict(nominee, "Wait", texts.QUOTA_TAKEN)
        if not self._fair:
            self._gone.extend(facts for key, facts in gone.items() if key not in self._claimed)
        self._claimed |= gone
        self._add(nominee.queue, usage)
        if nominee.targets:
            new = any(not target.facts.evicted for target in nominee.targets)
            return Verdict(nominee, "Preempt" if new else "Wait")
        return Verdict(nominee, "Wait", texts.VICTIMS_CLAIMED) if again else Verdict(nominee, "Fits")

    def _fits(self, queue: QuotaNode, usage: Amounts, gone: dict[tuple[str, str], WorkloadFacts]) -> bool:
        def enough() -> bool:
            return all(amount <= max(0, queue.available(key)) for key, amount in usage.items())

        with Without(gone.values()):
            if enough():
                return True
        others = [facts for facts in self._present() if facts.key not in gone and _together(facts, queue)]
        with Without([*gone.values(), *others]):
            return bool(others) and enough()

    def _present(self) -> list[WorkloadFacts]:
        """Claimed victims that still stand in the tree."""
        return list(self._claimed.values()) if self._fair else []

    def _reserved(self, nominee: Nominee) -> dict[FlavorResource, int]:
        """What a head without candidates holds: up to its nominal quota, or to its borrowing limit if it borrows.

        Victims of this cycle that have not left count as used here.
        """
        queue = nominee.queue
        gone = [] if self._fair else [facts.usage for facts in self._claimed.values() if facts.queue is queue]
        held: dict[FlavorResource, int] = {}
        for key, amount in nominee.assignment.usage.items():
            quota = queue.quota(key)
            left = quota.nominal - queue.used(key) - sum(usage.get(key, 0) for usage in gone)
            if nominee.assignment.level == 0:
                amount = min(amount, left)
            elif quota.borrowing_limit is not None:
                amount = min(amount, left + quota.borrowing_limit)
            held[key] = max(0, amount)
        return held

    def _add(self, queue: QuotaNode, usage: Amounts) -> None:
        queue.add(usage)
        self._taken.append((queue, usage))


def _together(facts: WorkloadFacts, queue: QuotaNode) -> bool:
    return facts.queue is not None and facts.queue.root is queue.root


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


def _needs_no_borrowing(nominee: Nominee) -> bool:
    """Whether it has flavors, and stays within its nominal quota on them."""
    return nominee.assignment.mode != NO_FIT and nominee.assignment.level == 0
