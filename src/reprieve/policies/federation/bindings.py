"""Bindings in numbers: what each asks for, where it is, where it is leaving, and how it ranks."""

from collections.abc import Mapping
from typing import Literal

from reprieve.engine.holds import hold_of
from reprieve.manifests.karmada import Placement, ReplicaScheduling, ResourceBinding
from reprieve.manifests.meta import find_condition
from reprieve.manifests.priorities import Priority
from reprieve.model.names import UnitName, unit_name
from reprieve.model.resources import NOTHING, Resources
from reprieve.world import NEVER

SCHEDULED, PREEMPTED, SUSPENDED = "Scheduled", "Preempted", "SchedulingSuspended"
"""The condition that a binding has its clusters, why it may have lost one, and why it may get none. Karmada's scheduler
passes over what is suspended without a word, so that it has no name for the last."""
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
        "leaving",
        "missing",
        "order",
        "pending",
        "preemption_policy",
        "priority",
        "request",
        "style",
        "suspended",
        "unit",
        "wants",
    )

    def __init__(self, binding: ResourceBinding, priority: Priority, created: int = NEVER) -> None:
        spec = binding.spec
        self.binding = binding
        self.unit = unit_of(binding)
        self.priority = priority.value
        self.preemption_policy = priority.preemption_policy
        self.created = created
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
        self.wants = not (finished or self.deleted) and (not self.held or changed or _says(binding, SCHEDULED, "False"))
        self.suspended = spec.suspension is not None and spec.suspension.scheduling
        self.pending = self.wants and not self.suspended
        hold = hold_of(binding.metadata.annotations) if self.pending else None
        self.hold: dict[str, int] = hold.clusters if hold else {}
        # Who is asked to leave first: the lowest priority, then the youngest; the rest only makes the order total.
        self.order = (self.priority, -self.created, self.unit)

    @property
    def placement(self) -> Placement:
        return self.binding.spec.placement or Placement()

    @property
    def fixed(self) -> bool:
        """Whether its replicas have a fixed place, and do not go by room."""
        return self.style in ("Duplicated", "Static")

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

    def after(self, division: Mapping[str, int]) -> dict[str, int]:
        """Where it is, and with how many replicas, when a division has been added to what it has."""
        total = dict(self.held)
        for name, replicas in division.items():
            total[name] = total.get(name, 0) + replicas
        return total if self.style == "Duplicated" else {name: count for name, count in total.items() if count}

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


def unit_of(binding: ResourceBinding) -> UnitName:
    namespace = binding.namespace if binding.kind == "ResourceBinding" else ""
    return unit_name(binding.kind, namespace, binding.name)


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
