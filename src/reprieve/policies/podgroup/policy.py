"""The podgroup policy: KEP-5710, workload-aware preemption.

1. A group that fits as it is preempts nobody. At least minCount of its pods are placed (without gang: one), and as many
   more as can be. Pods above minCount are optional; without gang none is.
2. A group whose policy is Never preempts nobody. While victims still leave a node that one of its pods is nominated
   to, nothing new is chosen, unless the places can no longer be had: nobody below the group can take them from it.
3. Domains: the whole cluster, or each topology domain where the group asks for one.
4. Potential victims: units of lower preemption priority, also those that reach outside the domain.
5. Units whose budget would break are reprieved first, as far as the group can be placed without them.
6. By binary search the lowest priority N is found such that those of the group who are not optional can be placed with
   nobody above N touched.
7. They are placed with only units up to N making way; then as many optional pods as can be, also with nobody above N
   touched, and with no budget broken for them. Optional pods that come later go by the same N: the hold remembers it.
8. Victims are given back, those first whose budget would break, then by importance, each unit whole or not at all, as
   long as all pods keep their place.
9. Of several domains the cheapest is chosen, by the criteria of the pod policy over all victims.
Nothing is preempted for a group that cannot be placed.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from reprieve import texts
from reprieve.engine.alternatives import Alternatives
from reprieve.engine.claims import Claim, GangBudget, GangShort
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.nodes.columns import SHIFT
from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.left_out import StaysOnNodesLeftOut
from reprieve.engine.nodes.lost_work import LostWork
from reprieve.engine.nodes.pool import NodeRule
from reprieve.engine.nodes.rules import NobodyAbove, NobodyAboveEarlier, missing_classes, preemption_rules
from reprieve.engine.nodes.trial import Gang, Trial
from reprieve.engine.nodes.units import Unit
from reprieve.engine.offers import HeldBack, Offer, OfferList, Offers, Placed
from reprieve.engine.plan import Plan, Remark, Victim
from reprieve.engine.reasons import LowerPriority, MissingClass, NobodyAsked
from reprieve.engine.steps import TIE_BREAK, Criterion
from reprieve.model.names import UnitName
from reprieve.policies.improving import ImprovingPolicy
from reprieve.policies.on_nodes import members_left_out
from reprieve.policies.podgroup.alternatives import GroupAlternatives
from reprieve.policies.podgroup.explanation import judged, obstacles, shortage
from reprieve.policies.podgroup.groups import PREEMPTION_POLICY, Group
from reprieve.policies.podgroup.search import DomainSearch, FoundInDomain
from reprieve.policies.podgroup.view import Domain, GroupView
from reprieve.world import NEVER, PodFacts

CLUSTER = "cluster"


class PodGroupPolicy(ImprovingPolicy):
    """Decides for groups of pods."""

    name = "podgroup"

    def __init__(self, ledger: NodeLedger) -> None:
        self._ledger = ledger
        self.settings = ledger.settings
        self._table = ledger.table

    def view(self, preemptor: Group, now: int) -> GroupView:
        self._ledger.sync()
        gang = preemptor.gang
        search = DomainSearch(self._ledger, gang)
        return GroupView(preemptor, search, self._domains(gang), self._rules(gang, now), now)

    def _domains(self, gang: Gang) -> list[Domain]:
        everywhere = ~self._table.gone[: self._table.size]
        if not gang.topology_key:
            return [Domain(CLUSTER, everywhere)]
        codes, values = self._ledger.labels.column(gang.topology_key)
        # Pods that have their place already have chosen the domain for the rest.
        there = [self._table.where(facts.node) for facts in gang.bound]
        chosen = {int(codes[node]) for node in there if node is not None}
        return [
            Domain(f"{gang.topology_key}={value}", everywhere & (codes == code))
            for value, code in sorted(values.items())
            if chosen <= {code}
        ]

    def still_fits(self, group: Group, facts: PodFacts, node: str) -> bool:
        """Whether a pod of a group, of which others have their places, fits on the node that was chosen for it."""
        self._ledger.sync()
        gang = group.gang
        within = np.logical_or.reduce([domain.nodes for domain in self._domains(gang)])
        together = frozenset(member.key for member in gang.members)
        return self._ledger.fits_on(facts, node, priority=gang.priority, within=within, apart_from=together)

    def _rules(self, gang: Gang, now: int, *, patience: bool = False) -> list[NodeRule]:
        classes, own = self._ledger.world.classes, self._ledger.own(next(iter(gang.members), None))
        rules = preemption_rules(self._table, classes, gang.priority, now, own=own, patience=patience)
        rules.append(StaysOnNodesLeftOut(self._table, rules))
        if not gang.entitled and gang.ceiling is not None:
            rules.append(NobodyAboveEarlier(gang.ceiling))
        return rules

    # 1. Fits

    def fits(self, view: GroupView) -> Placed | None:
        """Places for as many as can be without asking anybody, in the domain that takes most of them."""
        gang = view.gang
        best: dict[UnitName, str] = {}
        where = ""
        for domain in view.domains if not view.group.refused else ():
            with Trial(self._table) as trial:
                placed = view.search.placer(domain.nodes).place(trial, None)
                view.placed = max(view.placed, placed)
                if placed > max(len(best), gang.required - 1):
                    best, where = trial.placement(), domain.name
        return Placed(texts.groups.group_fits(gang.name, len(best), len(gang.members)), where, best) if best else None

    # 2. May it preempt?

    def trigger(self, view: GroupView) -> HeldBack | None:
        if view.group.refused:
            return HeldBack("Unschedulable", view.group.refused, because=NobodyAsked())
        if view.group.never_preempts:
            claim = GangShort(placed=view.placed, required=view.gang.required, asked=False)
            message = texts.groups.never_preempts(view.unit, claim)
            return HeldBack("Unschedulable", message, because=NobodyAsked("Never"), claims=[claim])
        return self._ongoing(view) or self._optional(view)

    def _optional(self, view: GroupView) -> HeldBack | None:
        """Nobody made way for the pods that the group needs: so nobody does for those it can do without."""
        if view.gang.entitled or view.gang.ceiling is not None:
            return None
        return self._for_free_room(view, [NobodyAbove(-NEVER)])

    def _for_free_room(self, view: GroupView, rules: Sequence[NodeRule]) -> HeldBack:
        """Pods that the group can do without wait, and what they lack if everybody whom the rules allow made way."""
        gang = view.gang
        short = [view.search.placer(domain.nodes).shortage(rules) for domain in view.domains]
        lacks = {name: units for each in short[:1] for name, units in each.items()}
        message = texts.groups.optional_pods_wait(view.unit, len(gang.members), gang.ceiling, lacks)
        return HeldBack("Unschedulable", message, because=NobodyAsked("Optional"))

    def _ongoing(self, view: GroupView) -> HeldBack | None:
        """Wait for victims that are still leaving, as long as the places chosen for the group can still be had."""
        gang = view.gang
        nominated = [facts for facts in gang.members if facts.nominated]
        nodes = sorted({facts.nominated for facts in nominated})
        if any(self._table.where(name) is None for name in nodes):
            return None
        lower = [
            share
            for name in nodes
            for share in self._table.residents[self._table.index[name]]
            if share.unit.priority < gang.priority
        ]
        leaving = {
            facts.unit: share.unit for share in lower for facts in share.pods if facts.pod.terminating_by_preemption
        }
        if not leaving or not view.domains:
            return None
        placer = view.search.placer(np.logical_or.reduce([domain.nodes for domain in view.domains]))
        # Those who are leaving are enough; or others below the group came, and they cannot keep its place from it.
        chosen, anybody = list(leaving.values()), [share.unit for share in lower]
        if not self._can_be_had(placer, nominated, chosen) and not self._can_be_had(placer, nominated, anybody):
            return None
        message = texts.pods.waits_for_victims(view.unit, texts.parts.listed(nodes), list(leaving))
        return HeldBack("Wait", message, waiting_for=list(leaving), because=NobodyAsked("Leaving"))

    def _can_be_had(self, placer: GangPlacer, nominated: list[PodFacts], gone: list[Unit]) -> bool:
        """Whether every pod would fit where it is nominated once some units have gone."""
        with Trial(self._table) as trial:
            for unit in gone:
                trial.evict(unit)
            for facts in nominated:
                if not placer.view(facts).fits[self._table.index[facts.nominated]]:
                    return False
                trial.place(facts, facts.nominated, placer.gang.priority)
        return True

    # 3. to 9. The search in each domain, and the choice

    def domains(self, view: GroupView) -> Iterable[Sequence[Domain]]:
        return [view.domains]

    def rules(self, view: GroupView, domain: Domain) -> list[NodeRule]:  # noqa: ARG002 - the same in all domains
        return view.rules

    def search(self, view: GroupView, domain: Domain, rules: Sequence[NodeRule]) -> OfferList:
        found = view.found[domain.name] = view.search.victims(domain.nodes, rules)
        return OfferList([] if found is None else [self.offer(view, domain, found)])

    def offer(self, view: GroupView, domain: Domain, found: FoundInDomain) -> Offer:
        victims = [
            Victim(
                facts.unit, LowerPriority(unit.priority, view.gang.priority), unit.key in found.violations, unit.group
            )
            for unit in found.victims
            for facts in unit.pods
        ]
        violations = sum(found.violations.values())
        return Offer(domain.name, victims, found.placement, violations, terms=found)

    def alternatives(self, view: GroupView, chosen: Offer | None) -> Iterator[Alternatives[Unit]]:
        for domain in view.domains:
            found = view.found.get(domain.name)
            others = view.search.alternatives(domain.nodes, view.rules, found, view.now)
            if others is not None:
                taken = chosen is not None and chosen.domain == domain.name
                yield GroupAlternatives(view.search, others, found, partial(self.offer, view, domain), taken=taken)

    def models(self, view: GroupView) -> Iterator[LinearModel]:
        for domain in view.domains:
            found = view.found.get(domain.name)
            others = view.search.alternatives(domain.nodes, view.rules, found, view.now, everybody=True)
            model = others.model() if others is not None else None
            if model is not None:
                yield model

    def criteria(self, view: GroupView, offers: Offers) -> list[Criterion]:
        """The pod policy's criteria, over all pods of all victims of a domain."""
        found: list[FoundInDomain] = [offer.terms for offer in offers.all()]
        pods = [[facts for unit in one.victims for facts in unit.pods] for one in found]
        top = [max((facts.priority for facts in victims), default=0) for victims in pods]
        starts = [
            min((facts.start for facts in victims if facts.priority == highest), default=NEVER)
            for victims, highest in zip(pods, top, strict=True)
        ]
        columns = {
            "FewestBudgetViolations": [sum(one.violations.values()) for one in found],
            "LowestHighestPriority": top,
            "SmallestSumOfPriorities": [sum(facts.priority + SHIFT for facts in victims) for victims in pods],
            "FewestVictims": [len(victims) for victims in pods],
            "LatestStart": [-start for start in starts],
        }
        if self.settings.search != "Design" and self.settings.asks_for_lost_work:
            work = LostWork(self._ledger, view.now)
            columns["LeastLostWork"] = [work.of(victims) for victims in pods]
        columns[TIE_BREAK] = list(range(len(found)))
        return [Criterion(name, np.array(values, dtype=np.int64)) for name, values in columns.items()]

    def message(self, view: GroupView, offer: Offer) -> str:
        units = [unit.name for unit in offer.terms.victims]
        members = len(view.gang.members)
        return texts.groups.group_preempts(view.unit, len(offer.placement), members, units, len(offer.victims))

    # Nothing to be done, or not yet

    def refusal(self, view: GroupView) -> HeldBack:
        if self._waits(view):
            soonest = min(rule.good_until() for rule in view.rules)
            until = soonest if soonest < NEVER else None
            return HeldBack("Wait", texts.pods.waits_for_toleration(view.unit, until), until=until)
        if not view.gang.entitled:
            return self._for_free_room(view, view.rules)
        claim = shortage(view)
        because = NobodyAsked("Budget") if isinstance(claim, GangBudget) else None
        message = texts.groups.group_unschedulable(view.unit, claim)
        return HeldBack("Unschedulable", message, because=because, claims=[claim])

    def _waits(self, view: GroupView) -> bool:
        """Whether it could preempt if tolerations that are limited in time were over."""
        patient = self._rules(view.gang, 0, patience=True)
        everywhere = np.arange(self._table.size)
        placer = view.search.placer(~self._table.gone[: self._table.size])
        more = placer.allowed(patient, everywhere) & ~placer.allowed(view.rules, everywhere)
        return bool(more.any()) and any(view.search.victims(domain.nodes, patient) for domain in view.domains)

    def remarks(self, view: GroupView, told: Told) -> list[Remark]:
        """Gates that are off; a policy Never that does not count only where it preempts. Classes that are missing."""
        off = [each for each in view.group.off if each.gate != PREEMPTION_POLICY or told.outcome == "Preempt"]
        missing = self._missing_classes(view) if told.offers is not None else []
        left_out = members_left_out(self._ledger.world, view.gang.members)
        return [*map(texts.remarks.gate_off, off), *map(texts.remarks.missing_class, missing), *left_out]

    def _missing_classes(self, view: GroupView) -> list[MissingClass]:
        inside = [domain.nodes for domain in view.domains]
        return missing_classes(self._table, view.rules, np.logical_or.reduce(inside)) if inside else []

    def judged(self, view: GroupView, told: Told) -> Iterator[Judged]:
        return judged(self._table, view, told)

    def obstacles(self, view: GroupView, told: Told) -> dict[str, Claim]:
        return obstacles(self._table, view, told)

    def stamp(self, view: GroupView) -> object:  # noqa: ARG002 - what the world is at
        return self._ledger.world.version

    def fingerprint(self) -> str:
        return self._ledger.fingerprint()


def limit_of(group: Group, plan: Plan) -> int | None:
    """What a hold remembers of a group: the highest priority that made way for the pods it needs."""
    if isinstance(plan.terms, FoundInDomain) and group.gang.entitled:
        return plan.terms.highest
    return group.gang.ceiling
