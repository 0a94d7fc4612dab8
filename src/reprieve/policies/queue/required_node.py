"""A pod that must run on one node, as those of a DaemonSet: it takes from that node, whatever queues say.

1. No delay, guarantee, fence or maximum holds it back; only a preemption policy of Never does.
2. Asked are the pods of that node of lower or equal priority that hold something of what is missing, also those of its
   own application; never other pods that must run there.
3. Ordinary pods go first, then those that opted out, then those that lead their application; among each the lowest
   priority, then the youngest, then the smallest, until the pod fits.
4. While enough pods leave already, it waits for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from reprieve.engine.nodes.view import Outlook
from reprieve.engine.plan import Cost, Details, Spared
from reprieve.engine.reasons import QueueLaw, Reprieved
from reprieve.engine.steps import remove_until_fits
from reprieve.policies.queue.candidates import Candidate, QueueColumns
from reprieve.policies.queue.laws import Ask
from reprieve.policies.queue.ledger import NodeLedger
from reprieve.policies.queue.pods import held, required_node


class NodeBound:
    """The search on the one node that a pod may run on."""

    def __init__(self, columns: QueueColumns, outlook: Outlook, ask: Ask, node: int) -> None:
        self._columns = columns
        self._outlook = outlook
        self._ask = ask
        self._node = node
        self._table = outlook.table

    def _here(self) -> Iterator[Candidate]:
        for rank in range(len(self._table.residents[self._node])):
            yield self._columns.candidate(rank, self._node)

    def leaving(self) -> list[str]:
        """Pods on their way out, if they are enough."""
        if not self._outlook.when_all_left(self._ask.facts)[self._node]:
            return []
        return [one.facts.unit for one in self._here() if one.facts.pod.terminating]

    def victims(self) -> list[Candidate] | None:
        ledger = NodeLedger(self._ask, self._outlook, self._node)
        order = sorted((one for one in self._here() if self._protection(one) is None), key=self._order)
        return remove_until_fits(ledger, order, ledger.helps)

    def _protection(self, one: Candidate) -> str | None:
        facts = one.facts
        if required_node(facts) is not None:
            return "RequiredNode"
        if facts.pod.terminating:
            return "Leaving"
        if facts.priority > self._ask.facts.priority:
            return "HigherPriority"
        if self._table.residents[self._node][one.rank].unit.group:
            return "WholeGroup"
        return None if any(held(facts).of(name) for name in self._ask.request) else "NothingShared"

    def _order(self, one: Candidate) -> tuple[int, int, int, int, str]:
        reluctance = 2 if one.leads else 1 if one.opted_out else 0
        size = sum(held(one.facts).of(name) for name in self._ask.request)
        return reluctance, one.facts.priority, -one.facts.created, size, one.facts.unit

    def details(self, victims: list[Candidate]) -> Details:
        """Everybody on the node, and by which law it stays; on other nodes nobody is asked."""
        name = self._table.names[self._node]
        going = {one.facts.key for one in victims}
        spared = [Spared(one.facts.unit, self._why(one), name) for one in self._here() if one.facts.key not in going]
        elsewhere = [
            Spared(facts.unit, QueueLaw("OtherNode", self._columns.tree.queue_of(facts).name, name), other)
            for node, other in enumerate(self._table.names)
            if node != self._node
            for share in self._table.residents[node]
            for facts in share.pods
        ]
        costs = {name: Cost([one.facts.unit for one in victims])} if victims else {}
        return Details(costs, [*spared, *elsewhere])

    def _why(self, one: Candidate) -> QueueLaw | Reprieved:
        law = self._protection(one)
        queue = self._columns.tree.queues[one.queue].name
        return Reprieved() if law is None else QueueLaw(law, queue, "", one.facts.priority, self._ask.facts.priority)
