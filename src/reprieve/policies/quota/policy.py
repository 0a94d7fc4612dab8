"""The quota policy: Kueue, KEP-83.

1. A workload gets flavors (`flavors`), smaller where it allows that and does not fit whole (`nomination`). Where all of
   it fits, and earlier heads of its cycle leave it that, it preempts nobody.
2. It does not preempt where no flavor could hold it, nor before the time it has to wait for, nor while a preemption
   gate of its own is closed.
3. Its domain is what it needs of the flavors it would get. Where an earlier head has claimed its victims, it is
   nominated once more on the same flavors, without them.
4. Rules protect workloads (`rules`).
5. Others are removed until it fits and given back while it does (`classical`, or `fair_sharing` where that is on).
   Those who were evicted before are counted on, and waited for.
6. There is nothing to choose: flavors were rated when they were assigned.
7. In a cycle each head takes what its plan says, for the heads after it to see (`cycle`, `earlier_heads`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reprieve import texts
from reprieve.engine.claims import Claim, Protected, WorkloadsStay
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.offers import HeldBack, Offer, OfferList, Placed
from reprieve.engine.plan import Remark, Victim
from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.engine.reasons import Because, NobodyAsked, NoFlavor, QuotaTaken, Reason
from reprieve.manifests.kueue_annotations import boost, ends_when_preempted
from reprieve.policies.improving import ImprovingPolicy
from reprieve.policies.quota import classical, fair_sharing
from reprieve.policies.quota.alternatives import models
from reprieve.policies.quota.assignments import FIT, NO_FIT, FlavorDemand, Forced
from reprieve.policies.quota.candidates import Reach
from reprieve.policies.quota.claims import quota_short
from reprieve.policies.quota.fair_rules import FairRules
from reprieve.policies.quota.rules import ClassicalRules
from reprieve.policies.quota.search import Candidate, Rules, Without
from reprieve.policies.quota.searching import Searches
from reprieve.policies.quota.topology_requests import topology_short
from reprieve.policies.quota.view import Nomination, PendingWorkload, WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld


class QuotaPolicy(ImprovingPolicy):
    """Decides for quota workloads over one world."""

    name = "quota"

    def __init__(self, quota: QuotaWorld) -> None:
        self.quota = quota
        self.settings = quota.settings

    def view(self, preemptor: PendingWorkload | WorkloadView, now: int) -> WorkloadView:
        """In a cycle it was made before, to find its turn."""
        return preemptor if isinstance(preemptor, WorkloadView) else WorkloadView(self.quota, preemptor, now)

    # 1. and 2. Does it fit? May it preempt?

    def fits(self, view: WorkloadView) -> Placed | None:
        if not view.nominated:
            view.nominate(self.nominate(view))
        if view.assignment.mode != FIT or not self._may_take(view) or self._blocked(view):
            return None
        places = [domain for placed in view.placed.values() for domain in placed.domains]
        message = texts.quota.quota_fits(view.unit, view.queue.name, _flavors(view), places)
        return Placed(message, view.assignment.demand.name, terms=view.terms(takes=True))

    def nominate(self, view: WorkloadView) -> Nomination:
        steps = 0 if self._to_the_letter else super().search_steps()
        found = Searches(self.rules, steps).nominate(view)
        if found.found is not None and not found.found.victims:
            # Said of the tree that it was nominated over, and not of what earlier heads took of it since.
            demand = found.assignment.demand
            view.short = self._short(view, demand)
        return found

    def _short(self, view: WorkloadView, demand: FlavorDemand) -> list[Claim]:
        """What it lacks: quota, or a place."""
        places = topology_short(self.quota, demand.places)
        keys = sorted(demand.contested)
        if places:  # then what is contested may be so for lack of a place alone
            keys = [key for key in keys if demand.usage[key] > max(0, view.queue.available(key))]
        return [*(quota_short(view.queue, key, demand.usage[key]) for key in keys), *places]

    def _may_take(self, view: WorkloadView) -> bool:
        """Whether earlier heads leave it what it would get, now and once their victims are gone."""
        return (
            view.earlier.may_borrow(view.facts, view.queue, view.assignment)
            and self._enough_left(view)
            and view.earlier.leave_now(view.queue, view.assignment.usage)
            and self._has_places(view)
        )

    def _has_places(self, view: WorkloadView) -> bool:
        """Whether its pods have a place at once, in the topologies of its flavors."""
        found = view.earlier.places.place(self.quota.topology, view.assignment.demand.places)
        view.placed = found or {}
        return found is not None

    def _enough_left(self, view: WorkloadView) -> bool:
        usage, places = view.assignment.usage, view.assignment.demand.places
        enough = view.earlier.leave(view.queue, usage, view.gone)
        return enough and view.earlier.places.leave(self.quota.topology, places, view.gone.values())

    def _blocked(self, view: WorkloadView) -> str:
        """Who has to be ready first, where nobody is admitted before all who were are ready; empty: nobody."""
        if not self.settings.wait_for_pods_ready.blocks:
            return ""
        unready = self.quota.not_ready()
        if unready:
            return texts.quota.waits_for_ready(unready)
        return texts.quota.ONE_AT_A_TIME if view.earlier.admitted_any else ""

    def trigger(self, view: WorkloadView) -> HeldBack | None:
        if not view.earlier.may_borrow(view.facts, view.queue, view.assignment):
            return _wait(view, texts.quota.NO_MORE_BORROWING)
        if view.assignment.mode == FIT:
            if self._may_take(view) and (why := self._blocked(view)):
                return _wait(view, why, takes=True)
            if self._enough_left(view):
                return _wait(view, texts.quota.ONCE_THEY_LEFT, takes=True)
            return _wait(view, self._taken(view))
        if view.assignment.mode == NO_FIT:
            return _refuse(view, view.assignment.claims)._replace(because=NoFlavor(tuple(view.assignment.claims)))
        return None

    # 3. to 6. The search

    def domains(self, view: WorkloadView) -> Iterator[Sequence[FlavorDemand]]:
        yield [view.assignment.demand]
        if view.claimed_before and view.gate("RecomputeAssignmentUponPreemptionTargetsOverlap"):
            self._nominate_again(view)
            yield [view.assignment.demand]

    def _nominate_again(self, view: WorkloadView) -> None:
        """On the same flavors, with everybody who was claimed gone and nobody's candidate any more."""
        view.again, view.forced, view.found = True, Forced(view.assignment.by_resource), None
        present = list(view.earlier.present())
        with Without(present), view.earlier.places.applied(self.quota.topology, present):
            view.nominate(self.nominate(view))

    def rules(self, view: WorkloadView, domain: FlavorDemand) -> Rules:
        if view.found is not None and view.found.domain == domain:
            return view.found.rules  # by which flavors were rated
        fair = self.settings.fair_sharing.enable
        return fair_sharing.rules_of(view, domain) if fair else classical.rules_of(view, domain)

    def search(self, view: WorkloadView, domain: FlavorDemand, rules: Sequence[Any]) -> OfferList:  # noqa: ARG002
        """What was found when flavors were rated by these rules, if it may be acted upon."""
        view.refusal = self._refusal(view)
        return OfferList() if view.refusal is not None else OfferList([_offer(view, domain)])

    @property
    def _to_the_letter(self) -> bool:
        """Whoever wants KEP-83 as it was written wants its order, too, unless they say otherwise."""
        return self.settings.quota.design == "KEP-83" and self.settings.search is None

    def search_steps(self) -> int:
        """What costs less has been found when flavors were rated."""
        return 0

    def models(self, view: WorkloadView) -> Iterator[LinearModel]:
        found = view.found
        if found is None or not isinstance(found.rules, ClassicalRules) or view.promised:
            return
        if found.domain.contested:
            yield from models(view, found, found.rules)

    def protection(self, view: WorkloadView, domain: FlavorDemand) -> Callable[[WorkloadFacts], Reason | None]:
        """What protects workloads from this one in a domain, before anybody has left."""
        rules = self.rules(view, domain)
        if isinstance(rules, FairRules):
            return fair_sharing.FairProtection(view, domain, rules)
        return Reach(view, domain, rules).protection

    def message(self, view: WorkloadView, offer: Offer) -> str:
        units = [victim.unit for victim in offer.victims]
        return texts.quota.quota_preempts(view.unit, view.queue.name, units, _takings(view))

    # Nothing to be done, or not yet

    def refusal(self, view: WorkloadView) -> HeldBack:
        return view.refusal or self._nobody_may_go(view)

    def _nobody_may_go(self, view: WorkloadView) -> HeldBack:
        return _refuse(view, [*view.short, self._stay(view)])

    def _stay(self, view: WorkloadView) -> WorkloadsStay:
        """How many workloads of the tree may be preempted, and which rule protects the others."""
        rules = self._protecting(view)
        most_first = sorted(rules.items(), key=lambda item: (-item[1], item[0]))
        protected = [Protected(rule, number) for rule, number in most_first if rule]
        return WorkloadsStay(candidates=rules[""], protected=tuple(protected))

    def _protecting(self, view: WorkloadView) -> Counter[str]:
        """Counted once for all who share what was found."""
        if view.found is None:
            return self._counted_singly(view)
        asked = view.found.asked
        if asked.counted is None:
            personal = view.found.rules.eligible.personal
            census = None if personal else self.quota.census(view.queue.root)
            asked.counted = census.protecting(view.found, view.queue) if census else self._counted_singly(view)
        return asked.counted

    def _counted_singly(self, view: WorkloadView) -> Counter[str]:
        return Counter(one.reason.rule if one.reason is not None else "" for one in self._residents(view))

    def _refusal(self, view: WorkloadView) -> HeldBack | None:
        victims, until = view.gone, view.waits_until
        if not victims and not view.again:
            return self._nobody_may_go(view)
        if victims and until is not None:
            return _wait(view, texts.quota.may_preempt_from(until), because="NotYet")
        if victims and (gates := view.facts.workload.closed_gates):
            held = _wait(view, texts.quota.gates_closed(gates), because="NotYet")
            return held._replace(terms=held.terms._replace(gates=gates))
        if view.claimed_before or (not victims and view.assignment.mode < FIT):
            return _wait(view, texts.quota.VICTIMS_CLAIMED)
        if not self._enough_left(view):
            return _wait(view, self._taken(view))
        if not victims:
            return _wait(view, texts.quota.VICTIMS_CLAIMED, takes=True)
        if len(view.leaving) == len(victims):
            return _wait(view, takes=True)
        return None

    def remarks(self, view: WorkloadView, told: Told) -> list[Remark]:
        """Gates that are off and would have been of use to a workload that is not admitted."""
        if told.outcome == "Fits":
            return []
        less = view.found.improved if view.found is not None and told.outcome == "Preempt" else None
        if more := boost(view.facts.workload.metadata.annotations):
            view.gate("PriorityBoost", str(more))
        said = [] if less is None else [self.improved(less)]
        return [*said, *map(texts.remarks.gate_off, view.off.values())]

    def _taken(self, view: WorkloadView) -> str:
        """Why there is not enough left."""
        queues = view.earlier.reserving(view.queue, view.assignment.usage, view.gone)
        return texts.quota.reserved_by(queues) if queues else texts.quota.QUOTA_TAKEN

    # Explanations

    def judged(self, view: WorkloadView, told: Told) -> Iterator[Judged]:
        """Everybody who is admitted in the same tree, with what the rules said when they were asked."""
        return self._residents(view, told.chosen.domain if told.chosen is not None else "")

    def _residents(self, view: WorkloadView, domain: str = "") -> Iterator[Judged]:
        for name, workloads in self.quota.admitted.items():
            if self.quota.queues[name].root is view.queue.root:
                for facts in workloads:
                    yield Judged(facts.unit, name, _protection(view, facts), domain)

    def stamp(self, view: WorkloadView) -> object:  # noqa: ARG002 - one world for all
        return self.quota.world.version

    def fingerprint(self) -> str:
        return self.quota.fingerprint() if self.settings.validate else ""


