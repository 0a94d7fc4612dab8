"""What the rules allowed in one search, for whoever looks for less than the design's own order found.

A policy hands over what it has worked with already: the candidates its rules allowed, the ledger that says whether the
preemptor fits, and what no ledger knows, whether its laws are kept without some of them. It gets no search of its own:
who looks for less is `improvement`, and who proves how little is enough reads the `LinearModel`.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from reprieve.engine.price import UnitCost
from reprieve.engine.steps import Steps

Unit = TypeVar("Unit")


class Alternatives(Protocol[Unit]):
    """One domain of a search: who may be asked to leave it, and whether some of them are enough."""

    taken: bool
    """Whether the design chose this domain."""
    chosen: Sequence[Unit] | None
    """Whom the design would ask here; None: it found no set that is enough."""

    @property
    def step(self) -> int:
        """As how many steps one question to the ledger counts."""

    @property
    def settled(self) -> bool:
        """Whether one of `starts` is as good as it gets, where it is enough: then nobody looks on."""

    @property
    def candidates(self) -> Sequence[Unit]:
        """Whom no rule protects, in the order in which the design asks."""

    @property
    def fewest(self) -> int:
        """So many have to leave at least, whatever they cost: what asks for no search is not searched for."""

    def cost(self, unit: Unit) -> UnitCost: ...

    def ledger(self) -> Steps[Unit]:
        """Does the preemptor fit while units leave and come back? Nobody has left yet."""

    def lawful(self, gone: Collection[Unit]) -> bool:
        """Whether just these may be gone together; asked while they are."""

    def least(self) -> Sequence[Unit] | None:
        """The least of all, where that can be worked out at once; None: it has to be looked for."""

    def starts(self) -> Iterable[Sequence[Unit]]:
        """Sets to begin with beside the design's own, where there is a better idea than an order."""

    def bundles(self) -> Iterable[Sequence[Unit]]:
        """Those who stand in the same place: together they free more than one by one."""

    def offer(self, victims: Sequence[Unit]) -> Any:
        """An offer of it, or what a policy makes one of, looked at once more in full; None: it would not do after
        all."""


class BaseAlternatives:
    """What most of them have in common: nothing is known but the candidates and whether some are enough."""

    step = 1
    settled = False
    fewest = 1
    taken = False

    def least(self) -> None:
        return None

    def starts(self) -> Iterable[Any]:
        return ()

    def bundles(self) -> Iterable[Any]:
        return ()
