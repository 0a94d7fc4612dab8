"""Pod disruption budgets: which of the pods on a node could not leave without breaking one.

Walking from the most important pod down, each pod that a budget covers uses up one of the disruptions it allows;
below zero the budget is broken. A pod that the budget lists as disrupted already is not counted.
"""

from __future__ import annotations

import numpy as np

from reprieve.engine.columns import Ints, Mask
from reprieve.engine.table import NodeTable
from reprieve.objects.core import PodDisruptionBudget
from reprieve.world import PodFacts

_SEVERAL = -1


class Budgets:
    """All budgets of a world against all kinds of pods in a table; made anew when either changes."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        everything = table.world.all(PodDisruptionBudget)
        self.budgets: list[PodDisruptionBudget] = sorted(everything, key=lambda item: (item.namespace, item.name))
        self._allowed = np.array([0, *(item.status.disruptions_allowed for item in self.budgets)], dtype=np.int64)
        self._listed = any(item.status.disrupted_pods for item in self.budgets)
        self._known = 0
        self._covers = np.zeros(0, dtype=np.int64)

    def covering(self, facts: PodFacts) -> list[int]:
        """The budgets that a pod would use up one of, in order."""
        labels = facts.pod.metadata.labels
        return [
            number
            for number, budget in enumerate(self.budgets)
            if _covers(budget, facts.key[0], labels) and facts.key[1] not in budget.status.disrupted_pods
        ]

    def violating(self, candidates: Mask, nodes: slice | Ints) -> Mask:
        """Of the candidates on some nodes, rank by rank, those that would break a budget."""
        if not self.budgets:
            return np.zeros_like(candidates)
        covers = self._lookup()[self._table.ranked("labels", nodes)]
        violating = self._walk(candidates & (covers > 0), covers)
        complicated = np.flatnonzero((candidates & (covers == _SEVERAL)).any(axis=0))
        if self._listed:
            complicated = np.flatnonzero((candidates & (covers != 0)).any(axis=0))
        numbers = np.arange(self._table.size)[nodes]
        for column in complicated:
            violating[:, column] = self._walk_one(candidates[:, column], int(numbers[column]))
        return violating

    def _lookup(self) -> Ints:
        """For each kind of pod the number of the only budget that covers it, plus one; 0 for none."""
        kinds = self._table.labels.items
        if len(kinds) > self._known:
            fresh = [_only(self._matching(kind)) for kind in kinds[self._known :]]
            self._covers = np.concatenate([self._covers, np.array(fresh, dtype=np.int64)])
            self._known = len(kinds)
        return self._covers

    def _matching(self, kind: tuple[str, frozenset[tuple[str, str]]] | None) -> list[int]:
        if kind is None or not kind[1]:
            return []
        namespace, labels = kind[0], dict(kind[1])
        return [number for number, budget in enumerate(self.budgets, 1) if _covers(budget, namespace, labels)]

    def _walk(self, covered: Mask, covers: Ints) -> Mask:
        """Where each pod has one budget: the nth candidate under it breaks it when n is more than it allows."""
        violating = np.zeros_like(covered)
        ranks, columns = np.nonzero(covered)
        if not len(ranks):
            return violating
        budgets = covers[ranks, columns]
        order = np.lexsort((ranks, budgets, columns))
        group = columns[order] * (len(self.budgets) + 1) + budgets[order]
        first = np.concatenate([[True], group[1:] != group[:-1]])
        position = np.arange(len(group)) - np.maximum.accumulate(np.where(first, np.arange(len(group)), 0))
        broken = order[position >= self._allowed[budgets[order]]]
        violating[ranks[broken], columns[broken]] = True
        return violating

    def _walk_one(self, candidates: Mask, node: int) -> Mask:
        """One node pod by pod: where a pod has several budgets, or a budget lists pods by name."""
        left = [budget.status.disruptions_allowed for budget in self.budgets]
        violating = np.zeros_like(candidates)
        for rank in np.flatnonzero(candidates):
            for number in self.covering(self._table.residents[node][rank]):
                left[number] -= 1
                if left[number] < 0:  # the search stops at the first broken budget
                    violating[rank] = True
                    break
        return violating

    def broken_by(self, victims: list[PodFacts]) -> list[PodDisruptionBudget]:
        """Budgets that would really be broken if just these pods left."""
        used = [0] * len(self.budgets)
        for facts in victims:
            for number in self.covering(facts):
                used[number] += 1
        return [
            budget
            for budget, count in zip(self.budgets, used, strict=True)
            if count > max(budget.status.disruptions_allowed, 0)
        ]


def _covers(budget: PodDisruptionBudget, namespace: str, labels: dict[str, str]) -> bool:
    selector = budget.spec.selector
    return (
        budget.namespace == namespace
        and bool(labels)
        and selector is not None
        and not selector.empty
        and selector.matches(labels)
    )


def _only(numbers: list[int]) -> int:
    if len(numbers) > 1:
        return _SEVERAL
    return numbers[0] if numbers else 0
