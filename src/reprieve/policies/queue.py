"""The queue policy: YuniKorn, the seven laws of preemption.

1. A pod that fits its queues and some node preempts nobody.
2. Before it may preempt, it has waited for the delay of its queue; its queue is under its guarantee with it (law 4).
3. Victims come from leaves over their guarantee (law 5) inside the fence (law 7), of lower or equal priority (law 6),
   never of its own queue or application (law 3), and never so that a queue falls below its guarantee (law 2).
4. They are on one node. With the room that is free there they make the pod fit, and no fewer would. Where only a
   maximum stands in the way, they may be anywhere below it.
5. On a node, and between nodes: who opted out goes last, then who leads its application (law 1); then the youngest go.
6. A pod that must run on one node (a DaemonSet's) takes from that node, whatever queues say.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.budgets import Budgets
from reprieve.engine.outlook import Outlook
from reprieve.engine.plan import Cost, Details, Plan, StalePlan, Victim
from reprieve.engine.reasons import QueueOver
from reprieve.engine.rules import Nobody
from reprieve.engine.search import Criterion, choose, fill_back, remove_until_fits
from reprieve.objects.scheduling import ALLOW_PREEMPTION
from reprieve.policies import queue_laws as laws
from reprieve.policies.pod import PodPolicy
from reprieve.policies.queue_tree import APPLICATION_LABEL, QueueNode, QueueTree, held, queue_path
from reprieve.resources import Resources
from reprieve.world import PodFacts, World

NAME = "queue"
_SECOND = 1_000_000
_OPTED_OUT, _ORIGINATOR = 2**34, 2**33


class Ask(NamedTuple):
    """What a pending pod asks for, and of whom it may."""

    facts: PodFacts
    queue: QueueNode
    request: Resources
    top: QueueNode
    priority: int


class QueuePolicy:
    """Decides for pods in queues, over the node table that it shares with the pod policy."""

    def __init__(self, world: World, settings: Settings, pods: PodPolicy) -> None:
        self.world = world
        self.settings = settings
        self._pods = pods
        self.tree = QueueTree(world)
        self._version = world.version

    def decide(self, facts: PodFacts, now: int) -> Plan:
        self._pods.table.sync()
        if self._version != self.world.version:
            self.tree = QueueTree(self.world)
            self._version = self.world.version
        queue = self.tree.queue_of(facts)
        outlook = self._outlook(facts)
        required = self._required_node(facts)
        if required is not None:
            return self._on_its_node(facts, outlook, required)
        request = held(facts)
        blocked = [node for node in queue_path(queue) if laws.over_maximum(node, request)]
        if not blocked and outlook.fits.any():
            return self._fits(facts, outlook)
        refusal = self._may_not(facts, queue, request)
        if refusal:
            return Plan(facts.unit, NAME, "Unschedulable", refusal)
        ready = facts.created + int(queue.delay * _SECOND)
        if now < ready:
            return Plan(facts.unit, NAME, "Wait", texts.waits_for_delay(facts.unit, queue.name, ready))
        leaving = self._leaving(facts, queue, outlook, request)
        if leaving:
            return Plan(
                facts.unit, NAME, "Wait", texts.waits_for_victims(facts.unit, queue.name, leaving), waiting_for=leaving
            )
        top = laws.reach(queue, request)
        priority = laws.priority_towards(queue, top, facts.priority)
        return self._preempt(Ask(facts, queue, request, top, priority), outlook)

    def _outlook(self, facts: PodFacts) -> Outlook:
        """What the nodes look like to the pod, by all filters, with nobody gone."""
        return Outlook(self._pods.table, self._pods.labels, Budgets(self._pods.table), facts, [Nobody()])

    def _fits(self, facts: PodFacts, outlook: Outlook) -> Plan:
        node = self._pods.table.names[self._pods.best(facts, np.flatnonzero(outlook.fits))]
        return Plan(facts.unit, NAME, "Fits", texts.fits(facts.unit, node), domain=node, placement={facts.unit: node})

    # Trigger

    def _may_not(self, facts: PodFacts, queue: QueueNode, request: Resources) -> str:
        if facts.preemption_policy == "Never":
            return texts.never_preempts(facts.unit)
        if not self.tree.preemption:
            return texts.preemption_off(facts.unit)
        if not laws.could_be_under_guarantee(queue, request):
            return texts.law_4(facts.unit, queue.name)
        return ""

    def _leaving(self, facts: PodFacts, queue: QueueNode, outlook: Outlook, request: Resources) -> list[str]:
        """Pods on their way out that will make enough room by themselves: then nobody else has to go."""
        for node, shares in enumerate(self._pods.table.residents):
            going = [other for share in shares for other in share.pods if other.pod.terminating]
            if going and outlook.reach[node] == 0:
                ledger = _NodeLedger(self, Ask(facts, queue, request, self.tree.root, 0), outlook, node)
                for other in going:
                    ledger.remove(other)
                if ledger.fits():
                    return [other.unit for other in going]
        return []

    # Victims

    def _preempt(self, ask: Ask, outlook: Outlook) -> Plan:
        table = self._pods.table
        everywhere = self._candidates(ask)
        by_node: dict[int, list[PodFacts]] = {}
        for facts in everywhere:
            by_node.setdefault(table.index[facts.node], []).append(facts)
        answers: dict[int, list[PodFacts]] = {}
        for node in np.flatnonzero(outlook.reach == 0).tolist():
            found = self._on_node(ask, outlook, node, by_node.get(node, []), everywhere)
            if found is not None:
                answers[node] = found
        if not answers:
            return Plan(ask.facts.unit, NAME, "Unschedulable", texts.no_victims_in_reach(ask.facts.unit, ask.top.name))
        return self._chosen(ask, answers)

    def _candidates(self, ask: Ask) -> list[PodFacts]:
        """Laws 3, 5, 6 and 7, in the order in which candidates are asked."""
        application = ask.facts.pod.metadata.labels.get(APPLICATION_LABEL)
        found: list[PodFacts] = []
        for leaf in ask.top.leaves():
            bound = laws.priority_bound(leaf, ask.top, ask.priority)
            if leaf is ask.queue or leaf.disabled or bound is None:
                continue
            if laws.over_guarantee(leaf, ask.queue, ask.request):
                found += (facts for facts in leaf.pods if self._may_go(facts, ask, bound, application))
        return sorted(found, key=self._order)

    def _may_go(self, facts: PodFacts, ask: Ask, bound: int, application: str | None) -> bool:
        same = application is not None and facts.pod.metadata.labels.get(APPLICATION_LABEL) == application
        shares = any(held(facts).of(name) for name in ask.request)
        fixed = self._required_node(facts) is not None or facts.pod.terminating
        return facts.priority <= bound and shares and not same and not fixed

    def _order(self, facts: PodFacts) -> tuple[bool, bool, int, str]:
        """Law 1: who opted out last, then who leads its application; the youngest first."""
        return self.opted_out(facts), facts.key in self.tree.originators, -facts.created, facts.unit

    def opted_out(self, facts: PodFacts) -> bool:
        said = facts.pod.metadata.annotations.get(ALLOW_PREEMPTION)
        if said is None and facts.pod.spec.priority_class_name:
            item = self.world.classes.get(facts.pod.spec.priority_class_name)
            said = item.metadata.annotations.get(ALLOW_PREEMPTION) if item is not None else None
        return said == "false"

    def _on_node(
        self, ask: Ask, outlook: Outlook, node: int, here: list[PodFacts], everywhere: list[PodFacts]
    ) -> list[PodFacts] | None:
        """Laws 2 and 4 on one node: the fewest in order that make it fit; elsewhere only for a maximum's sake."""
        ledger = _NodeLedger(self, ask, outlook, node)
        if not ledger.fits_node():
            return self._search(ledger, here)
        return [] if ledger.fits() else self._search(ledger, everywhere)

    def _search(self, ledger: _NodeLedger, candidates: list[PodFacts]) -> list[PodFacts] | None:
        helping = [facts for facts in candidates if ledger.helps(facts)]
        removed = remove_until_fits(ledger, helping, ledger.may_go)
        if removed is None:
            return None
        victims = fill_back(ledger, removed)
        for facts in victims:
            ledger.give_back(facts)
        return sorted(victims, key=self._order)

    def _chosen(self, ask: Ask, answers: dict[int, list[PodFacts]]) -> Plan:
        table = self._pods.table
        nodes = sorted(answers)
        costs = [self._cost(answers[node]) for node in nodes]
        criteria = [
            Criterion("FewestOptedOut", np.array([cost // _ORIGINATOR for cost in costs], dtype=np.int64)),
            Criterion("FewestVictims", np.array([cost % _ORIGINATOR for cost in costs], dtype=np.int64)),
            Criterion("TieBreak", table.tie_break()[nodes]),
        ]
        choice = choose(np.ones(len(nodes), dtype=np.bool_), criteria)
        node = nodes[choice.domain if choice else 0]
        name = table.names[node]
        victims = [Victim(facts.unit, self._reason(facts)) for facts in answers[node]]
        return Plan(
            ask.facts.unit,
            NAME,
            "Preempt",
            texts.preempts(ask.facts.unit, name, [victim.unit for victim in victims], 0),
            domain=name,
            placement={ask.facts.unit: name},
            victims=victims,
            criterion=choice.criterion if choice else "",
            details=self._explain(answers),
        )

    def _reason(self, facts: PodFacts) -> QueueOver:
        reluctant = self.opted_out(facts) or facts.key in self.tree.originators
        return QueueOver(self.tree.queue_of(facts).name, facts.priority, reluctant)

    def _cost(self, victims: list[PodFacts]) -> int:
        opted = any(self.opted_out(facts) for facts in victims)
        leads = any(facts.key in self.tree.originators for facts in victims)
        return opted * _OPTED_OUT + leads * _ORIGINATOR + len(victims)

    def _explain(self, answers: dict[int, list[PodFacts]]) -> Callable[[], Details]:
        return partial(self._details, answers, self.world.version)

    def _details(self, answers: dict[int, list[PodFacts]], version: int) -> Details:
        if self.world.version != version:
            raise StalePlan("the world has moved on since the plan was made")
        names = self._pods.table.names
        return Details({names[node]: Cost([facts.unit for facts in victims]) for node, victims in answers.items()})

    # One node required

    def _required_node(self, facts: PodFacts) -> str | None:
        """The node that a DaemonSet's pod must run on."""
        if not any(owner.kind == "DaemonSet" and owner.controller for owner in facts.pod.metadata.owner_references):
            return None
        affinity = facts.pod.spec.affinity.node_affinity if facts.pod.spec.affinity else None
        for term in affinity.required.node_selector_terms if affinity and affinity.required else ():
            for field in term.match_fields:
                if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                    return field.values[0]
        return facts.node or None

    def _on_its_node(self, facts: PodFacts, outlook: Outlook, name: str) -> Plan:
        """Ordinary pods, then those that opted out, then first pods; in each lowest priority, youngest, smallest."""
        node = self._pods.table.index.get(name, -1)
        if node < 0 or outlook.reach[node] != 0:
            return Plan(facts.unit, NAME, "Unschedulable", texts.out_of_reach(facts.unit, name))
        if outlook.fits[node]:
            message = texts.fits(facts.unit, name)
            return Plan(facts.unit, NAME, "Fits", message, domain=name, placement={facts.unit: name})
        queue = self.tree.queue_of(facts)
        request = held(facts)
        candidates = [
            other
            for share in self._pods.table.residents[node]
            for other in share.pods
            if other.priority <= facts.priority
            and self._required_node(other) is None
            and not other.pod.terminating
            and any(held(other).of(resource) for resource in request)
        ]
        candidates.sort(key=partial(self._daemon_order, request))
        ledger = _NodeLedger(self, Ask(facts, queue, request, self.tree.root, facts.priority), outlook, node)
        victims = remove_until_fits(_OnlyNode(ledger), candidates, lambda _: True)
        if victims is None:
            return Plan(facts.unit, NAME, "Unschedulable", texts.too_little_on_node(facts.unit, name))
        for other in victims:
            ledger.give_back(other)
        return Plan(
            facts.unit,
            NAME,
            "Preempt",
            texts.preempts(facts.unit, name, [other.unit for other in victims], 0),
            domain=name,
            placement={facts.unit: name},
            victims=[Victim(other.unit, self._reason(other)) for other in victims],
            criterion="OnlyCandidate",
        )

    def _daemon_order(self, request: Resources, facts: PodFacts) -> tuple[int, int, int, int, str]:
        rank = 2 if facts.key in self.tree.originators else 1 if self.opted_out(facts) else 0
        size = sum(held(facts).of(name) for name in request)
        return rank, facts.priority, -facts.created, size, facts.unit


class _NodeLedger:
    """Does the pod fit on a node, and under its queues' maxima, while pods leave and come back?"""

    def __init__(self, policy: QueuePolicy, ask: Ask, outlook: Outlook, node: int) -> None:
        self._policy = policy
        self._ask = ask
        self._node = node
        self._name = policy._pods.table.names[node]
        self._outlook = outlook
        self._slack = outlook.slack_of(node, ask.facts)
        self._gone: dict[str, Resources] = {}
        self._capped = [queue for queue in queue_path(ask.queue) if queue.maximum is not None]

    def fits(self) -> bool:
        """On the node, below every maximum, and with its guarantee not exceeded (law 4)."""
        return (
            self.fits_node()
            and not any(self._over(queue) for queue in self._capped)
            and laws.under_guarantee(self._ask.queue, self._ask.request, self._gone)
        )

    def _over(self, queue: QueueNode) -> bool:
        return laws.over_maximum(queue, self._ask.request, self._gone.get(queue.name, Resources()))

    def fits_node(self) -> bool:
        return bool((self._slack >= 0).all())

    def helps(self, facts: PodFacts) -> bool:
        """Whether a pod frees anything that is missing: on the node, or below a maximum."""
        if facts.node == self._name and bool(((self._weight(facts) > 0) & (self._slack < 0)).any()):
            return True
        short = [queue for queue in self._capped if laws.over_maximum(queue, self._ask.request)]
        queue = self._policy.tree.queue_of(facts)
        return any(capped in queue_path(queue) for capped in short)

    def may_go(self, facts: PodFacts) -> bool:
        """Law 2, at this moment; and only if it still frees something that is missing."""
        queue = self._policy.tree.queue_of(facts)
        return laws.stays_at_guarantee(facts, queue, self._ask.queue, self._gone) and self.helps(facts)

    def remove(self, unit: PodFacts) -> None:
        self._move(unit, 1)

    def give_back(self, unit: PodFacts) -> None:
        self._move(unit, -1)

    def _move(self, facts: PodFacts, sign: int) -> None:
        if facts.node == self._name:
            self._slack = self._slack + sign * self._weight(facts)
        for queue in queue_path(self._policy.tree.queue_of(facts)):
            self._gone[queue.name] = self._gone.get(queue.name, Resources()) + held(facts) * sign

    def _weight(self, facts: PodFacts) -> np.typing.NDArray[np.int64]:
        return self._outlook.weight_of(self._node, facts)


class _OnlyNode:
    """A ledger that knows of nodes alone: a pod that must run there does not ask queues."""

    def __init__(self, ledger: _NodeLedger) -> None:
        self._ledger = ledger

    def fits(self) -> bool:
        return self._ledger.fits_node()

    def remove(self, unit: PodFacts) -> None:
        self._ledger.remove(unit)

    def give_back(self, unit: PodFacts) -> None:
        self._ledger.give_back(unit)
