"""A cycle of the quota policy: one head of each queue, and those who pass it where it cannot be admitted.

1. Order: who does not borrow, who borrows less far, higher priority, older. With fair sharing: cohort by cohort, who
   would have the smaller share after admission (`turn_order`).
2. Each is checked against what those before it took, with all victims of this cycle counted as gone; whoever is
   admitted at once also fits beside them as long as they are there.
3. Victims that were already claimed: the head is nominated again on the same flavors without them.
4. Whoever needs victims and has none, or may not preempt yet, has its queue reserve its nominal quota, as long as it
   waits, unless the queue can always reclaim it: nobody of another queue borrows that. A head that borrows reserves
   what it would borrow, too; in a BestEffortFIFO queue only where others act in the same cycle. Not so in KEP-83.
5. As KEP-83 was written, and where the settings say so, nobody in a cohort borrows any more after a workload that need
   not, but who has preempted for that already.
6. Whoever has preempted and still waits comes before all others, but those of its own queue that stand before it:
   else whoever made way for it could slip back, and be preempted again, without end. For the same reason it is
   admitted with no more pods than it has preempted for.
7. In a BestEffortFIFO queue whoever gets nothing passes its turn on: to the next that fits as things are; and, where
   nothing was done in the whole tree, to the next that would have to preempt.
All of it follows from the objects and the time: a plan over a snapshot is what the loop does at that moment. When the
cycle is over the tree is what it was before.
"""

from collections.abc import Iterable

from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.engine.quota_tree import QuotaNode
from reprieve.model.names import UnitName
from reprieve.policies.quota.alike import NominatedAlike
from reprieve.policies.quota.assignments import FIT, NO_FIT
from reprieve.policies.quota.earlier_heads import EarlierHeads
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.refusals import Refusals
from reprieve.policies.quota.turn_order import Contender, TurnsOfHeads
from reprieve.policies.quota.view import Nomination, PendingWorkload, Terms, WorkloadView
from reprieve.policies.quota.workloads import Importance, WorkloadFacts, importance
from reprieve.policies.quota.world import Line


def cycle(policy: QuotaPolicy, known: Refusals | None = None) -> list[Plan]:
    """The plans of all who have their turn; but of those who are `known` to be inadmissible there is nothing to say."""
    policy.quota.sync()
    known = known or Refusals()
    alike = NominatedAlike(policy.quota)
    first = _Pass(policy, known, alike, policy.quota.lines())
    plans = first.run()
    more = first.passed_over - first.busy
    if more:
        lines = [line for line in policy.quota.lines() if line.queue.root in more]
        second = _Pass(policy, known, alike, lines, everybody=True)
        second.earlier.places = first.earlier.places  # nodes are shared by all trees
        plans |= second.run()
    return list(plans.values())


