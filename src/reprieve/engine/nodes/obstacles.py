"""Why nodes cannot take a pod, with numbers: worked out for all nodes at once, when a decision comes to nothing.

Each node that cannot be had is in one position, the first of these that holds:

1. out of reach;
2. too small, even when nothing runs there;
3. left alone, because nobody knows what a pod there tolerates;
4. short of a resource, even without everybody there who may be preempted;
5. kept out by pods around, or for want of them, even then;
6. else pods could go, but not all of them together: whoever asks knows why.

Nodes in the same position, for the same resource, make one claim, with the best of their numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import (
    ClaimOnNodes,
    Insufficient,
    KeptOut,
    LeftAlone,
    Neighbours,
    NotReachable,
    Protected,
    TooSmall,
    Unreachable,
)
from reprieve.engine.nodes.pool import Ranked
from reprieve.engine.nodes.reach import CORDONED, GONE, NODE_AFFINITY, OTHER_NODE, REACHED, UNTOLERATED_TAINT
from reprieve.engine.nodes.view import CLOSED, MISSING_NEIGHBOURS, OUT_OF_DOMAIN, NodeView
from reprieve.engine.nodes.volumes import NOT_HONOURED, VOLUME_AFFINITY, VOLUME_LIMIT

_UNREACHABLE: dict[int, Unreachable] = {
    CORDONED: "Cordoned",
    UNTOLERATED_TAINT: "Taint",
    OTHER_NODE: "OtherNode",
    NODE_AFFINITY: "NodeAffinity",
    VOLUME_AFFINITY: "VolumeAffinity",
    VOLUME_LIMIT: "VolumeLimit",
    GONE: "Gone",
    MISSING_NEIGHBOURS: "MissingNeighbours",
    OUT_OF_DOMAIN: "OutsideDomain",
    CLOSED: "Closed",
}
_OUT, _TOO_SMALL, _LEFT_ALONE, _SHORT, _KEPT_OUT, _COULD_GO = range(6)
_AMONG_PODS = (_SHORT, _KEPT_OUT)
_NAMING = (_TOO_SMALL, _LEFT_ALONE)
Stay = Callable[[Ints], Sequence[Protected]]
"""How many pods of some nodes may not be preempted, rule by rule."""
Classes = Callable[[Ints], LeftAlone]
"""The priority classes that take some nodes out."""


def no_classes(nodes: Ints) -> LeftAlone:
    return LeftAlone(nodes=len(nodes))


class InCommon(NamedTuple):
    """What nodes have in common that cannot be had: the step above, and the resource, row or reach that it is about."""

    step: int
    which: int
    alone: bool
    """Whether nobody there may be preempted."""


class NodeObstacles:
    """The positions of all nodes before one pod; `candidates` may be preempted, ranks by nodes."""

    def __init__(
        self, view: NodeView, candidates: Mask, *, left_alone: Mask | None = None, when_left: bool = False
    ) -> None:
        """`when_left`: whoever is leaving counts as gone."""
        self.view = view
        self.table = view.table
        self._candidates = candidates
        self._left_alone = np.zeros(self.table.size, dtype=np.bool_) if left_alone is None else left_alone
        self._leaving = view.table.ranked("leaves", slice(0, view.table.size)) > 0 if when_left else None
        self._slack = view.slack_when_left(slice(0, view.table.size)) if when_left else view.slack
        self._freed = view.slack_without(self._slack, candidates)
        self._own = len(view.asked)
        self._positions = self._position()

    def of(self, nodes: Ints, stay: Stay | None, classes: Classes = no_classes) -> list[ClaimOnNodes]:
        """Claims about some nodes; those that could be freed are passed over. Without `stay` nobody is asked."""
        told = (self._claim(position, here, stay, classes) for position, here in self._together(nodes))
        return [claim for claim in told if claim is not None]

    def _together(self, nodes: Ints) -> Iterator[tuple[InCommon, Ints]]:
        """Nodes in the same position."""
        if len(nodes) == 1:  # an explanation asks about each node by itself, of which there may be thousands
            step, which = self._positions[:, nodes[0]].tolist()
            yield InCommon(step, which, step in _AMONG_PODS and not self._candidates[:, nodes[0]].any()), nodes
            return
        step, which = self._positions[:, nodes]
        anybody = self._candidates[:, nodes].any(axis=0)
        # Who may be preempted makes a difference only where there is too little room or somebody stands in the way.
        alone = np.where(np.isin(step, _AMONG_PODS), ~anybody, False)
        keys = np.stack([step, which, alone.astype(np.int64)])
        for key in np.unique(keys, axis=1).T.tolist():
            yield InCommon(key[0], key[1], bool(key[2])), nodes[(keys == np.array(key)[:, None]).all(axis=0)]

    def looks(self, nodes: Ints) -> Ints:
        """All that a claim about one of some nodes is made from, apart from who is protected there: nodes of equal
        columns make equal claims."""
        nominated = [self.view.nominated_on(np.array([node])) if node in self.table.nominated else 0 for node in nodes]
        # A claim that names its node, or pods there, is about no other one; groups are counted pod by pod.
        alone = np.isin(self._positions[0, nodes], _NAMING) | (self.table.ranked("group", nodes) > 0).any(axis=0)
        of_its_own = np.where(alone, nodes, -1)
        room = (self._positions, self._slack, self._freed, self._candidates)
        return np.vstack([nominated, of_its_own, *(rows[:, nodes] for rows in room)])

    def could_go(self, nodes: Ints) -> Ints:
        """Those of some nodes that would have room without all who may go."""
        return np.asarray(nodes[self._positions[0, nodes] == _COULD_GO])

    def _position(self) -> Ints:
        """For each node the step that rules it out, and what that is about."""
        size = self.table.size
        step = np.full(size, _COULD_GO, dtype=np.int64)
        which = np.zeros(size, dtype=np.int64)
        own, theirs = self._freed[: self._own], self._freed[self._own :]
        small = self.view.too_large_for()
        kept_out = self._kept_out(theirs)
        if len(kept_out):
            hit, around = kept_out.any(axis=0), self.view.around
            first_of_name = np.array([around.index(name) for name in around])
            step[hit], which[hit] = _KEPT_OUT, first_of_name[kept_out.argmax(axis=0)[hit]]
        if len(own):
            hit = (own < 0).any(axis=0)
            step[hit], which[hit] = _SHORT, (own < 0).argmax(axis=0)[hit]
        step[self._left_alone], which[self._left_alone] = _LEFT_ALONE, 0
        hit = small.any(axis=0)
        step[hit], which[hit] = _TOO_SMALL, small.argmax(axis=0)[hit]
        out = self.view.reach != REACHED
        step[out], which[out] = _OUT, self.view.reach[out]
        return np.stack([step, which])

    def _kept_out(self, rows: Ints) -> Mask:
        """Rows of the pods around it that are short, where they count: it may be the first of its kind."""
        short = np.asarray(rows < 0)
        if len(rows):
            short[:, self.view.enough(self._freed)] = False
            short[[not name for name in self.view.around]] = False
        return short

    def _claim(self, position: InCommon, nodes: Ints, stay: Stay | None, classes: Classes) -> ClaimOnNodes | None:
        match position.step:
            case step if step == _OUT and position.which == NOT_HONOURED:
                return self._not_honoured(nodes)
            case step if step == _OUT:
                return NotReachable(nodes=len(nodes), why=_UNREACHABLE[position.which])
            case step if step == _TOO_SMALL:
                return self._too_small(position.which, nodes)
            case step if step == _LEFT_ALONE:
                return classes(nodes)
            case step if step == _SHORT:
                return self._insufficient(position.which, nodes, stay)
            case step if step == _KEPT_OUT:
                by: Neighbours = self.view.around[position.which]  # type: ignore[assignment]
                protected = tuple(stay(nodes)) if stay is not None else ()
                return KeptOut(
                    nodes=len(nodes), by=by, candidates=self._count(self._candidates, nodes), protected=protected
                )
        return None

    def _not_honoured(self, nodes: Ints) -> ClaimOnNodes | None:
        obstacle = self.view.volumes.obstacle
        return None if obstacle is None else msgspec.structs.replace(obstacle, nodes=len(nodes))

    def _too_small(self, row: int, nodes: Ints) -> TooSmall:
        name, needed = self.view.asked[row]
        node, has = self.view.largest(row, nodes)
        return TooSmall(nodes=len(nodes), node=node, resource=name, needed=needed, has=has)

    def _insufficient(self, row: int, nodes: Ints, stay: Stay | None) -> Insufficient:
        name, needed = self.view.asked[row]
        free, freed = (int(slack[row, nodes].max()) + needed for slack in (self._slack, self._freed))
        return Insufficient(
            nodes=len(nodes),
            resource=name,
            needed=needed,
            free=max(0, free),
            candidates=self._count(self._candidates, nodes),
            freed=max(0, freed),
            asked=stay is not None,
            protected=tuple(stay(nodes)) if stay is not None else (),
            nominated=self.view.nominated_on(nodes),
            leaving=self._count(self._leaving, nodes) if self._leaving is not None else 0,
        )

    def _count(self, ranks: Mask, nodes: Ints) -> int:
        return Ranked(self.table, nodes, len(ranks)).count(ranks[:, nodes])


def most_first(claims: Iterable[ClaimOnNodes]) -> list[ClaimOnNodes]:
    """As they are told: what most nodes have in common first."""
    return sorted(claims, key=lambda claim: (-claim.nodes, type(claim).__name__, str(claim)))


def without_asking(view: NodeView, nodes: Ints | None = None) -> list[ClaimOnNodes]:
    """Why no node, or none of some, can take a pod as things are, where nobody may be asked to leave."""
    nobody = np.zeros((view.table.depth, view.table.size), dtype=np.bool_)
    if nodes is None:
        nodes = np.flatnonzero(~view.table.gone[: view.table.size] & ~view.fits)
    return most_first(NodeObstacles(view, nobody).of(nodes, None))
