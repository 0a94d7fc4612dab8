"""What victims cost: by what plans are compared when it is looked for less, and proved that less is not enough."""

from collections.abc import Iterable
from typing import NamedTuple


class UnitCost(NamedTuple):
    """What it costs that one unit leaves, by what plans are compared with."""

    violations: int = 0
    """How many of its pods go against a budget."""
    grade: tuple[int, ...] = (0,)
    """How important it is to its design: its priority, and what comes before that. Of several, the highest counts."""
    victims: int = 1
    """As how many it counts: a group of pods as all of them; who leaves already, as none."""
    importance: int = 0
    """Added up where so many victims of the same grade make way."""
    lost: int = 0
    """The work that is lost: what it holds, for as long as it has run since it last saved it."""
    size: int = 0
    """What it holds, as a share of all there is, in millionths."""


class Price(NamedTuple):
    """What a set of victims costs: less is better, the first difference decides."""

    violations: int
    grade: tuple[int, ...]
    victims: int
    importance: int
    lost: int
    size: int = 0


def price(costs: Iterable[UnitCost]) -> Price:
    found = list(costs)
    return Price(
        sum(cost.violations for cost in found),
        max((cost.grade for cost in found if cost.victims), default=()),
        sum(cost.victims for cost in found),
        sum(cost.importance for cost in found),
        sum(cost.lost for cost in found),
        sum(cost.size for cost in found),
    )
