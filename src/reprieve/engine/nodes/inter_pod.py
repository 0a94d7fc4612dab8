"""Whom a pod wants near, far, or evenly around: host ports, inter-pod affinity and anti-affinity, topology spread.

Each becomes a row of integers over all nodes, like a resource: the slack there is now, and the weight with which each
running pod of the node takes part. A pod that leaves adds its weight to the slack; the newcomer may come where no
slack is negative. So a search that gives pods back needs to know nothing of what the rows mean.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.columns import Repelling
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.pod_counts import PodCounter, counted_nodes, per_domain
from reprieve.engine.nodes.pod_terms import (
    Matches,
    anti_affinity,
    could_mean,
    matcher,
    merged,
    ports_conflict,
    term_matches,
)
from reprieve.engine.nodes.table import NodeTable
from reprieve.manifests.pods import PodAffinityTerm, TopologySpreadConstraint
from reprieve.world import PodFacts

PLENTY = 2**40


class SlackRow(NamedTuple):
    """Slack over nodes, and the weight of each node's pods rank by rank. `name` is for explanations."""

    name: str
    slack: Ints
    weight: Ints


class InterPod(NamedTuple):
    """All rows of a newcomer.

    `near` are the rows of required affinity: they may all be short where `alone` says that nobody it could be near
    is left anywhere and it would be its own neighbour. `out` are nodes that no preemption brings into reach.
    """

    rows: list[SlackRow]
    near: list[SlackRow]
    alone: SlackRow | None
    out: Mask


def inter_pod(table: NodeTable, labels: NodeLabels, facts: PodFacts, above: dict[int, list[PodFacts]]) -> InterPod:
    """Everything that other pods mean to this one; `above` are the nominated pods it has to leave room for."""
    builder = _RowBuilder(table, labels, facts, above)
    rows = [*builder.ports(), *builder.own_anti_affinity(), *builder.repelled(), *builder.spread()]
    near, alone = builder.affinity()
    return InterPod(rows, near, alone, builder.out)


def concerned(table: NodeTable, facts: PodFacts) -> bool:
    """Whether anything here can matter to this pod."""
    spec = facts.pod.spec
    affinity = spec.affinity
    return bool(
        facts.host_ports
        or (affinity and (affinity.pod_affinity or affinity.pod_anti_affinity))
        or spec.topology_spread_constraints
        or any(repels(table, kind, facts) for kind in table.repels.items)
    )


def keeping_away(table: NodeTable) -> tuple[Repelling, ...]:
    """The kinds of pods on nodes, or promised a place there, that keep others away. The table knows those that have
    gone, too: they must not matter, since whoever looks at the world for the first time does not know them."""
    if len(table.repels) == 1:
        return ()
    there = np.zeros(len(table.repels), dtype=np.bool_)
    there[table.ranked("repels", slice(0, table.size))] = True
    there[[table.repelling(facts) for pods in table.nominated.values() for facts in pods]] = True
    return tuple(kind for number in np.flatnonzero(there).tolist() if (kind := table.repels.items[number]) is not None)


def repels(table: NodeTable, kind: Repelling | None, facts: PodFacts) -> list[PodAffinityTerm]:
    """The terms by which a kind of running pod keeps this one away."""
    if kind is None:
        return []
    namespace, labels = facts.key[0], facts.pod.metadata.labels
    return [
        term
        for term in kind.terms
        if could_mean(term, labels) and matcher(table, term, kind.namespace, kind.labels)(namespace, labels)
    ]


