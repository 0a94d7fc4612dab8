"""Who may be preempted from its node, by preemptors of each priority: the rules over all pods, asked at once."""

from collections.abc import Sequence

import numpy as np

from reprieve.engine.exposure import ALLOWED, Asker, Exposure, Numbers, Overcommitted, ask
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.pool import NodeRule, Ranked, Resident
from reprieve.engine.nodes.rules import judge, preemption_rules
from reprieve.engine.reasons import NodeLeftOut, Reason, SparedByBudget
from reprieve.model.resources import PODS

_LEFT_OUT, _BUDGET = 100, 101
"""Beyond the numbers of rules: another pod takes the node out; a budget is respected."""


class NodeExposure:
    """All pods on nodes, in the order of the nodes and of their ranks there."""

    def __init__(self, ledger: NodeLedger, now: int) -> None:
        ledger.sync()
        self._ledger = ledger
        self._table = table = ledger.table
        self._now = now
        self._pods = [
            (rank, node, Resident(share.unit, facts))
            for node, shares in enumerate(table.residents)
            for rank, share in enumerate(shares)
            for facts in share.pods
        ]
        places = [(rank, node) for rank, node, _ in self._pods]
        self._ranks, self._nodes = np.array(places, dtype=np.int64).reshape(-1, 2).T
        self._respected = ledger.settings.pdb == "Respect"
        self._breaking = ledger.budgets.alone(really=self._respected)[self._ranks, self._nodes]
        self._everybody = Ranked(table, slice(0, table.size), table.depth)

    def of(self, askers: Sequence[Asker]) -> Exposure:
        """What the rules say for each asker."""
        units = [resident.facts.unit for _, _, resident in self._pods]
        protected = ask(askers, self._row, len(units))
        return Exposure(
            askers,
            units,
            protected,
            lambda asker, unit: self._reason(askers[asker], unit, int(protected[asker, unit])),
            None if self._respected or not self._breaking.any() else self._breaking,
        )

    def _row(self, asker: Asker) -> Numbers:
        protected, spoiled = judge(self._rules(asker), self._everybody)
        row: Numbers = protected[self._ranks, self._nodes].astype(np.int16)
        row[(row == ALLOWED) & spoiled[self._nodes]] = _LEFT_OUT
        if self._respected:
            row[(row == ALLOWED) & self._breaking] = _BUDGET
        return row

    def _rules(self, asker: Asker) -> list[NodeRule]:
        classes, own = self._ledger.world.classes, self._ledger.own()
        return preemption_rules(self._table, classes, asker.priority, self._now, own=own)

    def _reason(self, asker: Asker, unit: int, number: int) -> Reason:
        _, node, resident = self._pods[unit]
        if number == _BUDGET:
            return SparedByBudget()
        rules = self._rules(asker)
        return self._left_out(node, rules) if number == _LEFT_OUT else rules[number - 1].reason(resident)

    def _left_out(self, node: int, rules: list[NodeRule]) -> NodeLeftOut:
        """By whom: the most important pod of the node that a spoiling rule is about."""
        here = Ranked(self._table, np.array([node]), len(self._table.residents[node]))
        protected, _ = judge(rules, here)
        spoiling = [number for number, rule in enumerate(rules, 1) if rule.spoils]
        rank = int(np.flatnonzero(np.isin(protected[:, 0], spoiling))[0])
        share = self._table.residents[node][rank]
        reason = rules[int(protected[rank, 0]) - 1].reason(Resident(share.unit, share.pods[0]))
        name = getattr(reason, "class_name", "")
        return NodeLeftOut(self._table.names[node], getattr(reason, "member", None) or share.pods[0].unit, name)


def overcommitted_nodes(ledger: NodeLedger) -> list[Overcommitted]:
    """Nodes whose pods use more than there is, and pods whose node is not there at all."""
    ledger.sync()
    table = ledger.table
    found = []
    over = table.used[:, : table.size] - table.allocatable[:, : table.size]
    for name, row in table.resources.items():
        for node in np.flatnonzero((over[row] > 0) & ~table.gone[: table.size]).tolist():
            units, left = [], int(over[row, node])
            for share in reversed(table.residents[node]):
                if left > 0 and share.requests.of(name) > 0:
                    units += [facts.unit for facts in share.pods]
                    left -= share.requests.of(name)
            found.append(Overcommitted(f"Node/{table.names[node]}", name, int(over[row, node]), units))
    for node_name, pods in table.stray.items():
        lost = [facts.unit for facts in pods.values() if facts.node]
        if lost:
            found.append(Overcommitted(f"Node/{node_name}", PODS, len(lost), lost))
    return found
