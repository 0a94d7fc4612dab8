"""A pod that must run on one node, as those of a DaemonSet: it takes from that node, whatever queues say.

1. No delay, guarantee, fence or maximum holds it back; only a preemption policy of Never does.
2. Asked are the pods of that node of lower or equal priority that hold something of what is missing, also those of its
   own application; never other pods that must run there, nor another scheduler's where only own ones may be asked.
3. Ordinary pods go first, then those that opted out, then those that lead their application; among each the lowest
   priority, then the youngest, then the smallest, until the pod fits. Whoever of them is not needed for that is given
   back, the most important first.
4. While enough pods leave already, it waits for them.
5. Until it is there, nobody else is placed on that node, whatever room there is; but who was promised a place there
   before keeps it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from reprieve import texts
from reprieve.engine.claims import Claim, ClaimOnNodes, NotReachable, Protected
from reprieve.engine.explanation import Judged, Told
from reprieve.engine.nodes.ledger import NOWHERE, NodeLedger
from reprieve.engine.nodes.obstacles import NodeObstacles, without_asking
from reprieve.engine.nodes.reach import REACHED
from reprieve.engine.nodes.whose import whose_rule
from reprieve.engine.offers import HeldBack, Offer, OfferList, Placed
from reprieve.engine.plan import Remark, Victim
from reprieve.engine.preemption import BasePolicy
from reprieve.engine.reasons import NobodyAsked, NodeRequired, QueueLaw, Reason
from reprieve.engine.rules import Rule, protection
from reprieve.engine.steps import ONLY_CANDIDATE, remove_until_fits, reprieve_each
from reprieve.model.resources import PODS
from reprieve.policies.on_nodes import group_counts_for_nothing
from reprieve.policies.queue.columns import QueueCandidate, QueueColumns
from reprieve.policies.queue.ledger import OneNode
from reprieve.policies.queue.pods import held, required_node
from reprieve.policies.queue.view import QueueView
from reprieve.world import PodFacts

_ABOUT_PLACE = ("OtherNode", "WholeGroup")


class RequiredNodeView(QueueView):
    """A pod and the one node that it may run on; `node` is its number, `where` its name."""

    node = NOWHERE
    where = ""


class RequiredNodePolicy(BasePolicy):
    """Decides for pods in queues that must run on one node."""

    name = "queue"

    def __init__(self, ledger: NodeLedger, columns: QueueColumns) -> None:
        self._ledger = ledger
        self._table = ledger.table
        self._columns = columns

    def view(self, preemptor: PodFacts, now: int) -> RequiredNodeView:
        self._ledger.sync()
        self._columns.sync()
        nodes = self._ledger.view(preemptor, vacated=True)
        view = RequiredNodeView(preemptor, self._columns.tree.queue_of(preemptor), nodes, now)
        view.where = required_node(preemptor) or ""
        view.node = self._ledger.index(view.where)
        return view

    def fits(self, view: RequiredNodeView) -> Placed | None:
        if not _within_reach(view) or not view.nodes.fits[view.node]:
            return None
        return Placed(texts.pods.fits(view.unit, view.where), view.where, {view.unit: view.where})

    def trigger(self, view: RequiredNodeView) -> HeldBack | None:
        if not _within_reach(view):
            claims: list[Claim] = [NotReachable(why="NoSuchNode")]
            if view.node != NOWHERE:
                claims = [*without_asking(view.nodes, np.array([view.node]))]
            message = texts.queues.on_its_node(view.unit, view.where, claims)
            return HeldBack("Unschedulable", message, because=NobodyAsked(), claims=claims)
        if view.facts.preemption_policy == "Never":
            claims = [*without_asking(view.nodes, np.array([view.node]))]
            message = texts.queues.never_on_node(view.unit, view.where, claims)
            return HeldBack("Unschedulable", message, because=NobodyAsked("Never"), claims=claims)
        if not view.roomy[view.node]:
            return None
        leaving = [one.facts.unit for one in self._here(view) if one.facts.pod.terminating]
        message = texts.pods.waits_for_victims(view.unit, view.where, leaving)
        if not leaving:
            return None
        return HeldBack(
            "Wait",
            message,
            view.where,
            {view.unit: view.where},
            waiting_for=leaving,
            because=NobodyAsked("Leaving"),
            reserves=True,
            closes=True,
        )

    def _here(self, view: RequiredNodeView) -> Iterator[QueueCandidate]:
        for rank in range(len(self._table.residents[view.node])):
            yield self._columns.candidate(rank, view.node)

    def domains(self, view: RequiredNodeView) -> Iterable[Sequence[int]]:
        return [[view.node]]

    def rules(self, view: RequiredNodeView, domain: int) -> list[Rule[QueueCandidate]]:
        """Those of the pods on its node; on others nobody is asked."""
        pods = self._counts_pods(view, domain)
        asked, most = held(view.facts, pods=pods), view.facts.priority
        residents = self._table.residents
        holds: dict[str, Callable[[QueueCandidate], bool]] = {
            "OtherNode": lambda one: one.node != domain,
            "WholeGroup": lambda one: bool(residents[one.node][one.rank].unit.group),
            "RequiredNode": lambda one: required_node(one.facts) is not None,
            "Leaving": lambda one: one.facts.pod.terminating,
            "HigherPriority": lambda one: one.facts.priority > most,
            "NothingShared": lambda one: not any(held(one.facts, pods=pods).of(name) for name in asked),
        }

        def rule(kind: str) -> Rule[QueueCandidate]:
            return lambda one: self._law(view, kind, one) if holds[kind](one) else None

        whose = whose_rule(self._ledger.own(view.facts))
        return [
            *(rule(kind) for kind in holds if kind in _ABOUT_PLACE),
            lambda one: whose(one.facts),
            *(rule(kind) for kind in holds if kind not in _ABOUT_PLACE),
        ]

    def _counts_pods(self, view: RequiredNodeView, node: int) -> bool:
        """Whether it matters that each pod is one: to queues, or because the node takes no more of them."""
        short = (name for row, (name, _) in enumerate(view.nodes.asked) if view.slack[row, node] < 0)
        return PODS in view.request or PODS in short

    def _law(self, view: RequiredNodeView, kind: str, one: QueueCandidate) -> Reason:
        top = view.where if kind == "OtherNode" else ""
        return QueueLaw(kind, self._columns.tree.queues[one.queue].name, top, one.facts.priority, view.facts.priority)

    def search(self, view: RequiredNodeView, domain: int, rules: Sequence[Rule[QueueCandidate]]) -> OfferList:
        ledger = OneNode(view, domain)
        allowed = (one for one in self._here(view) if protection(rules, one) is None)
        order = sorted(allowed, key=lambda one: _order(view, one))
        removed = remove_until_fits(ledger, order, ledger.helps)
        if removed is None:
            return OfferList()
        victims = reprieve_each(ledger, removed)
        going = [Victim(one.facts.unit, NodeRequired(view.where, one.reluctant)) for one in victims]
        place = {view.unit: view.where}
        leaving = [one.facts.unit for one in self._here(view) if one.facts.pod.terminating]
        offer = Offer(view.where, going, place, waiting_for=leaving, criterion=ONLY_CANDIDATE, reserves=True)
        return OfferList([offer._replace(closes=True)])

    def message(self, view: RequiredNodeView, offer: Offer) -> str:
        return texts.pods.preempts(view.unit, offer.domain, [victim.unit for victim in offer.victims], 0)

    def refusal(self, view: RequiredNodeView) -> HeldBack:
        claims = self._claims(view)
        message = texts.queues.on_its_node(view.unit, view.where, claims)
        return HeldBack("Unschedulable", message, claims=claims)

    def _claims(self, view: RequiredNodeView) -> list[ClaimOnNodes]:
        """Why its node cannot take it, though all went who may go."""
        rules = self.rules(view, view.node)
        here = self._table.residents[view.node]
        judged = [protection(rules, one) for one in self._here(view)]
        candidates = np.zeros((len(judged), self._table.size), dtype=np.bool_)
        candidates[:, view.node] = [reason is None for reason in judged]
        stays = zip(judged, here, strict=True)
        counts = Counter(reason.rule for reason, share in stays if reason is not None for _ in share.pods)
        stay = [Protected(rule, pods) for rule, pods in sorted(counts.items())]
        return NodeObstacles(view.nodes, candidates, when_left=True).of(np.array([view.node]), lambda _: stay)

    def remarks(self, view: RequiredNodeView, told: Told) -> list[Remark]:  # noqa: ARG002 - whatever the outcome
        return group_counts_for_nothing(view.facts, self._ledger.settings)

    # Explanations

    def judged(self, view: RequiredNodeView, told: Told) -> Iterator[Judged]:
        rules = self.rules(view, view.node)
        for node in [view.node] if told.brief else range(len(self._table.residents)):
            for rank, share in enumerate(self._table.residents[node]):
                reason = protection(rules, self._columns.candidate(rank, node))
                yield from (Judged(facts.unit, self._table.names[node], reason) for facts in share.pods)

    def obstacles(self, view: RequiredNodeView, told: Told) -> dict[str, Claim]:
        if told.offers is None or told.chosen is not None:
            return {}
        return dict(zip([view.where], self._claims(view), strict=False))

    def stamp(self, view: RequiredNodeView) -> object:  # noqa: ARG002 - what the world is at
        return self._ledger.world.version

    def fingerprint(self) -> str:
        return self._ledger.fingerprint()


def _within_reach(view: RequiredNodeView) -> bool:
    return view.node != NOWHERE and bool(view.nodes.reach[view.node] == REACHED)


def _order(view: RequiredNodeView, one: QueueCandidate) -> tuple[int, int, int, int, str]:
    reluctance = 2 if one.leads else 1 if one.opted_out else 0
    size = sum(held(one.facts).of(name) for name in view.request)
    return reluctance, one.facts.priority, -one.facts.created, size, one.facts.unit
