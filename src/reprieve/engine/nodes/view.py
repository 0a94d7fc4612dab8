"""What every node looks like to one shape of pod: does it fit, who would have to go, at what price.

Made for all nodes in one pass. Kept for the next pod of the same shape and then renewed only on the nodes that have
changed since, unless the pod minds its company, where a change on one node may matter on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.columns import LARGEST, NOBODY
from reprieve.engine.nodes.inter_pod import PLENTY, Company, Row, company, concerned
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.reach import REACHED, unreachable
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.engine.reasons import Reason
from reprieve.engine.steps import SlackLedger, remove_all, reprieve
from reprieve.model.names import Key
from reprieve.model.resources import PODS
from reprieve.world import NEVER, PodFacts

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

    def reason(self, unit: Unit, facts: PodFacts) -> Reason:
        """Why, for a pod of a unit that it protects."""

    def good_until(self) -> int:
        """When its answer may change with time alone."""


class Outlook:
    """The answer for all nodes, for one shape of pod."""

    def __init__(
        self,
        table: NodeTable,
        labels: NodeLabels,
        budgets: Budgets,
        facts: PodFacts,
        rules: Sequence[Rule],
        *,
        priority: int | None = None,
        within: Mask | None = None,
        apart_from: frozenset[Key] = frozenset(),
        marked: bool = False,
        vacated: bool = False,
    ) -> None:
        """For a member of a gang: its `priority`, the domain it stays `within`, those it goes with (`apart_from`).

        `marked`: budgets were walked over all nodes, and the table says who would break one. `vacated`: nominated pods
        get what is leaving their node first, and only the rest of what they need from what is free.
        """
        self.table = table
        self._facts = facts
        self._marked = marked
        self._vacated = vacated
        self._apart_from = apart_from
        self.budgets = budgets
        self.rules = rules
        self.good_until = NEVER
        """When an answer may change with time alone."""
        self.priority = facts.priority if priority is None else priority
        self.epoch = table.epoch
        self.log_length = len(table.log)
        self.serial = 0
        """Raised each time it is asked for another pod: what was read from it before may no longer hold."""
        self._personal = self._own(facts)
        self.reach = unreachable(table, labels, facts.pod.spec)
        if within is not None:
            self.reach[~within & (self.reach == 0)] = OUT_OF_DOMAIN
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
        self.spoiled = np.zeros(size, dtype=np.bool_)
        self.violations = np.zeros(size, dtype=np.int64)
        self.top = np.zeros(size, dtype=np.int64)
        self.total = np.zeros(size, dtype=np.int64)
        self.count = np.zeros(size, dtype=np.int64)
        self.start = np.zeros(size, dtype=np.int64)
        self.victims = np.zeros((depth, size), dtype=np.bool_)
        self.violating = np.zeros((depth, size), dtype=np.int64)
        self.protected = np.zeros((depth, size), dtype=np.int8)

    def current(self, now: int) -> bool:
        """Whether it can be kept and renewed, rather than made anew."""
        return (
            self.epoch == self.table.epoch
            and now < self.good_until
            and self.victims.shape == (self.table.requests.shape[0], self.table.size)
            and (self.company is None or self.log_length == len(self.table.log))
        )

    def follow(self, facts: PodFacts, rules: Sequence[Rule] | None = None) -> None:
        """Renew what has changed since by rules as they are now, and the node that the pod itself is nominated to."""
        self.rules = rules or self.rules
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
            node: [
                other
                for other in nominated[node]
                if self.table.standing[other.key] >= self.priority
                and other.key != facts.key
                and other.key not in self._apart_from
            ]
            for node in looked_at
        }

    def renew(self, nodes: Nodes, facts: PodFacts) -> None:
        """Look at some nodes again."""
        slack = self._slack(nodes, facts)
        reachable = self.reach[nodes] == 0
        self.fits[nodes] = SlackLedger(slack, None, *self._near()).fits() & reachable
        depth = int(self.table.occupied[nodes].max(initial=0))
        pods = Ranked(self.table, nodes, depth)
        protected, spoiled = self._protected(pods)
        self.protected[:depth, nodes] = protected
        self.spoiled[nodes] = spoiled
        candidates = protected == 0
        self.victims[:, nodes] = False
        self.violating[:, nodes] = 0
        possible = candidates.any(axis=0) & reachable & ~spoiled
        self.feasible[nodes] = False
        if possible.all():
            self._search(nodes, slack, candidates, depth)
        elif possible.any():
            where = np.flatnonzero(possible)
            self._search(np.arange(self.table.size)[nodes][where], slack[:, where], candidates[:, where], depth)

    def slack_of(self, node: int, facts: PodFacts) -> Ints:
        """What is left on one node beside the pod, row by row."""
        return self._slack(np.array([node], dtype=np.int64), facts)[:, 0]

    def weights_of(self, node: int) -> Ints:
        """What each unit on a node, rank by rank, gives to each row when it leaves."""
        return self._weights(np.array([node], dtype=np.int64), len(self.table.residents[node]))[:, :, 0]

    def with_weights(self, facts: PodFacts) -> tuple[Ints, Ints]:
        """What is left on every node beside the pod, row by row; and what each unit there gives when it leaves."""
        nodes = slice(0, self.table.size)
        return self._slack(nodes, facts), self._weights(nodes, self.table.depth)

    def enough(self, slack: Ints) -> Mask:
        """Where so much slack, row by row, lets the pod in."""
        return SlackLedger(slack, None, *self._near()).fits()

    def capacity(self, most: int) -> Ints:
        """How many pods of this shape each node could take at most if all candidates left."""
        slack = self._empty() + self._needs[:, None]
        each = (slack // self._needs[:, None]).min(axis=0)
        return np.where(self.reach == 0, np.clip(each, 0, most), 0)

    def room(self) -> dict[str, Ints]:
        """How much of each resource it asks for there would be on each node in reach if all candidates left."""
        slack = self._empty() + self._needs[:, None]
        free = np.where(self.reach == 0, np.maximum(slack, 0), 0)
        return dict(zip(self._names, free, strict=True))

    def _empty(self) -> Ints:
        """The slack of each node, beside the pod, without all candidates."""
        nodes = slice(0, self.table.size)
        depth = self.table.depth
        candidates = (self.protected[:depth, nodes] == 0) & ~self.spoiled
        weights = self.table.requests[:depth, self._rows, nodes]
        slack = self._slack(nodes, self._facts)[: len(self._rows)]
        return np.asarray(slack + np.einsum("krn,kn->rn", weights, candidates.astype(np.int64)))

    def _slack(self, nodes: Nodes, facts: PodFacts) -> Ints:
        """What is left on each node beside the pod, in every row that matters to it."""
        table = self.table
        rows = self._rows if isinstance(nodes, slice) else self._rows[:, None]
        slack = table.allocatable[rows, nodes] - table.used[rows, nodes] - self._needs[:, None]
        for node, pods in self._above(facts, nodes).items():
            place = node if isinstance(nodes, slice) else int(np.searchsorted(nodes, node))
            slack[:, place] -= self._promised(pods) - self._leaving_for(node, pods)
        if self.company is None:
            return slack
        return np.vstack([slack, *(row.slack[nodes] for row in self._company_rows())])

    def _promised(self, pods: list[PodFacts]) -> Ints:
        """What nominated pods need, row by row."""
        needs = [[min(other.requests.of(name), LARGEST) for name in self._names] for other in pods]
        return np.asarray(np.array(needs, dtype=np.int64).reshape(-1, len(self._names)).sum(axis=0))

    def _leaving_for(self, node: int, pods: list[PodFacts]) -> Ints:
        """What of that is leaving the node anyway."""
        if not self._vacated:
            return np.zeros(len(self._names), dtype=np.int64)
        leaves = np.flatnonzero(self.table.ranks["leaves"][:, node])
        leaving = self.table.requests[leaves][:, self._rows, node].sum(axis=0)
        return np.asarray(np.minimum(self._promised(pods), leaving))

    def when_all_left(self, facts: PodFacts) -> Mask:
        """Where the pod fits once everybody is gone who is leaving already."""
        slack, weights = self.with_weights(facts)
        leaves = self.table.ranked("leaves", slice(0, self.table.size)) > 0
        slack += np.einsum("krn,kn->rn", weights, leaves.astype(np.int64))
        for node, pods in self._above(facts, slice(None)).items():
            slack[: len(self._rows), node] -= self._leaving_for(node, pods)
        return np.asarray(self.enough(slack) & (self.reach == REACHED))

    def resolvable(self, node: int, facts: PodFacts) -> bool:
        """Whether the first filter that stops the pod on a node is one that pods leaving could satisfy.

        Asked in kube-scheduler's order: reach, host ports, resources, spreading, affinity, anti-affinity.
        """
        if self.reach[node] not in (REACHED, OUT_OF_COMPANY):
            return False
        slack = self._slack(np.array([node]), facts)[:, 0]
        own, theirs = slack[: len(self._rows)], slack[len(self._rows) :]
        short = [(row.name, units) for row, units in zip(self._company_rows(), theirs, strict=True) if units < 0]
        if any(name == "HostPort" for name, _ in short):
            return True
        if (own < 0).any():
            return not self._too_small(node)
        spread = [units for name, units in short if name == "TopologySpread"]
        if spread:
            return bool(spread[0] > -PLENTY)
        near, alone = self._near()
        met = (slack[len(slack) - near :] >= 0).all() or (alone is not None and slack[alone] >= 0)
        return bool(met and self.reach[node] == REACHED)

    def _too_small(self, node: int) -> bool:
        """Whether the whole node could not hold the pod; how many pods it takes does not count."""
        capacity = self.table.allocatable[self._rows, node]
        return bool((self._needs > capacity)[[name != PODS for name in self._names]].any())

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
            self.good_until = min(self.good_until, rule.good_until())
        return protected, spoiled

    def _search(self, nodes: Nodes, slack: Ints, candidates: Mask, depth: int) -> None:
        """Remove, reprieve, and note the price."""
        ledger = SlackLedger(slack, self._weights(nodes, depth), *self._near())
        fits = remove_all(ledger, candidates)
        if self._marked:
            violating = self.table.ranks["breaks"][:depth, nodes]
        else:
            violating = self.budgets.violating(candidates, nodes)
        protected = violating > 0
        classes = (protected, ~protected) if protected.any() else (candidates,)
        victims = reprieve(ledger, candidates & fits, classes)
        self.feasible[nodes] = fits & victims.any(axis=0)
        self.victims[:depth, nodes] = victims
        self.violating[:depth, nodes] = violating
        self._price(nodes, victims)

    def _weights(self, nodes: Nodes, depth: int) -> Ints:
        if isinstance(nodes, slice):
            weights = self.table.requests[:depth, self._rows, nodes]
        else:
            weights = self.table.requests[np.ix_(np.arange(depth), self._rows, nodes)]
        if self.company is None:
            return weights
        rows = [row.weight[:depth, nodes][:, None, :] for row in self._company_rows()]
        return np.concatenate([weights, *rows], axis=1)

    def _price(self, nodes: Nodes, victims: Mask) -> None:
        """What the victims of each node cost, with all their pods, wherever they run."""
        depth = len(victims)
        ranks = {name: self.table.ranks[name][:depth, nodes] for name in ("top", "total", "count", "start")}
        top = np.where(victims, ranks["top"], -NOBODY).max(axis=0, initial=-NOBODY)
        self.violations[nodes] = (self.violating[:depth, nodes] * victims).sum(axis=0)
        self.top[nodes] = top
        self.total[nodes] = (ranks["total"] * victims).sum(axis=0)
        self.count[nodes] = (ranks["count"] * victims).sum(axis=0)
        highest = victims & (ranks["top"] == top)
        self.start[nodes] = np.where(highest, ranks["start"], NEVER).min(axis=0, initial=NEVER)


OUT_OF_COMPANY = 6
OUT_OF_DOMAIN = 7
