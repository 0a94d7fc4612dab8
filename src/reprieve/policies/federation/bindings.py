"""Bindings in numbers: what each asks for and holds, and who is in a cluster, from the lowest priority up."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Literal

import numpy as np

from reprieve.engine.accumulate import LARGEST
from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.reasons import ClusterScoped, NoRequirements, NotContested, NotLower, OtherScheduler, Reason
from reprieve.manifests.karmada import Placement, ReplicaScheduling, ResourceBinding
from reprieve.manifests.meta import find_condition
from reprieve.manifests.priorities import Priority
from reprieve.model.names import unit_name
from reprieve.model.resources import NOTHING, Resources
from reprieve.policies.federation.holds import hold_of
from reprieve.world import microseconds

BindingKey = tuple[str, str, str]
SCHEDULED, PREEMPTED = "Scheduled", "Preempted"
"""The condition that a binding has its clusters, and why it may have lost one."""
FINISHED = "Finished"
"""The condition that what is bound has run to its end: it uses nothing any more, wherever it is."""
Style = Literal["Duplicated", "Aggregated", "Static", "Dynamic"]


class BindingFacts:
    """What decisions ask about a binding, worked out once when it changes."""

    __slots__ = (
        "binding",
        "created",
        "held",
        "hold",
        "key",
        "leaving",
        "missing",
        "order",
        "pending",
        "preemption_policy",
        "priority",
        "request",
        "style",
        "unit",
    )

    def __init__(self, binding: ResourceBinding, priority: Priority) -> None:
        spec = binding.spec
        namespace = binding.namespace if binding.kind == "ResourceBinding" else ""
        self.binding = binding
        self.key: BindingKey = (binding.kind, binding.namespace, binding.name)
        self.unit = unit_name(binding.kind, namespace, binding.name)
        self.priority = priority.value
        self.preemption_policy = priority.preemption_policy
        self.created = microseconds(binding.metadata.creation_timestamp)
        requirements = spec.replica_requirements
        finished = _says(binding, FINISHED, "True")
        self.request: Resources = requirements.resource_request.positive() if requirements and not finished else NOTHING
        self.style = _style(self.placement.replica_scheduling, spec.replicas)
        self.held = self._held()
        duplicated = self.style == "Duplicated"
        # Divided replicas that are too many are a negative number of missing ones.
        self.missing = spec.replicas if duplicated else spec.replicas - sum(self.held.values())
        self.leaving = self._leaving()
        changed = any(count != spec.replicas for count in self.held.values()) if duplicated else self.missing != 0
        # A victim that is duplicated has its other clusters still; that it lost one is what its condition says.
        self.pending = not (finished or self.deleted) and (
            not self.held or changed or _says(binding, SCHEDULED, "False")
        )
        hold = hold_of(binding.metadata.annotations) if self.pending else None
        self.hold: dict[str, int] = hold.clusters if hold else {}
        # Who is asked to leave first: the lowest priority, then the youngest; the rest only makes the order total.
        self.order = (self.priority, -self.created, self.unit)

    @property
    def placement(self) -> Placement:
        return self.binding.spec.placement or Placement()

    @property
    def deleted(self) -> bool:
        return self.binding.metadata.deletion_timestamp is not None

    def on(self, cluster: str) -> Resources:
        """What it uses of a cluster it is scheduled to."""
        return self.request * self.held.get(cluster, 0)

    def _held(self) -> dict[str, int]:
        """Replicas by cluster. Where each has all of them, a result that does not count them means that."""
        replicas = self.binding.spec.replicas if self.style == "Duplicated" else 0
        return {target.name: target.replicas or replicas for target in self.binding.spec.clusters}

    def uses(self) -> dict[str, Resources]:
        """What it uses, by cluster: where it is, and where it is still leaving."""
        staying = {} if self.deleted else self.held
        names = {**staying, **self.leaving}
        return {name: self.request * (staying.get(name, 0) + self.leaving.get(name, 0)) for name in names}

    def _leaving(self) -> dict[str, int]:
        """Replicas that have been told to leave, by cluster; all of them when the binding is being deleted. Whoever
        came back to where it still leaves is there twice."""
        otherwise = max(0, self.missing) if self.held else self.binding.spec.replicas
        leaving = dict(self.held) if self.deleted else {}
        for task in self.binding.spec.graceful_eviction_tasks:
            unknown = 0 if task.from_cluster in self.held else otherwise
            replicas = unknown if task.replicas is None else task.replicas
            leaving[task.from_cluster] = leaving.get(task.from_cluster, 0) + replicas
        return leaving


def _says(binding: ResourceBinding, kind: str, status: str) -> bool:
    found = find_condition(binding.status.conditions, kind)
    return found is not None and found.status == status


def _style(scheduling: ReplicaScheduling | None, replicas: int) -> Style:
    """How replicas are given to clusters. What has no replicas goes to every cluster."""
    if scheduling is None or scheduling.replica_scheduling_type == "Duplicated" or not replicas:
        return "Duplicated"
    if scheduling.replica_division_preference != "Weighted":
        return "Aggregated"
    weights = scheduling.weight_preference
    return "Dynamic" if weights is not None and weights.dynamic_weight else "Static"


class Residents:
    """The bindings in one cluster, in the order in which they are asked to leave, in columns."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.bindings: list[BindingFacts] = []
        self._columns: dict[str, Ints] = {}
        self._tables: dict[tuple[str, ...], Ints] = {}
        self._masks: dict[str, Mask] = {}

    def settle(self) -> None:
        """Put in order what was added without, and make the columns that decisions will ask for."""
        self.bindings.sort(key=lambda facts: facts.order)
        for name in {name for facts in self.bindings for name in facts.request}:
            self._column(name)
        for scheduler in {facts.binding.spec.scheduler_name for facts in self.bindings}:
            self.may_go(scheduler, 0)

    def add(self, facts: BindingFacts, *, sort: bool) -> None:
        if sort:
            insort(self.bindings, facts, key=lambda item: item.order)
        else:
            self.bindings.append(facts)
        self._forget()

    def remove(self, facts: BindingFacts) -> None:
        del self.bindings[bisect_left(self.bindings, facts.order, key=lambda item: item.order)]
        self._forget()

    def _forget(self) -> None:
        self._columns.clear()
        self._tables.clear()
        self._masks.clear()

    def lower(self, priority: int) -> int:
        """How many rank below: they come first."""
        return bisect_left(self.bindings, priority, key=lambda facts: facts.priority)

    def shares(self, names: list[str], ranks: int) -> Ints:
        """What the first so many hold, a column for each resource."""
        key = tuple(names)
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = np.stack([self._column(name) for name in names], axis=1)
        return found[:ranks]

    def _column(self, name: str) -> Ints:
        found = self._columns.get(name)
        if found is None:
            held = [min(facts.request.of(name) * facts.held[self.cluster], LARGEST) for facts in self.bindings]
            found = self._columns[name] = np.array(held, dtype=np.int64)
        return found

    def may_go(self, scheduler: str, ranks: int) -> Mask:
        """Who of the first so many no rule protects, their priority aside."""
        found = self._masks.get(scheduler)
        if found is None:
            found = self._masks[scheduler] = np.array(
                [not protected(facts, scheduler) for facts in self.bindings], dtype=np.bool_
            )
        return found[:ranks]


def protected(facts: BindingFacts, scheduler: str) -> bool:
    """Whether a rule protects it from that scheduler, its priority aside: the rules below, for whole columns."""
    spec = facts.binding.spec
    kept = facts.binding.kind != "ResourceBinding" or spec.scheduler_name != scheduler
    return kept or facts.deleted or not facts.request


def protection(preemptor: BindingFacts, other: BindingFacts, cluster: str, gap: Resources) -> Reason | None:
    """The first rule that protects a binding in a cluster from a preemptor; None: it may be asked."""
    scheduler = other.binding.spec.scheduler_name
    if other.binding.kind != "ResourceBinding":
        return ClusterScoped()
    if scheduler != preemptor.binding.spec.scheduler_name:
        return OtherScheduler(scheduler, preemptor.binding.spec.scheduler_name)
    if not other.request:
        return NoRequirements()
    if other.priority >= preemptor.priority:
        return NotLower(other.priority, preemptor.priority)
    held = other.on(cluster)
    return None if any(held.of(name) for name in gap) else NotContested()
