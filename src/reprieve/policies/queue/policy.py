"""The queue policy: YuniKorn, the seven laws of preemption.

1. A pod that fits its queues and some node preempts nobody. What was promised to others counts as taken, on nodes and
   in queues, whatever their priority: between queues a higher number may be worth less, and who made way must not slip
   back. A pod that was nominated to a node takes that one if it can.
2. Before it may preempt, it has waited for the delay of its queue; its queue is under its guarantee with it (law 4).
   While enough pods leave already, it waits for them.
3. Victims come from queues over their guarantee (law 5) inside the fence (law 7), of lower or equal priority (law 6),
   never of its own queue or application (law 3), and never so that a queue falls below its guarantee (law 2).
   Groups, and pods that stay out of queues, are no victims: they are placed by priority alone, which queues may turn
   around, so that each would take the place of the other in turn.
4. They are on one node. With the room that is free there they make the pod fit, and no fewer would. Where only a
   maximum stands in the way, they may be anywhere below it.
5. On a node, and between nodes: who opted out goes last, then who leads its application (law 1); then the youngest go.
   Between nodes, the fewest victims, then the nearest queues, then the oldest node, then its name.
6. A pod that must run on one node (a DaemonSet's) takes from that node, whatever queues say.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.rules import Nobody
from reprieve.engine.nodes.view import Outlook
from reprieve.engine.plan import Details, Plan, StalePlan, Victim
from reprieve.engine.reasons import NodeRequired, QueueOver
from reprieve.engine.steps import ONLY_CANDIDATE, Choice
from reprieve.policies.pod import PodPolicy
from reprieve.policies.queue import laws
from reprieve.policies.queue.candidates import Candidate, Candidates, QueueColumns
from reprieve.policies.queue.explanation import Explainer, tally
from reprieve.policies.queue.laws import Ask
from reprieve.policies.queue.leaving import leaving_enough
from reprieve.policies.queue.pods import required_node
from reprieve.policies.queue.required_node import NodeBound
from reprieve.policies.queue.search import QueueSearch
from reprieve.policies.queue.tree import QueueTree
from reprieve.world import PodFacts, World

NAME = "queue"
_SECOND = 1_000_000
_LOWEST = -(2**62)


class QueuePolicy:
    """Decides for pods in queues, over the node table that it shares with the pod policy."""

    def __init__(self, world: World, settings: Settings, pods: PodPolicy) -> None:
        self.world = world
        self.settings = settings
        self._pods = pods
        self._table = pods.table
        self.columns = QueueColumns(pods.table)

    @property
    def tree(self) -> QueueTree:
        return self.columns.tree

    def sync(self) -> None:
        """Catch up with the world."""
        self._table.sync()
        self.columns.sync()

    def decide(self, facts: PodFacts, now: int) -> Plan:
        """The plan for one pending pod, at a moment in microseconds since 1970."""
        self.sync()
        before = self._table.fingerprint() if self.settings.validate else ""
        ask = Ask(facts, self.tree.queue_of(facts))
        required = required_node(facts)
        # Nominated pods of all priorities count as present, but for a pod that must run on its node.
        below = _LOWEST if required is None else facts.priority
        outlook = Outlook(
            self._table, self._pods.labels, Budgets(self._table), facts, [Nobody()], priority=below, vacated=True
        )
        plan = self._decide(ask, outlook, now) if required is None else self._on_its_node(ask, outlook, required)
        if before and self._table.fingerprint() != before:
            raise AssertionError(f"the search for {facts.unit} left the ledger changed")
        return plan

    def _decide(self, ask: Ask, outlook: Outlook, now: int) -> Plan:
        if not ask.blocked and outlook.fits.any():
            return self._fits(ask.facts, outlook)
        return self._held_back(ask, outlook, now) or self._preempt(ask, outlook)

    # 1. Fits

    def _fits(self, facts: PodFacts, outlook: Outlook) -> Plan:
        nodes = np.flatnonzero(outlook.fits)
        nominated = self._table.index.get(facts.nominated, -1)
        node = nominated if nominated in nodes else self._pods.best(facts, nodes)
        name = self._table.names[node]
        return Plan(facts.unit, NAME, "Fits", texts.fits(facts.unit, name), domain=name, placement={facts.unit: name})

    # 2. May it preempt at all?

    def _held_back(self, ask: Ask, outlook: Outlook, now: int) -> Plan | None:
        unit, queue = ask.facts.unit, ask.queue
        refusal = self._refusal(ask)
        if refusal:
            return Plan(unit, NAME, "Unschedulable", refusal, details=self._refused(ask, outlook))
        ready = ask.facts.created + int(queue.delay * _SECOND)
        if now < ready:
            message = texts.waits_for_delay(unit, queue.name, ready)
            return Plan(unit, NAME, "Wait", message, until=ready, details=self._refused(ask, outlook))
        where, leaving = leaving_enough(self.columns, outlook, ask)
        if not leaving:
            return None
        message = texts.waits_for_victims(unit, where, leaving)
        return Plan(unit, NAME, "Wait", message, domain=where, waiting_for=leaving, details=self._refused(ask, outlook))

    def _refusal(self, ask: Ask) -> str:
        if ask.facts.preemption_policy == "Never":
            return texts.never_preempts(ask.facts.unit)
        if not self.tree.preemption:
            return texts.preemption_off(ask.facts.unit)
        if not laws.could_be_under_guarantee(ask):
            return texts.law_4(ask.facts.unit, ask.queue.name)
        return ""

    # 3. to 5. The search

    def _preempt(self, ask: Ask, outlook: Outlook) -> Plan:
        candidates = Candidates(self.columns, self._table, ask)
        search = QueueSearch(self.tree, self._table, outlook, candidates)
        choice = search.best()
        explainer = Explainer(self.tree, self._table, outlook, candidates)
        details = self._fresh(ask, lambda: explainer.searched(search.all(), choice))
        if choice is None:
            message = texts.no_victims_in_reach(ask.facts.unit, ask.top.name, tally(candidates))
            return Plan(ask.facts.unit, NAME, "Unschedulable", message, details=details)
        victims = [Victim(one.facts.unit, self._reason(one)) for one in search.answers[choice.domain]]
        return self._preempts(ask, choice, victims, details)

    def _reason(self, one: Candidate) -> QueueOver:
        return QueueOver(self.tree.queues[one.queue].name, one.facts.priority, one.reluctant)

    def _preempts(self, ask: Ask, choice: Choice, victims: list[Victim], details: Callable[[], Details]) -> Plan:
        name, unit = self._table.names[choice.domain], ask.facts.unit
        return Plan(
            unit,
            NAME,
            "Preempt",
            texts.preempts(unit, name, [victim.unit for victim in victims], 0),
            domain=name,
            placement={unit: name},
            victims=victims,
            criterion=choice.criterion,
            details=details,
        )

    # 6. One node required

    def _on_its_node(self, ask: Ask, outlook: Outlook, name: str) -> Plan:
        unit = ask.facts.unit
        node = self._table.index.get(name, -1)
        if node < 0 or outlook.reach[node] != 0:
            return Plan(unit, NAME, "Unschedulable", texts.out_of_reach(unit, name))
        if outlook.fits[node]:
            return Plan(unit, NAME, "Fits", texts.fits(unit, name), domain=name, placement={unit: name})
        search = NodeBound(self.columns, outlook, ask, node)
        details = self._fresh(ask, partial(search.details, []))
        if ask.facts.preemption_policy == "Never":
            return Plan(unit, NAME, "Unschedulable", texts.never_preempts(unit), details=details)
        leaving = search.leaving()
        if leaving:
            message = texts.waits_for_victims(unit, name, leaving)
            return Plan(unit, NAME, "Wait", message, domain=name, waiting_for=leaving, details=details)
        victims = search.victims()
        if victims is None:
            return Plan(unit, NAME, "Unschedulable", texts.too_little_on_node(unit, name), details=details)
        going = [Victim(one.facts.unit, NodeRequired(name, one.reluctant)) for one in victims]
        details = self._fresh(ask, partial(search.details, victims))
        return self._preempts(ask, Choice(node, ONLY_CANDIDATE), going, details)

    # Explanations

    def _refused(self, ask: Ask, outlook: Outlook) -> Callable[[], Details]:
        def details() -> Details:
            return Explainer(self.tree, self._table, outlook, Candidates(self.columns, self._table, ask)).refused()

        return self._fresh(ask, details)

    def _fresh(self, ask: Ask, details: Callable[[], Details]) -> Callable[[], Details]:
        """Details as long as the world is the one that was decided over."""
        version = self.world.version

        def checked() -> Details:
            if self.world.version != version:
                raise StalePlan(f"the world has moved on since the plan for {ask.facts.unit} was made")
            return details()

        return checked
