"""Who would have to leave each node so that a pod fits there, and at what price: steps 3 to 5 for all nodes at once.

A search belongs to a view. It is made when somebody asks for it, and renewed only where the view was.
"""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import BudgetRespected, ClaimOnNodes, LeftAlone, Protected
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.columns import NOBODY
from reprieve.engine.nodes.obstacles import NodeObstacles, most_first
from reprieve.engine.nodes.pool import NodeRule, Ranked, Resident
from reprieve.engine.nodes.reach import REACHED
from reprieve.engine.nodes.rules import judge
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.engine.nodes.view import Nodes, NodeView
from reprieve.engine.reasons import Reason, UnknownClass, UnreadableToleration
from reprieve.engine.steps import TIE_BREAK, Criterion, remove_all, reprieve
from reprieve.world import NEVER, PodFacts

_NOBODY_THERE = -1


class VictimSearch:
    """The candidates of all nodes and, where they are enough, the victims."""

    def __init__(self, view: NodeView, rules: Sequence[NodeRule], budgets: Budgets | None) -> None:
        """`budgets`: None when they were walked over all nodes already, and the table says who would break one."""
        self.view = view
        self.table = view.table
        self.rules = rules
        self._budgets = budgets
        self.good_until = NEVER
        """When an answer may change with time alone."""
        size, depth = self.table.size, self.table.requests.shape[0]
        self.feasible = np.zeros(size, dtype=np.bool_)
        """Where it fits once the victims are gone."""
        self.victims = np.zeros((depth, size), dtype=np.bool_)
        self.violating = np.zeros((depth, size), dtype=np.int64)
        self.protected = np.zeros((depth, size), dtype=np.int8)
        """For each unit the number of the first rule that protects it, from 1; 0: none does; -1: nobody is there."""
        self.spoiled = np.zeros(size, dtype=np.bool_)
        self.costs = Costs(self.table)
        self._obstacles: NodeObstacles | None = None

    def run(self) -> Self:
        """Look at all nodes."""
        self.view.renewed.clear()
        self._look(slice(0, self.table.size))
        return self

    def renew(self, rules: Sequence[NodeRule]) -> None:
        """Look again where the view has changed, by rules as they are now."""
        self.rules = rules
        if self.view.renewed:
            self._look(np.array(sorted(self.view.renewed), dtype=np.int64))
            self.view.renewed.clear()

    def _look(self, nodes: Nodes) -> None:
        self._obstacles = None
        depth = int(self.table.occupied[nodes].max(initial=0))
        protected, spoiled = judge(self.rules, Ranked(self.table, nodes, depth))
        self.good_until = min(self.good_until, *(rule.good_until() for rule in self.rules))
        self.protected[:depth, nodes] = protected
        self.spoiled[nodes] = spoiled
        if depth < len(self.protected):  # somebody stood there before
            self.protected[depth:, nodes] = _NOBODY_THERE
            self.victims[depth:, nodes] = False
            self.violating[depth:, nodes] = 0
        candidates = protected == 0
        possible = candidates.any(axis=0) & (self.view.reach[nodes] == REACHED) & ~spoiled
        if possible.all():
            return self._search(nodes, candidates, depth)
        self.victims[:depth, nodes] = False
        self.violating[:depth, nodes] = 0
        self.feasible[nodes] = False
        if possible.any():
            where = np.flatnonzero(possible)
            self._search(np.arange(self.table.size)[nodes][where], candidates[:, where], depth)
        return None

    def _search(self, nodes: Nodes, candidates: Mask, depth: int) -> None:
        """Remove, reprieve, and note the price."""
        ledger = self.view.ledger(self.view.slack[:, nodes].copy(), self.view.weights(nodes, depth))
        fits = remove_all(ledger, candidates)
        if self._budgets is None:
            violating = self.table.ranks["breaks"][:depth, nodes]
        else:
            violating = self._budgets.violating(candidates, nodes)
        breaks = violating > 0
        classes = (breaks, ~breaks) if breaks.any() else (candidates,)
        victims = reprieve(ledger, candidates & fits, classes)
        self.feasible[nodes] = fits & victims.any(axis=0)
        self.victims[:depth, nodes] = victims
        self.violating[:depth, nodes] = violating
        self.costs.note(nodes, victims, violating)

    # What it came to

    def units_on(self, node: int) -> list[Unit]:
        """The victims of a node, the most important first."""
        shares = self.table.residents[node]
        return [shares[rank].unit for rank in np.flatnonzero(self.victims[:, node])]

    def breaking_on(self, node: int) -> list[int]:
        """How many pods of each of them would break a budget."""
        found: list[int] = self.violating[self.victims[:, node], node].tolist()
        return found

    def pods_on(self, node: int) -> list[PodFacts]:
        """The victims of a node with all their pods, wherever they run."""
        return [facts for unit in self.units_on(node) for facts in unit.pods]

    def candidates(self) -> Mask:
        """Everybody who may be asked to leave, as deep as the fullest node."""
        return np.asarray((self.protected[: self.table.depth, : self.table.size] == 0) & ~self.spoiled)

    def obstacles(self, nodes: Ints) -> list[ClaimOnNodes]:
        """Why some nodes cannot take the pod, those in the same position together; victims there break budgets."""
        found = self._why_not().of(nodes[~self.feasible[nodes]], self.stay, self.left_alone)
        budget = nodes[self.feasible[nodes]]
        if len(budget):
            found.append(BudgetRespected(nodes=len(budget), pods=int(self.costs.violations[budget].min())))
        return most_first(found)

    def obstacle_on_each(self, nodes: Ints) -> Iterator[tuple[int, ClaimOnNodes]]:
        """The same for each of some nodes by itself. There may be thousands, of which most look alike: what is equal
        is worked out once."""
        looks = np.ascontiguousarray(np.vstack([self._why_not().looks(nodes), self._protection(nodes)]).T)
        known: dict[bytes, list[ClaimOnNodes]] = {}
        for node, look in zip(nodes.tolist(), looks, strict=True):
            key = look.tobytes()
            if key not in known:
                known[key] = self.obstacles(np.array([node]))
            yield from ((node, claim) for claim in known[key])

    def _why_not(self) -> NodeObstacles:
        if self._obstacles is None:
            self._obstacles = NodeObstacles(self.view, self.candidates(), left_alone=self.spoiled)
        return self._obstacles

    def _protection(self, nodes: Ints) -> Ints:
        """What is told of those who are protected on some nodes, and of budgets there, follows from these columns."""
        protected = self.protected[: self.table.depth, nodes]
        rows = [self.feasible[nodes], self.costs.violations[nodes], *protected]
        for number in np.unique(protected[protected > 0]).tolist():
            for name in self.rules[number - 1].tells_by:
                rows += [*np.where(protected == number, self.table.ranked(name, nodes), 0)]
        return np.array(rows, dtype=np.int64)

    def stay(self, nodes: Ints) -> list[Protected]:
        """How many pods on some nodes may not be preempted, rule by rule."""
        protected = self.protected[: self.table.depth, nodes]
        pods = Ranked(self.table, nodes, self.table.depth)
        numbers = np.unique(protected[protected > 0]).tolist()
        return [told for number in numbers for told in self.rules[number - 1].told(pods, protected == number)]

    def reason(self, rank: int, node: int, facts: PodFacts) -> Reason | None:
        """What the rules said about a pod; None: it may be asked to leave."""
        number = int(self.protected[rank, node])
        if number <= 0:
            return None
        return self.rules[number - 1].reason(Resident(self.table.residents[node][rank].unit, facts))

    def left_alone(self, nodes: Ints) -> LeftAlone:
        """The priority classes that take some nodes out, and the pods there that name one of them."""
        classes: dict[type[Reason], dict[str, None]] = {UnknownClass: {}, UnreadableToleration: {}}
        blamed = set()
        for node in nodes.tolist():
            for rank, share in enumerate(self.table.residents[node]):
                for facts in share.pods:
                    reason = self.reason(rank, node, facts)
                    if isinstance(reason, (UnknownClass, UnreadableToleration)):
                        classes[type(reason)][reason.class_name] = None
                        blamed.add(reason.member or facts.unit)
        missing, unreadable = (tuple(sorted(found)) for found in classes.values())
        return LeftAlone(nodes=len(nodes), missing=missing, unreadable=unreadable, pods=tuple(sorted(blamed)))


