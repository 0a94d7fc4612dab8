"""Fair sharing, straight from the rules: every share is counted anew whenever it is asked for."""

from __future__ import annotations

from fractions import Fraction

from tests.reference.quota import Reference, Victims
from tests.reference.quota_tree import Node, Workload


class FairReference(Reference):
    """Answers one request over one tree under fair sharing."""

    def share(self, node: Node) -> tuple[int, Fraction]:
        if node.parent is None:
            return 0, Fraction(0)
        borrowed: dict[str, int] = {}
        lendable: dict[str, int] = {}
        for key in node.declared():
            borrowed[key[1]] = borrowed.get(key[1], 0) + max(0, self.tree.usage(node, key) - node.quota(key))
        for key in node.path[-1].declared():
            lendable[key[1]] = lendable.get(key[1], 0) + self.tree.most(node.parent, key)
        ratio = max(
            (Fraction(amount, lendable[name]) for name, amount in borrowed.items() if lendable[name]), default=0
        )
        weight = {"0": Fraction(0), "2": Fraction(2), "500m": Fraction(1, 2)}.get(
            node.spec.get("fairSharing", {}).get("weight", "1"), Fraction(1)
        )
        return (1, Fraction(ratio)) if not weight and ratio else (0, ratio / weight if ratio else Fraction(0))

    def fair(self, strategies: list[str]) -> Victims:
        before = list(self.tree.workloads)
        offers: dict[str, list[Workload]] = {}
        for item in sorted(before, key=lambda item: (not item.evicted, self.order(item))):
            queue, own = self.tree.queue(item.queue), item.queue == self.own.name
            policy = self.policies.get("withinClusterQueue" if own else "reclaimWithinCohort")
            together = queue.path[-1] is self.own.path[-1]
            if together and (own or self.above(queue)) and self.allows(policy, item):
                offers.setdefault(item.queue, []).append(item)
        self.tree.extra = {self.own.name: self.request.usage}
        walk = Walk(self, offers)
        found = walk.first(strategies[0]) or (len(strategies) > 1 and walk.second())
        self.tree.extra = {}
        kept = self.fill_back(list(walk.victims), borrowing=True) if found else []
        self.tree.workloads = before
        return {item.unit: reason for item, reason in walk.victims.items() if item in kept}


class Walk:
    """From the root to the child with the highest share, again and again."""

    def __init__(self, reference: FairReference, offers: dict[str, list[Workload]]) -> None:
        self.reference = reference
        self.offers = offers
        self.victims: dict[Workload, str] = {}
        self.refused: dict[str, list[Workload]] = {}

    def next(self, node: Node) -> Node | None:
        reference, way = self.reference, self.reference.own.path
        if node.queue:
            return node if self.offers.get(node.name) else None
        asked = []
        for child in node.children:
            found = self.next(child)
            share = reference.share(child)
            if found is not None and (share > (0, 0) or child in way):
                first = self.offers[found.name][0]
                rank = (not first.evicted, found is reference.own, reference.order(first)) if child.queue else ()
                asked.append((share, not child.queue, rank, child.name, found))
        if not asked:
            return None
        share, is_cohort = max((share, is_cohort) for share, is_cohort, *_ in asked)
        best = [item for item in asked if item[:2] == (share, is_cohort)]
        return max(best, key=lambda item: item[3])[4] if is_cohort else min(best, key=lambda item: item[2])[4]

    def take(self, workload: Workload, reason: str) -> bool:
        tree = self.reference.tree
        tree.workloads = [item for item in tree.workloads if item is not workload]
        self.victims[workload] = reason
        extra, tree.extra = tree.extra, {}
        fits = self.reference.fits(borrowing=True)
        tree.extra = extra
        return fits

    def shares(self, queue: Node) -> tuple[Node, Node]:
        own, other = self.reference.own.path, queue.path
        common = next(node for node in own if node in other)
        return own[own.index(common) - 1], other[other.index(common) - 1]

    def first(self, strategy: str) -> bool:
        reference = self.reference
        reclaims = not reference.above(reference.own)
        while (queue := self.next(reference.own.path[-1])) is not None:
            offers = self.offers[queue.name]
            if queue is reference.own or reclaims:
                reason = "InClusterQueue" if queue is reference.own else "InCohortReclamation"
                if self.take(offers.pop(0), reason):
                    return True
                continue
            mine, target = self.shares(queue)
            taker, before = reference.share(mine), reference.share(target)
            while offers:
                item = offers.pop(0)
                there = list(reference.tree.workloads)
                reference.tree.workloads.remove(item)
                after = reference.share(target)
                reference.tree.workloads = there
                if taker < before if strategy == "LessThanInitialShare" else taker <= after:
                    if self.take(item, "InCohortFairSharing"):
                        return True
                    break
                self.refused.setdefault(queue.name, []).append(item)
        return False

    def second(self) -> bool:
        self.offers = self.refused
        while (queue := self.next(self.reference.own.path[-1])) is not None:
            mine, target = self.shares(queue)
            less = self.reference.share(mine) < self.reference.share(target)
            if less and self.take(self.offers[queue.name][0], "InCohortFairSharing"):
                return True
            del self.offers[queue.name]
        return False
