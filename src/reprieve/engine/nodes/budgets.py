"""Pod disruption budgets: which of the pods on a node could not leave without breaking one.

Walking from the most important pod down, each pod that a budget covers uses up one of the disruptions it allows;
below zero the budget is broken. A pod that the budget lists as disrupted already is not counted.
"""

from collections.abc import Hashable

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.manifests.core import PodDisruptionBudget
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
        self._groups: dict[Hashable, tuple[Unit, bool]] = {}

    def covering(self, facts: PodFacts) -> list[int]:
        """The budgets that a pod would use up one of, in order."""
        labels = facts.pod.metadata.labels
        return [
            number
            for number, budget in enumerate(self.budgets)
            if _covers(budget, facts.key[0], labels) and facts.key[1] not in budget.status.disrupted_pods
        ]

    def violating(self, candidates: Mask, nodes: slice | Ints) -> Ints:
        """For each candidate on some nodes, rank by rank, how many of its pods would break a budget.

        Each node is a search of its own: what one would use up does not count for another.
        """
        if not self.budgets:
            return np.zeros(candidates.shape, dtype=np.int64)
        covers = self._covered(nodes, len(candidates))
        violating = self._walk(candidates & (covers > 0), covers)
        alone = covers if self._listed else covers == _SEVERAL
        numbers = np.arange(self._table.size)[nodes]
        for column in np.flatnonzero((candidates & (alone != 0)).any(axis=0)):
            shares = self._table.residents[numbers[column]]
            ranks = np.flatnonzero(candidates[:, column])
            counts = self.walk([shares[rank].unit for rank in ranks])
            violating[:, column] = 0
            violating[ranks, column] = counts
        return violating

    def alone(self, *, really: bool) -> Mask:
        """Ranks by nodes: whose leaving, alone, would break a budget; `really`: by the count of `broken_by`."""
        everybody = slice(0, self._table.size)
        breaks = np.zeros((self._table.depth, self._table.size), dtype=np.bool_)
        if not self.budgets:
            return breaks
        covers = self._covered(everybody, self._table.depth)
        single = covers > 0
        breaks[single] = self._allowed[covers[single]] < 1
        walked = covers != 0 if self._listed else covers == _SEVERAL
        for rank, node in np.argwhere(walked):
            unit = self._table.residents[node][rank].unit
            breaks[rank, node] = bool(self.broken_by(unit.pods)) if really else self.walk([unit])[0] > 0
        return breaks

    def everywhere(self, candidates: Mask) -> Ints:
        """The same for one search over all nodes: every unit uses up once, wherever its pods run."""
        violating = np.zeros(candidates.shape, dtype=np.int64)
        if not self.budgets:
            return violating
        covers = self._covered(slice(0, self._table.size), len(candidates))
        places: dict[Hashable, list[tuple[int, int]]] = {}
        units: dict[Hashable, Unit] = {}
        for rank, node in np.argwhere(candidates & (covers != 0)):
            unit = self._table.residents[node][rank].unit
            units[unit.key] = unit
            places.setdefault(unit.key, []).append((rank, node))
        order = sorted(units.values(), key=lambda unit: unit.importance)
        for unit, count in zip(order, self.walk(order), strict=True):
            for rank, node in places[unit.key]:
                violating[rank, node] = count
        return violating

    def walk(self, units: list[Unit]) -> list[int]:
        """For units in order of importance, how many pods of each break a budget."""
        left = [budget.status.disruptions_allowed for budget in self.budgets]
        return [sum(self._breaks(facts, left) for facts in unit.pods) for unit in units]

    def _breaks(self, facts: PodFacts, left: list[int]) -> bool:
        for number in self.covering(facts):
            left[number] -= 1
            if left[number] < 0:  # the search stops at the first broken budget
                return True
        return False

    def _covered(self, nodes: slice | Ints, depth: int) -> Ints:
        """For each share the number of its only budget plus one, 0 for none, or that it has to be walked by itself."""
        covers = self._lookup()[self._table.ranks["labels"][:depth, nodes]]
        group = self._table.ranks["group"][:depth, nodes]
        if group.any():
            for rank, column in np.argwhere(group > 0):
                node = np.arange(self._table.size)[nodes][column]
                if self._group_covered(self._table.residents[node][rank].unit):
                    covers[rank, column] = _SEVERAL
        return covers

    def _group_covered(self, unit: Unit) -> bool:
        """Asked once for each group as it is now: a group that changes becomes another unit."""
        known = self._groups.get(unit.key)
        if known is None or known[0] is not unit:
            known = self._groups[unit.key] = unit, any(self.covering(facts) for facts in unit.pods)
        return known[1]

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

    def _walk(self, covered: Mask, covers: Ints) -> Ints:
        """Where each pod has one budget: the nth candidate under it breaks it when n is more than it allows."""
        violating = np.zeros(covered.shape, dtype=np.int64)
        ranks, columns = np.nonzero(covered)
        if not len(ranks):
            return violating
        budgets = covers[ranks, columns]
        order = np.lexsort((ranks, budgets, columns))
        group = columns[order] * (len(self.budgets) + 1) + budgets[order]
        first = np.concatenate([[True], group[1:] != group[:-1]])
        position = np.arange(len(group)) - np.maximum.accumulate(np.where(first, np.arange(len(group)), 0))
        broken = order[position >= self._allowed[budgets[order]]]
        violating[ranks[broken], columns[broken]] = 1
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