def _protection(view: WorkloadView, facts: WorkloadFacts) -> Reason | None:
    if view.found is None:
        return None
    return view.earlier.reason(facts, view.found.protection(facts), view.found.domain.contested)


def _offer(view: WorkloadView, domain: FlavorDemand) -> Offer:
    found = view.found.victims if view.found is not None else []
    victims = [_victim(view, item) for item in found if not item.facts.evicted]
    return Offer(domain.name, victims, waiting_for=view.leaving, terms=view.terms(takes=True))


def _victim(view: WorkloadView, item: Candidate) -> Victim:
    queue = item.facts.queue.name if item.facts.queue is not None else ""
    reason = QuotaTaken(item.right, queue, view.queue.name, item.facts.boosted, view.facts.boosted)
    return Victim(item.facts.unit, reason, ends=ends_when_preempted(item.facts.workload))


def _wait(view: WorkloadView, why: str = "", *, takes: bool = False, because: Because = "Turn") -> HeldBack:
    """`why` is empty where it waits for nothing but those who leave already; mostly it is for other heads' sake."""
    unit, queue = view.unit, view.queue.name
    return HeldBack(
        "Wait",
        texts.quota.quota_refused(unit, queue, why) if why else texts.pods.waits_for_victims(unit, queue, view.leaving),
        view.assignment.demand.name,
        waiting_for=view.leaving,
        until=view.waits_until,
        terms=view.terms(takes=takes),
        because=NobodyAsked(because if why else "Leaving"),
    )


