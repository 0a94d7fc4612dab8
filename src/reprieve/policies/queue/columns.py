"""What queues ask about every pod in the table of nodes, in columns.

Beside the table's columns stand those that only queues ask for: the queue of each pod, its application, when it was
created, whether it opted out, leads its application, or must stay on its node. A node's part is written anew when one
of its pods has changed.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from reprieve.configuration import QueueSettings
from reprieve.engine.arrays import Interner, Ints, Mask, resized
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import POD, UnitShare
from reprieve.manifests.core import Node
from reprieve.manifests.pods import Pod
from reprieve.manifests.scheduling import PodGroup, PriorityClass, Workload
from reprieve.manifests.yunikorn import QueueConfiguration
from reprieve.policies.queue.pods import application, opted_out, required_node, stays_out
from reprieve.policies.queue.standing import QueueAmounts
from reprieve.policies.queue.tree import QueueTree
from reprieve.world import Change, PodFacts

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
_OF_CANDIDATES = [_COLUMNS.index(name) for name in ("queue", "opted_out", "leads")]
_REBUILDS = (PriorityClass, PodGroup, Workload, QueueConfiguration)


class QueueCandidate(NamedTuple):
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


class QueueColumns:
    """The queue tree, and the columns over all pods of the node table; both follow the world."""

    def __init__(self, table: NodeTable, settings: QueueSettings) -> None:
        self._table = table
        self._settings = settings
        self._world = table.world
        self.units = table.units
        self._version = 0
        table.sync()  # what it has not seen yet would never be written here
        self._rebuild()

    def sync(self) -> None:
        """Catch up with the world; the table has done so already."""
        changes = self._world.changes_since(self._version)
        if changes is None or any(change.kind in _REBUILDS or self.tree.is_another_after(change) for change in changes):
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
        self.tree = QueueTree(self._world, self._settings)
        self.figures = QueueAmounts(self.tree)
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

    def _row(self, share: UnitShare) -> tuple[int, ...]:
        facts = share.pods[0]
        name = application(facts)
        return (
            self.tree.queue_of(facts).number,
            self.applications.number(name) if name else 0,
            facts.created,
            facts.priority,
            opted_out(self._world, facts, self._settings),
            self.tree.applications.leads(facts),
            required_node(facts) is not None,
            facts.pod.terminating,
            bool(share.unit.group),
            stays_out(facts) or (share.unit.kind != POD and not share.unit.group),
        )

    def column(self, name: str) -> Ints:
        return self._columns[_COLUMNS.index(name), : self._table.depth, : self._table.size]

    def amounts(self, resource: str) -> Ints:
        """What each pod holds of a resource."""
        return self._table.requests[: self._table.depth, self._table.row(resource), : self._table.size]

    def of_application(self, name: str) -> Mask:
        """The pods of an application; nobody, where it has no name."""
        return np.asarray(self.column("application") == (self.applications.number(name) if name else -1))

    def candidate(self, rank: int, node: int) -> QueueCandidate:
        return self.candidates([rank], node)[0]

    def candidates(self, ranks: list[int], node: int) -> list[QueueCandidate]:
        """Pods of one node, by their ranks."""
        residents = self._table.residents[node]
        values = zip(*self._columns[_OF_CANDIDATES, :, node][:, ranks].tolist(), strict=True)
        return [
            QueueCandidate(residents[rank].pods[0], node, rank, queue, bool(opted_out), bool(leads))
            for rank, (queue, opted_out, leads) in zip(ranks, values, strict=True)
        ]
