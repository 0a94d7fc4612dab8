"""Who makes way for a quota workload, straight from the rules: everything is collected, sorted and counted anew."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.reference.quota_tree import Key, Node, Tree, Workload

Dict = dict[str, Any]
Victims = dict[str, str]


class Request(NamedTuple):
    queue: str
    priority: int
    created: str
    usage: dict[Key, int]
    contested: frozenset[Key]


class Candidate(NamedTuple):
    workload: Workload
    kind: int
    reason: str
    common: Node | None
    only_without_borrowing: bool = False


class Reference:
    """Answers one request over one tree."""

    def __init__(self, tree: Tree, request: Request) -> None:
        self.tree = tree
        self.request = request
        self.own = tree.queue(request.queue)
        self.policies: Dict = self.own.spec.get("preemption", {})
        self.borrow: Dict = self.policies.get("borrowWithinCohort") or {"policy": "Never"}

    # Both ways

    def allows(self, policy: str | None, other: Workload) -> bool:
        request = self.request
        if not any(key in other.usage for key in request.contested):
            return False
        newer = other.priority == request.priority and request.created < other.created
        return {
            "Any": True,
            "LowerPriority": other.priority < request.priority,
            "LowerOrNewerEqualPriority": other.priority < request.priority or newer,
        }.get(policy or "", False)

    def order(self, workload: Workload) -> tuple[Any, ...]:
        later = [-int(part) for part in workload.reserved.translate({ord(sign): " " for sign in "-T:Z"}).split()]
        return workload.priority, later, workload.unit

    def above(self, node: Node) -> bool:
        return any(self.tree.over(node, key) for key in self.request.contested)

    def fits(self, *, borrowing: bool) -> bool:
        return all(
            amount <= max(0, self.tree.available(self.own, key))
            and (borrowing or not self.tree.over(self.own, key, amount))
            for key, amount in self.request.usage.items()
        )

    def fill_back(self, removed: list[Workload], *, borrowing: bool) -> list[Workload]:
        kept = list(removed)
        for workload in reversed(removed[:-1]):
            self.tree.workloads.append(workload)
            if self.fits(borrowing=borrowing):
                kept.remove(workload)
            else:
                self.tree.workloads.remove(workload)
        return kept

    # The classical way

    def candidates(self) -> list[Candidate]:
        found = [
            Candidate(item, 2, "InClusterQueue", None)
            for item in self.tree.workloads
            if item.queue == self.own.name and self.allows(self.policies.get("withinClusterQueue"), item)
        ]
        remaining, advantage = dict(self.request.usage), False
        for node in self.own.path:
            if node.parent is None:
                break
            advantage = advantage or not any(self.tree.over(node, key, more) for key, more in remaining.items())
            left = {key: max(0, node.kept(key) - self.tree.usage(node, key)) for key in remaining}
            remaining = {key: max(0, amount - left[key]) for key, amount in remaining.items()}
            found += self.elsewhere(node.parent, node, advantage)
        return sorted(found, key=lambda item: (not item.workload.evicted, item.kind, self.order(item.workload)))

    def elsewhere(self, common: Node, but: Node, advantage: bool) -> list[Candidate]:
        found = []
        for item in self.tree.workloads:
            path = self.tree.queue(item.queue).path
            if common not in path or but in path:
                continue
            below = path[: path.index(common)]
            if all(self.above(node) for node in below) and self.allows(self.policies.get("reclaimWithinCohort"), item):
                found.append(self.classified(item, common, advantage))
        return found

    def classified(self, item: Workload, common: Node, advantage: bool) -> Candidate:
        if advantage:
            return Candidate(item, 0, "InCohortReclamation", common)
        threshold = self.borrow.get("maxPriorityThreshold")
        off = self.borrow["policy"] == "Never" or item.priority >= self.request.priority
        if off or (threshold is not None and item.priority > threshold):
            return Candidate(item, 1, "InCohortReclamation", common, only_without_borrowing=True)
        return Candidate(item, 1, "InCohortReclaimWhileBorrowing", common)

    def classical(self) -> Victims:
        candidates = self.candidates()
        off = self.borrow["policy"] == "Never"
        nominal = {key: quota[0] for key, quota in self.own.quotas.items()}
        under = all(self.tree.usage(self.own, key) < nominal.get(key, 0) for key in self.request.contested)
        if all(item.kind == 2 for item in candidates) or (off and not under):
            attempts = [True]
        else:
            attempts = [False, True] if off and not any(item.kind == 0 for item in candidates) else [True, False]
        for borrowing in attempts:
            found = self.attempt(candidates, borrowing=borrowing)
            if found:
                return found
        return {}

    def attempt(self, candidates: list[Candidate], *, borrowing: bool) -> Victims:
        before, removed = list(self.tree.workloads), []
        for item in candidates:
            path = self.tree.queue(item.workload.queue).path
            below = path[: path.index(item.common)] if item.common else []
            if (borrowing and item.only_without_borrowing) or not all(self.above(node) for node in below):
                continue
            self.tree.workloads.remove(item.workload)
            removed.append(item.workload)
            if self.fits(borrowing=borrowing):
                removed = self.fill_back(removed, borrowing=borrowing)
                self.tree.workloads = before
                return {item.workload.unit: item.reason for item in candidates if item.workload in removed}
        self.tree.workloads = before
        return {}
