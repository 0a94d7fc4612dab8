"""Which sets of victims are enough, in inequalities: for a solver that proves what the least is."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reprieve.engine.price import UnitCost

Names = tuple[str, ...]
"""Those who leave together, as victims of a plan are named; `UNIT@CLUSTER` for who leaves one of several clusters."""


class Row(NamedTuple):
    """A sum of variables that must not be more than a bound."""

    terms: Mapping[int, int]
    most: int


class LinearModel:
    """Variables are numbered. Those of `units` are 0 or 1: whether a unit leaves."""

    def __init__(self) -> None:
        self.most: list[int] = []
        """The largest value of each variable; the smallest is 0."""
        self.whole: list[bool] = []
        self.units: dict[int, tuple[Names, UnitCost]] = {}
        self.rows: list[Row] = []

    def unit(self, names: Iterable[str], cost: UnitCost) -> int:
        number = self.number(1)
        self.units[number] = tuple(names), cost
        return number

    def number(self, most: int, *, whole: bool = True) -> int:
        self.most.append(most)
        self.whole.append(whole)
        return len(self.most) - 1

    def at_most(self, terms: Mapping[int, int], bound: int) -> None:
        kept = {number: factor for number, factor in terms.items() if factor}
        if kept or bound < 0:
            self.rows.append(Row(kept, bound))

    def at_least(self, terms: Mapping[int, int], bound: int) -> None:
        self.at_most({number: -factor for number, factor in terms.items()}, -bound)
