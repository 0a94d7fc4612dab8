"""The queue policy: YuniKorn, the seven laws of preemption.

1. A pod that fits its queues and some node preempts nobody. What was promised to others counts as taken, on nodes and
   in queues, whatever their priority: between queues a higher number may be worth less, and who made way must not slip
   back. A pod that was nominated to a node takes that one if it can.
2. Before it may preempt, it has waited for the delay of its queue; its queue is under its guarantee (law 4).
   While enough pods leave already, it waits for them.
3. Victims come from queues over their guarantee (law 5) inside the fence (law 7), of lower or equal priority (law 6),
   never of its own queue or application (law 3), and never so that a queue falls below its guarantee (law 2).
   Groups, and pods that stay out of queues, are no victims: they are placed by priority alone, which queues may turn
   around, so that each would take the place of the other in turn.
4. They are on one node. With the room that is free there they make the pod fit, and with any of them back it would not.
   Where only a maximum stands in the way, they may be anywhere below it.
5. On a node, and between nodes: who opted out goes last, then who leads its application (law 1); of the others the
   least important go first, and of equals the youngest. Between nodes, the most important victim counts first, then how
   many they are, how important all of them are, how near their queues, how old they are; then the node's age and name.
6. A pod that must run on one node (a DaemonSet's) takes from that node, whatever queues say: see `required_node`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from reprieve import texts
from reprieve.engine.arrays import Ints
from reprieve.engine.claims import Claim
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.linear_model import LinearModel
from reprieve.engine.nodes.ledger import MOST_SHAPES, NodeLedger
from reprieve.engine.nodes.obstacles import without_asking
from reprieve.engine.nodes.view import NodeView
from reprieve.engine.offers import HeldBack, Offer, Offers, Placed
from reprieve.engine.plan import Remark
from reprieve.engine.reasons import Because, NobodyAsked, NoTaskGroups, QueueLaw, Reason
from reprieve.engine.steps import Criterion
from reprieve.model.names import UnitName
from reprieve.policies.improving import ImprovingPolicy
from reprieve.policies.on_nodes import group_counts_for_nothing
from reprieve.policies.queue import laws
from reprieve.policies.queue.alternatives import Side, every_side, sides
from reprieve.policies.queue.candidates import QueueCandidates
from reprieve.policies.queue.claims import QueueObstacles, above_guarantee, at_maximum
from reprieve.policies.queue.columns import QueueColumns
from reprieve.policies.queue.leaving import leaving_enough
from reprieve.policies.queue.order import Turn, TurnOrder
from reprieve.policies.queue.rules import QueueRule, queue_rules
from reprieve.policies.queue.search import QueueSearch
from reprieve.policies.queue.standing import QueueStanding
from reprieve.policies.queue.task_groups import TaskGroups, useless
from reprieve.policies.queue.tree import QueueTree, limited
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


class QueuePolicy(ImprovingPolicy):
    """Decides for pods in queues."""

    name = "queue"

    def __init__(self, ledger: NodeLedger) -> None:
        self.world = ledger.world
        self._ledger = ledger
        self.settings = ledger.settings
        self._table = ledger.table
        self.columns = QueueColumns(ledger.table, ledger.settings.queues)
        self._order = TurnOrder(ledger.world)
        self._task_groups: TaskGroups | None = None
        self._kept: dict[object, NodeView] = {}

    @property
    def tree(self) -> QueueTree:
        return self.columns.tree

    @property
    def task_groups(self) -> TaskGroups:
        """The applications that start as a whole."""
        if self._task_groups is None or self._task_groups.tree is not self.tree:
            self._task_groups = TaskGroups(self.world, self.tree)
        return self._task_groups

    def sync(self) -> None:
        """Catch up with the world."""
        self._ledger.sync()
        self.columns.sync()

    def view(self, preemptor: PodFacts, now: int) -> PodInQueueView:
        self.sync()
        view = PodInQueueView(preemptor, self.tree.queue_of(preemptor), self._nodes(preemptor), now)
        view.limited = limited(self.tree, preemptor)
        return view

    def _nodes(self, facts: PodFacts) -> NodeView:
        """Made anew only where nodes have changed since a pod of the same shape was looked at."""
        shape = self._ledger.shape(facts)
        kept = self._kept.get(shape)
        if kept is not None and kept.current:
            nodes = kept.of_another(facts)
        else:
            # Nominated pods of all priorities count as present.
            nodes = self._ledger.view(facts, priority=LOWEST, vacated=True)
            if len(self._kept) >= MOST_SHAPES:
                self._kept.clear()
        if nodes.inter_pod is None:
            self._kept[shape] = nodes
        return nodes

    def may_claim(self, facts: PodFacts) -> bool:
        """Law 4, if everybody else below the guarantee left."""
        self.sync()
        return laws.could_be_under_guarantee(laws.QueueClaim(facts, self.tree.queue_of(facts)))

    def may_be_limited(self, facts: PodFacts) -> bool:
        """Whether limits of users or applications could keep it waiting, whatever is used of them now."""
        self.sync()
        return bool(self.tree.limits and self.tree.limits.bounds(facts, self.tree.queue_of(facts).names))

    def turn(self, facts: PodFacts) -> Turn:
        """Where a pod stands among those who wait."""
        self.sync()
        return self._order.turn(self.tree, facts)

    # 1. Fits

    def fits(self, view: PodInQueueView) -> Placed | None:
        if view.limited or view.blocked or not view.nodes.fits.any():
            return None
        name = self._table.names[self._best(view.facts, np.flatnonzero(view.nodes.fits))]
        return Placed(texts.pods.fits(view.unit, name), name, {view.unit: name})

    def _best(self, facts: PodFacts, nodes: Ints) -> int:
        """The node it is nominated to; else as the partition sorts nodes, or by score."""
        order = self.tree.node_order
        if order is None or self._ledger.index(facts.nominated) in nodes:
            return self._ledger.best(facts, nodes)
        return order.best(self._table, nodes)

    # 2. May it preempt at all?

    def trigger(self, view: PodInQueueView) -> HeldBack | None:
        if view.limited:  # nobody is preempted for that
            return _held(view, "NotAllowed", texts.queues.limited, *view.limited)
        refusal = self._refusal(view)
        if refusal is not None:
            return refusal
        ready = view.facts.created + int(view.queue.delay * _SECOND)
        if view.now < ready:
            message = texts.queues.waits_for_delay(view.unit, view.queue.name, ready)
            return HeldBack("Wait", message, until=ready, because=NobodyAsked("NotYet"))
        where, leaving = leaving_enough(self.columns, view)
        if not leaving:
            return None
        message = texts.pods.waits_for_victims(view.unit, where, leaving)
        return HeldBack("Wait", message, where, waiting_for=leaving, because=NobodyAsked("Leaving"))

    def _refusal(self, view: PodInQueueView) -> HeldBack | None:
        if view.facts.preemption_policy == "Never":
            return _held(view, "Never", texts.queues.never_preempts)
        if not self.tree.preemption:
            return _held(view, "NotAllowed", texts.queues.preemption_off)
        law_4 = above_guarantee(view, alone=True)
        return None if law_4 is None else _held(view, "NotAllowed", texts.queues.above_guarantee, law_4)

    # 3. to 5. The search

    def domains(self, view: PodInQueueView) -> Iterable[Sequence[str]]:  # noqa: ARG002 - rules keep to the fence
        return [[WITHIN_FENCE]]

    def rules(self, view: PodInQueueView, domain: str = WITHIN_FENCE) -> list[QueueRule]:  # noqa: ARG002
        return queue_rules(view, self.columns, self._standing(view), self._ledger.own(view.facts))

    def _standing(self, view: PodInQueueView) -> QueueStanding:
        if view.standing is None:
            view.standing = QueueStanding(self.columns.figures, view)
        return view.standing

    def search(self, view: PodInQueueView, domain: str, rules: Sequence[QueueRule]) -> QueueSearch:  # noqa: ARG002
        view.candidates = self._judge(view, rules)
        view.search = QueueSearch(self.columns, view, view.candidates)
        return view.search

    def judge(self, view: PodInQueueView) -> QueueCandidates:
        """What the rules say of everybody, for a pod that may not even exist yet."""
        return self._judge(view, self.rules(view))

    def _judge(self, view: PodInQueueView, rules: Sequence[QueueRule]) -> QueueCandidates:
        return QueueCandidates(self.columns, self._table, rules, self._standing(view))

    def criteria(self, view: PodInQueueView, offers: Offers) -> list[Criterion]:  # noqa: ARG002 - the search knows
        return view.search.criteria() if view.search is not None else []

    def alternatives(self, view: PodInQueueView, chosen: Offer | None) -> Iterable[Side]:
        if view.search is None or view.candidates is None:
            return ()
        return sides(self.columns, view, view.candidates, view.search, chosen, asks=self.settings.asks_for_lost_work)

    def models(self, view: PodInQueueView) -> Iterator[LinearModel]:
        if view.search is None or view.candidates is None:
            return iter(())
        asks = self.settings.asks_for_lost_work
        sides = every_side(self.columns, view, view.candidates, view.search, asks=asks)
        return (model for side in sides if (model := side.model()) is not None)

    def message(self, view: PodInQueueView, offer: Offer) -> str:
        return texts.pods.preempts(view.unit, offer.domain, [victim.unit for victim in offer.victims], 0)

    def refusal(self, view: PodInQueueView) -> HeldBack:
        if view.candidates is None:
            raise LookupError(f"nothing was searched for {view.unit}")
        obstacles = QueueObstacles(view, view.candidates, view.search)
        held = self._held_by_law_4(view)
        out = [node for node in self._out(view) if node not in held]
        law_4 = above_guarantee(view, alone=False) if held else None
        claims: list[Claim] = [
            *at_maximum(view),
            *([law_4] if law_4 is not None else []),
            *obstacles.of(np.array(out, dtype=np.int64)),
            obstacles.in_reach(),
        ]
        return HeldBack("Unschedulable", texts.queues.unschedulable(view.unit, claims), claims=claims)

    def _out(self, view: PodInQueueView) -> list[int]:
        """Nodes that have no room for it, also once everybody is gone who is leaving already."""
        found: list[int] = np.flatnonzero(~self._table.gone[: self._table.size] & ~view.roomy).tolist()
        return found

    def remarks(self, view: PodInQueueView, told: Told) -> list[Remark]:  # noqa: ARG002 - whatever the outcome
        said = group_counts_for_nothing(view.facts, self._ledger.settings)
        problem = useless(view.facts)
        return [*said, texts.remarks.no_task_groups(NoTaskGroups(view.unit, problem))] if problem else said

    # Explanations

    def judged(self, view: PodInQueueView, told: Told) -> Iterator[Judged]:
        candidates = view.candidates or self._judge(view, self.rules(view))
        chosen = self._ledger.index(told.chosen.domain) if told.chosen is not None else -1
        refused = view.search.refused if view.search is not None else {}
        held = self._held_by_law_4(view) if told.chosen is None else set()
        law_4 = QueueLaw("AboveGuarantee", view.queue.name)
        for node in [chosen] if told.brief else range(len(self._table.residents)):
            protected = candidates.protected[:, node].tolist()
            for rank, share in enumerate(self._table.residents[node]):
                for facts in share.pods:
                    reason: Reason | None = candidates.said(protected[rank], facts)
                    if reason is None and (told.chosen is None or node == chosen):
                        reason = refused.get(node, {}).get(facts.key)
                    reason = reason or (law_4 if node in held else None)
                    yield Judged(facts.unit, self._table.names[node], reason)

    def _held_by_law_4(self, view: PodInQueueView) -> set[int]:
        """Where nobody was chosen: the nodes on which only law 4 stood in the way, with room or once it was made."""
        if view.search is None:
            return set()
        held = set(view.search.held_by_law_4)
        roomy = np.flatnonzero(view.roomy).tolist()
        return held.union(roomy) if held.intersection(roomy) or not view.blocked else held

    def obstacles(self, view: PodInQueueView, told: Told) -> dict[str, Claim]:
        """For each node that cannot take the pod, why."""
        if told.offers is None or view.candidates is None:
            return {}
        offered = {self._table.index[offer.domain] for offer in told.offers.all()}
        held = self._held_by_law_4(view) if told.chosen is None else set()
        obstacles = QueueObstacles(view, view.candidates, view.search)
        return {
            self._table.names[node]: claim
            for node in self._out(view)
            if node not in offered and node not in held
            for claim in obstacles.of(np.array([node]))
        }

    def stamp(self, view: PodInQueueView) -> object:  # noqa: ARG002 - what the world is at
        return self.world.version

    def fingerprint(self) -> str:
        return self._ledger.fingerprint()


def _held(
    view: PodInQueueView, because: Because, text: Callable[[UnitName, Sequence[Claim]], str], *more: Claim
) -> HeldBack:
    """Nobody may be asked: why it does not fit as things are, and `more` that stands in the way."""
    claims = [*at_maximum(view), *(without_asking(view.nodes) if not view.nodes.fits.any() else ()), *more]
    return HeldBack("Unschedulable", text(view.unit, claims), because=NobodyAsked(because), claims=claims)
