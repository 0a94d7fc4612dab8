"""Giving back what a placed gang does not need: each unit whole or not at all, as long as every pod keeps its place.

Everybody who may go has gone, then they return in order of importance. Where one pod came to a node and nobody but
single pods left it, that is what placing the pod has done already. So only nodes that pods came to in several steps,
and those that groups reach, are emptied once more before anybody returns.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from reprieve.engine.nodes.gang_placement import GangPlacer
from reprieve.engine.nodes.pod_terms import clashing_keys, counts_others, ports_conflict, topology_keys
from reprieve.engine.nodes.pool import NodeRule
from reprieve.engine.nodes.trial import Trial
from reprieve.engine.nodes.units import Unit
from reprieve.engine.nodes.view import counted_as_present
from reprieve.world import PodFacts


class GangReprieve:
    """Gives back the victims of a trial."""

    def __init__(self, placer: GangPlacer, trial: Trial, rules: Sequence[NodeRule], first: Sequence[Unit]) -> None:
        """`first` are units that return before the others: those whose budget would break."""
        self._placer = placer
        self._table = placer.table
        self._trial = trial
        self._rules = rules
        self._first = {unit.key for unit in first}
        self._newcomers = trial.newcomers()
        self._members = frozenset(facts.key for facts in placer.gang.members)
        self._left = {name: self._left_on(name, pods) for name, pods in self._newcomers.items()}
        # One of each shape is asked whom it cannot be near, and where its like are.
        self._shapes = [[facts for facts in shape if facts.key in trial.placed] for shape in placer.shapes]
        self._counting = any(counts_others(shape[0]) for shape in placer.shapes)
        self._foes: dict[object, list[tuple[int, str]]] = {}
        self._held: dict[tuple[int, str], set[int]] = {}

    def _left_on(self, name: str, pods: list[PodFacts]) -> Callable[[], dict[str, int]]:
        """What a node has left, at any moment, of each resource that a placed pod asks for: beside all who are there,
        and others to whom it is promised and whom the gang has to leave room for as it did when it was placed."""
        node = self._table.index[name]
        promised = counted_as_present(self._table, node, self._placer.gang.priority, self._members)
        names = list(dict.fromkeys(name for facts in pods for name, units in facts.requests.items() if units > 0))
        rows = np.array([self._table.row(name) for name in names], dtype=np.int64)
        held = np.array([sum(facts.requests.of(name) for facts in promised) for name in names], dtype=np.int64)
        return lambda: dict(zip(names, (self._table.free(rows, node) - held).tolist(), strict=True))

    def reprieve(self) -> None:
        """Empty what has to be emptied, give back, and again where a group that has to go reaches further nodes."""
        emptied = set(self._newcomers) if self._minds_neighbours else {n for n, s in self._trial.steps.items() if s > 1}
        emptied |= self._reached_by_groups()
        while True:
            nodes = np.array([self._table.index[name] for name in sorted(emptied)], dtype=np.int64)
            for unit in self._placer.candidates(self._rules, nodes):
                self._trial.evict(unit)
            self._give_back()
            further = self._reached_by_groups() - emptied
            if not further:
                return
            emptied |= further

    def _reached_by_groups(self) -> set[str]:
        groups = [unit for unit in self._trial.evicted.values() if unit.group]
        return {name for unit in groups for name in unit.shares if name in self._newcomers}

    def _give_back(self) -> None:
        for unit in sorted(
            self._trial.evicted.values(), key=lambda unit: (unit.key not in self._first, unit.importance)
        ):
            if self._room_for(unit) and not self._clashes(unit):
                self._trial.give_back(unit)
                if self._counting and not self._all_keep_their_place():
                    self._trial.evict(unit)

    def _room_for(self, unit: Unit) -> bool:
        """Whether a unit's shares fit beside what was placed on their nodes, in what the placed pods ask for."""
        return all(
            share.requests.of(resource) <= left
            for name, share in unit.shares.items()
            if name in self._left
            for resource, left in self._left[name]().items()
        )

    # Neighbours

    @cached_property
    def _minds_neighbours(self) -> bool:
        members = [shape[0] for shape in self._placer.shapes]
        return bool(self._placer.foes) or any(facts.host_ports or topology_keys(facts) for facts in members)

    def _clashes(self, unit: Unit) -> bool:
        """Whether a pod of a unit holds a port of a placed one, or they keep each other away."""
        return any(self._clashes_here(facts) for share in unit.shares.values() for facts in share.pods)

    def _clashes_here(self, facts: PodFacts) -> bool:
        if facts.host_ports and any(ports_conflict(facts, other) for other in self._newcomers.get(facts.node, [])):
            return True
        node = self._table.index[facts.node]
        return any(
            (code := int(self._placer.labels.column(key)[0][node])) and code in self._domains_of(shape, key)
            for shape, key in self._foes_of(facts)
        )

    def _foes_of(self, facts: PodFacts) -> list[tuple[int, str]]:
        """Shapes that cannot be where a pod is, with the topology key of that: asked once for each kind of pod."""
        affinity = facts.pod.spec.affinity
        if not self._minds_neighbours:
            return []
        kind = (facts.key[0], facts.labels, None if affinity is None else id(affinity))
        found = self._foes.get(kind)
        if found is None:
            found = self._foes[kind] = [
                (number, key)
                for number, shape in enumerate(self._shapes)
                if shape
                for key in clashing_keys(self._table, shape[0], facts)
            ]
        return found

    def _domains_of(self, shape: int, key: str) -> set[int]:
        """The topology domains that placed pods of a shape are in."""
        held = self._held.get((shape, key))
        if held is None:
            codes, _ = self._placer.labels.column(key)
            nodes = [self._table.index[self._trial.placed[facts.key].pods[0].node] for facts in self._shapes[shape]]
            held = self._held[shape, key] = {int(codes[node]) for node in nodes}
        return held

    def _all_keep_their_place(self) -> bool:
        """Whether every placed pod that counts others still passes all filters."""
        for placed in list(self._trial.placed.values()):
            facts = placed.pods[0]
            if not counts_others(facts):
                continue
            node = self._table.index[facts.node]
            self._table.take_unit(placed)
            try:
                fits = bool(self._placer.view(facts).fits[node])
            finally:
                self._table.put_unit(placed)
            if not fits:
                return False
        return True