def _refuse(view: WorkloadView, claims: Sequence[Claim]) -> HeldBack:
    message = texts.quota.unschedulable(view.unit, view.queue.name, claims)
    return HeldBack("Unschedulable", message, view.assignment.demand.name, terms=view.terms(), claims=claims)


def _flavors(view: WorkloadView) -> str:
    return ", ".join(sorted({f"{resource} on {item.flavor}" for _, resource, item in view.assignment}))


def _takings(view: WorkloadView) -> list[str]:
    """What of its request is taken from each other queue, and what that is left with."""
    taken: dict[QuotaNode, dict[FlavorResource, int]] = {}
    contested = view.assignment.demand.contested
    for facts in view.gone.values():
        if facts.queue is not None and facts.queue is not view.queue and not facts.evicted:
            amounts = taken.setdefault(facts.queue, {})
            for key in contested:
                amounts[key] = amounts.get(key, 0) + facts.usage.get(key, 0)
    asked, sentences = dict(view.assignment.usage), []
    for queue, amounts in taken.items():
        for key, given in sorted(amounts.items()):
            amount = min(given, asked[key])
            asked[key] -= amount
            if amount:
                used, nominal = view.earlier.used_before(queue, key), queue.quota(key).nominal
                sentences.append(texts.quota.taken_from(queue.name, key[1], amount, used, nominal, used - given))
    return sentences
