"""What every node looks like to one shape of pod: the one answer to "does this pod fit on this node?".

It is made for all nodes in one pass and searches nothing: who would have to leave is asked in `victims`. It is kept for
the next pod of the same shape and then renewed only on the nodes that have changed since, unless the pod minds the pods
around it, where a change on one node may matter on another.
"""

from collections.abc import Collection, Iterable
from copy import copy

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.columns import LARGEST
from reprieve.engine.nodes.inter_pod import PLENTY, InterPod, SlackRow, concerned, inter_pod
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.reach import REACHED, unreachable
from reprieve.engine.nodes.reservations import EVERYBODY
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.volumes import keep_to_volumes, volume_needs
from reprieve.engine.steps import SlackLedger
from reprieve.model.names import Key
from reprieve.model.remembering import remembered
from reprieve.model.resources import PODS, Resources
from reprieve.world import PodFacts

Nodes = slice | Ints
MISSING_NEIGHBOURS = 6
OUT_OF_DOMAIN = 7
CLOSED = 11


def counted_as_present(table: NodeTable, node: int, priority: int, apart: frozenset[Key]) -> list[PodFacts]:
    """The pods nominated to a node for whom somebody of this priority has to leave room, but those it goes with."""
    return [
        other
        for other in table.nominated.get(node, ())
        if table.standing[other.key] >= priority and other.key not in apart
    ]


def _place(node: int, nodes: Nodes) -> int:
    """Where a node stands among some."""
    return node if isinstance(nodes, slice) else int(np.searchsorted(nodes, node))


