"""The quota tree: queues in cohorts, cohorts in cohorts, and a ledger that follows workloads as they leave and return.

A node offers its parent what its quota holds above what its lending limit keeps; usage counts against the parent above
that kept part. Taking a workload out, or giving it back, touches only the way from its queue up to the root.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

FlavorResource = tuple[str, str]
"""A flavor and a resource: what quota is counted in."""
Amounts = Mapping[FlavorResource, int]


class FlavorQuota(NamedTuple):
    """What a node has of one flavor and resource."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


NO_QUOTA = FlavorQuota()


class KeptShare:
    """The share of one node, once it was worked out, until its usage changes."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: FairShare | None = None


class Cell:
    """What one node has and uses of one flavor and resource, linked to the same of its parent."""

    __slots__ = ("above", "kept", "limit", "quota", "share", "usage")

    def __init__(self, share: KeptShare, quota: int, kept: int, above: "Cell | None", limit: int | None) -> None:
        self.share = share
        """That of its node, and not the node: neither holds the other, so nothing is left of a tree that was replaced
        for garbage collection to find."""
        self.quota = quota
        """Its own quota, and what its children offer."""
        self.kept = kept
        """What its lending limit keeps from the others."""
        self.limit = limit
        self.above = above
        self.usage = 0
        """What is used in it, above what its children keep for themselves."""

    def available(self) -> int:
        """What can still be used here; negative when more is used than there is."""
        if self.above is None:
            return self.quota - self.usage
        above = self.above.available()
        if self.limit is not None:
            above = min(above, self.quota - self.kept - max(0, self.usage - self.kept) + self.limit)
        return max(0, self.kept - self.usage) + above

    def most(self) -> int:
        """What could be used here at most if nobody used anything."""
        if self.above is None:
            return self.quota
        reachable = self.kept + self.above.most()
        return reachable if self.limit is None else min(reachable, self.quota + self.limit)

    def upwards(self) -> "Iterator[Cell]":
        """It, and the cells above it."""
        cell: Cell | None = self
        while cell is not None:
            yield cell
            cell = cell.above

    def set_usage(self, usage: int) -> None:
        """As it was at another moment; whoever does this does it for all cells that differ."""
        self.usage = usage
        self.share.known = None

    def add(self, amount: int) -> None:
        """Here, and above what is kept here in the cells above: a loop, because searches do little else."""
        cell: Cell | None = self
        while cell is not None and amount > 0:
            own = cell.kept - cell.usage
            cell.usage += amount
            cell.share.known = None
            if own > 0:
                amount -= own
            cell = cell.above

    def remove(self, amount: int) -> None:
        cell: Cell | None = self
        while cell is not None and amount > 0:
            stored = cell.usage - cell.kept
            cell.usage -= amount
            cell.share.known = None
            amount = min(amount, stored)
            cell = cell.above


class QuotaNode:
    """A queue or a cohort."""

    def __init__(self, name: str, *, queue: bool, weight: Fraction = Fraction(1)) -> None:
        self.name = name
        self.queue = queue
        self.weight = weight
        self.parent: QuotaNode | None = None
        self.children: list[QuotaNode] = []
        self.quotas: dict[FlavorResource, FlavorQuota] = {}
        self.height = 0
        self._cells: dict[FlavorResource, Cell] = {}
        self._declared: list[tuple[str, Cell]] = []
        """The cells of what it, or a node below it, has quota for, by resource: only these count in shares."""
        self._share = KeptShare()
        self._lendable: dict[str, int] | None = None

    def quota(self, flavor: FlavorResource) -> FlavorQuota:
        return self.quotas.get(flavor, NO_QUOTA)

    def cell(self, flavor: FlavorResource) -> Cell:
        """What it has of a flavor and resource; made, up to the root, where nobody has any."""
        known = self._cells.get(flavor)
        if known is None:
            above = self.parent.cell(flavor) if self.parent is not None else None
            known = self._cells[flavor] = Cell(self._share, 0, 0, above, self.quota(flavor).borrowing_limit)
        return known

    def used(self, flavor: FlavorResource) -> int:
        return self.cell(flavor).usage

    def usages(self) -> dict[FlavorResource, int]:
        return {flavor: cell.usage for flavor, cell in self._cells.items() if cell.usage}

    def kept_left(self, flavor: FlavorResource) -> int:
        cell = self.cell(flavor)
        return max(0, cell.kept - cell.usage)

    def available(self, flavor: FlavorResource) -> int:
        """What can still be used here; negative when more is used than there is."""
        return self.cell(flavor).available()

    def has(self, amounts: Amounts) -> bool:
        """Whether all of this can still be used here."""
        for flavor, amount in amounts.items():  # noqa: SIM110 - asked after every removal
            if amount > max(0, self.cell(flavor).available()):
                return False
        return True

    def most(self, flavor: FlavorResource) -> int:
        """What could be used here at most if nobody used anything."""
        return self.cell(flavor).most()

    def exceeds(self, flavor: FlavorResource, more: int = 0) -> bool:
        """Whether it uses more than its quota, with so much more: whether it borrows."""
        cell = self.cell(flavor)
        return cell.usage + more > cell.quota

    def over_quota(self) -> bool:
        """Whether it uses more than its quota of anything."""
        return any(cell.usage > cell.quota for cell in self._cells.values())

    def within(self, flavors: Iterable[FlavorResource]) -> bool:
        """Whether it is within its quota in all of these."""
        for flavor in flavors:  # noqa: SIM110 - asked of every queue in a tree; a generator costs more than the question
            if self.exceeds(flavor):
                return False
        return True

    def add(self, usage: Amounts) -> None:
        cells = self._cells
        for flavor, amount in usage.items():
            (cells.get(flavor) or self.cell(flavor)).add(amount)

    def remove(self, usage: Amounts) -> None:
        cells = self._cells
        for flavor, amount in usage.items():
            (cells.get(flavor) or self.cell(flavor)).remove(amount)

    def path(self) -> "Iterator[QuotaNode]":
        """Its cohort, that one's cohort, up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> "QuotaNode":
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def queues(self) -> "Iterator[QuotaNode]":
        """Every queue below."""
        for child in self.children:
            if child.queue:
                yield child
            else:
                yield from child.queues()

    # Fair sharing

    def share(self) -> "FairShare":
        """How much it borrows of what its parent could get, at worst over resources."""
        if self._share.known is None:
            self._share.known = self._work_out_share()
        return self._share.known

    def _work_out_share(self) -> "FairShare":
        borrowed: dict[str, int] = {}
        for resource, cell in self._declared:
            if cell.usage > cell.quota:
                borrowed[resource] = borrowed.get(resource, 0) + cell.usage - cell.quota
        if not borrowed or self.parent is None:
            return NO_SHARE
        lendable = self.parent.lendable()
        ratio = max(
            (amount * 1000 / lendable[name] for name, amount in borrowed.items() if lendable.get(name)), default=0.0
        )
        if not ratio:
            return NO_SHARE
        return FairShare(True, (1, ratio) if not self.weight else (0, ratio / float(self.weight)))

    def lendable(self) -> dict[str, int]:
        """What it could get at most of each resource, over all flavors; fixed as long as the tree stands."""
        if self._lendable is None:
            self._lendable = {}
            for flavor in list(self.root._cells):
                self._lendable[flavor[1]] = self._lendable.get(flavor[1], 0) + self.most(flavor)
        return self._lendable


