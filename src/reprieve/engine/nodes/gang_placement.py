"""Placing many pods as one.

A gang is placed shape by shape, the shape that can go to the fewest nodes first. Each round asks for every node what
one more pod of the shape would cost there, and gives one pod each to the nodes that cost least, so that thousands of
nodes and hundreds of pods take a few rounds. Who has to leave is taken out of the table at once, whole units wherever
they run, and whoever comes is put in: the next round sees both. Where that leaves somebody out, other ways are tried:
the largest first and close together, the oldest first, with everybody gone from the start where pods mind others beyond
their node, and at last one that takes a place back when it leads nowhere (`second_thoughts.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import MemberTooLarge, Protected
from reprieve.engine.nodes.columns import NOBODY, Repelling
from reprieve.engine.nodes.inter_pod import keeping_away, repels
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.pod_terms import counts_others, topology_keys
from reprieve.engine.nodes.pool import NodeRule, Ranked
from reprieve.engine.nodes.scoring import Strategy, score
from reprieve.engine.nodes.second_thoughts import SecondThoughts
from reprieve.engine.nodes.trial import Gang, Trial
from reprieve.engine.nodes.units import Unit
from reprieve.engine.nodes.victims import VictimSearch
from reprieve.engine.nodes.view import NodeView
from reprieve.engine.nodes.volumes import storage_shape
from reprieve.world import PodFacts

HOST = "kubernetes.io/hostname"
Rules = Sequence[NodeRule] | None
"""Who may not be asked to leave; None: nobody is asked at all."""
Way = Callable[[Trial, Rules], None]


class ShapeSearch(NamedTuple):
    """All nodes for one shape of pod in a gang: where it fits and, if anybody may be asked, who would have to leave."""

    nodes: NodeView
    victims: VictimSearch | None

    def follow(self, facts: PodFacts) -> None:
        self.nodes.follow(facts)
        if self.victims is not None:
            self.victims.renew(self.victims.rules)

    @property
    def possible(self) -> Mask:
        """Where it fits, or would if somebody left."""
        return self.nodes.fits if self.victims is None else self.nodes.fits | self.victims.feasible


View = tuple[ShapeSearch, list[PodFacts]]


class GangPlacer:
    """Places a gang by some rules on who may be asked to leave, within a domain of nodes."""

    def __init__(
        self,
        ledger: NodeLedger,
        gang: Gang,
        domain: Mask,
        members: Sequence[PodFacts] | None = None,
        foes: tuple[Repelling, ...] | None = None,
    ) -> None:
        """`members`: those of the gang that are to be placed; by default all of them. `foes`: who keeps others away,
        where somebody was taken out to try something; by default those who are there."""
        self._ledger = ledger
        self.table = ledger.table
        self.labels = ledger.labels
        self.gang = gang
        self._members = gang.members if members is None else members
        self._wanted = len(self._members)
        self.domain = domain
        self._strategy: Strategy = ledger.settings.scoring
        self._keys = frozenset(facts.key for facts in gang.members)
        self.foes = keeping_away(self.table) if foes is None else foes
        self.shapes = self._by_shape()

    def _by_shape(self) -> list[list[PodFacts]]:
        """Members that are alike to the search, together."""
        shapes: dict[object, list[PodFacts]] = {}
        # Who somebody is matters only where anybody minds others, be it a member that has not been placed yet.
        plain = not any(_wishes(facts) for facts in self._members) and not self._kept_away()
        for facts in self._members:
            spec = facts.pod.spec
            rules = (spec.node_selector, spec.affinity, spec.tolerations, spec.topology_spread_constraints)
            images = self.table.images.matter_to(spec)
            shape = (facts.requests, msgspec.msgpack.encode(rules), facts.host_ports, storage_shape(facts), images)
            shapes.setdefault(shape if plain else (*shape, facts.key[0], facts.labels), []).append(facts)
        return list(shapes.values())

    def _kept_away(self) -> bool:
        """Whether anybody keeps a member away."""
        kinds = {(facts.key[0], facts.labels): facts for facts in self._members} if self.foes else {}
        return any(repels(self.table, kind, facts) for facts in kinds.values() for kind in self.foes)

    def view(self, facts: PodFacts) -> NodeView:
        """All nodes as a member of the gang finds them."""
        return self._ledger.view(facts, priority=self.gang.priority, within=self.domain, apart_from=self._keys)

    def _search(self, facts: PodFacts, rules: Rules) -> ShapeSearch:
        nodes = self.view(facts)
        return ShapeSearch(nodes, None if rules is None else VictimSearch(nodes, rules, None).run())

    # Placing

    def place(self, trial: Trial, rules: Rules, wanted: int | None = None) -> int:
        """Place as many members as can be, or as are wanted; tells how many."""
        self._wanted = len(self._members) if wanted is None else wanted
        best = -1
        chosen: Way = self._fewest_nodes_first
        last: Way = chosen
        for way in self._ways():
            trial.undo()
            way(trial, rules)
            last = way
            if len(trial.placed) >= best:
                best, chosen = len(trial.placed), way
            if best >= self._wanted:
                return best
        if last != chosen:
            trial.undo()
            chosen(trial, rules)
        return best

    def _ways(self) -> Iterator[Way]:
        """Each is worth more than the ones before where none of them places everybody."""
        yield self._fewest_nodes_first
        if len(self.shapes) > 1:
            yield self._largest_first
            yield self._oldest_first
        if self._minds_others_far_away():
            yield partial(self._everybody_gone, self._fewest_nodes_first)
            yield partial(self._everybody_gone, self._oldest_first)
        if len(self._members) > 1:
            yield partial(self._everybody_gone, self._with_second_thoughts)

    def _fewest_nodes_first(self, trial: Trial, rules: Rules) -> None:
        views = [(self._search(shape[0], rules), shape) for shape in self.shapes]
        views.sort(key=lambda view: int(view[0].possible.sum()))
        for view in views:
            self._place_shape(trial, view, rules, self._strategy)

    def _largest_first(self, trial: Trial, rules: Rules) -> None:
        views = [(self._search(shape[0], rules), shape) for shape in self.shapes]
        totals = {name: max(int(self.table.allocatable[row].sum()), 1) for name, row in self.table.resources.items()}
        # What nobody has, nor asks for more than none of, has no column.
        views.sort(key=lambda view: -max(units / totals.get(name, 1) for name, units in view[1][0].requests.items()))
        for view in views:
            self._place_shape(trial, view, rules, "MostAllocated")

    def _oldest_first(self, trial: Trial, rules: Rules) -> None:
        """One by one, as they stand in a queue: who is left out is the youngest, not the most awkward."""
        views = {facts.key: number for number, shape in enumerate(self.shapes) for facts in shape}
        searches = [self._search(shape[0], rules) for shape in self.shapes]
        for facts in self._members:
            number = views[facts.key]
            searches[number] = self._renewed(searches[number], facts, rules)
            self._place_shape(trial, (searches[number], [facts]), rules, self._strategy)

    def _with_second_thoughts(self, trial: Trial, rules: Rules) -> None:  # noqa: ARG002 - who may go has gone
        for wanted in sorted({self._wanted, min(self._wanted, self.gang.required)}, reverse=True):
            if not trial.placed:
                SecondThoughts(trial, self.view, self.shapes, wanted, self.gang.priority).place()

    def _everybody_gone(self, way: Way, trial: Trial, rules: Rules) -> None:
        """Pods on other nodes may be what keeps a pod away: take out everybody who may go, before anybody comes."""
        for unit in self.candidates(rules, np.arange(self.table.size)) if rules is not None else ():
            trial.evict(unit)
        way(trial, rules)

    def _minds_others_far_away(self) -> bool:
        """Whether what happens on one node can matter on another."""
        keys = {key for shape in self.shapes for key in topology_keys(shape[0])}
        keys |= {term.topology_key for kind in self.foes for term in kind.terms}
        return bool(keys - {HOST})

    def _each_node_for_itself(self) -> bool:
        """Whether a pod that comes to a node matters to those who come to that node only."""
        codes = self.labels.column(HOST)[0]
        unique = len(np.unique(codes[codes > 0])) == np.count_nonzero(codes)
        counting = any(counts_others(shape[0]) for shape in self.shapes)
        return unique and not counting and not self._minds_others_far_away()

    def _place_shape(self, trial: Trial, view: View, rules: Rules, strategy: Strategy) -> None:
        search, waiting = view[0], list(view[1])
        while waiting and len(trial.placed) < self._wanted:
            search = self._renewed(search, waiting[0], rules)
            nodes = self._cheapest(search, waiting[0], strategy)
            if not len(nodes):
                return
            for node, units in self._batch(search, nodes, min(len(waiting), self._wanted - len(trial.placed))):
                name = self.table.names[node]
                trial.make_way(units, name)
                trial.place(waiting.pop(0), name, self.gang.priority)

    def _batch(self, view: ShapeSearch, nodes: Ints, most: int) -> list[tuple[int, list[Unit]]]:
        """Nodes that can be filled in one go, each with those who have to leave it.

        Pods that mind others beyond their node go one by one: each changes what the next one finds. So do
        those for whom a group has to leave: it frees more than one node.
        """
        batch: list[tuple[int, list[Unit]]] = []
        alone = view.nodes.inter_pod is not None and not self._each_node_for_itself()
        for node in nodes[: 1 if alone else most].tolist():
            units = [] if view.nodes.fits[node] or view.victims is None else view.victims.units_on(node)
            if batch and any(unit.group for unit in units):
                break
            batch.append((node, units))
            if any(unit.group for unit in units):
                break
        return batch

    def _renewed(self, view: ShapeSearch, facts: PodFacts, rules: Rules) -> ShapeSearch:
        if view.nodes.current:
            view.follow(facts)
            return view
        return self._search(facts, rules)

    def _cheapest(self, view: ShapeSearch, facts: PodFacts, strategy: Strategy) -> Ints:
        """Nodes that cost least for one more pod, best first: free ones by score, else those with the best victims."""
        free = np.flatnonzero(view.nodes.fits)
        if len(free):
            points = score(self.table, self.labels, facts, free, strategy)
            return free[np.lexsort((self.table.tie_break()[free], -points))]
        if view.victims is None or not view.victims.feasible.any():
            return np.zeros(0, dtype=np.int64)
        possible = np.flatnonzero(view.victims.feasible)
        for values in self._price(view.victims, possible):
            possible = possible[values[possible] == values[possible].min()]
        return possible[np.lexsort((self.table.tie_break()[possible], -view.victims.costs.start[possible]))]

    def _price(self, search: VictimSearch, nodes: Ints) -> Iterator[Ints]:
        """What one more pod costs on each node, the weightiest first: as units are more or less important."""
        depth = self.table.depth
        victims = search.victims[:depth, nodes]
        ranks = {name: self.table.ranks[name][:depth, nodes] for name in ("priority", "group")}
        highest, groups = np.zeros((2, self.table.size), dtype=np.int64)
        highest[nodes] = np.where(victims, ranks["priority"], -NOBODY).max(axis=0, initial=-NOBODY)
        groups[nodes] = (victims & (ranks["group"] > 0)).sum(axis=0)
        yield from (search.costs.violations, highest, groups, search.costs.total, search.costs.count)

    # Whether there is room at all

    def most(self, rules: Sequence[NodeRule], wanted: int | None = None) -> int:
        """How many members could be placed if everybody these rules allow made way; of those that are wanted."""
        if len(self.shapes) == 1:
            view = self.view(self.shapes[0][0])
            if view.inter_pod is None:
                members = len(self._members) if wanted is None else wanted
                return min(int(view.capacity(self._allowed_everywhere(rules), members).sum()), members)
        with Trial(self.table) as trial:
            return self.place(trial, rules, wanted)

    def _allowed_everywhere(self, rules: Sequence[NodeRule]) -> Mask:
        return self.allowed(rules, np.arange(self.table.size))

    def candidates(self, rules: Sequence[NodeRule], nodes: Ints) -> list[Unit]:
        """Units that may be asked to leave some nodes."""
        found = {}
        for rank, place in np.argwhere(self.allowed(rules, nodes)):
            unit = self.table.residents[nodes[place]][rank].unit
            found[unit.key] = unit
        return list(found.values())

    def allowed(self, rules: Sequence[NodeRule], nodes: Ints) -> Mask:
        """Who may be asked to leave some nodes, rank by rank."""
        pods = Ranked(self.table, nodes, self.table.depth)
        allowed: Mask = pods.get("count") > 0
        for rule in rules:
            protects = rule.protects(pods)
            if protects is None:
                continue
            allowed &= ~(protects & allowed).any(axis=0) if rule.spoils else ~protects
        return allowed

    def shortage(self, rules: Sequence[NodeRule]) -> dict[str, tuple[int, int]]:
        """Resources of which there would be too little on all nodes together: what could be had, what is needed."""
        needed: dict[str, int] = {}
        for facts in self.gang.members[: self.gang.required]:
            for name, units in facts.requests.items():
                needed[name] = needed.get(name, 0) + units
        room: dict[str, Ints] = {}
        allowed = self._allowed_everywhere(rules)
        for shape in self.shapes:
            for name, free in self.view(shape[0]).room(allowed).items():
                room[name] = np.maximum(room.get(name, 0), free)
        had = {name: int(free.sum()) for name, free in room.items() if name in needed}
        return {name: (units, needed[name]) for name, units in had.items() if units < needed[name]}

    def too_large(self) -> MemberTooLarge | None:
        """A member that needs more of something than any node of the domain has, where it cannot do without such."""
        found = [(claim, shape) for shape in self.shapes if (claim := self._too_large(shape[0])) is not None]
        others = len(self.gang.members) - sum(len(shape) for _, shape in found)
        return found[0][0] if found and others < self.gang.required else None

    def _too_large(self, facts: PodFacts) -> MemberTooLarge | None:
        nodes, view = np.flatnonzero(self.domain), self.view(facts)
        rows = np.flatnonzero(view.too_large_for()[:, nodes].all(axis=1)).tolist() if len(nodes) else []
        if not rows:
            return None
        (name, needed), (node, has) = view.asked[rows[0]], view.largest(rows[0], nodes)
        return MemberTooLarge(pod=facts.unit, node=node, resource=name, needed=needed, has=has)

    def stay(self, rules: Sequence[NodeRule]) -> list[Protected]:
        """How many pods of the domain may not be preempted, by the first rule that protects them."""
        pods = Ranked(self.table, np.flatnonzero(self.domain), self.table.depth)
        left = np.asarray(pods.get("count") > 0)
        found: list[Protected] = []
        for rule in rules:
            protects = rule.protects(pods)
            if protects is not None:
                found += rule.told(pods, protects & left)
                left &= ~protects
        return found


def _wishes(facts: PodFacts) -> Any:
    return facts.pod.spec.affinity or facts.pod.spec.topology_spread_constraints
