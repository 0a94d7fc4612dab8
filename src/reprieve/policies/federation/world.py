"""Karmada's objects as the federation policy sees them: what clusters have left, who is there, who ranks how.

It follows the journal of the world. What a cluster has left is in a ledger that every binding changes, so that the next
decision sees what the ones before gave away and freed. What a waiting preemptor holds is left to nobody who ranks as
it does or lower:

1. Now, a binding may use what is free, without what others of higher or equal priority hold.
2. Soon, the same with what those who are leaving will free.
3. Between two of equal priority that both hold a place, each may take its own as soon as there is room for it.
"""

from bisect import insort
from collections.abc import Iterable, Mapping

from reprieve.configuration import Settings
from reprieve.engine.clusters import ClusterLedger, less, smaller
from reprieve.manifests.core import Controller, Job
from reprieve.manifests.karmada import Cluster, PropagationPolicy, ResourceBinding
from reprieve.manifests.pods import Pod
from reprieve.manifests.priorities import Priority, of_scheduled_binding, says_whether_it_preempts
from reprieve.manifests.scheduling import PriorityClass
from reprieve.model.names import UnitName
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.bindings import BindingFacts, unit_of
from reprieve.policies.federation.propagation_policies import policy_of, template_of
from reprieve.policies.federation.residents import Residents
from reprieve.policies.federation.rules import TakesPart
from reprieve.world import Change, World

_RESOLVING = (PriorityClass, PropagationPolicy, Controller, Job, Pod)
"""What bindings take their priority from that do not carry it yet, or not all of it."""


Held = dict[str, Resources]


