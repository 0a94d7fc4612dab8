"""Placing a gang with second thoughts: a place that leaves others without one is taken back, and another is tried.

It looks at free room only: whoever may be asked to leave has left before. The pods that can go to the fewest nodes come
first, the largest of these before the others, and each tries the fullest node before emptier ones. What it may try is
limited, so that a gang for which there is no room at all does not hold up everybody else.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.trial import Trial
from reprieve.engine.nodes.view import NodeView
from reprieve.world import PodFacts

_TRIES = 300
"""So many places are tried in all: enough for the gangs that other ways leave out by a hair."""
_MOST_MEMBERS = 64
_LOOKS = _TRIES * _MOST_MEMBERS
"""So often it is looked where a member could go: as often as for the largest gang without a member to spare. Of a group
of thousands most may go without a place, and each of them would be looked at after every try."""


class _Step:
    """One member: where it could go still, and whether it is somewhere, or goes without."""

    def __init__(self, facts: PodFacts, nodes: Iterator[int]) -> None:
        self.facts = facts
        self.nodes = nodes
        self.placed = False
        self.missed = False


class SecondThoughts:
    """Places as many members as are wanted, or none."""

    def __init__(
        self,
        trial: Trial,
        view: Callable[[PodFacts], NodeView],
        shapes: Iterable[list[PodFacts]],
        wanted: int,
        priority: int,
    ) -> None:
        """`shapes`: members that are alike to the search, together; `view`: all nodes as one of them finds them."""
        self._trial = trial
        self._table = trial.table
        self._view = view
        self._wanted = wanted
        self._priority = priority
        self._tries = _TRIES
        self._looks = _LOOKS
        views = [(view(shape[0]), shape) for shape in shapes]
        ordered = sorted(views, key=lambda each: (int(each[0].fits.sum()), -_size(each[1][0])))
        self._waiting = [(number, facts) for number, (_, shape) in enumerate(ordered) for facts in shape]
        self._views = [view for view, _ in ordered]

    def place(self) -> None:
        if self._wanted <= _MOST_MEMBERS and not self._is_hopeless():
            self._search(len(self._waiting) - self._wanted)

    def _is_hopeless(self) -> bool:
        """Whether all nodes together have less of something than the smallest members ask for."""
        nobody = np.zeros((0, self._table.size), dtype=np.bool_)
        room: dict[str, Ints] = {}
        for view in self._views:
            for name, free in view.room(nobody).items():
                room[name] = np.maximum(room.get(name, 0), free)
        return any(self._least(name) > int(free.sum()) for name, free in room.items())

    def _least(self, resource: str) -> int:
        return sum(sorted(facts.requests.of(resource) for _, facts in self._waiting)[: self._wanted])

    def _search(self, may_miss: int) -> bool:
        """Whether enough members found a place, where so many may go without. However many there are: members are gone
        through one after the other and back, without a call for each."""
        steps: list[_Step] = []
        while len(steps) < len(self._waiting):
            if not self._looks:
                return self._give_up(steps)
            self._looks -= 1
            shape, facts = self._waiting[len(steps)]
            steps.append(_Step(facts, self._nodes(shape, facts)))
            while not self._goes_on(steps[-1], may_miss):
                steps.pop()
                if not steps:
                    return False
                may_miss += steps[-1].missed
            may_miss -= steps[-1].missed
        return True

    def _goes_on(self, step: "_Step", may_miss: int) -> bool:
        """Another place for a member, or at last none; False: nothing is left that could be tried for it."""
        if step.placed:
            self._trial.take_back(step.facts)
            step.placed = False
        if step.missed:
            return False
        for node in step.nodes:
            if not self._tries:
                return False
            self._tries -= 1
            self._trial.place(step.facts, self._table.names[node], self._priority)
            step.placed = True
            return True
        step.missed = may_miss > 0
        return step.missed

    def _give_up(self, steps: "list[_Step]") -> bool:
        for step in reversed(steps):
            if step.placed:
                self._trial.take_back(step.facts)
        return False

    def _nodes(self, shape: int, facts: PodFacts) -> Iterator[int]:
        """Where it fits now, the fullest first."""
        view = self._views[shape]
        if view.current:
            view.follow(facts)
        else:
            view = self._views[shape] = self._view(facts)
        fits = np.flatnonzero(view.fits)
        full = (self._table.used[:, fits] / np.maximum(self._table.allocatable[:, fits], 1)).sum(axis=0)
        return iter(fits[np.lexsort((self._table.tie_break()[fits], -full))].tolist())


def _size(facts: PodFacts) -> int:
    return sum(units for _, units in facts.requests.items())
