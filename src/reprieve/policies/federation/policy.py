"""The federation policy: Karmada's binding priority and preemption, as proposed.

1. Bindings are taken by priority, then in the order in which they came; without the gate, only in that order.
2. A binding goes where it fits without preemption, its affinity groups tried in order. Only when it fits nowhere, the
   gate is on and its own policy allows, does it preempt. Cluster-scoped bindings take no part, and a suspended one is
   not scheduled at all.
3. While those who were told to leave still do so, and their room is enough, it waits and asks nobody else. The place
   that it waits for is held against all who rank as it does or lower.
4. In a cluster, the gap is what the binding asks for above what is free there.
5. Bindings of the cluster are asked from the lowest priority up, as far as the rules allow (`rules`): one that covers
   the gap alone is taken alone, else they accumulate until they cover it, and those not needed are given back.
6. The cluster with the fewest victims is chosen, then the one whose victims rank lowest. Not enough: nobody goes.
7. A victim loses its result in that cluster only. In a cycle, later bindings see what earlier ones got and freed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reprieve.configuration import Settings
from reprieve.engine.claims import Claim, ClusterOut, ClusterShort
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.offers import HeldBack, Offer, Offers, Placed
from reprieve.engine.plan import Plan, Remark
from reprieve.engine.reasons import CheaperElsewhere, GateOff, NobodyAsked, Reason
from reprieve.engine.steps import Criterion
from reprieve.manifests.karmada import Cluster
from reprieve.model.names import UnitName, shown, unit_name
from reprieve.model.resources import Resources
from reprieve.policies.federation.alternatives import Freeing, freeing
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.commit import commit
from reprieve.policies.federation.constrained import SELECTION, free_selection
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.obstacles import missing_in, too_little_in
from reprieve.policies.federation.placement import Free, place
from reprieve.policies.federation.propagation_policies import policy_of
from reprieve.policies.federation.rules import BindingRule, judge, rules_for
from reprieve.policies.federation.search import ClusterOffers, ClusterSearch, fewest_then_lowest, free_every, free_one
from reprieve.policies.federation.several import SEVERAL, free_several
from reprieve.policies.federation.view import BindingTerms, BindingView
from reprieve.policies.federation.world import Federation
from reprieve.policies.improving import ImprovingPolicy
from reprieve.texts import federation as texts
from reprieve.texts.remarks import gate_off, is_off
from reprieve.world import World

EARLIER_GROUP = "EarlierAffinityGroup"
BY_PRIORITY, PREEMPTIVE = "PriorityBasedScheduling", "PriorityBasedPreemptiveScheduling"
"""The gates of the proposal."""
MOST_CLUSTERS = 3
"""So many are told in a sentence; details tell of all."""


class ClusterDomain(NamedTuple):
    """The clusters of an affinity group, and how they are freed: one of them, each of them, or several together."""

    clusters: Mapping[str, Cluster]
    free: Callable[[ClusterSearch], Offers]


class FederationPolicy(ImprovingPolicy):
    """Decides for bindings over the member clusters of one world."""

    name = "federation"

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.settings = settings
        self.federation = Federation(world, settings)

    def pending(self) -> list[BindingFacts]:
        """All that wait, in the order in which they are taken."""
        self.federation.refresh()
        by_priority = self.settings.gate(BY_PRIORITY)
        return sorted(
            (facts for facts in self.federation.bindings if facts.pending),
            key=lambda facts: (-facts.priority if by_priority else 0, facts.created, facts.unit),
        )

    def commit(self, made: Plan) -> None:
        """In the world that is looked at."""
        commit(self.federation, made)

    def view(self, preemptor: BindingFacts, now: int) -> BindingView:
        self.federation.refresh()
        return BindingView(self.federation.find(preemptor.unit) or preemptor, self.federation, now)

    # 2. Does it fit? May it preempt?

    def fits(self, view: BindingView) -> Placed | None:
        facts = view.facts
        if not facts.wants:
            clusters = list(facts.held)
            message = texts.already_scheduled(facts.unit, clusters)
            return Placed(message, ",".join(clusters), terms=BindingTerms(facts))
        division = _first_place(view, view.now) if facts.pending else None
        if division is None:
            return None
        grows = division and all(count >= 0 for count in division.values())
        where = division if grows else facts.after(division)
        terms = BindingTerms(facts, division)
        return Placed(texts.fits(facts.unit, where), ",".join(where), terms.placement, terms)

    def trigger(self, view: BindingView) -> HeldBack | None:
        facts = view.facts
        if facts.suspended:
            message = texts.suspended(facts.unit)
            return HeldBack("Unschedulable", message, terms=BindingTerms(facts), because=NobodyAsked("Suspended"))
        unresolved = self._unresolved(view)
        if facts.preemption_policy == "Never" and not unresolved:
            return _refused(view, texts.NEVER, NobodyAsked("Never"))
        if facts.binding.kind != "ResourceBinding":
            return _refused(view, texts.CLUSTER_SCOPED_PREEMPTOR, NobodyAsked())
        if not self.settings.gate(PREEMPTIVE):
            return _refused(view, texts.gate_off(is_off(PREEMPTIVE)), NobodyAsked("GateOff", PREEMPTIVE))
        if unresolved:
            return _refused(view, texts.NOT_RESOLVED, NobodyAsked("GateOff", BY_PRIORITY))
        return self._waits(view)

    # 3. Victims that are still leaving

    def _waits(self, view: BindingView) -> HeldBack | None:
        division = _first_place(view, view.soon) if view.soon != view.now else None
        if division is None:
            return None
        leaving = self._awaited(view, [name for name in division if view.soon[name] != view.now[name]])
        terms = BindingTerms(view.facts, division)
        return HeldBack(
            "Wait",
            texts.waits(view.unit, list(division), leaving),
            ",".join(division),
            terms.placement,
            waiting_for=leaving,
            terms=terms,
            because=NobodyAsked("Leaving"),
        )

    def _awaited(self, view: BindingView, clusters: list[str]) -> list[UnitName]:
        """Those who leave the clusters that it will go to."""
        units = (other.unit for name in clusters for other in self.federation.leaving(name) if other.unit != view.unit)
        return list(dict.fromkeys(units))

    # 4. to 6. Preemption

    def domains(self, view: BindingView) -> Iterator[Sequence[ClusterDomain]]:
        for group in view.groups:
            if view.facts.fixed:
                constrained = bool(view.facts.placement.spread_constraints)
                yield [ClusterDomain(group.clusters, free_selection if constrained else free_every)]
            else:
                yield [ClusterDomain(group.clusters, free_one)]
                yield [ClusterDomain(group.clusters, free_several)]

    def rules(self, view: BindingView, domain: ClusterDomain) -> list[BindingRule]:  # noqa: ARG002 - the same in every cluster
        return rules_for(view.facts, view.missing)

    def search(self, view: BindingView, domain: ClusterDomain, rules: Sequence[BindingRule]) -> Offers:
        view.searched.append(domain.clusters)
        return domain.free(ClusterSearch(view, domain.clusters, rules))

    def criteria(self, view: BindingView, offers: Offers) -> Sequence[Criterion]:  # noqa: ARG002
        return fewest_then_lowest(offers.priorities) if isinstance(offers, ClusterOffers) else []

    def alternatives(self, view: BindingView, chosen: Offer | None) -> Iterator[Freeing]:
        if view.searched:
            yield from freeing(self._last_search(view), chosen)

    def _last_search(self, view: BindingView) -> ClusterSearch:
        return ClusterSearch(view, view.searched[-1], rules_for(view.facts, view.missing))

    def models(self, view: BindingView) -> Iterator[LinearModel]:
        if view.searched:
            yield from (each.model() for each in freeing(self._last_search(view), None, most=None))

    def message(self, view: BindingView, offer: Offer) -> str:
        terms: BindingTerms = offer.terms
        victims = [victim.unit for victim in offer.victims]
        return texts.preempts(view.unit, list(offer.costs), victims, terms.gap, terms.division)

    def refusal(self, view: BindingView) -> HeldBack:
        return _refused(view)

    def remarks(self, view: BindingView, told: Told) -> list[Remark]:
        """That the class of its policy is not resolved, where it might have preempted with it."""
        named = self._unresolved(view) if told.outcome != "Fits" else ""
        return [gate_off(GateOff(BY_PRIORITY, named))] if named else []

    def _unresolved(self, view: BindingView) -> str:
        """The policy that asks for a priority which counts for nothing, because the gate is off."""
        binding = view.facts.binding
        if self.settings.gate(BY_PRIORITY) or binding.spec.schedule_priority is not None:
            return ""
        policy = policy_of(self.world, binding)
        asks = policy is not None and policy.spec.schedule_priority is not None
        return shown(unit_name(policy.kind, policy.namespace, policy.name)) if policy is not None and asks else ""

    # Explanations

    def judged(self, view: BindingView, told: Told) -> Iterator[Judged]:
        if told.outcome == "Fits":
            return
        rules = rules_for(view.facts, _missing(view, told))
        for name in told.chosen.costs if told.brief and told.chosen is not None else view.reach:
            for other, reason in judge(rules, self.federation.in_cluster(name)):
                if other.unit == view.unit:  # the part of it that runs
                    continue
                yield Judged(other.unit, name, reason or _not_asked(view, told, name), leaves=name in other.leaving)

    def obstacles(self, view: BindingView, told: Told) -> dict[str, Claim]:
        """Clusters out of reach, then those that could not be freed; none where it has a place, waits for one, or is
        suspended."""
        if told.outcome in ("Fits", "Wait") or view.facts.suspended:
            return {}
        offers = told.offers.all() if told.offers is not None else ()
        offered = {name for offer in offers for name in offer.costs}
        out = {name: ClusterOut(cluster=name, why=why) for name, why in view.out_of_reach.items()}
        placed = told.chosen is not None
        return {**out, **{name: _obstacle(view, name, placed=placed) for name in view.reach if name not in offered}}

    def stamp(self, view: BindingView) -> object:  # noqa: ARG002 - one world for all views
        return self.world.version

    def fingerprint(self) -> str:
        return str(sorted(self.federation.free.items())) if self.settings.validate else ""


def _first_place(view: BindingView, free: Free) -> Division | None:
    """Where its replicas go in the first affinity group that has room for them."""
    places = (place(view.facts, group.clusters, free) for group in view.groups)
    return next((division for division in places if division is not None), None)


def _not_asked(view: BindingView, told: Told, cluster: str) -> Reason | None:
    """Why a cluster was not searched, or not freed though it could have had a part in it."""
    if told.chosen is None:
        return told.because if told.offers is None else None
    if not any(cluster in clusters for clusters in view.searched):
        return CheaperElsewhere(told.chosen.domain, EARLIER_GROUP)
    spans = told.criterion in (SEVERAL, SELECTION) and cluster not in told.chosen.costs
    return CheaperElsewhere(told.chosen.domain, told.criterion) if spans else None


def _obstacle(view: BindingView, cluster: str, *, placed: bool = False) -> ClusterShort | ClusterOut:
    """Why a cluster within reach has no offer."""
    rules = rules_for(view.facts, view.missing)
    groups = view.searched or [group.clusters for group in view.groups]
    search = next((ClusterSearch(view, clusters, rules) for clusters in groups if cluster in clusters), None)
    if search is None:
        return ClusterOut(cluster=cluster, why="LaterGroup")
    return too_little_in(search, cluster, placed=placed) if view.searched else missing_in(search, cluster, view.now)


def _missing(view: BindingView, told: Told) -> Callable[[str], Resources]:
    """What the clusters lack: for a search what they will lack soon, without one what they lack now."""
    return view.missing if told.offers is not None else view.missing_now


def _refused(view: BindingView, why: str = "", because: NobodyAsked | None = None) -> HeldBack:
    """What its clusters lack, of as many as a sentence holds; and `why` it preempts nobody, if that is not all."""
    shown = view.reach[:MOST_CLUSTERS] or sorted(view.out_of_reach)[:MOST_CLUSTERS]
    out = view.out_of_reach
    claims = [ClusterOut(cluster=name, why=out[name]) if name in out else _obstacle(view, name) for name in shown]
    more = len(view.reach or out) - len(shown)
    message = texts.unschedulable(view.unit, claims, more, why)
    return HeldBack("Unschedulable", message, terms=BindingTerms(view.facts), because=because, claims=claims)
