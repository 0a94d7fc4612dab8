"""What priority classes say: which priority a unit has, whether it preempts, and what it takes to preempt it.

1. A number on the object itself wins over the class it names: it was recorded when the object was made.
2. A class that is not named is the global default; of several, the one with the smallest value.
3. Without one, priority is 0. Pods and workloads may then preempt; bindings never do.
4. What it takes to preempt a workload is never less than its own priority.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from reprieve.manifests import scheduling
from reprieve.manifests.karmada import PolicySchedulePriority, ResourceBinding
from reprieve.manifests.meta import SYSTEM_CLUSTER_CRITICAL, SYSTEM_NODE_CRITICAL, ObjectMeta, PreemptionPolicy
from reprieve.manifests.pods import PodSpec
from reprieve.manifests.scheduling import PriorityClass, Workload

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"
BUILT_IN = {
    name: PriorityClass(metadata=ObjectMeta(name=name), value=value)
    for name, value in ((SYSTEM_NODE_CRITICAL, 2_000_001_000), (SYSTEM_CLUSTER_CRITICAL, 2_000_000_000))
}
_NUMBER = re.compile(r"[+-]?\d{1,19}", re.ASCII)


class Priority(NamedTuple):
    """What a unit's priority resolved to."""

    value: int
    preemption_policy: PreemptionPolicy = "PreemptLowerPriority"
    class_name: str = ""
    found: bool = True
    """False when a class was named that does not exist, so that a fallback was used."""


class PreemptionToleration(NamedTuple):
    """From the victim's side: who may preempt it, and after how long (negative: never)."""

    minimum_preemptable_priority: int
    toleration_seconds: int


class PriorityClasses:
    """All priority classes of a world, with the two that every cluster has."""

    def __init__(self, classes: Iterable[PriorityClass] = ()) -> None:
        self._classes = {**BUILT_IN, **{item.name: item for item in classes}}
        self.defaults = [item for item in self._classes.values() if item.global_default]
        """All that are marked so, in the order in which they came: there should be one."""
        self.global_default = min(self.defaults, key=lambda item: (item.value, item.name), default=None)

    def get(self, name: str) -> PriorityClass | None:
        return self._classes.get(name)

    def names(self) -> list[str]:
        return sorted(self._classes)

    def resolve(self, name: str, fallback: PreemptionPolicy = "PreemptLowerPriority") -> Priority:
        """The class of that name, else the global default, else 0 with the policy `fallback`."""
        item = self._classes.get(name) if name else None
        known = item is not None or not name
        item = item or self.global_default
        if item is None:
            return Priority(0, fallback, "", known)
        return Priority(item.value, item.preemption_policy, item.name, known)

    def of_pod(self, spec: PodSpec | scheduling.GroupPolicy) -> Priority:
        """Its own priority and policy come first; a class that is missing takes nothing away from them."""
        resolved = self.resolve(spec.priority_class_name)
        return resolved._replace(
            value=resolved.value if spec.priority is None else spec.priority,
            preemption_policy=spec.preemption_policy or resolved.preemption_policy,
        )

    def of_group(self, policy: scheduling.GroupPolicy) -> Priority:
        return self.of_pod(policy)

    def of_workload(self, workload: Workload) -> Priority:
        """What was recorded in its status when it was made, else what its class says now."""
        resolved, recorded = self.resolve(workload.priority_class_name), workload.status
        return resolved._replace(
            value=resolved.value if recorded.priority is None else recorded.priority,
            preemption_policy=recorded.preemption_policy or resolved.preemption_policy,
        )

    def to_preempt_workload(self, workload: Workload) -> Priority:
        """Who it takes to preempt it: by default its own priority, and never less than that."""
        own, asked = self.of_workload(workload), self.asked_to_preempt(workload)
        if asked is None:
            return own._replace(found=own.found and not workload.preemption_priority_class_name)
        return own._replace(value=max(own.value, asked), class_name=workload.preemption_priority_class_name)

    def asked_to_preempt(self, workload: Workload) -> int | None:
        """The preemption priority that a workload asks for, recorded or by its class; None: its own is to count."""
        if workload.status.preemption_priority is not None:
            return workload.status.preemption_priority
        named = self.get(workload.preemption_priority_class_name)
        return None if named is None else named.value

    def of_binding(self, policy: PolicySchedulePriority | None, template: PodSpec | None) -> Priority:
        """A binding's priority from the policy that made it; nothing found means 0, and never preempting."""
        if policy is None:
            return Priority(0, "Never")
        if policy.priority_class_source == "FederatedPriorityClass":
            return Priority(0, "Never", policy.priority_class_name, found=False)
        if policy.priority_class_source == "PodPriorityClass":
            return self.resolve(template.priority_class_name if template else "", "Never")
        return self.resolve(policy.priority_class_name, "Never")


def of_scheduled_binding(binding: ResourceBinding) -> Priority | None:
    """What a binding already carries: a class that changes later does not change it."""
    carried = binding.spec.schedule_priority
    return Priority(carried.priority or 0, carried.preemption_policy or "Never") if carried else None


def says_whether_it_preempts(binding: ResourceBinding) -> bool:
    """Whether a binding carries a preemption policy, too."""
    carried = binding.spec.schedule_priority
    return carried is not None and carried.preemption_policy is not None


def parse_integer(text: str, bits: int) -> int | None:
    """A number as Go reads it: digits and a sign, within so many bits; None otherwise."""
    if not _NUMBER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None


def preemption_toleration(item: PriorityClass) -> PreemptionToleration | None:
    """The toleration a class grants; annotations that are no numbers grant none."""
    annotations = item.metadata.annotations
    written = annotations.get(scheduling.MINIMUM_PREEMPTABLE_PRIORITY)
    minimum = item.value + 1 if written is None else parse_integer(written, 32)
    seconds = parse_integer(annotations.get(scheduling.TOLERATION_SECONDS, "0"), 64)
    if minimum is None or seconds is None:
        return None
    return PreemptionToleration(minimum, seconds)


def recorded_priorities(workload: Workload, classes: PriorityClasses) -> dict[str, Any]:
    """What the status of a Workload says of its priorities: what it carries already, else what its classes say now."""
    own = classes.of_workload(workload)
    to_preempt = classes.to_preempt_workload(workload).value
    return {"priority": own.value, "preemptionPriority": to_preempt, "preemptionPolicy": own.preemption_policy}
