"""A gang, and the trial in which it is placed: nothing is left behind when it fails."""

import copy
from collections.abc import Hashable
from typing import NamedTuple, Self

from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import GROUP, Membership, Unit
from reprieve.model.names import UnitName
from reprieve.world import PodFacts


class Gang(NamedTuple):
    """Pods that are scheduled together: at least `required` of the members, or none."""

    name: UnitName
    members: list[PodFacts]
    required: int
    priority: int
    topology_key: str = ""
    bound: tuple[PodFacts, ...] = ()
    """Pods of the group that have their place already."""
    groups: tuple["Gang", ...] = ()
    """The groups that it is made of, where it is a composite group: at least `required_groups` of them, or none."""
    required_groups: int = 0
    entitled: int = 0
    """For so many of the members whatever is allowed may be preempted. The others are optional: they take what is free,
    and what those have who rank no higher than anybody who made way for the entitled ones, against no budget."""
    ceiling: int | None = None
    """The highest priority that made way for pods of the group which have their place; None: nobody did."""


class Trial:
    """Changes to a table that are taken back at the end."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.placed: dict[tuple[str, str], Unit] = {}
        self.evicted: dict[Hashable, Unit] = {}
        self.steps: dict[str, int] = {}
        """For each node, how many times somebody had to leave it for one more pod."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Everything is as it was before."""
        for unit in reversed(self.placed.values()):
            self.table.take_unit(unit)
        for unit in reversed(self.evicted.values()):
            self.table.put_unit(unit)
        self.placed.clear()
        self.evicted.clear()
        self.steps.clear()

    def place(self, facts: PodFacts, node: str, priority: int) -> None:
        there = copy.copy(facts)
        there.node = node
        unit = Unit(Membership(("placed", facts.key), priority, GROUP), [there])
        self.table.put_unit(unit)
        self.placed[facts.key] = unit

    def take_back(self, facts: PodFacts) -> None:
        """Somebody who was placed waits again."""
        self.table.take_unit(self.placed.pop(facts.key))

    def make_way(self, units: list[Unit], node: str) -> None:
        """For one more pod on a node, some units leave, wherever they run."""
        for unit in units:
            self.evict(unit)
        if units:
            self.steps[node] = self.steps.get(node, 0) + 1

    def evict(self, unit: Unit) -> None:
        if unit.key not in self.evicted:
            self.table.take_unit(unit)
            self.evicted[unit.key] = unit

    def give_back(self, unit: Unit) -> None:
        del self.evicted[unit.key]
        self.table.put_unit(unit)

    def take_over(self, other: "Trial") -> None:
        """What another trial did on top of this one is part of it from now on."""
        self.placed |= other.placed
        self.evicted |= other.evicted
        for node, steps in other.steps.items():
            self.steps[node] = self.steps.get(node, 0) + steps
        other.placed, other.evicted, other.steps = {}, {}, {}

    def placement(self) -> dict[UnitName, str]:
        return {unit.pods[0].unit: unit.pods[0].node for unit in self.placed.values()}

    def newcomers(self) -> dict[str, list[PodFacts]]:
        """Who was placed, node by node."""
        by_node: dict[str, list[PodFacts]] = {}
        for unit in self.placed.values():
            by_node.setdefault(unit.pods[0].node, []).append(unit.pods[0])
        return by_node