class FairShare(NamedTuple):
    """A dominant resource share, divided by weight.

    To compare by `key`: who borrows with no weight is above everybody, and such compare by their plain ratio.
    """

    borrowing: bool
    key: tuple[int, float]


NO_SHARE = FairShare(False, (0, 0.0))


def link(child: QuotaNode, parent: QuotaNode) -> None:
    child.parent = parent
    parent.children.append(child)


def dissolve(root: QuotaNode) -> None:
    """Another tree takes its place: nodes let go of those below them, who still know what they were part of. So it is
    gone with the last who knows one of them, and thousands of nodes are not left to garbage collection."""
    children, root.children = root.children, []
    for child in children:
        dissolve(child)


def settle(root: QuotaNode) -> None:
    """Work out what every node offers, from the leaves up, once the tree stands and nothing is used."""
    offers = _offers(root)
    _make_cells(root, offers)


def _offers(node: QuotaNode) -> dict[int, dict[FlavorResource, int]]:
    """The quota of a node and all below it: its own, and what its children offer above what they keep."""
    found: dict[int, dict[FlavorResource, int]] = {}
    total = {flavor: quota.nominal for flavor, quota in node.quotas.items()}
    for child in node.children:
        found |= _offers(child)
        for flavor, amount in found[id(child)].items():
            total[flavor] = total.get(flavor, 0) + amount - _kept(child, flavor, amount)
    found[id(node)] = total
    node.height = 0 if node.queue else 1 + max((child.height for child in node.children), default=-1)
    return found


def _kept(node: QuotaNode, flavor: FlavorResource, amount: int) -> int:
    limit = node.quota(flavor).lending_limit
    return 0 if limit is None else max(0, amount - limit)


def _make_cells(node: QuotaNode, offers: dict[int, dict[FlavorResource, int]]) -> None:
    for flavor, amount in offers[id(node)].items():
        above = node.parent.cell(flavor) if node.parent is not None else None
        limit = node.quota(flavor).borrowing_limit
        node._cells[flavor] = Cell(node._share, amount, _kept(node, flavor, amount), above, limit)
    node._declared = [(resource, cell) for (_, resource), cell in node._cells.items()]
    for child in node.children:
        _make_cells(child, offers)
