"""A domain in which others could make way for a gang than its search found."""

from collections.abc import Callable, Sequence

from reprieve.engine.nodes.gang_alternatives import GangAlternatives
from reprieve.engine.nodes.units import Unit
from reprieve.engine.offers import Offer
from reprieve.policies.podgroup.search import DomainSearch, FoundInDomain


class GroupAlternatives:
    """What the rules allowed in one domain, and what it would come to."""

    fewest = 1

    def __init__(
        self,
        search: DomainSearch,
        others: GangAlternatives,
        found: FoundInDomain | None,
        make: Callable[[FoundInDomain], Offer],
        *,
        taken: bool,
    ) -> None:
        """`found`: what the search of the design came to; `make`: an offer of what others come to."""
        self.taken = taken
        self.chosen = others.chosen
        self.cost, self.ledger, self.lawful = others.cost, others.ledger, others.lawful
        self.least, self.starts, self.bundles = others.least, others.starts, others.bundles
        self._search = search
        self._others = others
        self._found = found
        self._make = make

    # Looked at only where somebody asks: in a large cluster that alone takes long.

    @property
    def candidates(self) -> Sequence[Unit]:
        return self._others.candidates

    @property
    def step(self) -> int:
        return self._others.step

    @property
    def settled(self) -> bool:
        return self._others.settled

    def offer(self, victims: Sequence[Unit]) -> Offer | None:
        found = self._search.found_instead(self._others, victims, self._found)
        return None if found is None else self._make(found)