class Federation:
    """The member clusters and all bindings of a world."""

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.settings = settings
        self._resolves = settings.gate("PriorityBasedScheduling")
        self.clusters: dict[str, Cluster] = {}
        self.ledger = ClusterLedger()
        self.residents: dict[str, Residents] = {}
        self._facts: dict[UnitName, BindingFacts] = {}
        self._leaving: dict[str, list[BindingFacts]] = {}
        self._holders: dict[UnitName, BindingFacts] = {}
        self._unresolved: set[UnitName] = set()
        self._version = -1
        self.refresh()

    @property
    def free(self) -> Mapping[str, Resources]:
        """What clusters have left, whoever holds it."""
        return self.ledger.free

    @property
    def bindings(self) -> list[BindingFacts]:
        return list(self._facts.values())

    def find(self, unit: UnitName) -> BindingFacts | None:
        return self._facts.get(unit)

    def refresh(self) -> None:
        """Take in what has changed in the world."""
        if self._version == self.world.version:
            return
        changes = self.world.changes_since(self._version) if self._version >= 0 else None
        self._version = self.world.version
        if changes is None:
            self._read_all()
            return
        for change in changes:
            self._take_in(change)
        if any(change.kind in _RESOLVING for change in changes):
            for unit in list(self._unresolved):
                self._put(self._facts[unit].binding)

    def _read_all(self) -> None:
        self.ledger = ClusterLedger()
        for index in (self.clusters, self.residents, self._facts, self._leaving, self._holders):
            index.clear()
        self._unresolved.clear()
        for binding in self.world.all(ResourceBinding):
            self._add(self._read(binding), sort=False)
        for cluster in self.world.all(Cluster):  # after the bindings: what they use is in what clusters report
            self._report(cluster)
        for residents in self.residents.values():
            residents.settle()
            for scheduler in {facts.binding.spec.scheduler_name for facts in residents.bindings}:
                TakesPart(scheduler).protects(residents)

    def _take_in(self, change: Change) -> None:
        if change.kind is Cluster:
            if change.new is not None:
                self._report(change.new)
            else:
                self.clusters.pop(change.key[1], None)
                self.ledger.forget(change.key[1])
        elif change.kind is ResourceBinding and change.new is not None:
            self._put(change.new)
        elif change.kind is ResourceBinding:
            self._remove(unit_of(change.old))
            self.ledger.put(unit_of(change.old), {})

    def _report(self, cluster: Cluster) -> None:
        self.clusters[cluster.name] = cluster
        self.ledger.report(cluster)

    # Bindings

    def _put(self, binding: ResourceBinding) -> None:
        self._remove(unit_of(binding))
        self._add(self._read(binding), sort=True)

    def _read(self, binding: ResourceBinding) -> BindingFacts:
        return BindingFacts(binding, self._priority(binding), self.world.created(binding))

    def _priority(self, binding: ResourceBinding) -> Priority:
        """Once a binding carries its priority, that is what counts. Karmada's own API has no field for the preemption
        policy beside it, and drops what is written there: that is looked up for as long as it is not carried."""
        carried = of_scheduled_binding(binding)
        if carried is None:
            return self._resolve(binding)
        if says_whether_it_preempts(binding):
            return carried
        return carried._replace(preemption_policy=self._resolve(binding).preemption_policy)

    def _resolve(self, binding: ResourceBinding) -> Priority:
        """What the policy that made a binding says, with the gate on."""
        if not self._resolves:
            return Priority(0, "Never")
        self._unresolved.add(unit_of(binding))
        policy = policy_of(self.world, binding)
        asked = policy.spec.schedule_priority if policy is not None else None
        return self.world.classes.of_binding(asked, template_of(self.world, binding))

    def _add(self, facts: BindingFacts, *, sort: bool) -> None:
        self._facts[facts.unit] = facts
        self.ledger.put(facts.unit, facts.uses())
        if facts.hold:
            self._holders[facts.unit] = facts
        for name in facts.held:
            residents = self.residents.setdefault(name, Residents(name))
            residents.add(facts, sort=sort)
        for name in facts.leaving:
            insort(self._leaving.setdefault(name, []), facts, key=lambda item: item.order)

    def _remove(self, unit: UnitName) -> None:
        facts = self._facts.pop(unit, None)
        self._unresolved.discard(unit)
        self._holders.pop(unit, None)
        if facts is None:
            return
        for name in facts.held:
            self.residents[name].remove(facts)
        for name in facts.leaving:
            self._leaving[name].remove(facts)

    # What decisions ask

    def in_cluster(self, cluster: str) -> Residents:
        """Those who are scheduled to a cluster."""
        return self.residents.get(cluster) or Residents(cluster)

    def leaving(self, cluster: str) -> list[BindingFacts]:
        """Those who have been told to leave a cluster and still use it."""
        return self._leaving.get(cluster, [])

    def free_now(self, facts: BindingFacts) -> Mapping[str, Resources]:
        """What clusters have left for a binding."""
        return self._not_held(facts, self.free)

    def free_soon(self, facts: BindingFacts) -> Mapping[str, Resources]:
        """What clusters will have left for a binding when all others who are leaving are gone."""
        soon = dict(self.free)
        for name, leaving in self._leaving.items():
            for other in leaving:
                if name in soon and other.unit != facts.unit:
                    soon[name] += other.request * other.leaving[name]
        return self._not_held(facts, soon)

    def _not_held(self, facts: BindingFacts, free: Mapping[str, Resources]) -> Mapping[str, Resources]:
        """What others do not hold against a binding; the same mapping when nobody does."""
        others = [other for other in self._holders.values() if other.unit != facts.unit]
        higher = _held(other for other in others if other.priority > facts.priority)
        equal = _held(other for other in others if other.priority == facts.priority)
        names = [name for name in {**higher, **equal} if name in free]
        left = {name: self._left(facts, name, free[name], higher, equal) for name in names}
        return {**free, **left} if left else free

    def _left(self, facts: BindingFacts, cluster: str, free: Resources, higher: Held, equal: Held) -> Resources:
        """What a cluster has left: without what is held above the binding, or beside it but for its own part."""
        below = less(free, higher.get(cluster, NOTHING))
        own = facts.request * facts.hold.get(cluster, 0)
        return less(below, equal.get(cluster, NOTHING)).maximum(smaller(own, below))


def _held(holders: Iterable[BindingFacts]) -> Held:
    """What they hold together, by cluster."""
    held: Held = {}
    for facts in holders:
        for name, replicas in facts.hold.items():
            held[name] = held.get(name, NOTHING) + facts.request * replicas
    return held
