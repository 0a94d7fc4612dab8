"""Placing many pods as one: on trial, so that nothing is left behind when it fails.

A gang is placed shape by shape, the shape that can go to the fewest nodes first. Each round asks for every node what
one more pod of the shape would cost there, and gives one pod each to the nodes that cost least, so that thousands of
nodes and hundreds of pods take a few rounds. Who has to leave is taken out of the table at once, whole units wherever
they run, and whoever comes is put in: the next round sees both.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

import msgspec
import numpy as np

from reprieve.engine.budgets import Budgets
from reprieve.engine.columns import Ints, Mask
from reprieve.engine.labels import NodeLabels
from reprieve.engine.outlook import Outlook, Rule
from reprieve.engine.scoring import Strategy, score
from reprieve.engine.table import NodeTable
from reprieve.engine.units import GROUP, Membership, Unit
from reprieve.world import PodFacts


class Gang(NamedTuple):
    """Pods that are scheduled together: at least `required` of the members, or none."""

    name: str
    members: list[PodFacts]
    required: int
    priority: int
    topology_key: str = ""


class Trial:
    """Changes to a table that are taken back at the end."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.placed: dict[tuple[str, str], Unit] = {}
        self.evicted: dict[Hashable, Unit] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for unit in reversed(self.placed.values()):
            self.table.take_unit(unit)
        for unit in reversed(self.evicted.values()):
            self.table.put_unit(unit)
        self.placed.clear()
        self.evicted.clear()

    def place(self, facts: PodFacts, node: str, priority: int) -> None:
        there = copy.copy(facts)
        there.node = node
        unit = Unit(Membership(("placed", facts.key), priority, GROUP), [there])
        self.table.put_unit(unit)
        self.placed[facts.key] = unit

    def evict(self, unit: Unit) -> None:
        if unit.key not in self.evicted:
            self.table.take_unit(unit)
            self.evicted[unit.key] = unit

    def give_back(self, unit: Unit) -> None:
        del self.evicted[unit.key]
        self.table.put_unit(unit)

    def withdraw(self, facts: PodFacts) -> None:
        self.table.take_unit(self.placed.pop(facts.key))

    def placement(self) -> dict[str, str]:
        return {unit.pods[0].unit: unit.pods[0].node for unit in self.placed.values()}


