"""The pod policy: kube-scheduler's preemption, with preemption toleration.

1. A pod that fits somewhere preempts nobody; nominated pods of equal or higher priority count as present.
2. A pod whose policy is Never preempts nobody. While victims chosen for it still leave its nominated node, it waits.
3. Domains: every node that is in reach; what taints, cordons, selectors and affinity rule out stays out.
4. Candidates on a node: pods of strictly lower priority that do not tolerate the preemptor. A lower pod takes its node
   out when its priority class is unknown, or says what it tolerates in something other than numbers.
5. All candidates are removed. Where the pod still does not fit, the node is out.
6. Candidates are given back while the pod fits: first those whose budget would break, then the others, each from the
   most important down: higher priority, then earlier start.
7. The node is chosen by: fewest broken budgets; lowest priority of the most important victim; smallest sum of
   priorities; fewest victims; latest start of the longest running among the most important victims; then the
   oldest node, then its name.
8. Where only tolerations that run out stand in the way, the pod waits for the first of them.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import Claim, NoNodes
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.exposure import Exposure, Overcommitted
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.nodes.exposure import overcommitted_nodes
from reprieve.engine.nodes.gang_alternatives import GangAlternatives
from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.leavers import Leavers
from reprieve.engine.nodes.ledger import MOST_SHAPES, NOWHERE, NodeLedger
from reprieve.engine.nodes.lost_work import LostWork
from reprieve.engine.nodes.obstacles import without_asking
from reprieve.engine.nodes.pool import NodeRule, Ranked
from reprieve.engine.nodes.reach import REACHED
from reprieve.engine.nodes.rules import judge, missing_classes, preemption_rules
from reprieve.engine.nodes.trial import Gang
from reprieve.engine.nodes.victims import VictimSearch
from reprieve.engine.nodes.view import NodeView
from reprieve.engine.offers import HeldBack, Offer, Offers, Placed
from reprieve.engine.plan import Plan, Remark, Victim
from reprieve.engine.preemption import BasePolicy, decide, has_place
from reprieve.engine.reasons import LowerPriority, NobodyAsked
from reprieve.engine.steps import TIE_BREAK, Criterion, choose, equals
from reprieve.manifests.pods import Pod
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Entry, Ground, Known, Preemptor
from reprieve.policies.on_nodes import (
    ON_NODES,
    carried_priorities,
    commit_pods,
    exposure_on_nodes,
    group_counts_for_nothing,
    known_pod,
    take_back,
    waiting_pod,
)
from reprieve.texts import pods as texts
from reprieve.texts.remarks import missing_class
from reprieve.world import NEVER, PodFacts

NodesAtOnce = str
"""The one domain of this policy stands for all nodes, which are searched together."""
ALL_NODES: NodesAtOnce = "nodes"


class PodView:
    """All nodes as one pod finds them at one moment, and the search over them as far as it was made."""

    def __init__(self, facts: PodFacts, nodes: NodeView) -> None:
        self.facts = facts
        self.nodes = nodes
        self.now = 0
        self.search: VictimSearch | None = None

    @property
    def unit(self) -> UnitName:
        return self.facts.unit


class PodPolicy(BasePolicy):
    """Decides for single pods over one world. Its search finds the least in all but a few worlds: nobody looks on."""

    name = "pod"

    def __init__(self, ledger: NodeLedger) -> None:
        self._ledger = ledger
        self._table = ledger.table
        self._kept: dict[object, PodView] = {}
        self._latest = 0

    def view(self, preemptor: PodFacts, now: int) -> PodView:
        """Kept for pods of one shape and renewed where nodes have changed, or made anew."""
        self._ledger.sync()
        shape = self._ledger.shape(preemptor)
        view = self._kept.get(shape)
        if view is not None and view.nodes.current:
            view.facts = preemptor
            view.nodes.follow(preemptor)
        else:
            view = PodView(preemptor, self._ledger.view(preemptor))
            if len(self._kept) >= MOST_SHAPES:
                self._kept.clear()
            if view.nodes.inter_pod is None:
                self._kept[shape] = view
        # Tolerations that had run out hold again when the clock is set back.
        if view.search is not None and not view.now <= now < view.search.good_until:
            view.search = None
        view.now = now
        return view

    # 1. and 2. Does it fit? May it preempt?

    def fits(self, view: PodView) -> Placed | None:
        if not view.nodes.fits.any():
            return None
        name = self._table.names[self._ledger.best(view.facts, np.flatnonzero(view.nodes.fits))]
        return Placed(texts.fits(view.unit, name), name, {view.unit: name})

    def trigger(self, view: PodView) -> HeldBack | None:
        facts = view.facts
        if facts.preemption_policy == "Never":
            claims = without_asking(view.nodes)
            message = texts.never_preempts(view.unit, claims)
            return HeldBack("Unschedulable", message, because=NobodyAsked("Never"), claims=claims)
        node = self._ledger.index(facts.nominated)
        if node == NOWHERE or not view.nodes.resolvable(node):
            return None
        leaving = [
            other.unit
            for share in self._table.residents[node]
            for other in share.pods
            if share.unit.priority < facts.priority and other.pod.terminating_by_preemption
        ]
        if not leaving:
            return None
        message = texts.waits_for_victims(view.unit, facts.nominated, leaving)
        return HeldBack("Wait", message, facts.nominated, waiting_for=leaving, because=NobodyAsked("Leaving"))

    # 3. to 7. The search

    def domains(self, view: PodView) -> Iterable[Sequence[NodesAtOnce]]:  # noqa: ARG002 - the view has them all
        return [[ALL_NODES]]

    def rules(self, view: PodView, domain: NodesAtOnce = ALL_NODES) -> list[NodeRule]:  # noqa: ARG002
        return self._rules(view)

    def _rules(self, view: PodView, *, patience: bool = False) -> list[NodeRule]:
        classes, priority = self._ledger.world.classes, view.facts.priority
        own = self._ledger.own(view.facts)
        return preemption_rules(self._table, classes, priority, view.now, own=own, patience=patience)

    def search(self, view: PodView, domain: NodesAtOnce, rules: Sequence[NodeRule]) -> "NodeOffers":  # noqa: ARG002
        if view.search is None:
            view.search = VictimSearch(view.nodes, rules, self._ledger.budgets).run()
        else:
            view.search.renew(rules)
        return NodeOffers(view, view.search, self._possible(view.search))

    def _possible(self, search: VictimSearch) -> Mask:
        """Where it fits without its victims; where budgets are respected, only if none is really broken."""
        violations = search.costs.violations
        if self._ledger.settings.pdb == "BestEffort" or not violations.any():
            return search.feasible
        possible = search.feasible.copy()
        for node in np.flatnonzero(possible & (violations > 0)):
            possible[node] = not self._ledger.budgets.broken_by(search.pods_on(int(node)))
        return possible

    def criteria(self, view: PodView, offers: Offers) -> Sequence[Criterion]:  # noqa: ARG002 - columns over all nodes
        if view.search is None:
            return []
        criteria = view.search.costs.criteria()
        return self._with_lost_work(view, view.search, criteria) if self._minds_lost_work else criteria

    @property
    def _minds_lost_work(self) -> bool:
        settings = self._ledger.settings
        return settings.search != "Design" and settings.asks_for_lost_work

    def _with_lost_work(self, view: PodView, search: VictimSearch, criteria: list[Criterion]) -> list[Criterion]:
        """Before the age of nodes: asked only where that would decide."""
        choice = choose(search.feasible, criteria)
        lost = np.zeros(self._table.size, dtype=np.int64)
        if choice is not None and choice.criterion == TIE_BREAK:
            work = LostWork(self._ledger, view.now)
            for node in equals(search.feasible, criteria, choice.domain):
                lost[node] = work.of(search.pods_on(node))
        return [*criteria[:-1], Criterion("LeastLostWork", lost), criteria[-1]]

    def models(self, view: PodView) -> Iterator[LinearModel]:
        """As a gang of one: its candidates, and which of them break budgets where they stand."""
        search, facts = _searched(view), view.facts
        alone = Gang(facts.unit, [facts], 1, facts.priority, entitled=1)
        placer = GangPlacer(self._ledger, alone, ~self._table.gone[: self._table.size])
        may, nodes = search.candidates(), np.arange(self._table.size)
        breaks = {
            self._table.residents[node][rank].unit.key: int(search.violating[rank, node])
            for rank, node in np.argwhere(may).tolist()
        }
        leavers = Leavers(self._table, nodes, may, breaks, search.violating)
        model = GangAlternatives(self._ledger, placer, leavers, None, 1, view.now).model()
        if model is not None:
            yield model

    def message(self, view: PodView, offer: Offer) -> str:
        return texts.preempts(view.unit, offer.domain, [victim.unit for victim in offer.victims], offer.pdb_violations)

    # 8. Nothing to be done, or not yet

    def refusal(self, view: PodView) -> HeldBack:
        search = _searched(view)
        budget = NobodyAsked("Budget")
        if self._waits(view, search):
            until = self._first_end(view)
            return HeldBack("Wait", texts.waits_for_toleration(view.unit, until), until=until, because=budget)
        claims: list[Claim] = [*search.obstacles(self._out(view, respected=True))] or [NoNodes()]
        return HeldBack("Unschedulable", texts.unschedulable(view.unit, claims), because=budget, claims=claims)

    def _first_end(self, view: PodView) -> int | None:
        """When the first toleration of those who are there now is over; a search that was kept may remember others."""
        rules = self._rules(view)
        judge(rules, Ranked(self._table, slice(0, self._table.size), self._table.depth))
        soonest = min(rule.good_until() for rule in rules)
        return soonest if soonest < NEVER else None

    def _waits(self, view: PodView, search: VictimSearch) -> bool:
        """Whether it could preempt if tolerations that are limited in time were over."""
        rules = self._rules(view, patience=True)
        if not (search.protected == len(rules)).any():
            return False  # nobody tolerates it
        return bool(self._possible(VictimSearch(view.nodes, rules, self._ledger.budgets).run()).any())

    def remarks(self, view: PodView, told: Told) -> list[Remark]:
        missing = self._missing_classes(view) if told.offers is not None else []
        return [*group_counts_for_nothing(view.facts, self._ledger.settings), *missing]

    def _missing_classes(self, view: PodView) -> list[Remark]:
        """Nodes within reach that were left out because nobody knows what a pod there tolerates."""
        spoiled = _searched(view).spoiled
        if not spoiled.any():
            return []
        left_out = spoiled & (view.nodes.reach == REACHED)
        return [missing_class(reason) for reason in missing_classes(self._table, self.rules(view), left_out)]

    # Explanations

    def unasked(self, view: PodView) -> Offers:
        return self.search(view, ALL_NODES, self.rules(view))

    def judged(self, view: PodView, told: Told) -> Iterator[Judged]:
        search = _searched(view)
        chosen = [] if told.chosen is None else [self._table.index[told.chosen.domain]]
        for node in chosen if told.brief else range(len(self._table.residents)):
            for rank, share in enumerate(self._table.residents[node]):
                for facts in share.pods:
                    yield Judged(facts.unit, self._table.names[node], search.reason(rank, node, facts))

    def obstacles(self, view: PodView, told: Told) -> dict[str, Claim]:
        out = self._out(view, respected=told.outcome == "Unschedulable" and told.offers is not None)
        return {self._table.names[node]: claim for node, claim in _searched(view).obstacle_on_each(out)}

    def _out(self, view: PodView, *, respected: bool) -> Ints:
        """The nodes that cannot take the pod; also those where only a budget stands in the way that is `respected`."""
        out = ~self._table.gone[: self._table.size] & ~view.nodes.fits
        return np.flatnonzero(out if respected else out & ~_searched(view).feasible)

    def stamp(self, view: PodView) -> object:
        return self._ledger.world.version, view.nodes.serial

    def fingerprint(self) -> str:
        return self._ledger.fingerprint()


def _searched(view: PodView) -> VictimSearch:
    if view.search is None:
        raise LookupError(f"nothing was searched for {view.unit}")
    return view.search


class NodeOffers:
    """What each node would cost, by its number in the table."""

    def __init__(self, view: PodView, search: VictimSearch, possible: Mask) -> None:
        self.possible = possible
        self._view = view
        self._search = search

    def __getitem__(self, number: int) -> Offer:
        search, facts = self._search, self._view.facts
        name = search.table.names[number]
        victims = [
            Victim(other.unit, LowerPriority(unit.priority, facts.priority), bool(breaks), unit.group)
            for unit, breaks in zip(search.units_on(number), search.breaking_on(number), strict=True)
            for other in unit.pods
        ]
        return Offer(name, victims, {facts.unit: name}, int(search.costs.violations[number]))

    def all(self) -> Iterator[Offer]:
        """Also those that a budget forbids: what they cost is told."""
        return (self[int(node)] for node in np.flatnonzero(self._search.feasible))


class PodEntry(Entry):
    """Single pods: all that no other policy takes."""

    name = PodPolicy.name
    ledger = ON_NODES
    kinds = ("Pod",)
    config_maps = frozenset[str]()
    looks_at_budgets = True

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._world = ground.world
        self._nodes = ground.nodes
        self.policy = PodPolicy(ground.nodes)

    def names(self) -> Iterable[UnitName]:
        return (facts.unit for facts in self._world.pods.values())

    def find(self, asked: Asked) -> Preemptor | None:
        facts = self._world.pods.get((asked.namespace, asked.name))
        return None if facts is None else waiting_pod(facts, self.name)

    def known(self, asked: Asked) -> Known | None:
        facts = self._world.pods.get((asked.namespace, asked.name))
        return None if facts is None else known_pod(self._world, facts)

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:
        return [waiting_pod(facts, self.name) for facts in self._ground.waiting_pods() if facts.unit not in taken]

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        return decide(self.policy, preemptor.facts, now)

    def has_place(self, preemptor: Preemptor, now: int) -> bool:
        return has_place(self.policy, preemptor.facts, now)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        commit_pods(self._world, preemptor.pods, plan)

    def exposure(self, now: int) -> Exposure:
        return exposure_on_nodes(self._nodes, now)

    def overcommitted(self) -> Iterable[Overcommitted]:
        return overcommitted_nodes(self._nodes)

    def carried(self) -> Iterable[Pod]:
        return carried_priorities(self._world)

    def undo(self, preemptor: Preemptor) -> bool:
        return take_back(self._world, preemptor.pods)
