"""The policy of applications that start as a whole: see `task_groups` for whom that is.

1. It fits when all its members have places, with nobody leaving: below the maxima of its queues and within the limits
   of its user, all of them together, and on nodes.
2. Else its members ask one after the other, the largest first, each as a single pod of its queue would, by the seven
   laws, and each sees what those before it were given. Where one finds nothing, nobody leaves for any of them.
3. It waits for the delay of its queue, counted from its first pod; and for pods that leave already, where those are
   enough.
4. Victims are given back, the most important first, as long as all members still have places by the same laws: nobody
   goes who is not needed. With `search: Best` 2. and 4. are done twice, by the design's order and by looking for less.
5. Its places are held against everybody until all of them are free.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from reprieve import texts
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.improvement import Improved, is_better
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.offers import HeldBack, Offer, OfferList, Placed
from reprieve.engine.plan import Remark, Victim
from reprieve.engine.preemption import BasePolicy, decide
from reprieve.engine.reasons import NobodyAsked
from reprieve.model.names import UnitName, key_of
from reprieve.policies.queue import laws
from reprieve.policies.queue.claims import at_maximum
from reprieve.policies.queue.gang_price import gang_price
from reprieve.policies.queue.gang_trial import ApplicationView, FoundPlaces, QueueGangPlacer, Stuck, WorldTrial
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.policies.queue.rules import QueueRule
from reprieve.policies.queue.task_groups import Application
from reprieve.policies.queue.tree import limited
from reprieve.world import PodFacts

CLUSTER = "cluster"
_SECOND = 1_000_000
TIMED_OUT = "ResourceReservationTimeout"
"""What YuniKorn gives as the reason of pods that fail so."""


class Ends:
    """What effects need to know of an application that fails: these pods end."""

    def __init__(self, pods: Sequence[PodFacts], message: str) -> None:
        self.pods = tuple(pods)
        self.reason = TIMED_OUT
        self.message = message


class TaskGroupPolicy(BasePolicy):
    """Decides for applications with task groups, on top of the policy for single pods."""

    name = "taskgroups"

    def __init__(self, queues: QueuePolicy, ledger: NodeLedger) -> None:
        self._queues = queues
        self._ledger = ledger
        self._world = ledger.world

    def view(self, preemptor: Application, now: int) -> ApplicationView:
        self._queues.sync()
        return ApplicationView(preemptor, self._queues.tree.queue_of(preemptor.leader), now)

    # 1. Fits

    def fits(self, view: ApplicationView) -> Placed | None:
        if self._cannot_start(view):
            return None
        with WorldTrial(self._world, self._queues.sync) as trial:
            trial.set_aside(view.application.members)
            placement = self._free(view)
        if not placement:
            return None
        return Placed(texts.task_groups.fits(view.unit, len(placement), self._missing(view)), CLUSTER, placement)

    def _cannot_start(self, view: ApplicationView) -> bool:
        return view.application.timed_out(view.now) or self._elsewhere(view) is not None

    def _elsewhere(self, view: ApplicationView) -> PodFacts | None:
        """A member in another queue than the first pod."""
        queue_of = self._queues.tree.queue_of
        return next((one for one in view.application.members if queue_of(one) is not view.queue), None)

    def _free(self, view: ApplicationView) -> dict[UnitName, str]:
        """Places for all of them beside everybody who is in the world now."""
        self._queues.sync()
        whole = _together(view.application.members)
        view.limited = [*limited(self._queues.tree, whole), *at_maximum(laws.QueueClaim(whole, view.queue))]
        return {} if view.limited else self._on_nodes(view)

    def _on_nodes(self, view: ApplicationView) -> dict[UnitName, str]:
        if self._queues.tree.node_order is not None:
            found = self._one_by_one(view, self._largest_first(view.application.members), ask=False)
            if isinstance(found, FoundPlaces):
                return found.placement
        table = self._ledger.table
        return QueueGangPlacer(self._ledger, view.application, ~table.gone[: table.size]).everybody()

    def _missing(self, view: ApplicationView) -> int:
        return len(view.application.missing)

    # 2. May it preempt?

    def trigger(self, view: ApplicationView) -> HeldBack | None:
        application, because = view.application, NobodyAsked()
        if application.timed_out(view.now):
            message = texts.task_groups.timed_out(view.unit, len(application.members), application.timeout)
            ends = Ends([*application.members, *application.others], message)
            return HeldBack("Unschedulable", message, because=because, terms=ends)
        elsewhere = self._elsewhere(view)
        if elsewhere is not None:
            other = self._queues.tree.queue_of(elsewhere).name
            message = texts.task_groups.several_queues(view.unit, view.queue.name, elsewhere.unit, other)
            return HeldBack("Unschedulable", message, because=because, until=view.until)
        with WorldTrial(self._world, self._queues.sync) as trial:
            trial.set_aside(application.members)
            self._queues.sync()
            over = limited(self._queues.tree, _together(application.members))
        if over:  # nobody is preempted for that
            message = texts.queues.limited(view.unit, over)
            return HeldBack("Unschedulable", message, because=because, until=view.until, claims=over)
        self._search(view)
        return self._not_yet(view)

    def _not_yet(self, view: ApplicationView) -> HeldBack | None:
        found = view.found
        if found is None:
            return None
        ready = view.application.leader.created + int(view.queue.delay * _SECOND)
        if not found.victims:
            message = texts.pods.waits_for_victims(view.unit, texts.task_groups.PLACES, found.waiting_for)
            leaving = NobodyAsked("Leaving")
            return HeldBack(
                "Wait",
                message,
                CLUSTER,
                waiting_for=found.waiting_for,
                because=leaving,
                until=view.until,
            )
        if view.now < ready:
            message = texts.queues.waits_for_delay(view.unit, view.queue.name, ready)
            return HeldBack("Wait", message, until=min(ready, view.until or ready), because=NobodyAsked("NotYet"))
        return None

    # 3. to 5. One after the other

    def _search(self, view: ApplicationView) -> None:
        """By the design's order; and where that is to be looked for, by each member for less. What is the least for one
        of them may be more for all: so the less of both."""
        found = self._found(view, by_design=True)
        if self._queues.search_steps() and (isinstance(found, Stuck) or found.victims):
            found = self._less(view, found, self._found(view, by_design=False))
        if isinstance(found, FoundPlaces):
            view.found = found
        else:
            view.stuck = found

    def _less(
        self, view: ApplicationView, by_design: FoundPlaces | Stuck, other: FoundPlaces | Stuck
    ) -> FoundPlaces | Stuck:
        if isinstance(other, Stuck) or not other.victims:
            return by_design if isinstance(by_design, FoundPlaces) else other
        after = gang_price(self._queues, self._ledger, other.victims, view.now)
        before = None
        if isinstance(by_design, FoundPlaces):
            before = gang_price(self._queues, self._ledger, by_design.victims, view.now)
            if not is_better(after, before):
                return by_design
        view.improved = Improved(None, before, after)
        return other

    def _found(self, view: ApplicationView, *, by_design: bool) -> FoundPlaces | Stuck:
        with WorldTrial(self._world, self._queues.sync) as trial:
            trial.set_aside(view.application.members)
            self._queues.sync()
            order = self._largest_first(view.application.members)
            found = self._one_by_one(view, order, by_design=by_design)
            if isinstance(found, Stuck):  # the last one may take the queue above its guarantee: let it be the largest
                again = self._one_by_one(view, order[::-1], by_design=by_design)
                found = again if isinstance(again, FoundPlaces) else found
        return self._reprieved(view, found) if isinstance(found, FoundPlaces) else found

    def _one_by_one(
        self, view: ApplicationView, order: Sequence[PodFacts], *, ask: bool = True, by_design: bool = True
    ) -> FoundPlaces | Stuck:
        """Each member as a single pod, in a world in which those before it have their places."""
        found = FoundPlaces({}, [], [])
        with WorldTrial(self._world, self._queues.sync) as trial:
            for number, facts in enumerate(order):
                # How long it has waited is asked of the application, and not of a placeholder.
                since = max(view.now, facts.created + int(view.queue.delay * _SECOND))
                plan = decide(self._queues, facts, since, by_design=by_design)
                waits = plan.outcome == "Wait" and plan.waiting_for
                if plan.outcome != "Fits" and not (ask and (waits or plan.outcome == "Preempt")):
                    return Stuck(facts, plan, len(found.placement))
                for victim in plan.victims:
                    trial.take(key_of(victim.unit))
                trial.place(facts, plan.domain)
                found.placement[facts.unit] = plan.domain
                found.victims.extend(plan.victims)
                if plan.victims:
                    found = found._replace(before=tuple(order[:number]), last=facts)
                found.waiting_for.extend(unit for unit in plan.waiting_for if unit not in found.waiting_for)
        return found

    def _largest_first(self, members: Iterable[PodFacts]) -> list[PodFacts]:
        table = self._ledger.table
        totals = {name: max(int(table.allocatable[row].sum()), 1) for name, row in table.resources.items()}

        def size(facts: PodFacts) -> int:
            return max(units * 1_000_000 // totals.get(name, 1) for name, units in facts.requests.items())

        return sorted(members, key=lambda facts: (-size(facts), facts.created, facts.key))

    # 4. Who need not go

    def _reprieved(self, view: ApplicationView, found: FoundPlaces) -> FoundPlaces:
        """Without victims who need not go, and where everybody goes then."""
        victims = {victim.unit: victim for victim in found.victims}
        for unit in self._most_important_first(victims):
            others = [victim for victim in found.victims if victim.unit != unit]
            placement = self._with_gone(view, found._replace(victims=others))
            if placement:
                found = found._replace(victims=others, placement=placement)
        return found

    def _most_important_first(self, victims: dict[UnitName, Victim]) -> list[UnitName]:
        pods = [self._world.pods[key_of(unit)] for unit in victims]
        return [facts.unit for facts in sorted(pods, key=lambda facts: facts.importance)]

    def _with_gone(self, view: ApplicationView, found: FoundPlaces) -> dict[UnitName, str]:
        """Places for everybody once its victims, and all who leave already, have gone; nothing: not by the laws."""
        leaving = [facts.key for facts in self._world.pods.values() if facts.node and facts.pod.terminating]
        with WorldTrial(self._world, self._queues.sync) as trial:
            trial.set_aside(view.application.members)
            for key in (*leaving, *(key_of(victim.unit) for victim in found.victims)):
                trial.take(key)
            placement = self._free(view)
            lawful = not found.victims or self._under_guarantee(view, trial, placement, found)
            return placement if placement and lawful else {}

    def _under_guarantee(
        self, view: ApplicationView, trial: WorldTrial, placement: dict[UnitName, str], found: FoundPlaces
    ) -> bool:
        """Law 4: the last one that somebody leaves for comes while the queue is under its guarantee."""
        if not placement or found.last is None:
            return False
        for facts in found.before:
            trial.place(facts, placement[facts.unit])
        self._queues.sync()
        return laws.under_guarantee(laws.QueueClaim(found.last, view.queue))

    def domains(self, view: ApplicationView) -> Iterable[Sequence[str]]:  # noqa: ARG002 - as its members see it
        return [[CLUSTER]]

    def rules(self, view: ApplicationView, domain: str) -> list[QueueRule]:  # noqa: ARG002 - as its members have them
        return self._queues.rules(self._queues.view(self._speaker(view), view.now))

    def _speaker(self, view: ApplicationView) -> PodFacts:
        """The member that rules are told for: the one who found no place, or the largest."""
        if view.stuck is not None:
            return view.stuck.facts
        return self._largest_first(view.application.members)[0]

    def search(self, view: ApplicationView, domain: str, rules: Sequence[QueueRule]) -> OfferList:  # noqa: ARG002
        found = view.found
        if found is None:
            return OfferList()
        waiting = found.waiting_for
        return OfferList([Offer(domain, found.victims, found.placement, waiting_for=waiting, reserves=True)])

    def message(self, view: ApplicationView, offer: Offer) -> str:
        victims = [victim.unit for victim in offer.victims]
        return texts.task_groups.preempts(view.unit, len(offer.placement), self._missing(view), victims)

    def refusal(self, view: ApplicationView) -> HeldBack:
        stuck = view.stuck
        if stuck is None:
            raise LookupError(f"nothing was searched for {view.unit}")
        needed = len(view.application.members)
        message = texts.task_groups.unschedulable(view.unit, stuck.placed, needed, stuck.plan.message)
        return HeldBack("Unschedulable", message, claims=stuck.plan.claims, until=view.until)

    def remarks(self, view: ApplicationView, told: Told) -> list[Remark]:
        """The message says it all, but that it was looked for less."""
        improved = view.improved if told.outcome == "Preempt" else None
        return [] if improved is None else [self._queues.improved(improved)]

    # Explanations

    def judged(self, view: ApplicationView, told: Told) -> Iterator[Judged]:
        """What the rules say to the member that speaks for all."""
        table = self._ledger.table
        inner = self._queues.view(self._speaker(view), view.now)
        candidates = self._queues.judge(inner)
        for node in np.flatnonzero(~table.gone[: table.size]).tolist() if not told.brief else ():
            for rank, share in enumerate(table.residents[node]):
                for facts in share.pods:
                    reason = candidates.reason(rank, node, facts)
                    yield Judged(facts.unit, table.names[node], reason, CLUSTER)

    def stamp(self, view: ApplicationView) -> object:  # noqa: ARG002 - what the world is at
        return self._world.version

    def fingerprint(self) -> str:
        return self._ledger.fingerprint()


def _together(members: Sequence[PodFacts]) -> PodFacts:
    """All of them as if they were one pod, for what is asked of them together."""
    whole = copy.copy(members[0])
    for facts in members[1:]:
        whole.requests = whole.requests + facts.requests
    whole.nominated = ""
    return whole
