"""The ledger of nodes: does a pod fit, where, and which of the places is the best? Shared by all who place pods."""

from typing import Any

import msgspec

from reprieve.configuration import OWN_SCHEDULER, Settings
from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.budgets import Budgets
from reprieve.engine.nodes.labels import NodeLabels
from reprieve.engine.nodes.scoring import best_node
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Units
from reprieve.engine.nodes.view import NodeView
from reprieve.engine.nodes.volumes import storage_shape
from reprieve.engine.nodes.whose import Own
from reprieve.world import PodFacts, World

NOWHERE = -1
MOST_SHAPES = 64
"""So many views are worth keeping for pods that are alike."""


class NodeLedger:
    """All nodes of one world, which may change between decisions."""

    def __init__(self, world: World, settings: Settings, names: frozenset[str] | None = None) -> None:
        """`names`: the schedulers whose pods are this one's to place; None: everybody's."""
        self.world = world
        self.settings = settings
        self._names = names
        self.table = NodeTable(world, Units(world, settings))
        self.labels = NodeLabels(self.table)
        self._budgets = Budgets(self.table)
        self._budgets_epoch = self.table.epoch

    @property
    def budgets(self) -> Budgets:
        """Made anew when budgets, or what they are about, have changed."""
        if self._budgets_epoch != self.table.epoch:
            self._budgets = Budgets(self.table)
            self._budgets_epoch = self.table.epoch
        return self._budgets

    def own(self, facts: PodFacts | None = None) -> Own | None:
        """Whose pods alone make way for a pod, or for any that may come; None: all schedulers' do. Where this one plays
        all schedulers, each keeps to its own."""
        if self.settings.victims != "Own" or (self._names is None and facts is None):
            return None
        scheduler = OWN_SCHEDULER if facts is None else facts.pod.spec.scheduler_name
        return Own(scheduler, self._names or frozenset({scheduler}))

    def sync(self) -> None:
        """Catch up with the world."""
        self.table.sync()

    def view(self, facts: PodFacts, **options: Any) -> NodeView:
        """All nodes as a pod finds them; the options are those of `NodeView`."""
        return NodeView(self.table, self.labels, facts, **options)

    def shape(self, facts: PodFacts) -> object:
        """What makes two pods alike to nodes; pods that mind those around them are never alike."""
        spec = facts.pod.spec
        placement = msgspec.msgpack.encode((spec.node_selector, spec.affinity, spec.tolerations))
        kind = (facts.key[0], facts.labels) if len(self.table.repels) > 1 else ()
        spread = len(spec.topology_spread_constraints)
        return facts.priority, facts.requests, placement, facts.host_ports, kind, spread, storage_shape(facts)

    def fits_on(self, facts: PodFacts, name: str, **options: Any) -> bool:
        """Does this pod fit on this node, as things are?"""
        node = self.index(name)
        return node != NOWHERE and bool(self.view(facts, **options).fits[node])

    def index(self, name: str) -> int:
        """The number of a node; `NOWHERE` when it is not there."""
        node = self.table.where(name)
        return NOWHERE if node is None else node

    def best(self, facts: PodFacts, nodes: Ints) -> int:
        """The best of some nodes where a pod fits: the one it is nominated to, else by score."""
        nominated = self.index(facts.nominated)
        if nominated in nodes:
            return nominated
        return best_node(self.table, self.labels, facts, nodes, self.settings.scoring)

    def fingerprint(self) -> str:
        """A digest of the table where settings ask for checks."""
        return self.table.fingerprint() if self.settings.validate else ""
