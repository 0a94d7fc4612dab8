"""What a queue decision knows beyond its victims: who stays by which law, what other nodes cost, why some are out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reprieve import texts
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.view import Outlook
from reprieve.engine.plan import Cost, Details, Spared
from reprieve.engine.reasons import CheaperElsewhere, QueueLaw, Reason, Reprieved
from reprieve.engine.steps import Choice
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.queue import candidates as pods
from reprieve.policies.queue import laws
from reprieve.policies.queue import standing as queues
from reprieve.policies.queue.candidates import Candidate, Candidates
from reprieve.policies.queue.pods import held
from reprieve.policies.queue.tree import QueueNode, QueueTree
from reprieve.world import PodFacts

# The name of each law, as explanations quote it.
LAWS = {
    queues.OUTSIDE_FENCE: "OutsideFence",
    queues.OWN_QUEUE: "OwnQueue",
    queues.DISABLED: "PreemptionDisabled",
    queues.WITHIN_GUARANTEE: "WithinGuarantee",
    queues.PRIORITY_FENCE: "PriorityFence",
    pods.FIXED: "RequiredNode",
    pods.LEAVING: "Leaving",
    pods.GROUPED: "WholeGroup",
    pods.OUTSIDE: "OutsideQueues",
    pods.SAME_APPLICATION: "SameApplication",
    pods.HIGHER_PRIORITY: "HigherPriority",
    pods.NOTHING_SHARED: "NothingShared",
    pods.BELOW_GUARANTEE: "NeverBelowGuarantee",
}


def tally(candidates: Candidates) -> dict[str, int]:
    """How many pods each law protects."""
    codes, counts = np.unique(candidates.why[candidates.why > 0], return_counts=True)
    return {LAWS[code]: count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}


class Explainer:
    """Details of one decision, made when somebody asks for them."""

    def __init__(self, tree: QueueTree, table: NodeTable, outlook: Outlook, candidates: Candidates) -> None:
        self._tree = tree
        self._table = table
        self._outlook = outlook
        self._candidates = candidates
        self._ask = candidates.ask

    def refused(self) -> Details:
        """Nobody is asked at all: by the delay, by law 4, because it never preempts."""
        return Details({}, list(self._spared({}, None, asked=False)), {})

    def searched(self, answers: dict[int, list[Candidate]], choice: Choice | None) -> Details:
        costs = {
            self._table.names[node]: Cost([one.facts.unit for one in victims]) for node, victims in answers.items()
        }
        return Details(costs, list(self._spared(answers, choice)), self._obstacles(answers))

    def _obstacles(self, answers: dict[int, list[Candidate]]) -> dict[str, str]:
        """For each node that cannot take the pod, why."""
        return {
            name: texts.obstacle(int(self._outlook.reach[node]), candidates=bool(self._candidates.mask[:, node].any()))
            for node, name in enumerate(self._table.names)
            if self._table.nodes[node] is not None and node not in answers and not self._outlook.fits[node]
        }

    def _spared(
        self, answers: dict[int, list[Candidate]], choice: Choice | None, *, asked: bool = True
    ) -> Iterator[Spared]:
        victims = answers[choice.domain] if choice else []
        going = {one.facts.key for one in victims}
        gone = self._gone(victims)
        for node, shares in enumerate(self._table.residents):
            for rank, share in enumerate(shares):
                for facts in share.pods:
                    if facts.key not in going:
                        law = self._law(rank, node, facts)
                        reason = law or self._unprotected(node, facts, choice, gone, asked=asked)
                        yield Spared(facts.unit, reason, self._table.names[node])

    def _law(self, rank: int, node: int, facts: PodFacts) -> QueueLaw | None:
        code = int(self._candidates.why[rank, node])
        queue = self._tree.queue_of(facts)
        if code == 0:
            return None
        if code == pods.BELOW_GUARANTEE:
            return self._below(facts, queue, laws.NOBODY_GONE)
        bound = int(self._candidates.standing.bound[queue.number])
        return QueueLaw(LAWS[code], queue.name, self._ask.top.name, facts.priority, bound)

    def _below(self, facts: PodFacts, queue: QueueNode, gone: laws.Gone) -> QueueLaw | None:
        """Law 2, with the queue that would fall below its guarantee."""
        if laws.stays_at_guarantee(facts, queue, self._ask, gone):
            return None
        held_back = next(
            node.name
            for node in queue.path
            if any(
                node.kept.get(name, 0) - gone.get(node.number, NOTHING).get(name, 0) - units
                < (node.guaranteed or NOTHING)[name]
                for name, units in held(facts).items()
                if name in (node.guaranteed or NOTHING)
            )
        )
        return QueueLaw(LAWS[pods.BELOW_GUARANTEE], held_back, self._ask.top.name)

    def _unprotected(
        self, node: int, facts: PodFacts, choice: Choice | None, gone: laws.Gone, *, asked: bool
    ) -> Reason:
        """Why somebody stays whom no law protects."""
        queue = self._tree.queue_of(facts)
        if not asked:
            return QueueLaw("NobodyAsked", queue.name, self._ask.top.name)
        if choice is not None and node != choice.domain:
            return CheaperElsewhere(self._table.names[choice.domain], choice.criterion)
        return (self._below(facts, queue, gone) if gone else None) or Reprieved()

    def _gone(self, victims: list[Candidate]) -> dict[int, Resources]:
        """What the victims take from each queue."""
        gone: dict[int, Resources] = {}
        for one in victims:
            for queue in self._tree.queues[one.queue].path:
                gone[queue.number] = gone.get(queue.number, NOTHING) + held(one.facts)
        return gone
