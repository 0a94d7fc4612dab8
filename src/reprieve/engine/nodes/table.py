"""The node table: allocatable, requested and running pods of all nodes, in columns.

Rows go over resources and ranks, columns over nodes, so that one step of a search is one operation on all nodes.
On each node stand the shares that units have there, in order of importance: rank 0 is the last to be asked to leave.
The table follows the world's journal; what it touched is logged, so that results kept for a shape of pod are renewed
only there.
"""

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec
import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.columns import LARGEST, NodeColumns, importance_of
from reprieve.engine.nodes.images import NodeImages
from reprieve.engine.nodes.reservations import EVERYBODY, is_closing, is_reserved
from reprieve.engine.nodes.units import Membership, Unit, Units, UnitShare
from reprieve.manifests.core import Namespace, Node, PodDisruptionBudget
from reprieve.manifests.pods import Pod
from reprieve.manifests.scheduling import PodGroup, PriorityClass, Workload
from reprieve.manifests.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from reprieve.world import Change, PodFacts, World

_STRUCTURE = (PriorityClass, PodDisruptionBudget, Namespace)
_GROUPING = (PriorityClass, PodGroup, Workload)
_STORAGE = (PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode)
_LONGEST_LOG = 200_000
_FEW = 256


def _face(node: Node) -> tuple[object, ...]:
    """What decides whether pods may come at all, whatever its size."""
    return node.metadata.labels, node.metadata.creation_timestamp, node.spec


def _stored(item: Any) -> object:
    """What decides where a volume can be used; that it was written again is no change."""
    return item and msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, resource_version=""))


