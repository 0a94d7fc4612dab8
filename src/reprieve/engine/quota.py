"""The quota tree: queues in cohorts, cohorts in cohorts, and a ledger that follows workloads as they leave and return.

A node offers its parent what its quota holds above what its lending limit keeps; usage counts against the parent above
that kept part. Taking a workload out, or giving it back, touches only the way from its queue up to the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

FlavorResource = tuple[str, str]
"""A flavor and a resource: what quota is counted in."""
Amounts = Mapping[FlavorResource, int]


class Quota(NamedTuple):
    """What a node has of one flavor and resource."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


NO_QUOTA = Quota()


class QuotaNode:
    """A queue or a cohort."""

    def __init__(self, name: str, *, queue: bool, weight: Fraction = Fraction(1)) -> None:
        self.name = name
        self.queue = queue
        self.weight = weight
        self.parent: QuotaNode | None = None
        self.children: list[QuotaNode] = []
        self.quotas: dict[FlavorResource, Quota] = {}
        self.subtree: dict[FlavorResource, int] = {}
        """Its own quota, and what its children offer."""
        self.usage: dict[FlavorResource, int] = {}
        """What is used in it, above what its children keep for themselves."""
        self.height = 0
        self._share: Share | None = None
        self._lendable: dict[str, int] | None = None

    def quota(self, flavor: FlavorResource) -> Quota:
        return self.quotas.get(flavor, NO_QUOTA)

    def kept(self, flavor: FlavorResource) -> int:
        """What its lending limit keeps from the others."""
        limit = self.quota(flavor).lending_limit
        return 0 if limit is None else max(0, self.subtree.get(flavor, 0) - limit)

    def kept_left(self, flavor: FlavorResource) -> int:
        return max(0, self.kept(flavor) - self.usage.get(flavor, 0))

    def available(self, flavor: FlavorResource) -> int:
        """What can still be used here; negative when more is used than there is."""
        if self.parent is None:
            return self.subtree.get(flavor, 0) - self.usage.get(flavor, 0)
        above = self.parent.available(flavor)
        limit = self.quota(flavor).borrowing_limit
        if limit is not None:
            stored = self.subtree.get(flavor, 0) - self.kept(flavor)
            used = max(0, self.usage.get(flavor, 0) - self.kept(flavor))
            above = min(above, stored - used + limit)
        return self.kept_left(flavor) + above

    def most(self, flavor: FlavorResource) -> int:
        """What could be used here at most if nobody used anything."""
        if self.parent is None:
            return self.subtree.get(flavor, 0)
        reachable = self.kept(flavor) + self.parent.most(flavor)
        limit = self.quota(flavor).borrowing_limit
        return reachable if limit is None else min(reachable, self.subtree.get(flavor, 0) + limit)

    def exceeds(self, flavor: FlavorResource, more: int = 0) -> bool:
        """Whether it uses more than its quota, with so much more: whether it borrows."""
        return self.usage.get(flavor, 0) + more > self.subtree.get(flavor, 0)

    def within(self, flavors: Iterable[FlavorResource]) -> bool:
        """Whether it is within its quota in all of these."""
        return not any(self.exceeds(flavor) for flavor in flavors)

    def add(self, usage: Amounts) -> None:
        for flavor, amount in usage.items():
            self._add(flavor, amount)

    def remove(self, usage: Amounts) -> None:
        for flavor, amount in usage.items():
            self._remove(flavor, amount)

    def _add(self, flavor: FlavorResource, amount: int) -> None:
        own = self.kept_left(flavor)
        self.usage[flavor] = self.usage.get(flavor, 0) + amount
        self._share = None
        if self.parent is not None and amount > own:
            self.parent._add(flavor, amount - own)

    def _remove(self, flavor: FlavorResource, amount: int) -> None:
        above = self.usage.get(flavor, 0) - self.kept(flavor)
        self.usage[flavor] = self.usage.get(flavor, 0) - amount
        self._share = None
        if self.parent is not None and above > 0:
            self.parent._remove(flavor, min(amount, above))

    def path(self) -> Iterator[QuotaNode]:
        """Its cohort, that one's cohort, up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> QuotaNode:
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def queues(self) -> Iterator[QuotaNode]:
        """Every queue below."""
        for child in self.children:
            if child.queue:
                yield child
            else:
                yield from child.queues()

    # Fair sharing

    def share(self) -> Share:
        """How much it borrows of what its parent could get, at worst over resources; kept until its usage changes."""
        if self._share is None:
            self._share = self._work_out_share()
        return self._share

    def _work_out_share(self) -> Share:
        borrowed: dict[str, int] = {}
        for flavor, used in self.usage.items():
            amount = used - self.subtree.get(flavor, 0)
            if amount > 0:
                borrowed[flavor[1]] = borrowed.get(flavor[1], 0) + amount
        if not borrowed or self.parent is None:
            return Share(False, Fraction(0), self.weight)
        lendable = self.parent.lendable()
        ratios = [Fraction(amount * 1000, lendable[name]) for name, amount in borrowed.items() if lendable.get(name)]
        return Share(True, max(ratios, default=Fraction(0)), self.weight)

    def lendable(self) -> dict[str, int]:
        """What it could get at most of each resource, over all flavors; fixed as long as the tree stands."""
        if self._lendable is None:
            self._lendable = {}
            for flavor in self.root.subtree:
                self._lendable[flavor[1]] = self._lendable.get(flavor[1], 0) + self.most(flavor)
        return self._lendable


class Share(NamedTuple):
    """A dominant resource share, and the weight it is divided by."""

    borrowing: bool
    ratio: Fraction
    weight: Fraction

    @property
    def key(self) -> tuple[int, Fraction]:
        """To compare by: who borrows with no weight is above everybody, and such compare by their plain ratio."""
        if not self.borrowing:
            return 0, Fraction(0)
        return (1, self.ratio) if not self.weight else (0, self.ratio / self.weight)


def link(child: QuotaNode, parent: QuotaNode) -> None:
    child.parent = parent
    parent.children.append(child)


def settle(root: QuotaNode) -> None:
    """Work out what every node offers, from the leaves up; called once the tree stands and nothing is used."""
    subtree = {flavor: quota.nominal for flavor, quota in root.quotas.items()}
    for child in root.children:
        settle(child)
        for flavor, amount in child.subtree.items():
            subtree[flavor] = subtree.get(flavor, 0) + amount - child.kept(flavor)
    root.subtree = subtree
    root.height = 1 + max((child.height for child in root.children), default=-1) if not root.queue else 0
