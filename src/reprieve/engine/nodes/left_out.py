"""Groups that reach a node which is left out: going whole, they would leave it, too."""

from collections.abc import Sequence

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.pool import Lasting, NodeRule, Ranked, Resident
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.engine.reasons import NodeLeftOut, Reason, UnknownClass, UnreadableToleration


class StaysOnNodesLeftOut(Lasting):
    """Nobody is preempted on a node where nobody knows what somebody tolerates: nor are groups that run there, too."""

    name = NodeLeftOut.rule

    def __init__(self, table: NodeTable, rules: Sequence[NodeRule]) -> None:
        """`rules` are asked in order: a pod that an earlier one protects leaves nothing out."""
        self._table = table
        self._blamed: dict[int, NodeLeftOut] = {}
        pods = Ranked(table, slice(0, table.size), table.depth)
        before = np.zeros((table.depth, table.size), dtype=np.bool_)
        for rule in rules:
            mask = rule.protects(pods)
            if mask is not None and rule.spoils:
                self._note(rule, mask & ~before)
            if mask is not None:
                before |= mask
        self._groups = self._reaching()

    def _note(self, rule: NodeRule, meant: Mask) -> None:
        for node, rank in np.argwhere(meant.T).tolist():
            share = self._table.residents[node][rank]
            reason = rule.reason(Resident(share.unit, share.pods[0]))
            if node not in self._blamed and isinstance(reason, (UnknownClass, UnreadableToleration)):
                pod = reason.member or share.pods[0].unit
                self._blamed[node] = NodeLeftOut(self._table.names[node], pod, reason.class_name)

    def _reaching(self) -> Ints:
        numbers = self._table.ranked("group", np.array(sorted(self._blamed), dtype=np.int64))
        return np.unique(numbers[numbers > 0])

    def protects(self, pods: Ranked) -> Mask | None:
        return np.isin(pods.get("group"), self._groups) if len(self._groups) else None

    def reason(self, unit: Resident) -> Reason:
        return next(self._blamed[node] for node in self._nodes(unit.unit) if node in self._blamed)

    def _nodes(self, unit: Unit) -> list[int]:
        return [self._table.index[name] for name in unit.shares]
