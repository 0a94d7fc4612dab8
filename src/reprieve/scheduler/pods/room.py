"""Is there room for a pod on some nodes, now or if others left? The answer of the search, for those who only ask.

Nodes that a pod cannot reach (cordoned, tainted, of other labels than it asks for) have no room for it.
"""

from collections.abc import Iterable

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.columns import LARGEST
from reprieve.engine.nodes.inter_pod import concerned
from reprieve.engine.nodes.ledger import NOWHERE
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.view import NodeView
from reprieve.model.clock import Clock
from reprieve.model.names import Key
from reprieve.policies.pod import PodEntry, PodPolicy
from reprieve.policies.registry import Policies
from reprieve.world import PodFacts, microseconds


class NodeRoom:
    """Room on the nodes of one world, as it is when it is asked for."""

    def __init__(self, policies: Policies, clock: Clock) -> None:
        self._nodes = policies.nodes
        self._policy: PodPolicy = policies[PodEntry.name].policy
        self._clock = clock

    def fits_on(self, facts: PodFacts, nodes: Iterable[str], apart_from: frozenset[Key] = frozenset()) -> bool:
        """Does it fit on any of these nodes, as things are? `apart_from`: nominated pods that do not count."""
        return self._on(nodes, self._view(facts, apart_from=apart_from).fits)

    def will_fit_on(self, facts: PodFacts, node: str) -> bool:
        """Would it, once everybody is gone who is leaving already? Else there is nothing to wait for there."""
        view = self._view(facts)
        index = self._nodes.index(node)
        return index != NOWHERE and bool(view.when_all_left(np.array([index])).all())

    def minds_leaving(self, facts: PodFacts) -> bool:
        """Whether it may make a difference to it that somebody is leaving who is still there. As much room is taken as
        if all stayed; but who leaves is not everybody's neighbour any more."""
        self._nodes.sync()
        return bool(facts.claims) or concerned(self._nodes.table, facts)

    def shape(self, facts: PodFacts) -> object:
        """Pods of one shape and priority get the same answers, unless they are nominated."""
        return self._nodes.shape(facts)

    def ceiling(self, nodes: Iterable[str], priority: int) -> "Ceiling":
        self._nodes.sync()
        return Ceiling(self._nodes.table, self._known(nodes), priority)

    def could_fit_on(self, facts: PodFacts, nodes: Iterable[str], priority: int | None = None) -> bool:
        """Would it, if everybody below a priority left: its own, or the one of its group?"""
        view = self._view(facts, priority)
        below = self._nodes.table.ranked("priority", slice(0, self._nodes.table.size)) < view.priority
        return self._on(nodes, view.capacity(below, 1) > 0)

    def places(self, pods: Iterable[PodFacts], priority: int) -> int:
        """For how many of some pods there are places at most, each shape for itself, if everybody below a priority
        left."""
        shapes: dict[object, list[PodFacts]] = {}
        for facts in pods:
            shapes.setdefault(self.shape(facts), []).append(facts)
        return sum(self._places(alike[0], len(alike), priority) for alike in shapes.values())

    def _places(self, facts: PodFacts, wanted: int, priority: int) -> int:
        view = self._view(facts, priority)
        below = self._nodes.table.ranked("priority", slice(0, self._nodes.table.size)) < view.priority
        return min(wanted, int(view.capacity(below, wanted).sum()))

    def _on(self, nodes: Iterable[str], where: Mask) -> bool:
        known = self._known(nodes)
        return bool(np.any(where[known])) if known else False

    def _known(self, nodes: Iterable[str]) -> list[int]:
        return [index for name in nodes if (index := self._nodes.index(name)) != NOWHERE]

    def _view(self, facts: PodFacts, priority: int | None = None, apart_from: frozenset[Key] = frozenset()) -> NodeView:
        """That of the policy, which is kept, where nothing is special about the question."""
        if (priority is None or priority == facts.priority) and not apart_from - {facts.key}:
            return self._policy.view(facts, microseconds(self._clock())).nodes
        self._nodes.sync()
        return self._nodes.view(facts, priority=priority, apart_from=apart_from)


class Ceiling:
    """What there is at most on one of some nodes if everybody below a priority leaves, reachable or not, promised to
    somebody or not. Whoever asks for more fits on none of them: that takes no view of the nodes to say. As long as the
    nodes are as they were."""

    def __init__(self, table: NodeTable, nodes: list[int], priority: int) -> None:
        self._table = table
        self._nodes = np.array(nodes, dtype=np.int64)
        self._below = table.ranked("priority", self._nodes) < priority
        self._most: dict[str, int] = {}

    def allows(self, facts: PodFacts) -> bool:
        return all(min(units, LARGEST) <= self._of(name) for name, units in facts.requests.items() if units > 0)

    def _of(self, resource: str) -> int:
        most = self._most.get(resource)
        if most is None:
            row = self._table.row(resource)
            freed = np.where(self._below, self._table.requests[: len(self._below), row, self._nodes], 0).sum(axis=0)
            most = int((self._table.free(row, self._nodes) + freed).max(initial=0))
            self._most[resource] = most
        return most
