"""Who may be asked to make way, pod by pod, on all nodes at once.

Beside the table's columns stand those that only queues ask for: the queue of each pod, its application, when it was
created, whether it opted out, leads its application, or must stay on its node. A node's part is written anew when one
of its pods has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Interner, Ints, Mask, resized
from reprieve.engine.nodes.columns import NOBODY
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import POD, Share
from reprieve.manifests.core import Node
from reprieve.manifests.pods import Pod
from reprieve.manifests.scheduling import PodGroup, PriorityClass, Workload
from reprieve.manifests.yunikorn import QueueConfiguration
from reprieve.policies.queue.laws import Ask
from reprieve.policies.queue.pods import application, opted_out, required_node, stays_out
from reprieve.policies.queue.standing import QueueFigures, Standing
from reprieve.policies.queue.tree import QueueTree
from reprieve.world import Change, PodFacts

# Why a pod is not asked although its queue may be; they go on from those of `standing`.
FIXED, LEAVING, GROUPED, OUTSIDE, SAME_APPLICATION, HIGHER_PRIORITY, NOTHING_SHARED, BELOW_GUARANTEE = range(6, 14)
NOBODY_THERE = -1
_COLUMNS = (
    "queue",
    "application",
    "created",
    "priority",
    "opted_out",
    "leads",
    "fixed",
    "leaves",
    "grouped",
    "outside",
)
_REBUILDS = (PriorityClass, PodGroup, Workload, QueueConfiguration)


class Candidate(NamedTuple):
    """A pod that may be asked, and where it stands."""

    facts: PodFacts
    node: int
    rank: int
    queue: int
    opted_out: bool
    leads: bool

    @property
    def reluctant(self) -> bool:
        return self.opted_out or self.leads

    @property
    def order(self) -> tuple[bool, bool, int, str]:
        """Law 1: who opted out last, then who leads its application; the youngest first."""
        return self.opted_out, self.leads, -self.facts.created, self.facts.unit


class QueueColumns:
    """The queue tree, and the columns over all pods of the node table; both follow the world."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._world = table.world
        self.units = table.units
        self._version = 0
        table.sync()  # what it has not seen yet would never be written here
        self._rebuild()

    def sync(self) -> None:
        """Catch up with the world; the table has done so already."""
        changes = self._world.changes_since(self._version)
        if changes is None or any(change.kind in _REBUILDS for change in changes):
            return self._rebuild()
        touched: set[str] = set()
        for change in changes:
            touched |= self._touched(change)
        for unit in self._table.groups.values():  # where one of their pods moves, all their shares may
            touched |= unit.shares.keys()
        self._write(node for name in touched if (node := self._table.index.get(name)) is not None)
        self._version = self._world.version
        return None

    def _touched(self, change: Change) -> set[str]:
        if change.kind is Node:
            return {change.key[1]}
        if change.kind is not Pod:
            return set()
        return self.tree.follow(change) | {facts.node for facts in (change.old, change.new) if facts is not None}

    def _rebuild(self) -> None:
        self.tree = QueueTree(self._world)
        self.figures = QueueFigures(self.tree)
        self.applications = Interner[str]()
        self._columns: Ints = np.zeros((len(_COLUMNS), 0, 0), dtype=np.int64)
        self._write(range(self._table.size))
        self._version = self._world.version

    def _write(self, nodes: Iterable[int]) -> None:
        depth, _, width = self._table.requests.shape
        self._columns = resized(self._columns, (len(_COLUMNS), depth, width), 0)
        places: list[tuple[int, int]] = []
        rows: list[tuple[int, ...]] = []
        for node in nodes:
            for rank, share in enumerate(self._table.residents[node]):
                places.append((rank, node))
                rows.append(self._row(share))
        if rows:
            ranks, numbers = np.array(places, dtype=np.int64).T
            self._columns[:, ranks, numbers] = np.array(rows, dtype=np.int64).T

    def _row(self, share: Share) -> tuple[int, ...]:
        facts = share.pods[0]
        name = application(facts)
        return (
            self.tree.queue_of(facts).number,
            self.applications.number(name) if name else 0,
            facts.created,
            facts.priority,
            opted_out(self._world, facts),
            self.tree.applications.leads(facts),
            required_node(facts) is not None,
            facts.pod.terminating,
            bool(share.unit.group),
            stays_out(facts) or (share.unit.kind != POD and not share.unit.group),
        )

    def column(self, name: str) -> Ints:
        return self._columns[_COLUMNS.index(name), : self._table.depth, : self._table.size]

    def candidate(self, rank: int, node: int) -> Candidate:
        facts = self._table.residents[node][rank].pods[0]
        values = dict(zip(_COLUMNS, self._columns[:, rank, node].tolist(), strict=True))
        return Candidate(facts, node, rank, values["queue"], bool(values["opted_out"]), bool(values["leads"]))


