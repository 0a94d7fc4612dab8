"""The work that is lost with pods on nodes: what they hold of all there is, for as long as they have run."""

from collections.abc import Iterable
from functools import cached_property

from reprieve.engine.lost_work import NOTHING_SAID, Totals, seconds_lost
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.table import NodeTable
from reprieve.model.resources import Resources
from reprieve.world import NEVER, PodFacts


class LostWork:
    """For one ledger, at one moment."""

    def __init__(self, ledger: NodeLedger, now: int) -> None:
        self._table = ledger.table
        self._asks = ledger.settings.asks_for_lost_work
        self._now = now
        self._sizes: dict[Resources, int] = {}

    @property
    def asks(self) -> bool:
        """Whether it counts what is said of it."""
        return self._asks

    def of(self, pods: Iterable[PodFacts]) -> int:
        return sum([self.size(facts) * self.seconds(facts) for facts in pods])

    def size(self, facts: PodFacts) -> int:
        """Asked once for all pods that hold the same."""
        known = self._sizes.get(facts.requests)
        if known is None:
            known = self._sizes[facts.requests] = self._totals.size(facts.requests)
        return known

    def seconds(self, facts: PodFacts) -> int:
        """How long what is lost with a pod took, or was worth."""
        since = facts.start if facts.start < NEVER else facts.created
        return seconds_lost(since, self._now, self._table.units.said_of_work(facts) if self._asks else NOTHING_SAID)

    @cached_property
    def _totals(self) -> Totals:
        return Totals(all_there_is(self._table), self._now)


def all_there_is(table: NodeTable) -> dict[str, int]:
    """What all nodes have of each resource."""
    sums = table.allocatable[:, : table.size].sum(axis=1).tolist()
    return {name: sums[row] for name, row in table.resources.items()}