class GangPlacer:
    """Places a gang by some rules on who may be asked to leave, within a domain of nodes."""

    def __init__(
        self, table: NodeTable, labels: NodeLabels, budgets: Budgets, gang: Gang, domain: Mask, strategy: Strategy
    ) -> None:
        self.table = table
        self._labels = labels
        self._budgets = budgets
        self._gang = gang
        self._domain = domain
        self._strategy = strategy
        self._keys = frozenset(facts.key for facts in gang.members)
        self._needs: tuple[Trial, int, dict[str, dict[str, int]]] | None = None
        self.shapes = self._by_shape()

    def _by_shape(self) -> list[list[PodFacts]]:
        """Members that are alike to the search, together."""
        shapes: dict[object, list[PodFacts]] = {}
        for facts in self._gang.members:
            spec = facts.pod.spec
            rules = (spec.node_selector, spec.affinity, spec.tolerations, spec.topology_spread_constraints)
            key = (facts.requests, msgspec.msgpack.encode(rules), facts.host_ports, facts.key[0], facts.labels)
            plain = spec.affinity is None and not spec.topology_spread_constraints and len(self.table.repels) == 1
            shapes.setdefault(key[:3] if plain else key, []).append(facts)
        return list(shapes.values())

    def outlook(self, facts: PodFacts, rules: Sequence[Rule]) -> Outlook:
        return Outlook(
            self.table,
            self._labels,
            self._budgets,
            facts,
            rules,
            priority=self._gang.priority,
            within=self._domain,
            apart_from=self._keys,
            marked=True,
        )

    def place(self, trial: Trial, rules: Sequence[Rule]) -> bool:
        """Place as many members as can be; tells whether that is enough."""
        views = [(self.outlook(shape[0], rules), shape) for shape in self.shapes]
        views.sort(key=lambda view: int((view[0].fits | view[0].feasible).sum()))
        for view, shape in views:
            self._place_shape(trial, view, shape, rules)
        return len(trial.placed) >= self._gang.required

    def _place_shape(self, trial: Trial, view: Outlook, shape: list[PodFacts], rules: Sequence[Rule]) -> None:
        waiting = list(shape)
        while waiting:
            view = self._renewed(view, waiting[0], rules)
            nodes = self._cheapest(view, waiting[0])
            if not len(nodes):
                return
            for node, units in self._batch(view, nodes, len(waiting)):
                for unit in units:
                    trial.evict(unit)
                trial.place(waiting.pop(0), self.table.names[node], self._gang.priority)

    def _batch(self, view: Outlook, nodes: Ints, most: int) -> list[tuple[int, list[Unit]]]:
        """Nodes that can be filled in one go, each with those who have to leave it.

        Pods that mind their company go one by one: each changes what the next one finds. So do those for whom a
        group has to leave: it frees more than one node.
        """
        batch: list[tuple[int, list[Unit]]] = []
        for node in nodes[: 1 if view.company is not None else most].tolist():
            units = [] if view.fits[node] else self._victims(view, node)
            if batch and any(unit.group for unit in units):
                break
            batch.append((node, units))
            if any(unit.group for unit in units):
                break
        return batch

    def _victims(self, view: Outlook, node: int) -> list[Unit]:
        shares = self.table.residents[node]
        return [shares[rank].unit for rank in np.flatnonzero(view.victims[:, node])]

    def _renewed(self, view: Outlook, facts: PodFacts, rules: Sequence[Rule]) -> Outlook:
        if view.current(0):
            view.follow(facts)
            return view
        return self.outlook(facts, rules)

    def _cheapest(self, view: Outlook, facts: PodFacts) -> Ints:
        """Nodes that cost least for one more pod, best first: free ones by score, else those with the best victims."""
        free = np.flatnonzero(view.fits)
        if len(free):
            points = score(self.table, self._labels, facts, free, self._strategy)
            return free[np.lexsort((self.table.tie_break()[free], -points))]
        possible = np.flatnonzero(view.feasible)
        if not len(possible):
            return possible
        price = (view.violations, view.top, view.total, view.count)
        for values in price:
            possible = possible[values[possible] == values[possible].min()]
        return possible[np.lexsort((self.table.tie_break()[possible], -view.start[possible]))]

    # Whether there is room at all

    def can_place(self, rules: Sequence[Rule]) -> bool:
        """Whether the gang could be placed if everybody these rules allow made way."""
        if len(self.shapes) == 1:
            view = self.outlook(self.shapes[0][0], rules)
            if view.company is None:
                return int(view.capacity(len(self._gang.members)).sum()) >= self._gang.required
        with Trial(self.table) as trial:
            return self.place(trial, rules)

    def shortage(self, rules: Sequence[Rule]) -> dict[str, tuple[int, int]]:
        """Resources of which there would be too little: what could be had, and what is needed."""
        needed: dict[str, int] = {}
        for facts in self._gang.members[: self._gang.required]:
            for name, units in facts.requests.items():
                needed[name] = needed.get(name, 0) + units
        room = self.outlook(self._gang.members[0], rules).room(list(needed))
        return {name: (room[name], units) for name, units in needed.items() if room[name] < units}

    # Giving back

    def reprieve(self, trial: Trial, first: Sequence[Unit]) -> None:
        """Give victims back as long as every placed pod keeps its place: some first, then by importance."""
        order = {unit.key: place for place, unit in enumerate(first)}
        for unit in sorted(trial.evicted.values(), key=lambda unit: (unit.key not in order, unit.importance)):
            if self._room_for(trial, unit):
                trial.give_back(unit)
                if self._minds_company and not self._all_keep_their_place(trial, unit):
                    trial.evict(unit)

    @property
    def _minds_company(self) -> bool:
        return len(self.table.repels) > 1 or any(
            facts.host_ports or facts.pod.spec.affinity or facts.pod.spec.topology_spread_constraints
            for shape in self.shapes
            for facts in shape[:1]
        )

    def _room_for(self, trial: Trial, unit: Unit) -> bool:
        """Whether a unit's shares fit beside what was placed on their nodes, in what the placed pods ask for."""
        needs = self._needs_by_node(trial)
        for name, share in unit.shares.items():
            rows = needs.get(name)
            if rows is None:
                continue
            node = self.table.index[name]
            for resource, row in rows.items():
                if self.table.used[row, node] + share.requests.of(resource) > self.table.allocatable[row, node]:
                    return False
        return True

    def _needs_by_node(self, trial: Trial) -> dict[str, dict[str, int]]:
        """Rows that matter on each node: those that a placed pod asks for."""
        if self._needs is None or self._needs[0] is not trial or self._needs[1] != len(trial.placed):
            rows: dict[str, dict[str, int]] = {}
            for placed in trial.placed.values():
                facts = placed.pods[0]
                there = rows.setdefault(facts.node, {})
                there.update({name: self.table.row(name) for name, units in facts.requests.items() if units > 0})
            self._needs = trial, len(trial.placed), rows
        return self._needs[2]

    def _all_keep_their_place(self, trial: Trial, unit: Unit) -> bool:
        """Whether the placed pods that share a node or a topology domain with a unit still pass all filters."""
        for placed in list(trial.placed.values()):
            facts = placed.pods[0]
            node = self.table.index[facts.node]
            if not self._touches(facts, node, unit):
                continue
            self.table.take_unit(placed)
            fits = bool(self.outlook(facts, ()).fits[node])
            self.table.put_unit(placed)
            if not fits:
                return False
        return True

    def _touches(self, facts: PodFacts, node: int, unit: Unit) -> bool:
        places = [self.table.index[name] for name in unit.shares]
        if node in places:
            return True
        keys = {*_topology_keys(facts), *(key for other in unit.pods for key in _topology_keys(other))}
        columns = [self._labels.column(key)[0] for key in keys]
        return any(codes[node] and codes[node] == codes[place] for codes in columns for place in places)


def _topology_keys(facts: PodFacts) -> set[str]:
    """Over which domains a pod minds others."""
    spec = facts.pod.spec
    keys = {constraint.topology_key for constraint in spec.topology_spread_constraints}
    if spec.affinity is not None:
        for rules in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
            keys |= {term.topology_key for term in rules.required} if rules else set()
    return keys