class NodeTable(NodeColumns):
    """Columns over all nodes of a world."""

    def __init__(self, world: World, units: Units) -> None:
        self.world = world
        self.units = units
        super().__init__()
        self._version = 0
        self._ties: Ints | None = None
        self._rebuild()

    # Reading

    def where(self, name: str) -> int | None:
        """The number of a node that is there; one that was deleted keeps its column, and is not."""
        node = self.index.get(name)
        return node if node is not None and self.nodes[node] is not None else None

    def tie_break(self) -> Ints:
        """Each node's place in the order that ends all ties: creation time, then name."""
        if self._ties is None:
            ties = np.empty(self.size, dtype=np.int64)
            ties[sorted(range(self.size), key=self._age)] = np.arange(self.size)
            self._ties = ties
        return self._ties

    def by_age(self) -> Ints:
        """All nodes in that order."""
        return np.argsort(self.tie_break())

    def _age(self, index: int) -> tuple[float, str]:
        node = self.nodes[index]
        if node is None:
            return float("inf"), ""
        created = node.metadata.creation_timestamp
        return (created.timestamp() if created else 0.0), node.name

    # Following the world

    def sync(self) -> None:
        """Catch up with the world."""
        changes = self.world.changes_since(self._version)
        if changes is None or any(change.kind in _GROUPING for change in changes) or self._remembers_too_much():
            return self._rebuild()
        for change in changes:
            self._apply(change)
        self._settle()
        self._version = self.world.version
        if len(self.log) > _LONGEST_LOG:
            self.log.clear()
            self.epoch += 1
        return None

    def _remembers_too_much(self) -> bool:
        """Whether most of what has a number here is gone: labels of pods that were, nodes that were. Whoever is asked
        about all of it would take longer with everybody who ever came."""
        numbered, nodes = self.numbered, self.size
        kinds = numbered > _FEW and numbered > _FEW + 2 * int(self.occupied[:nodes].sum())
        return kinds or (nodes > 2 * _FEW and int(np.count_nonzero(self.gone[:nodes])) > _FEW + nodes // 2)

    def _rebuild(self) -> None:
        nodes = list(self.world.all(Node))
        self.epoch += 1
        self.clear(len(nodes))
        self.images = NodeImages()
        self._members: dict[Hashable, dict[tuple[str, str], PodFacts]] = {}
        self._unsettled: set[Hashable] = set()
        self.nominated: dict[int, list[PodFacts]] = {}
        self.standing: dict[tuple[str, str], int] = {}
        """At which priority each nominated pod holds its place: that of the group it is scheduled with, if any; above
        all of them where the place is reserved."""
        self.closed: dict[int, tuple[str, str]] = {}
        """Nodes on which nobody is placed but one pod, and who was promised a place there before."""
        self.stray: dict[str, dict[tuple[str, str], PodFacts]] = {}
        """Pods that name a node that is not there, by that name."""
        self._ties = None
        for node in nodes:
            self._put_node(node)
        self._fill(self.world.pods.values())
        self._unsettled.clear()
        self._version = self.world.version

    def _fill(self, everyone: Iterable[PodFacts]) -> None:
        """All pods at once: each node's shares sorted once, and every column written once."""
        by_node: dict[int, list[UnitShare]] = {}
        for facts in everyone:
            node = self.index.get(facts.node)
            if node is None:
                self._put_pod(facts)
            elif (membership := self.units.of(facts)).group:
                self._members.setdefault(membership.key, {})[facts.key] = facts
                self._note(facts)
            else:
                by_node.setdefault(node, []).append(Unit(membership, [facts]).shares[facts.node])
                self._note(facts)
        for key, members in self._members.items():
            unit = self.groups[key] = self._group(members)
            for name, share in unit.shares.items():
                by_node.setdefault(self.index[name], []).append(share)
        order: list[UnitShare] = []
        places: list[tuple[int, int]] = []
        for node, shares in by_node.items():
            shares.sort(key=importance_of)
            self.residents[node] = shares
            self.occupied[node] = len(shares)
            order += shares
            places += [(rank, node) for rank in range(len(shares))]
        self._grow(ranks=max(map(len, by_node.values()), default=0))
        if order:
            self._write_all(np.array(places, dtype=np.int64).T, order)

    def _group(self, members: dict[tuple[str, str], PodFacts]) -> Unit:
        """A unit of all its pods, standing where nodes are known."""
        pods = list(members.values())
        unit = Unit(self.units.of(pods[0]), pods)
        known = {name: share for name, share in unit.shares.items() if self.where(name) is not None}
        unit.shares = known
        return unit

    def _settle(self) -> None:
        """Groups whose pods came or went: taken out and put in again, once for however many changes."""
        for key in sorted(self._unsettled, key=str):
            before = self.groups.get(key)
            if before is not None:
                self.take_unit(before)
            members = self._members.get(key)
            if members:
                self.put_unit(self._group(members))
            else:
                self._members.pop(key, None)
        self._unsettled.clear()

    def _apply(self, change: Change) -> None:
        if change.kind is Pod:
            if change.old is not None and change.new is not None and self._renew_pod(change.old, change.new):
                return
            if change.old is not None:
                self._take_pod(change.old)
            if change.new is not None:
                self._put_pod(change.new)
        elif change.kind is Node:
            if change.new is not None:
                self._put_node(change.new)
            else:
                self._drop_node(change.key[1])
        elif change.kind in _STRUCTURE or (change.kind in _STORAGE and _stored(change.old) != _stored(change.new)):
            self.epoch += 1

    # Nodes

    def _put_node(self, node: Node) -> None:
        index = self.index.get(node.name)
        if index is None:
            index = self.index[node.name] = len(self.names)
            self._grow(nodes=index + 1)
            self.names.append(node.name)
            self.nodes.append(None)
            self.residents.append([])
        before, self.nodes[index] = self.nodes[index], node
        if before is None or _face(before) != _face(node):
            self._ties = None
            self.epoch += 1  # labels decide affinity and spreading, also on other nodes
        for name in node.allocatable:
            self.row(name)
        for name, row in self.resources.items():
            self.allocatable[row, index] = min(node.allocatable.of(name), LARGEST)
        self.unschedulable[index] = node.spec.unschedulable
        self.gone[index] = False
        self.taint_set[index] = self.taints.number(node.spec.taints)
        self.images.put(index, node.status.images)
        self.log.append(index)
        for facts in self.stray.pop(node.name, {}).values():
            self._put_pod(facts)

    def _drop_node(self, name: str) -> None:
        index = self.index.get(name)
        if index is None:
            return
        self._settle()  # whoever came with its group just before stands there, too
        running = [facts for share in self.residents[index] for facts in share.pods]
        leaving = [*running, *self.nominated.get(index, [])]
        for facts in leaving:
            self._take_pod(facts)
        self._settle()
        self.nodes[index] = None
        self.gone[index] = True
        self.images.put(index, ())
        self.allocatable[:, index] = 0
        self._ties = None
        self.epoch += 1
        for facts in leaving:
            self._put_pod(facts)

    # Pods

    def _put_pod(self, facts: PodFacts) -> None:
        name = facts.node or facts.nominated
        node = self.where(name)
        if node is None:
            if name:
                self.stray.setdefault(name, {})[facts.key] = facts
                self._count_in(facts, self.units.of(facts))
            return
        self.log.append(node)
        if not facts.node:
            self.nominated.setdefault(node, []).append(facts)
            self.standing[facts.key] = EVERYBODY if is_reserved(facts) else self.units.scheduling_priority(facts)
            if is_closing(facts):
                self.closed.setdefault(node, facts.key)
            self.repelling(facts)  # so that whoever comes next knows that somebody may keep it away
            return
        self._note(facts)
        membership = self.units.of(facts)
        if not self._count_in(facts, membership):
            self.put_unit(Unit(membership, [facts]))

    def _renew_pod(self, old: PodFacts, new: PodFacts) -> bool:
        """A pod that stays where it is and what it is, such as one that was told to leave; False: it does not."""
        node = self.where(new.node) if new.node else None
        if node is None or old.node != new.node or old.key in self.stray.get(new.node, {}):
            return False
        if old.importance != new.importance:
            return False
        membership = self.units.of(new)
        if membership.group or membership != self.units.of(old) or old.requests != new.requests:
            return False
        return self.renew_unit(Unit(membership, [old]), Unit(membership, [new]), node)

    def _count_in(self, facts: PodFacts, membership: Membership) -> bool:
        """A running pod of a group that goes as a whole belongs to it, be its node known or not."""
        if not membership.group or not facts.node:
            return False
        self._members.setdefault(membership.key, {})[facts.key] = facts
        self._unsettled.add(membership.key)
        return True

    def _count_out(self, facts: PodFacts, membership: Membership) -> bool:
        if not membership.group or not facts.node:
            return False
        self._members.get(membership.key, {}).pop(facts.key, None)
        self._unsettled.add(membership.key)
        self._forget(facts)  # it may not have been put anywhere yet
        return True

    def _take_pod(self, facts: PodFacts) -> None:
        name = facts.node or facts.nominated
        node = self.index.get(name)
        if self.stray.get(name, {}).pop(facts.key, None) is not None or node is None:
            self._count_out(facts, self.units.of(facts))
            return
        self.log.append(node)
        if not facts.node:
            self.nominated[node] = [other for other in self.nominated.get(node, []) if other.key != facts.key]
            if self.closed.get(node) == facts.key:
                del self.closed[node]
                for other in filter(is_closing, self.nominated[node]):
                    self.closed[node] = other.key
            if not self.nominated[node]:
                del self.nominated[node]
            return
        membership = self.units.of(facts)
        if not self._count_out(facts, membership):
            self.take_unit(Unit(membership, [facts]))
