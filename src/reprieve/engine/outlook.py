"""What every node looks like to one shape of pod: does it fit, who would have to go, at what price.

Made for all nodes in one pass. Kept for the next pod of the same shape and then renewed only on the nodes that have
changed since, unless the pod minds its company, where a change on one node may matter on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from reprieve.engine.budgets import Budgets
from reprieve.engine.columns import Ints, Mask
from reprieve.engine.company import Company, Row, company, concerned
from reprieve.engine.labels import NodeLabels
from reprieve.engine.reach import unreachable
from reprieve.engine.reasons import Reason
from reprieve.engine.search import SlackLedger, remove_all, reprieve
from reprieve.engine.table import LARGEST, NOBODY, NodeTable
from reprieve.world import NEVER, PodFacts

SHIFT = 2**31
"""Added to priorities before they are summed, so that more victims never look cheaper because they are negative."""
Nodes = slice | Ints


class Ranked(NamedTuple):
    """The pods of some nodes, rank by rank, for rules to look at."""

    table: NodeTable
    nodes: Nodes
    depth: int

    def get(self, name: str) -> Ints:
        return self.table.ranks[name][: self.depth, self.nodes]


class Rule(Protocol):
    """Who may not be asked to leave, and why. A rule that spoils takes the whole node out of the search."""

    spoils: bool

    def protects(self, pods: Ranked) -> Mask:
        """Ranks by nodes: True where the pod is protected."""

    def reason(self, facts: PodFacts) -> Reason:
        """Why, for a pod that it protects."""

    def good_until(self) -> int:
        """When its answer may change with time alone."""


class Outlook:
    """The answer for all nodes, for one shape of pod."""

    def __init__(
        self, table: NodeTable, labels: NodeLabels, budgets: Budgets, facts: PodFacts, rules: Sequence[Rule]
    ) -> None:
        self.table = table
        self.budgets = budgets
        self.rules = rules
        self.priority = facts.priority
        self.epoch = table.epoch
        self.log_length = len(table.log)
        self.serial = 0
        """Raised each time it is asked for another pod: what was read from it before may no longer hold."""
        self._personal = self._own(facts)
        self.reach = unreachable(table, labels, facts.pod.spec)
        self._names = [name for name, units in facts.requests.items() if units > 0]
        self._rows = np.array([table.row(name) for name in self._names], dtype=np.int64)
        self._needs = np.array([min(facts.requests[name], LARGEST) for name in self._names], dtype=np.int64)
        self.company: Company | None = None
        if concerned(table, facts):
            self.company = company(table, labels, facts, self._above(facts, slice(None)))
            self.reach[self.company.out & (self.reach == 0)] = OUT_OF_COMPANY
        self._allocate()
        self.renew(slice(0, table.size), facts)

    def _allocate(self) -> None:
        size, depth = self.table.size, self.table.requests.shape[0]
        self.fits = np.zeros(size, dtype=np.bool_)
        self.feasible = np.zeros(size, dtype=np.bool_)
        self.violations = np.zeros(size, dtype=np.int64)
        self.top = np.zeros(size, dtype=np.int64)
        self.total = np.zeros(size, dtype=np.int64)
        self.count = np.zeros(size, dtype=np.int64)
        self.start = np.zeros(size, dtype=np.int64)
        self.victims = np.zeros((depth, size), dtype=np.bool_)
        self.violating = np.zeros((depth, size), dtype=np.bool_)
        self.protected = np.zeros((depth, size), dtype=np.int8)

    @property
    def good_until(self) -> int:
        return min((rule.good_until() for rule in self.rules), default=NEVER)

    def current(self, now: int) -> bool:
        """Whether it can be kept and renewed, rather than made anew."""
        return (
            self.epoch == self.table.epoch
            and now < self.good_until
            and self.victims.shape == (self.table.requests.shape[0], self.table.size)
            and (self.company is None or self.log_length == len(self.table.log))
        )

    def follow(self, facts: PodFacts) -> None:
        """Renew what has changed since, and the node that the pod itself is nominated to."""
        own = self._own(facts)
        changed = {*self.table.log[self.log_length :], *self._personal, *own}
        self.log_length = len(self.table.log)
        self._personal = own
        self.serial += 1
        if changed:
            self.renew(np.array(sorted(changed), dtype=np.int64), facts)

    def _own(self, facts: PodFacts) -> list[int]:
        """The node a pod is nominated to: there it does not stand in its own way, but would in that of its like."""
        node = self.table.index.get(facts.nominated) if facts.nominated else None
        return [] if node is None else [node]

    def _above(self, facts: PodFacts, nodes: Nodes) -> dict[int, list[PodFacts]]:
        """Nominated pods that count as present: of equal or higher priority, and never the pod itself."""
        nominated = self.table.nominated
        looked_at = nominated if isinstance(nodes, slice) else [node for node in nodes.tolist() if node in nominated]
        return {
            node: [other for other in nominated[node] if other.priority >= self.priority and other.key != facts.key]
            for node in looked_at
        }

    def renew(self, nodes: Nodes, facts: PodFacts) -> None:
        """Look at some nodes again."""
        slack = self._slack(nodes, facts)
        reachable = self.reach[nodes] == 0
        self.fits[nodes] = SlackLedger(slack, (), *self._near()).fits() & reachable
        depth = int(self.table.occupied[nodes].max(initial=0))
        pods = Ranked(self.table, nodes, depth)
        protected, spoiled = self._protected(pods)
        self.protected[:depth, nodes] = protected
        candidates = protected == 0
        self.victims[:, nodes] = False
        self.violating[:, nodes] = False
        possible = candidates.any(axis=0) & reachable & ~spoiled
        self.feasible[nodes] = False
        if possible.all():
            self._search(nodes, slack, candidates, depth)
        elif possible.any():
            where = np.flatnonzero(possible)
            self._search(np.arange(self.table.size)[nodes][where], slack[:, where], candidates[:, where], depth)

    def _slack(self, nodes: Nodes, facts: PodFacts) -> Ints:
        """What is left on each node beside the pod, in every row that matters to it."""
        table = self.table
        rows = self._rows if isinstance(nodes, slice) else self._rows[:, None]
        slack = table.allocatable[rows, nodes] - table.used[rows, nodes] - self._needs[:, None]
        for node, pods in self._above(facts, nodes).items():
            place = node if isinstance(nodes, slice) else int(np.searchsorted(nodes, node))
            for other in pods:
                slack[:, place] -= [min(other.requests.of(name), LARGEST) for name in self._names]
        if self.company is None:
            return slack
        return np.vstack([slack, *(row.slack[nodes] for row in self._company_rows())])

    def _company_rows(self) -> list[Row]:
        """In the order a ledger wants: what must hold, what it would be alone, what may then be short."""
        if self.company is None:
            return []
        alone = [self.company.alone] if self.company.alone else []
        return [*self.company.rows, *alone, *self.company.near]

    def _near(self) -> tuple[int, int | None]:
        if self.company is None or not self.company.near:
            return 0, None
        near = len(self.company.near)
        rows = len(self._rows) + len(self._company_rows())
        return near, (rows - near - 1 if self.company.alone else None)

    def _protected(self, pods: Ranked) -> tuple[Ints, Mask]:
        """For each pod the number of the first rule that protects it, from 1; and the nodes that are spoiled."""
        nobody = pods.get("priority") == NOBODY
        protected = np.where(nobody, np.int8(-1), np.int8(0))
        spoiled = np.zeros(nobody.shape[1], dtype=np.bool_)
        for number, rule in enumerate(self.rules, 1):
            meant = rule.protects(pods) & (protected == 0)
            protected[meant] = number
            if rule.spoils:
                spoiled |= meant.any(axis=0)
        return protected, spoiled

    def _search(self, nodes: Nodes, slack: Ints, candidates: Mask, depth: int) -> None:
        """Remove, reprieve, and note the price."""
        ledger = SlackLedger(slack, self._weights(nodes, depth), *self._near())
        fits = remove_all(ledger, candidates)
        violating = self.budgets.violating(candidates, nodes)
        victims = reprieve(ledger, candidates & fits, (violating, ~violating) if violating.any() else (candidates,))
        feasible = fits & victims.any(axis=0)
        self.feasible[nodes] = feasible
        self.victims[:depth, nodes] = victims
        self.violating[:depth, nodes] = violating
        self._price(nodes, victims, violating & victims)

    def _weights(self, nodes: Nodes, depth: int) -> Ints:
        if isinstance(nodes, slice):
            weights = self.table.requests[:depth, self._rows, nodes]
        else:
            weights = self.table.requests[np.ix_(np.arange(depth), self._rows, nodes)]
        if self.company is None:
            return weights
        rows = [row.weight[:depth, nodes][:, None, :] for row in self._company_rows()]
        return np.concatenate([weights, *rows], axis=1)

    def _price(self, nodes: Nodes, victims: Mask, violating: Mask) -> None:
        depth = len(victims)
        priority = self.table.ranks["priority"][:depth, nodes]
        first = victims.argmax(axis=0)
        top = priority[first, np.arange(priority.shape[1])]
        start = self.table.ranks["start"][:depth, nodes]
        self.violations[nodes] = violating.sum(axis=0)
        self.top[nodes] = top
        self.total[nodes] = ((priority + SHIFT) * victims).sum(axis=0)
        self.count[nodes] = victims.sum(axis=0)
        self.start[nodes] = np.where(victims & (priority == top), start, NEVER).min(axis=0, initial=NEVER)


OUT_OF_COMPANY = 6
