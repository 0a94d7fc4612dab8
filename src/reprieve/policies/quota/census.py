"""Which rule protects how many workloads of a tree: said of everybody who is refused, so nobody is looked at for it.

What does not change while others leave (`rules`, 1 to 3) goes by the flavors, the queue and the priority of a workload.
So it is asked of one for all who are alike; and of each queue alone only where it protects nobody.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.engine.reasons import Reason
from reprieve.policies.quota.workloads import WorkloadFacts

if TYPE_CHECKING:
    from reprieve.policies.quota.search import Found

Alike = tuple[frozenset[FlavorResource], int]
"""The flavors that a workload has, and its priority."""


class Census:
    """Who is admitted in one tree."""

    def __init__(self, admitted: Iterable[Iterable[WorkloadFacts]], closed: Iterable[str]) -> None:
        self._groups: dict[Alike, dict[QuotaNode, list[WorkloadFacts]]] = {}
        self._closed: list[WorkloadFacts] = []
        """Those in queues that give nobody."""
        self._numbers: dict[Alike, int] = {}
        closed = frozenset(closed)
        for workloads in admitted:
            for facts in workloads:
                self._add(facts, closed)

    def _add(self, facts: WorkloadFacts, closed: frozenset[str]) -> None:
        queue = facts.queue
        if queue is None or queue.name in closed:
            self._closed.append(facts)
            return
        alike = _alike(facts)
        self._groups.setdefault(alike, {}).setdefault(queue, []).append(facts)
        self._numbers[alike] = self._numbers.get(alike, 0) + 1

    def protecting(self, found: "Found", own: QuotaNode) -> Counter[str]:
        """How many each rule protected in a search for a workload of the queue `own`; under "" whom none did."""
        # Whoever was asked has an answer of its own; in the own queue age may count.
        singly = [facts for facts in found.asked.said if facts.queue is not own]
        rules = Counter(_rule(found.protection(facts)) for facts in (*singly, *self._closed))
        apart = Counter((_alike(facts), facts.queue) for facts in singly)
        for alike, groups in self._groups.items():
            rules.update(_rule(found.protection(facts)) for facts in groups.get(own, ()))
            self._of_others(rules, found, own, alike, apart)
        return rules

    def _of_others(
        self,
        rules: Counter[str],
        found: "Found",
        own: QuotaNode,
        alike: Alike,
        apart: Counter[tuple[Alike, QuotaNode | None]],
    ) -> None:
        groups = self._groups[alike]
        one = next((members[0] for queue, members in groups.items() if queue is not own), None)
        reason = found.rules.eligible(one) if one is not None else None
        if reason is not None:
            rules[reason.rule] += self._numbers[alike] - len(groups.get(own, ()))
            return
        for queue, members in groups.items():
            if queue is not own:
                rules[_rule(found.asked.of_node(queue))] += len(members) - apart[alike, queue]


def _alike(facts: WorkloadFacts) -> Alike:
    return frozenset(facts.usage), facts.boosted


def _rule(reason: Reason | None) -> str:
    return reason.rule if reason is not None else ""
