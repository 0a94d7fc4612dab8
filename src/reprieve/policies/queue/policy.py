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
6. A pod that must run on one node (a DaemonSet's) takes from that node, whatever queues say: see `required_node`.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from reprieve import texts
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.offers import HeldBack, Offer, Offers, Placed
from reprieve.engine.preemption import BasePolicy
from reprieve.engine.reasons import NobodyAsked, QueueLaw, Reason
from reprieve.engine.steps import Criterion
from reprieve.policies.queue import laws
from reprieve.policies.queue.candidates import QueueCandidates
from reprieve.policies.queue.columns import QueueColumns
from reprieve.policies.queue.leaving import leaving_enough
from reprieve.policies.queue.rules import QueueRule, queue_rules
from reprieve.policies.queue.search import QueueSearch
from reprieve.policies.queue.standing import QueueStanding
from reprieve.policies.queue.tree import QueueTree
from reprieve.policies.queue.view import QueueView
from reprieve.world import PodFacts

_SECOND = 1_000_000
LOWEST = -(2**62)
WITHIN_FENCE = "nodes"
"""The one domain of this policy: all nodes, whose offers are made from the cheapest up."""


class PodInQueueView(QueueView):
    """A pod in a queue, and what was looked at for it so far."""

    standing: QueueStanding | None = None
    candidates: QueueCandidates | None = None
    search: QueueSearch | None = None


class QueuePolicy(BasePolicy):
    """Decides for pods in queues."""

    name = "queue"

    def __init__(self, ledger: NodeLedger) -> None:
        self.world = ledger.world
        self._ledger = ledger
        self._table = ledger.table
        self.columns = QueueColumns(ledger.table)

    @property
    def tree(self) -> QueueTree:
        return self.columns.tree

    def sync(self) -> None:
        """Catch up with the world."""
        self._ledger.sync()
        self.columns.sync()

    def view(self, preemptor: PodFacts, now: int) -> PodInQueueView:
        self.sync()
        # Nominated pods of all priorities count as present.
        nodes = self._ledger.view(preemptor, priority=LOWEST, vacated=True)
        return PodInQueueView(preemptor, self.tree.queue_of(preemptor), nodes, now)

    # 1. Fits

    def fits(self, view: PodInQueueView) -> Placed | None:
        if view.blocked or not view.nodes.fits.any():
            return None
        name = self._table.names[self._ledger.best(view.facts, np.flatnonzero(view.nodes.fits))]
        return Placed(texts.pods.fits(view.unit, name), name, {view.unit: name})

    # 2. May it preempt at all?

    def trigger(self, view: PodInQueueView) -> HeldBack | None:
        refusal = self._refusal(view)
        if refusal:
            return HeldBack("Unschedulable", refusal, because=NobodyAsked())
        ready = view.facts.created + int(view.queue.delay * _SECOND)
        if view.now < ready:
            message = texts.queues.waits_for_delay(view.unit, view.queue.name, ready)
            return HeldBack("Wait", message, until=ready, because=NobodyAsked("NotYet"))
        where, leaving = leaving_enough(self.columns, view)
        if not leaving:
            return None
        message = texts.pods.waits_for_victims(view.unit, where, leaving)
        return HeldBack("Wait", message, where, waiting_for=leaving, because=NobodyAsked("Leaving"))

    def _refusal(self, view: PodInQueueView) -> str:
        if view.facts.preemption_policy == "Never":
            return texts.pods.never_preempts(view.unit)
        if not self.tree.preemption:
            return texts.queues.preemption_off(view.unit)
        if not laws.could_be_under_guarantee(view):
            return texts.queues.law_4(view.unit, view.queue.name)
        return ""

    # 3. to 5. The search

    def domains(self, view: PodInQueueView) -> Iterable[Sequence[str]]:  # noqa: ARG002 - rules keep to the fence
        return [[WITHIN_FENCE]]

    def rules(self, view: PodInQueueView, domain: str = WITHIN_FENCE) -> list[QueueRule]:  # noqa: ARG002
        return queue_rules(view, self.columns, self._standing(view))

    def _standing(self, view: PodInQueueView) -> QueueStanding:
        if view.standing is None:
            view.standing = QueueStanding(self.columns.figures, view)
        return view.standing

    def search(self, view: PodInQueueView, domain: str, rules: Sequence[QueueRule]) -> QueueSearch:  # noqa: ARG002
        view.candidates = self._judge(view, rules)
        view.search = QueueSearch(self.columns, view, view.candidates)
        return view.search

    def _judge(self, view: PodInQueueView, rules: Sequence[QueueRule]) -> QueueCandidates:
        return QueueCandidates(self.columns, self._table, rules, self._standing(view))

    def criteria(self, view: PodInQueueView, offers: Offers) -> list[Criterion]:  # noqa: ARG002 - the search knows
        return view.search.criteria() if view.search is not None else []

    def message(self, view: PodInQueueView, offer: Offer) -> str:
        return texts.pods.preempts(view.unit, offer.domain, [victim.unit for victim in offer.victims], 0)

    def refusal(self, view: PodInQueueView) -> HeldBack:
        laws_met = view.candidates.tally() if view.candidates is not None else {}
        message = texts.queues.no_victims_in_reach(view.unit, view.top.name, laws_met)
        return HeldBack("Unschedulable", message)

    # Explanations

    def judged(self, view: PodInQueueView, told: Told) -> Iterator[Judged]:
        candidates = view.candidates or self._judge(view, self.rules(view))
        chosen = self._ledger.index(told.chosen.domain) if told.chosen is not None else -1
        refused = view.search.refused if view.search is not None else {}
        held = self._held_by_law_4(view, told)
        law_4 = QueueLaw("AboveGuarantee", view.queue.name)
        for node in [chosen] if told.brief else range(len(self._table.residents)):
            for rank, share in enumerate(self._table.residents[node]):
                for facts in share.pods:
                    reason: Reason | None = candidates.reason(rank, node, facts)
                    if reason is None and (told.chosen is None or node == chosen):
                        reason = refused.get(node, {}).get(facts.key)
                    reason = reason or (law_4 if node in held else None)
                    yield Judged(facts.unit, self._table.names[node], reason)

    def _held_by_law_4(self, view: PodInQueueView, told: Told) -> set[int]:
        """Where nobody was chosen: the nodes on which only law 4 stood in the way, with room or once it was made."""
        if view.search is None or told.chosen is not None:
            return set()
        held = set(view.search.held_by_law_4)
        roomy = np.flatnonzero(view.nodes.fits).tolist()
        return held.union(roomy) if held.intersection(roomy) or not view.blocked else held

    def obstacles(self, view: PodInQueueView, told: Told) -> dict[str, str]:
        """For each node that cannot take the pod, why."""
        if told.offers is None or view.candidates is None:
            return {}
        offered = {offer.domain for offer in told.offers.all()}
        candidates = np.asarray(view.candidates.mask.any(axis=0))
        return {
            name: texts.pods.obstacle(int(view.nodes.reach[node]), candidates=bool(candidates[node]))
            for node, name in enumerate(self._table.names)
            if self._table.nodes[node] is not None
            and name not in offered
            and not view.nodes.fits[node]
            and node not in self._held_by_law_4(view, told)
        }

    def stamp(self, view: PodInQueueView) -> object:  # noqa: ARG002 - what the world is at
        return self.world.version

    def fingerprint(self) -> str:
        return self._ledger.fingerprint()