class _RowBuilder(PodCounter):
    def __init__(self, table: NodeTable, labels: NodeLabels, facts: PodFacts, above: dict[int, list[PodFacts]]) -> None:
        super().__init__(table)
        self.labels = labels
        self.facts = facts
        self.above = above
        self.own = facts.pod.metadata.labels
        self.out = np.zeros(table.size, dtype=np.bool_)
        self.depth = table.depth

    # Host ports

    def ports(self) -> Iterable[SlackRow]:
        if not self.facts.host_ports:
            return
        weight = np.zeros((self.depth, self.table.size), dtype=np.int64)
        for facts in self.table.ported.values():
            if ports_conflict(self.facts, facts):
                node = self.table.index[facts.node]
                weight[self._rank(facts, node), node] += 1
        slack = -weight.sum(axis=0)
        self._leave_room(slack, lambda other, _: int(ports_conflict(self.facts, other)))
        yield SlackRow("HostPort", slack, weight)

    def _rank(self, facts: PodFacts, node: int) -> int:
        """Where the share stands that a pod belongs to: it runs there, or was placed there on trial."""
        shares = self.table.residents[node]
        return next(rank for rank, share in enumerate(shares) if any(facts.key == pod.key for pod in share.pods))

    # Anti-affinity, both ways

    def own_anti_affinity(self) -> Iterable[SlackRow]:
        for term in anti_affinity(self.facts):
            matches = term_matches(self.table, term, self.facts)
            row = self._repulsion("AntiAffinity", term.topology_key, self.here(matches))
            self._leave_room(row.slack, partial(self._meets, term, matches))
            yield row

    def _meets(self, term: PodAffinityTerm, matches: Matches, other: PodFacts, node: int) -> int:
        has_key = self.labels.column(term.topology_key)[0][node] != 0
        return int(bool(has_key) and matches(other.key[0], other.pod.metadata.labels))

    def repelled(self) -> Iterable[SlackRow]:
        """Running pods whose own anti-affinity means this one: asked once for each kind of pod."""
        keys: dict[str, Ints] = {}
        for number, kind in enumerate(self.table.repels.items):
            for term in repels(self.table, kind, self.facts):
                lookup = keys.setdefault(term.topology_key, np.zeros(len(self.table.repels), dtype=np.int64))
                lookup[number] += 1
        for key, lookup in keys.items():
            here = lookup[self.ranked("repels")]
            self.add_groups(here, partial(self._repelling_pod, key))
            yield self._repulsion("KeptAway", key, here)
        slack = np.zeros(self.table.size, dtype=np.int64)
        self._leave_room(slack, self._repels_from)
        if slack.any():
            yield SlackRow("KeptAway", slack, np.zeros((self.depth, self.table.size), dtype=np.int64))

    def _repels_from(self, other: PodFacts, node: int) -> int:
        return sum(
            self.labels.column(term.topology_key)[0][node] != 0
            and term_matches(self.table, term, other)(self.facts.key[0], self.own)
            for term in anti_affinity(other)
        )

    def _repulsion(self, name: str, key: str, meant: Ints) -> SlackRow:
        """Nobody who is meant may be left in the domain."""
        codes, _ = self.labels.column(key)
        meant = meant * (codes != 0)
        return SlackRow(name, -per_domain(codes, meant.sum(axis=0)), self._leaving(meant, codes))

    # Affinity

    def affinity(self) -> tuple[list[SlackRow], SlackRow | None]:
        affinity = self.facts.pod.spec.affinity
        terms = affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()
        if not terms:
            return [], None
        all_match = [term_matches(self.table, term, self.facts) for term in terms]
        meant = self.here(lambda namespace, labels: all(match(namespace, labels) for match in all_match))
        near, keyed = [], np.zeros(self.table.size, dtype=np.bool_)
        for term in terms:
            codes, _ = self.labels.column(term.topology_key)
            self.out |= codes == 0
            keyed |= codes != 0
            here = meant * (codes != 0)
            near.append(SlackRow("Affinity", per_domain(codes, here.sum(axis=0)) - 1, -self._leaving(here, codes)))
        if not all(match(self.facts.key[0], self.own) for match in all_match):
            return near, None
        here = meant * keyed
        anywhere = np.full(self.table.size, here.sum(), dtype=np.int64)
        one_domain = np.ones(self.table.size, dtype=np.int64)
        return near, SlackRow("Affinity", -anywhere, self._leaving(here, one_domain))

    # Spreading

    def spread(self) -> Iterable[SlackRow]:
        hard = [
            item
            for item in self.facts.pod.spec.topology_spread_constraints
            if item.when_unsatisfiable == "DoNotSchedule"
        ]
        everywhere = np.ones(self.table.size, dtype=np.bool_)
        for constraint in hard:
            everywhere &= self.labels.column(constraint.topology_key)[0] != 0
        for constraint in hard:
            yield self._spread(constraint, everywhere)

    def _spread(self, constraint: TopologySpreadConstraint, eligible: Mask) -> SlackRow:
        """How many more matching pods each node's domain takes before it is too far above the emptiest other.

        Taking pods off a node lowers its own domain only: once that is the emptiest, the newcomer may come.
        """
        codes, _ = self.labels.column(constraint.topology_key)
        self.out |= codes == 0
        eligible = eligible & counted_nodes(self.table, self.labels, self.facts, constraint)
        selector = merged(constraint.label_selector, constraint.match_label_keys, self.own)
        namespace = self.facts.key[0]

        def matches(other: str, labels: dict[str, str]) -> bool:
            return other == namespace and selector.matches(labels)

        here = self.here(matches) * eligible
        counts = per_domain(codes, (self.here(matches, staying=True) * eligible).sum(axis=0))
        itself = int(selector.matches(self.own))
        slack = constraint.max_skew - itself + self._emptiest_other(constraint, codes, eligible, counts) - counts
        slack[codes == 0] = -PLENTY
        self._leave_room(
            slack, lambda other, _: int(other.key[0] == namespace and selector.matches(other.pod.metadata.labels))
        )
        return SlackRow("TopologySpread", slack, self._leaving(here, codes))

    def _emptiest_other(self, constraint: TopologySpreadConstraint, codes: Ints, eligible: Mask, counts: Ints) -> Ints:
        """For each node the smallest count among the domains it is not in."""
        domains, first = np.unique(codes[eligible], return_index=True)
        if constraint.min_domains is not None and len(domains) < constraint.min_domains:
            return np.zeros(self.table.size, dtype=np.int64)
        by_domain = counts[eligible][first]
        if not len(domains):
            return np.full(self.table.size, PLENTY, dtype=np.int64)
        order = np.argsort(by_domain, kind="stable")
        least = int(by_domain[order[0]])
        second = int(by_domain[order[1]]) if len(order) > 1 else PLENTY
        return np.where(codes == domains[order[0]], second, least)

    # Shared

    def _leaving(self, here: Ints, codes: Ints) -> Ints:
        """What each share takes from its node's domain when its unit leaves: also its pods on other nodes there."""
        numbers = self.ranked("group")
        involved = np.unique(numbers[(numbers > 0) & (here != 0)])
        if not len(involved):
            return here
        ranks, nodes = np.nonzero(np.isin(numbers, involved))
        together = numbers[ranks, nodes] * (int(codes.max(initial=0)) + 1) + codes[nodes]
        _, place = np.unique(together, return_inverse=True)
        weight = here.copy()
        weight[ranks, nodes] = np.bincount(place, weights=here[ranks, nodes]).astype(np.int64)[place]
        return weight

    def _repelling_pod(self, key: str, other: PodFacts) -> int:
        return sum(
            term.topology_key == key and term_matches(self.table, term, other)(self.facts.key[0], self.own)
            for term in anti_affinity(other)
        )

    def _leave_room(self, slack: Ints, weight: Callable[[PodFacts, int], int]) -> None:
        """A nominated pod counts as present on its node."""
        for node, pods in self.above.items():
            for other in pods:
                slack[node] -= weight(other, node)