@remembered(65536)
def _amounts(requests: Resources, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(min(requests.of(name), LARGEST) for name in names)


class NodeView:
    """All nodes, as one shape of pod finds them."""

    def __init__(
        self,
        table: NodeTable,
        labels: NodeLabels,
        facts: PodFacts,
        *,
        priority: int | None = None,
        within: Mask | None = None,
        apart_from: frozenset[Key] = frozenset(),
        vacated: bool = False,
    ) -> None:
        """For a member of a gang: its `priority`, the domain it stays `within`, those it goes with (`apart_from`).

        `vacated`: reserved places are made of what is leaving their node first, and only the rest of what they need is
        taken from what is free. Whoever holds a reservation waits for all who leave; a nominated pod or group waits
        for its own victims only, so that its place counts in full, as it does to kube-scheduler.
        """
        self.table = table
        self.facts = facts
        self.priority = facts.priority if priority is None else priority
        self.serial = 0
        """Raised each time it is asked for another pod: what was read from it before may no longer hold."""
        self.renewed: set[int] = set()
        """Nodes that were looked at again since somebody last emptied this."""
        self._vacated = vacated
        self._apart_from = apart_from
        self._epoch = table.epoch
        self._log_length = len(table.log)
        self._personal = self._own(facts)
        self.reach = unreachable(table, labels, facts.pod.spec)
        self.volumes = volume_needs(table.world, facts)
        keep_to_volumes(self.reach, table, labels, self.volumes)
        if within is not None:
            self.reach[~within & (self.reach == REACHED)] = OUT_OF_DOMAIN
        self._names = tuple(name for name, units in facts.requests.items() if units > 0)
        self._rows = np.array([table.row(name) for name in self._names], dtype=np.int64)
        self._needs = np.array([min(facts.requests[name], LARGEST) for name in self._names], dtype=np.int64)
        self.inter_pod: InterPod | None = None
        if concerned(table, facts):
            self.inter_pod = inter_pod(table, labels, facts, self._above(slice(None)))
            self.reach[self.inter_pod.out & (self.reach == REACHED)] = MISSING_NEIGHBOURS
        self._open = self.reach.copy() if table.closed else self.reach
        """What it could reach if no node were closed."""
        self._close(table.closed)
        self._vacating = np.zeros((len(self._names), table.size if vacated else 0), dtype=np.int64)
        """What of the reserved places on each node is leaving it anyway."""
        self.slack = self._slack(slice(0, table.size))
        """What is left on each node beside the pod, in every row that matters to it: it fits where none is negative."""
        self.fits = self.enough(self.slack) & self.within_reach
        self._shape = table.requests.shape[0], table.size

    @property
    def within_reach(self) -> Mask:
        return np.asarray(self.reach == REACHED)

    # Following the table

    @property
    def current(self) -> bool:
        """Whether it can be kept and renewed, rather than made anew."""
        return (
            self._epoch == self.table.epoch
            and not self.volumes.shared
            and self._shape == (self.table.requests.shape[0], self.table.size)
            and (self.inter_pod is None or self._log_length == len(self.table.log))
        )

    def follow(self, facts: PodFacts) -> None:
        """For another pod of its shape: renew what has changed since, and the node that the pod is nominated to."""
        self.facts = facts
        own = self._own(facts)
        changed = {*self.table.log[self._log_length :], *self._personal, *own}
        self._log_length = len(self.table.log)
        self._personal = own
        self.serial += 1
        if changed:
            nodes = np.array(sorted(changed), dtype=np.int64)
            self._reopen(nodes, changed)
            self.slack[:, nodes] = self._slack(nodes)
            self.fits[nodes] = self.enough(self.slack[:, nodes]) & (self.reach[nodes] == REACHED)
            self.renewed |= changed

    def of_another(self, facts: PodFacts) -> "NodeView":
        """The same for another pod of its shape, as things are now; who looks at this one sees what it has seen."""
        other = copy(self)
        other.slack, other.fits, other.reach = self.slack.copy(), self.fits.copy(), self.reach.copy()
        other._vacating = self._vacating.copy()
        other._open = other.reach if self._open is self.reach else self._open.copy()
        other.renewed = set()
        other.follow(facts)
        return other

    def _reopen(self, nodes: Ints, changed: Collection[int]) -> None:
        """Nodes may have been closed, or opened, since."""
        closed = self.table.closed.keys() & changed
        if closed and self._open is self.reach:
            self._open = self.reach.copy()
        if self._open is not self.reach:
            self.reach[nodes] = self._open[nodes]
            self._close(closed)

    def _close(self, nodes: Iterable[int]) -> None:
        """Nodes that are closed are out of reach, but for the pod that they are closed for, and for who was promised a
        place there before."""
        for node in nodes:
            mine = self.table.closed[node] == self.facts.key or self.table.names[node] == self.facts.nominated
            if not mine and self.reach[node] == REACHED:
                self.reach[node] = CLOSED

    def _own(self, facts: PodFacts) -> list[int]:
        """The node a pod is nominated to: there it does not stand in its own way, but would in that of its like."""
        node = self.table.index.get(facts.nominated) if facts.nominated else None
        return [] if node is None else [node]

    # Room

    def enough(self, slack: Ints) -> Mask:
        """Where so much slack, row by row, lets the pod in."""
        return self.ledger(slack).fits()

    def ledger(self, slack: Ints, weights: Ints | None = None) -> SlackLedger:
        """The books over some nodes, with so much slack; `weights` is what each candidate gives when it leaves."""
        return SlackLedger(slack, weights, *self._near())

    def weights(self, nodes: Nodes, depth: int) -> Ints:
        """What each unit on some nodes, rank by rank, gives to each row when it leaves."""
        rows = self._rows if isinstance(nodes, slice) else self._rows[:, None]
        weights = self.table.requests[:depth, rows, nodes]
        if self.inter_pod is None:
            return weights
        around = [row.weight[:depth, nodes][:, None, :] for row in self._inter_pod_rows()]
        return np.concatenate([weights, *around], axis=1)

    def weights_on(self, node: int) -> Ints:
        return self.weights(np.array([node], dtype=np.int64), len(self.table.residents[node]))[:, :, 0]

    def capacity(self, candidates: Mask, most: int) -> Ints:
        """How many pods of this shape each node could take at most if some candidates left."""
        each = (self._emptied(candidates) // self._needs[:, None]).min(axis=0)
        return np.where(self.within_reach, np.clip(each, 0, most), 0)

    def room(self, candidates: Mask) -> dict[str, Ints]:
        """How much of each resource it asks for there would be on each node in reach if some candidates left."""
        free = np.where(self.within_reach, np.maximum(self._emptied(candidates), 0), 0)
        return dict(zip(self._names, free, strict=True))

    def left(self, candidates: Mask) -> dict[str, Ints]:
        """The same for all nodes, in reach or not, and negative where more is taken than there is."""
        return dict(zip(self._names, self._emptied(candidates), strict=True))

    def _emptied(self, candidates: Mask) -> Ints:
        """What each node has without the pod and without some candidates, of each resource it asks for."""
        weights = self.table.requests[: len(candidates), self._rows, : self.table.size]
        freed = np.einsum("krn,kn->rn", weights, candidates.astype(np.int64))
        return np.asarray(self.slack[: len(self._rows)] + self._needs[:, None] + freed)

    def when_all_left(self, nodes: Nodes | None = None) -> Mask:
        """Where, of all nodes or of some, the pod fits once everybody is gone who is leaving already."""
        nodes = slice(0, self.table.size) if nodes is None else nodes
        return np.asarray(self.enough(self.slack_when_left(nodes)) & (self.reach[nodes] == REACHED))

    def slack_when_left(self, nodes: Nodes) -> Ints:
        """What is left on some nodes beside the pod once everybody is gone who is leaving already."""
        leaves = self.table.ranked("leaves", nodes) > 0
        weights = self.weights(nodes, self.table.depth)
        slack = self.slack[:, nodes] + np.einsum("krn,kn->rn", weights, leaves.astype(np.int64))
        if self._vacated:
            slack[: len(self._rows)] -= self._vacating[:, nodes]
        return np.asarray(slack)

    def _slack(self, nodes: Nodes) -> Ints:
        table = self.table
        rows = self._rows if isinstance(nodes, slice) else self._rows[:, None]
        slack = table.free(rows, nodes) - self._needs[:, None]
        above = self._above(nodes)
        if above:
            places = [_place(node, nodes) for node, pods in above.items() for _ in pods]
            np.subtract.at(slack.T, places, self._needed(above))
        if self._vacated:
            self._vacate(nodes, above)
            slack += self._vacating[:, nodes]
        if self.inter_pod is None:
            return slack
        return np.vstack([slack, *(row.slack[nodes] for row in self._inter_pod_rows())])

    # Nominated pods

    def _above(self, nodes: Nodes) -> dict[int, list[PodFacts]]:
        """Nominated pods that count as present: of equal or higher priority, and never the pod itself."""
        nominated = self.table.nominated
        looked_at = nominated if isinstance(nodes, slice) else [node for node in nodes.tolist() if node in nominated]
        apart = self._apart_from | {self.facts.key}
        return {node: counted_as_present(self.table, node, self.priority, apart) for node in looked_at}

    def _needed(self, nominated: dict[int, list[PodFacts]]) -> Ints:
        """What each nominated pod needs: all of them at once, since thousands may wait for their victims."""
        needs = [_amounts(other.requests, self._names) for pods in nominated.values() for other in pods]
        return np.array(needs, dtype=np.int64).reshape(-1, len(self._names))

    def _vacate(self, nodes: Nodes, above: dict[int, list[PodFacts]]) -> None:
        """Some nodes have changed: what of the places that are reserved there is leaving anyway."""
        self._vacating[:, nodes] = 0
        standing = self.table.standing
        reserved = {
            node: held
            for node, pods in above.items()
            if (held := [other for other in pods if standing[other.key] == EVERYBODY])
        }
        if not reserved:
            return
        where = np.fromiter(reserved, dtype=np.int64)
        promised = np.zeros((len(self._rows), len(where)), dtype=np.int64)
        columns = [place for place, held in enumerate(reserved.values()) for _ in held]
        np.add.at(promised.T, columns, self._needed(reserved))
        leaves = self.table.ranked("leaves", where) > 0
        requests = self.table.requests[: len(leaves), :, where][:, self._rows]
        leaving = np.einsum("krn,kn->rn", requests, leaves.astype(np.int64))
        self._vacating[:, where] = np.minimum(promised, leaving)

    # Why it does not fit

    @property
    def asked(self) -> list[tuple[str, int]]:
        """What it asks for, row by row."""
        return [(name, self.facts.requests[name]) for name in self._names]

    @property
    def around(self) -> list[str]:
        """What the rows after these are about; empty where being short of it is no obstacle by itself."""
        alone = self.inter_pod.alone if self.inter_pod is not None else None
        return ["" if row is alone else row.name for row in self._inter_pod_rows()]

    def slack_without(self, slack: Ints, candidates: Mask) -> Ints:
        """What would be left beside the pod, of so much, if some candidates had gone."""
        weights = self.weights(slice(0, self.table.size), len(candidates))
        return np.asarray(slack + np.einsum("krn,kn->rn", weights, candidates.astype(np.int64)))

    def largest(self, row: int, nodes: Ints) -> tuple[str, int]:
        """Which of some nodes has most of something that it asks for, and how much; of equals, the first by name."""
        has = self.table.allocatable[self._rows[row], nodes]
        most = int(has.max())
        return min(self.table.names[node] for node in nodes[has == most].tolist()), most

    def too_large_for(self) -> Mask:
        """Where a whole node has less than it asks for, row by row."""
        return np.asarray(self._needs[:, None] > self.table.allocatable[self._rows, : self.table.size])

    def nominated_on(self, nodes: Ints) -> int:
        """How many nominated pods count as present on some nodes."""
        return sum(len(pods) for pods in self._above(np.sort(nodes)).values())

    def resolvable(self, node: int) -> bool:
        """Whether the first filter that stops the pod on a node is one that pods leaving could satisfy.

        Asked in kube-scheduler's order: reach, host ports, resources, spreading, affinity, anti-affinity.
        """
        if self.reach[node] not in (REACHED, MISSING_NEIGHBOURS):
            return False
        slack = self.slack[:, node]
        own, theirs = slack[: len(self._rows)], slack[len(self._rows) :]
        short = [(row.name, units) for row, units in zip(self._inter_pod_rows(), theirs, strict=True) if units < 0]
        if any(name == "HostPort" for name, _ in short):
            return True
        if (own < 0).any():
            return not self._too_small(node)
        spread = [units for name, units in short if name == "TopologySpread"]
        if spread:
            return bool(spread[0] > -PLENTY)
        near, alone = self._near()
        met = (slack[len(slack) - near :] >= 0).all() or (alone is not None and slack[alone] >= 0)
        return bool(met and self.reach[node] == REACHED)

    def _too_small(self, node: int) -> bool:
        """Whether the whole node could not hold the pod; how many pods it takes does not count."""
        capacity = self.table.allocatable[self._rows, node]
        return bool((self._needs > capacity)[[name != PODS for name in self._names]].any())

    # Rows of the pods around it

    def _inter_pod_rows(self) -> list[SlackRow]:
        """In the order a ledger wants: what must hold, what it would be alone, what may then be short."""
        if self.inter_pod is None:
            return []
        alone = [self.inter_pod.alone] if self.inter_pod.alone else []
        return [*self.inter_pod.rows, *alone, *self.inter_pod.near]

    def _near(self) -> tuple[int, int | None]:
        if self.inter_pod is None or not self.inter_pod.near:
            return 0, None
        near = len(self.inter_pod.near)
        rows = len(self._rows) + len(self._inter_pod_rows())
        return near, (rows - near - 1 if self.inter_pod.alone else None)
