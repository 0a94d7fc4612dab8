"""What rules over the pods of all nodes look at, and what such a rule is."""

from typing import NamedTuple, Protocol

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import Protected
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.engine.rules import PoolRule
from reprieve.world import NEVER, PodFacts


class Ranked(NamedTuple):
    """The pods of some nodes, rank by rank, for rules to look at."""

    table: NodeTable
    nodes: slice | Ints
    depth: int

    def get(self, name: str) -> Ints:
        return self.table.ranks[name][: self.depth, self.nodes]

    def count(self, mask: Mask) -> int:
        """How many pods stand at some ranks: one each, but where several of a group stand together."""
        number, grouped = int(np.count_nonzero(mask)), mask & (self.get("group") > 0)
        if not grouped.any():
            return number
        nodes = np.arange(self.table.size)[self.nodes].tolist()
        places = np.argwhere(grouped).tolist()
        return number + sum(len(self.table.residents[nodes[place]][rank].pods) - 1 for rank, place in places)


class Resident(NamedTuple):
    """A pod on a node, and the unit that it is preempted with."""

    unit: Unit
    facts: PodFacts


class NodeRule(PoolRule[Ranked, Resident], Protocol):
    """A rule over ranks and nodes. One that spoils takes the whole node out of the search."""

    name: str
    """That of its reason."""
    spoils: bool
    tells_by: tuple[str, ...]
    """The facts about a pod that `told` goes by, beside that the rule protects it."""

    def good_until(self) -> int:
        """When its answer may change with time alone."""

    def told(self, pods: Ranked, mask: Mask) -> list[Protected]:
        """How many of some pods it protects, for whoever wants numbers."""


class Lasting:
    """A rule that neither spoils a node nor changes its answer with time."""

    spoils = False
    name = ""
    tells_by: tuple[str, ...] = ()

    def good_until(self) -> int:
        return NEVER

    def told(self, pods: Ranked, mask: Mask) -> list[Protected]:
        return told_by(pods, {self.name: mask})


def told_by(pods: Ranked, masks: dict[str, Mask]) -> list[Protected]:
    counts = {name: pods.count(mask) for name, mask in masks.items()}
    return [Protected(name, number) for name, number in counts.items() if number]
