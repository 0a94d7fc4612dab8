"""What both searches of the quota policy share: the ledger they work on, and what they come to."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from reprieve.engine.improvement import Improved
from reprieve.engine.quota_tree import QuotaNode
from reprieve.engine.reasons import Reason
from reprieve.policies.quota.assignments import FlavorDemand
from reprieve.policies.quota.fair_rules import FairRules
from reprieve.policies.quota.rules import ClassicalRules
from reprieve.policies.quota.topology import TopologyLedger
from reprieve.policies.quota.workloads import WorkloadFacts

IN_QUEUE = "InClusterQueue"
RECLAIM = "InCohortReclamation"
RECLAIM_BORROWING = "InCohortReclaimWhileBorrowing"
FAIR_SHARING = "InCohortFairSharing"
Rules = ClassicalRules | FairRules


class Candidate(NamedTuple):
    """A workload that may be asked to leave, and by which right."""

    facts: WorkloadFacts
    kind: int
    right: str
    while_borrowing: Reason | None = None
    """What protects it where the preemptor borrows."""


class RulesSaid:
    """What the rules said in one search, when they were asked: with others gone by then."""

    __slots__ = ("counted", "nodes", "said")

    def __init__(self, nodes: dict[QuotaNode, Reason] | None = None) -> None:
        self.nodes = {} if nodes is None else nodes
        """Queues and cohorts that give nobody."""
        self.said: dict[WorkloadFacts, Reason | None] = {}
        """Of each who was asked; None: it was removed."""
        self.counted: Counter[str] | None = None
        """How many each rule protected, once that was counted."""

    def protection(self, unit: WorkloadFacts) -> Reason | None:
        return self.said[unit] if unit in self.said else self.of_node(unit.queue)

    def of_node(self, node: QuotaNode | None) -> Reason | None:
        """What protects everybody in a queue who was not asked."""
        reason = None
        while reason is None and node is not None:
            reason, node = self.nodes.get(node), node.parent
        return reason


class Found(NamedTuple):
    """What a search in one domain came to: those who make way, nobody where no allowed set of them is enough."""

    domain: FlavorDemand
    rules: Rules
    victims: list[Candidate]
    asked: RulesSaid
    improved: Improved | None = None
    """What the design's own order came to, where less was found."""

    def protection(self, unit: WorkloadFacts) -> Reason | None:
        """What protected a workload in this search; None: it was removed, or never reached."""
        return self.rules.eligible(unit) or self.asked.protection(unit)


class QuotaLedger:
    """Does the preemptor fit in its queue while workloads leave and come back?"""

    def __init__(
        self, queue: QuotaNode, domain: FlavorDemand, *, borrowing: bool, topology: TopologyLedger | None = None
    ) -> None:
        self._queue = queue
        self._usage = domain.usage
        self._borrowing = borrowing
        self._topology, self._places = topology, domain.places
        self.room_to_borrow = False
        """It would have fitted, were it allowed to borrow."""

    def fits(self) -> bool:
        queue = self._queue
        if not queue.has(self._usage) or (self._topology is not None and not self._topology.fits(self._places)):
            return False
        if self._borrowing or not any(queue.exceeds(flavor, amount) for flavor, amount in self._usage.items()):
            return True
        self.room_to_borrow = True
        return False

    def remove(self, unit: Candidate) -> None:
        unit.facts.leave()

    def give_back(self, unit: Candidate) -> None:
        unit.facts.come_back()


class Without:
    """The tree without some workloads, for as long as it lasts."""

    def __init__(self, workloads: Iterable[WorkloadFacts]) -> None:
        self._workloads = list(workloads)

    def __enter__(self) -> None:
        for facts in self._workloads:
            facts.leave()

    def __exit__(self, *_: object) -> None:
        for facts in reversed(self._workloads):
            facts.come_back()