class _Pass:
    """The turns of all queues; in a second pass everybody gets a chance, where the first has done nothing."""

    def __init__(
        self,
        policy: QuotaPolicy,
        known: Refusals,
        alike: NominatedAlike,
        lines: Iterable[Line],
        *,
        everybody: bool = False,
    ) -> None:
        self._policy = policy
        self._known = known
        self._alike = alike
        self._lines = {line.queue: line for line in lines}
        self._everybody = everybody
        self.earlier = EarlierHeads(policy.settings)
        self._order = TurnsOfHeads(_promised(self._lines.values()), fair=policy.settings.fair_sharing.enable)
        self._leading: dict[QuotaNode, WorkloadFacts] = {}
        """Who of each queue was sent last."""
        self.busy: set[QuotaNode] = set()
        """Trees in which somebody was admitted or preempts."""
        self.passed_over: set[QuotaNode] = set()
        """Trees in which a second pass could do more."""

    def run(self) -> dict[UnitName, Plan]:
        for line in self._lines.values():
            for facts in line.held:
                self._order.add(self._contender(facts, head=False))
            self._send(line, head=True)
        plans: dict[UnitName, Plan] = {}
        try:
            while (one := self._order.pop()) is not None:
                plan = self._turn(one)
                if plan is not None:
                    plans[plan.preemptor] = plan
            return plans
        finally:
            self.earlier.undo()

    # Who has a turn

    def _send(self, line: Line, *, head: bool = False) -> None:
        """The next of a queue for whom there is a way. Those before it are inadmissible: all they do is reserve."""
        for facts in line.ready:
            first, head = head, False
            if facts.hold is not None and not first:
                continue  # it has its turn already
            self._leading[line.queue] = facts
            if facts.hold is not None:
                return
            one = self._contender(facts, head=first)
            if one.view is None or not _possible(one.view):
                self._order.add(one)
            elif first or one.assignment.mode == FIT or self._may_preempt(line.queue):
                self._order.add(one)
                return
            else:
                self.passed_over.add(line.queue.root)

    def _may_preempt(self, queue: QuotaNode) -> bool:
        """Only heads preempt, as long as there is anything else to do."""
        return self._everybody and queue.root not in self.busy

    def _contender(self, facts: WorkloadFacts, *, head: bool) -> Contender:
        policy, quota = self._policy, self._policy.quota
        pending = PendingWorkload(facts, earlier=self.earlier)
        refused = self._known.get(quota, facts)
        if refused is not None:
            return Contender(facts, pending.queue, refused, None, head)
        view = policy.view(pending, quota.now)
        self._alike.nominate(view, self._nominate)
        if not _possible(view):
            self._known.add(quota, facts, view.assignment)
        return Contender(facts, view.queue, view.assignment, view, head)

    def _nominate(self, view: WorkloadView) -> Nomination:
        with self.earlier.before():
            return self._policy.nominate(view)

    # A turn

    def _turn(self, one: Contender) -> Plan | None:
        plan = self._decide(one.view) if one.view is not None else None
        takes = plan is not None and plan.terms.takes
        if takes or (self._reserves(one, plan) and self.earlier.reserve(one.queue, one.assignment)):
            self._order.moved(one.queue)
        if one.assignment.mode != NO_FIT and not one.assignment.borrows:
            self.earlier.stop_borrowing(one.queue)
        if plan is not None and plan.outcome in ("Fits", "Preempt"):
            self.busy.add(one.queue.root)
        elif not takes:
            self._pass_on(one)
        return plan

    def _decide(self, view: WorkloadView) -> Plan:
        with self.earlier.turn_of(view.queue):
            plan = decide(self._policy, view, view.now)
            terms: Terms = plan.terms
            if terms.takes:
                admitted = plan.outcome == "Fits"
                self.earlier.take(view.queue, terms.assignment.usage, terms.gone, admitted=admitted)
                places, gone = terms.assignment.demand.places, terms.gone.values()
                self.earlier.places.take(self._policy.quota.topology, places, gone, terms.placed)
        return plan

    def _reserves(self, one: Contender, plan: Plan | None) -> bool:
        """Rule 4."""
        if self._policy.settings.quota.as_written:
            return False  # rule 5 stops those who would borrow; others may have what is theirs
        if not self.earlier.may_borrow(one.facts, one.queue, one.assignment):
            return False  # nor does it hold what it may not borrow, whether that was found now or is known
        if self._policy.quota.specs[one.queue.name].preemption.reclaim_within_cohort == "Any":
            return False
        if plan is not None and plan.outcome != "Unschedulable" and (plan.until is None or one.assignment.mode == FIT):
            return False
        if not one.assignment.borrows:
            return True
        lapses = not self._lines[one.queue].strict
        if one.head and lapses:
            self.passed_over.add(one.queue.root)
        return one.head and not (lapses and self._everybody)

    def _pass_on(self, one: Contender) -> None:
        """Rule 7."""
        if self._leading.get(one.queue) is one.facts:
            self._send(self._lines[one.queue])


def _possible(view: WorkloadView) -> bool:
    """Whether it fits, or somebody could make way for it."""
    return view.assignment.mode == FIT or bool(view.gone)


def _promised(lines: Iterable[Line]) -> dict[QuotaNode, list[Importance]]:
    """How important those are that have preempted, the most important first, for each queue with such."""
    return {line.queue: sorted(map(importance, line.held)) for line in lines if line.held}
