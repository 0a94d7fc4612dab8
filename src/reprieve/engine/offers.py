"""What a search comes to: a place that is free, a reason to hold back, or what each domain would cost."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.claims import Claim
from reprieve.engine.plan import Cost, Victim
from reprieve.engine.reasons import Reason
from reprieve.model.names import UnitName


class Placed(NamedTuple):
    """It fits as things are."""

    message: str
    domain: str = ""
    placement: dict[UnitName, str] = {}
    terms: Any = None


class HeldBack(NamedTuple):
    """It does not fit, and nobody is asked to leave: not yet (`Wait`), or not at all."""

    outcome: Literal["Wait", "Unschedulable"]
    message: str
    domain: str = ""
    placement: dict[UnitName, str] = {}
    waiting_for: Sequence[UnitName] = ()
    until: int | None = None
    terms: Any = None
    because: Reason | None = None
    """Why nobody is asked whom no rule protects."""
    claims: Sequence[Claim] = ()
    """What the message was made from."""
    reserves: bool = False
    closes: bool = False
    """As those of an offer: the place that it waits for is held already."""


class Offer(NamedTuple):
    """What one domain costs, and what is gained by it."""

    domain: str
    victims: Sequence[Victim]
    placement: dict[UnitName, str] = {}
    pdb_violations: int = 0
    """How many pods go against a disruption budget."""
    waiting_for: Sequence[UnitName] = ()
    """Those who leave already, and are counted on."""
    terms: Any = None
    parts: Mapping[str, Cost] = {}
    """Where it spans several domains: what each of them costs."""
    criterion: str = ""
    """Where nothing competes with it by its nature: why it is this one."""

    reserves: bool = False
    """The place is held against everybody, once it is chosen."""
    closes: bool = False
    """And nobody else is placed there at all until then."""

    @property
    def costs(self) -> Mapping[str, Cost]:
        return self.parts or {self.domain: Cost([victim.unit for victim in self.victims], self.pdb_violations)}


class Offers(Protocol):
    """What the domains of one group would cost, numbered from 0."""

    @property
    def possible(self) -> Mask:
        """Which numbers stand for an offer."""

    def __getitem__(self, number: int, /) -> Offer: ...

    def all(self) -> Iterable[Offer]:
        """All there are, also those that a choice did not need: for whoever wants to know what it would have cost."""


_ONE: Mask = np.ones(1, dtype=np.bool_)


class OfferList(list[Offer]):
    """Offers that are all there; mostly there is one."""

    @property
    def possible(self) -> Mask:
        return _ONE if len(self) == 1 else np.ones(len(self), dtype=np.bool_)

    def all(self) -> Iterable[Offer]:
        return self
