"""Karmada's objects as the federation policy sees them: what clusters have left, who is there, who ranks how.

It follows the journal of the world. What a cluster has left is what it reports, changed by what has been decided since
its last report, so that the next decision sees what the ones before gave away and freed.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping

from reprieve.objects.core import Controller, Job
from reprieve.objects.karmada import Cluster, PropagationPolicy, ResourceBinding
from reprieve.objects.priorities import Priority, of_scheduled_binding
from reprieve.objects.scheduling import PriorityClass
from reprieve.policies.federation_bindings import BindingFacts, BindingKey, Residents
from reprieve.policies.federation_detector import policy_of, template_of
from reprieve.resources import NOTHING, Resources
from reprieve.world import Change, World

_RESOLVING = (PriorityClass, PropagationPolicy, Controller, Job)
"""What bindings that carry no priority yet take theirs from."""


class Federation:
    """The member clusters and all bindings of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clusters: dict[str, Cluster] = {}
        self.free: dict[str, Resources] = {}
        self.residents: dict[str, Residents] = {}
        self._facts: dict[BindingKey, BindingFacts] = {}
        self._leaving: dict[str, list[BindingFacts]] = {}
        self._unresolved: set[BindingKey] = set()
        self._version = -1
        self.refresh()

    @property
    def bindings(self) -> list[BindingFacts]:
        return list(self._facts.values())

    def find(self, key: BindingKey) -> BindingFacts | None:
        return self._facts.get(key)

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
            for key in list(self._unresolved):
                self._put(self._facts[key].binding)

    def _read_all(self) -> None:
        for index in (self.clusters, self.free, self.residents, self._facts, self._leaving):
            index.clear()
        self._unresolved.clear()
        for cluster in self.world.all(Cluster):
            self._report(cluster)
        for binding in self.world.all(ResourceBinding):
            self._add(self._read(binding), sort=False)
        for residents in self.residents.values():
            residents.settle()

    def _take_in(self, change: Change) -> None:
        if change.kind is Cluster:
            self.clusters.pop(change.key[1], None)
            if change.new is not None:
                self._report(change.new)
        elif change.kind is ResourceBinding and change.new is not None:
            self._put(change.new)
        elif change.kind is ResourceBinding:
            self._remove((change.old.kind, *change.key))

    def _report(self, cluster: Cluster) -> None:
        self.clusters[cluster.name] = cluster
        self.free[cluster.name] = _free(cluster)

    # Bindings

    def _put(self, binding: ResourceBinding) -> None:
        self._remove((binding.kind, binding.namespace, binding.name))
        self._add(self._read(binding), sort=True)

    def _read(self, binding: ResourceBinding) -> BindingFacts:
        carried = of_scheduled_binding(binding)
        return BindingFacts(binding, carried or self._resolve(binding))

    def _resolve(self, binding: ResourceBinding) -> Priority:
        """What the policy that made a binding says. Once a binding carries its priority, that is what counts."""
        self._unresolved.add((binding.kind, binding.namespace, binding.name))
        policy = policy_of(self.world, binding)
        asked = policy.spec.schedule_priority if policy is not None else None
        return self.world.classes.of_binding(asked, template_of(self.world, binding))

    def _add(self, facts: BindingFacts, *, sort: bool) -> None:
        self._facts[facts.key] = facts
        for name in facts.held:
            residents = self.residents.setdefault(name, Residents(name))
            residents.add(facts, sort=sort)
        for name in facts.leaving:
            insort(self._leaving.setdefault(name, []), facts, key=lambda item: item.order)

    def _remove(self, key: BindingKey) -> None:
        facts = self._facts.pop(key, None)
        self._unresolved.discard(key)
        if facts is None:
            return
        for name in facts.held:
            self.residents[name].remove(facts)
        for name in facts.leaving:
            self._leaving[name].remove(facts)

    # What decisions change

    def leaving(self, cluster: str) -> list[BindingFacts]:
        """Those who have been told to leave a cluster and still use it."""
        return self._leaving.get(cluster, [])

    def free_soon(self, facts: BindingFacts) -> dict[str, Resources]:
        """What clusters will have left for a binding when all others who are leaving are gone."""
        soon = dict(self.free)
        for name, leaving in self._leaving.items():
            for other in leaving:
                if name in soon and other is not facts:
                    soon[name] += other.request * other.leaving[name]
        return soon

    def take(self, request: Resources, division: Mapping[str, int]) -> None:
        """Clusters have so much less, until they report again."""
        for name, replicas in division.items():
            self.free[name] = self.free.get(name, NOTHING) - request * replicas


def _free(cluster: Cluster) -> Resources:
    summary = cluster.status.resource_summary
    if summary is None:
        return NOTHING
    return summary.allocatable - summary.allocated - summary.allocating
