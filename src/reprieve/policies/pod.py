"""The pod policy: kube-scheduler's preemption, with preemption toleration.

1. A pod that fits somewhere preempts nobody; nominated pods of equal or higher priority count as present.
2. A pod whose policy is Never preempts nobody. While victims chosen for it still leave its nominated node, it waits.
3. Domains: every node that is in reach; what taints, cordons, selectors and affinity rule out stays out.
4. Candidates on a node: pods of strictly lower priority that do not tolerate the preemptor. A lower pod of an unknown
   priority class takes its node out.
5. All candidates are removed. Where the pod still does not fit, the node is out.
6. Candidates are given back while the pod fits: first those whose budget would break, then the others, each from the
   most important down: higher priority, then earlier start.
7. The node is chosen by: fewest broken budgets; lowest priority of the most important victim; smallest sum of
   priorities; fewest victims; latest start of the longest running among the most important victims; then the
   oldest node, then its name.
8. Where only tolerations that run out stand in the way, the pod waits for the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec
import numpy as np

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.rules import KnownClass, OnlyLowerPriority, Tolerating
from reprieve.engine.nodes.scoring import best_node
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Units
from reprieve.engine.nodes.view import Outlook, Rule
from reprieve.engine.plan import Cost, Details, Plan, Spared, StalePlan, Victim
from reprieve.engine.reasons import CheaperElsewhere, LowerPriority, Reason, Reprieved
from reprieve.engine.steps import TIE_BREAK, Choice, Criterion, choose
from reprieve.world import NEVER, PodFacts, World

NAME = "pod"
_MOST_SHAPES = 64
_OTHERS = 5
"""Of so many nodes that could have been chosen a brief record tells, too."""


class PodPolicy:
    """Decides for single pods over one world, which may change between decisions."""

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.settings = settings
        self.table = NodeTable(world, Units(world, settings))
        self.labels = NodeLabels(self.table)
        self._budgets = Budgets(self.table)
        self._budgets_epoch = self.table.epoch
        self._outlooks: dict[object, Outlook] = {}
        self._latest = 0

    def decide(self, facts: PodFacts, now: int) -> Plan:
        """The plan for one pending pod, at a moment in microseconds since 1970."""
        self.table.sync()
        before = self.table.fingerprint() if self.settings.validate else ""
        outlook = self._outlook(facts, now)
        plan = self._fits(facts, outlook) or self._held_back(facts, outlook) or self._preempt(facts, outlook, now)
        if before and self.table.fingerprint() != before:
            raise AssertionError(f"the search for {facts.unit} left the ledger changed")
        return plan

    # 1. Fits

    def _fits(self, facts: PodFacts, outlook: Outlook) -> Plan | None:
        nodes = np.flatnonzero(outlook.fits)
        if not len(nodes):
            return None
        nominated = self.table.index.get(facts.nominated, -1)
        if nominated in nodes:
            node = nominated
        else:
            node = best_node(self.table, self.labels, facts, nodes, self.settings.scoring)
        name = self.table.names[node]
        return Plan(
            facts.unit,
            NAME,
            "Fits",
            texts.fits(facts.unit, name),
            domain=name,
            placement={facts.unit: name},
            details=self._explain(facts, outlook),
        )

    def best(self, facts: PodFacts, nodes: Ints) -> int:
        """The best of some nodes where a pod fits."""
        return best_node(self.table, self.labels, facts, nodes, self.settings.scoring)

    # 2. May it preempt at all?

    def _held_back(self, facts: PodFacts, outlook: Outlook) -> Plan | None:
        if facts.preemption_policy == "Never":
            return self._refused(facts, outlook, texts.never_preempts(facts.unit))
        node = self.table.index.get(facts.nominated, -1) if facts.nominated else -1
        if node < 0 or not outlook.resolvable(node, facts):
            return None
        leaving = [
            other.unit
            for share in self.table.residents[node]
            for other in share.pods
            if share.unit.priority < facts.priority and other.pod.terminating_by_preemption
        ]
        if not leaving:
            return None
        return Plan(
            facts.unit,
            NAME,
            "Wait",
            texts.waits_for_victims(facts.unit, facts.nominated, leaving),
            domain=facts.nominated,
            waiting_for=leaving,
            details=self._explain(facts, outlook),
        )

    # 3. to 7. The search

    def _preempt(self, facts: PodFacts, outlook: Outlook, now: int) -> Plan:
        choice = choose(self._possible(outlook), self._criteria(outlook))
        if choice is None:
            return self._out_of_options(facts, outlook, now)
        node = choice.domain
        name = self.table.names[node]
        victims = [
            Victim(
                other.unit,
                LowerPriority(share.unit.priority, facts.priority),
                bool(outlook.violating[rank, node]),
                share.unit.group,
            )
            for rank, share in enumerate(self.table.residents[node])
            if outlook.victims[rank, node]
            for other in share.unit.pods
        ]
        return Plan(
            facts.unit,
            NAME,
            "Preempt",
            texts.preempts(facts.unit, name, [victim.unit for victim in victims], int(outlook.violations[node])),
            domain=name,
            placement={facts.unit: name},
            victims=victims,
            criterion=choice.criterion,
            details=self._explain(facts, outlook, choice),
            brief=partial(self._briefly, facts, outlook, (self.world.version, outlook.serial), choice),
        )

    def _possible(self, outlook: Outlook) -> np.typing.NDArray[np.bool_]:
        if self.settings.pdb == "BestEffort" or not outlook.violations.any():
            return outlook.feasible
        possible = outlook.feasible.copy()
        for node in np.flatnonzero(possible & (outlook.violations > 0)):
            possible[node] = not self._budgets.broken_by(self._victims_on(outlook, int(node)))
        return possible

    def _criteria(self, outlook: Outlook) -> list[Criterion]:
        return [
            Criterion("FewestBudgetViolations", outlook.violations),
            Criterion("LowestHighestPriority", outlook.top),
            Criterion("SmallestSumOfPriorities", outlook.total),
            Criterion("FewestVictims", outlook.count),
            Criterion("LatestStart", -outlook.start),
            Criterion(TIE_BREAK, self.table.tie_break()),
        ]

    def _victims_on(self, outlook: Outlook, node: int) -> list[PodFacts]:
        shares = self.table.residents[node]
        ranks = np.flatnonzero(outlook.victims[:, node])
        return [facts for rank in ranks for facts in shares[rank].unit.pods]

    # 8. Nothing to be done, or not yet

    def _out_of_options(self, facts: PodFacts, outlook: Outlook, now: int) -> Plan:
        patient = Outlook(self.table, self.labels, self._budgets, facts, self._rules(facts, now, patience=True))
        if not self._possible(patient).any():
            return self._refused(facts, outlook, texts.unschedulable(facts.unit, self._obstacles(outlook)))
        return Plan(
            facts.unit,
            NAME,
            "Wait",
            texts.waits_for_toleration(facts.unit, outlook.good_until if outlook.good_until < NEVER else None),
            until=outlook.good_until if outlook.good_until < NEVER else None,
            details=self._explain(facts, outlook),
        )

    def _refused(self, facts: PodFacts, outlook: Outlook, message: str) -> Plan:
        return Plan(facts.unit, NAME, "Unschedulable", message, details=self._explain(facts, outlook))

    # What the search looks through

    def _rules(self, facts: PodFacts, now: int, *, patience: bool = False) -> list[Rule]:
        classes = self.world.classes
        return [
            OnlyLowerPriority(facts.priority),
            KnownClass(self.table, classes),
            Tolerating(self.table, classes, facts.priority, now, patience=patience),
        ]

    def _outlook(self, facts: PodFacts, now: int) -> Outlook:
        """The view of all nodes for this shape of pod: kept, renewed where nodes changed, or made."""
        if self._budgets_epoch != self.table.epoch:
            self._budgets = Budgets(self.table)
            self._budgets_epoch = self.table.epoch
        if now < self._latest:
            self._outlooks.clear()  # tolerations that had run out may hold again
        self._latest = now
        shape = self._shape(facts)
        known = self._outlooks.get(shape)
        if known is not None and known.current(now):
            known.follow(facts, self._rules(facts, now))
            return known
        made = Outlook(self.table, self.labels, self._budgets, facts, self._rules(facts, now))
        if len(self._outlooks) >= _MOST_SHAPES:
            self._outlooks.clear()
        if made.company is None:
            self._outlooks[shape] = made
        return made

    def _shape(self, facts: PodFacts) -> object:
        """What makes two pods alike to the search; pods that mind their company are never alike."""
        spec = facts.pod.spec
        placement = msgspec.msgpack.encode((spec.node_selector, spec.affinity, spec.tolerations))
        kind = (facts.key[0], facts.labels) if len(self.table.repels) > 1 else ()
        return facts.priority, facts.requests, placement, facts.host_ports, kind, len(spec.topology_spread_constraints)

    # Explanations

    def _obstacles(self, outlook: Outlook) -> dict[str, str]:
        """For each node that cannot take the pod, why."""
        obstacles: dict[str, str] = {}
        for node, name in enumerate(self.table.names):
            if self.table.nodes[node] is not None and not outlook.fits[node] and not outlook.feasible[node]:
                candidates = bool((outlook.protected[: len(self.table.residents[node]), node] == 0).any())
                obstacles[name] = texts.obstacle(int(outlook.reach[node]), candidates=candidates)
        return obstacles

    def _explain(self, facts: PodFacts, outlook: Outlook, choice: Choice | None = None) -> Callable[[], Details]:
        return partial(self._details, facts, outlook, (self.world.version, outlook.serial), choice)

    def _details(self, facts: PodFacts, outlook: Outlook, made_at: tuple[int, int], choice: Choice | None) -> Details:
        self._check_fresh(facts, outlook, made_at)
        everywhere = range(len(self.table.residents))
        candidates = self._costs(outlook, np.flatnonzero(outlook.feasible))
        return Details(candidates, self._spared(outlook, choice, everywhere), self._obstacles(outlook))

    def _briefly(self, facts: PodFacts, outlook: Outlook, made_at: tuple[int, int], choice: Choice) -> Details:
        """Who was spared on the chosen node, and what the first few of the others would have cost."""
        self._check_fresh(facts, outlook, made_at)
        others = [int(node) for node in np.flatnonzero(outlook.feasible)[:_OTHERS] if node != choice.domain]
        costs = self._costs(outlook, np.array([choice.domain, *others]))
        return Details(costs, self._spared(outlook, choice, [choice.domain]))

    def _check_fresh(self, facts: PodFacts, outlook: Outlook, made_at: tuple[int, int]) -> None:
        if (self.world.version, outlook.serial) != made_at:
            raise StalePlan(f"the world has moved on since the plan for {facts.unit} was made")

    def _costs(self, outlook: Outlook, nodes: Ints) -> dict[str, Cost]:
        return {
            self.table.names[node]: Cost(
                [other.unit for other in self._victims_on(outlook, int(node))], int(outlook.violations[node])
            )
            for node in nodes
        }

    def _spared(self, outlook: Outlook, choice: Choice | None, nodes: Iterable[int]) -> list[Spared]:
        chosen = choice.domain if choice else -1
        gone = {facts.key for facts in self._victims_on(outlook, chosen)} if choice else set()
        return [
            Spared(facts.unit, self._why_spared(outlook, choice, node, rank, facts), self.table.names[node])
            for node in nodes
            for rank, share in enumerate(self.table.residents[node])
            for facts in share.pods
            if facts.key not in gone
        ]

    def _why_spared(self, outlook: Outlook, choice: Choice | None, node: int, rank: int, facts: PodFacts) -> Reason:
        number = int(outlook.protected[rank, node])
        if number > 0:
            return outlook.rules[number - 1].reason(self.table.residents[node][rank].unit, facts)
        if choice is not None and node != choice.domain:
            return CheaperElsewhere(self.table.names[choice.domain], choice.criterion)
        return Reprieved()