class Costs:
    """What the victims of each node cost, with all their pods, wherever they run."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.violations, self.top, self.total, self.count, self.start = np.zeros((5, table.size), dtype=np.int64)

    def note(self, nodes: Nodes, victims: Mask, violating: Ints) -> None:
        depth = len(victims)
        ranks = {name: self._table.ranks[name][:depth, nodes] for name in ("top", "total", "count", "start")}
        top = np.where(victims, ranks["top"], -NOBODY).max(axis=0, initial=-NOBODY)
        self.violations[nodes] = (violating * victims).sum(axis=0)
        self.top[nodes] = top
        self.total[nodes] = (ranks["total"] * victims).sum(axis=0)
        self.count[nodes] = (ranks["count"] * victims).sum(axis=0)
        highest = victims & (ranks["top"] == top)
        self.start[nodes] = np.where(highest, ranks["start"], NEVER).min(axis=0, initial=NEVER)

    def criteria(self) -> list[Criterion]:
        """In kube-scheduler's order."""
        return [
            Criterion("FewestBudgetViolations", self.violations),
            Criterion("LowestHighestPriority", self.top),
            Criterion("SmallestSumOfPriorities", self.total),
            Criterion("FewestVictims", self.count),
            Criterion("LatestStart", -self.start),
            Criterion(TIE_BREAK, self._table.tie_break()),
        ]
