"""Is there room for a pod on some nodes, now or if others left? The answer of the search, for those who only ask.

Nodes that a pod cannot reach (cordoned, tainted, of other labels than it asks for) have no room for it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.rules import OnlyLowerPriority
from reprieve.engine.nodes.view import Outlook
from reprieve.model.clock import Clock
from reprieve.model.names import Key
from reprieve.policies.deciding import Deciding
from reprieve.world import PodFacts


class Room:
    """Room on the nodes of one world, as it is when it is asked for."""

    def __init__(self, deciding: Deciding, clock: Clock) -> None:
        self._policy = deciding.pods
        self._table = deciding.pods.table
        self._clock = clock

    def fits_on(
        self,
        facts: PodFacts,
        nodes: Iterable[str],
        priority: int | None = None,
        apart_from: frozenset[Key] = frozenset(),
    ) -> bool:
        """Does it fit on any of these nodes, as things are? `apart_from`: pods it goes with, which are promised places
        of their own."""
        return self._on(nodes, self._outlook(facts, priority, apart_from).fits)

    def could_fit_on(self, facts: PodFacts, nodes: Iterable[str], priority: int | None = None) -> bool:
        """Would it, if everybody below a priority left: its own, or the one of its group?"""
        outlook = self._outlook(facts, priority)
        return self._on(nodes, outlook.fits | outlook.feasible)

    def is_gone(self, node: str) -> bool:
        self._table.sync()
        return node not in self._table.index

    def _on(self, nodes: Iterable[str], where: Mask) -> bool:
        index = self._table.index
        known = [index[name] for name in nodes if name in index]
        return bool(np.any(where[known])) if known else False

    def _outlook(self, facts: PodFacts, priority: int | None, apart_from: frozenset[Key] = frozenset()) -> Outlook:
        self._table.sync()
        rank = facts.priority if priority is None else priority
        return Outlook(
            self._table,
            self._policy.labels,
            Budgets(self._table),
            facts,
            [OnlyLowerPriority(rank)],
            priority=rank,
            apart_from=apart_from,
            vacated=True,
        )