class Candidates:
    """For one request: every pod in the table, and why it may not be asked."""

    def __init__(self, columns: QueueColumns, table: NodeTable, ask: Ask) -> None:
        self._columns = columns
        self._table = table
        self.ask = ask
        self.standing = Standing(columns.figures, ask)
        self.queue = columns.column("queue")
        self.why = self._why()
        """Ranks by nodes: 0 where the pod may be asked, else the law that protects it."""

    def _why(self) -> Ints:
        """The laws in order: each pod gets the first that protects it."""
        why = self.standing.why[self.queue]
        for code, protects in self._pod_laws():
            why[(why == 0) & protects] = code
        why[self._columns.column("outside") > 0] = OUTSIDE
        why[self._table.ranked("priority", slice(0, self._table.size)) == NOBODY] = NOBODY_THERE
        return why

    def _pod_laws(self) -> Iterator[tuple[int, Mask]]:
        column = self._columns.column
        yield FIXED, column("fixed") > 0
        yield LEAVING, column("leaves") > 0
        yield GROUPED, column("grouped") > 0
        if self.ask.application:
            own = self._columns.applications.number(self.ask.application)
            yield SAME_APPLICATION, column("application") == own
        yield HIGHER_PRIORITY, column("priority") > self.standing.bound[self.queue]
        yield NOTHING_SHARED, ~self._shares()
        yield from ((BELOW_GUARANTEE, self._falls_below(name)) for name in self.standing.spare)

    def _amounts(self, name: str) -> Ints:
        return self._table.requests[: self._table.depth, self._table.row(name), : self._table.size]

    def _shares(self) -> Mask:
        shares = np.zeros(self.queue.shape, dtype=np.bool_)
        for name in self.ask.request:
            shares |= self._amounts(name) > 0
        return shares

    def _falls_below(self, name: str) -> Mask:
        """Law 2, as things are: it alone is more than its queue may lose."""
        amounts = self._amounts(name)
        return np.asarray((amounts > 0) & (amounts > self.standing.spare[name][self.queue]))

    @property
    def mask(self) -> Mask:
        return np.asarray(self.why == 0)

    def column(self, name: str) -> Ints:
        return self._columns.column(name)

    def on(self, node: int) -> list[Candidate]:
        """Those on one node, in the order in which they are asked."""
        ranks = np.flatnonzero(self.why[:, node] == 0).tolist()
        return sorted((self._columns.candidate(rank, node) for rank in ranks), key=lambda one: one.order)

    def everywhere(self, queues: Mask) -> Iterator[Candidate]:
        """Those in some queues, on all nodes, in the order in which they are asked; made one by one."""
        ranks, nodes = np.nonzero(self.mask & queues[self.queue])
        opted, leads, created = (self.column(name)[ranks, nodes] for name in ("opted_out", "leads", "created"))
        order = np.lexsort((-created, leads, opted))
        keys = np.stack((opted, leads, created))[:, order]
        ends = [*(np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1).tolist(), len(order)]
        start = 0
        for end in ends:
            alike = [self._columns.candidate(int(ranks[place]), int(nodes[place])) for place in order[start:end]]
            yield from sorted(alike, key=lambda one: one.order)
            start = end
