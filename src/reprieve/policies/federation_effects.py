"""What a plan does to bindings, as new objects: whoever commits it writes them; nothing is changed here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from reprieve import texts_federation as texts
from reprieve.objects.karmada import GracefulEvictionTask, ResourceBinding, TargetCluster
from reprieve.objects.meta import Condition
from reprieve.policies.federation_bindings import PREEMPTED, SCHEDULED, BindingFacts


class Event(NamedTuple):
    """What is recorded for a victim."""

    unit: str
    reason: str
    message: str


def scheduled(facts: BindingFacts, division: Mapping[str, int]) -> ResourceBinding:
    """A binding with its new replicas beside those it has; that it had lost a cluster is over."""
    total = dict(facts.held)
    for name, replicas in division.items():
        total[name] = total.get(name, 0) + replicas
    placed = _with_clusters(facts.binding, total)
    others = tuple(item for item in placed.status.conditions if item.type != SCHEDULED)
    return msgspec.structs.replace(placed, status=msgspec.structs.replace(placed.status, conditions=others))


def without(facts: BindingFacts, clusters: set[str]) -> ResourceBinding:
    """A binding that has left some of its clusters; its result in the others stays."""
    return _with_clusters(facts.binding, {name: count for name, count in facts.held.items() if name not in clusters})


def evicted(facts: BindingFacts, cluster: str, preemptor: BindingFacts, now: datetime) -> tuple[ResourceBinding, Event]:
    """A victim that has been told to leave a cluster: it goes gracefully, says why, and is scheduled again."""
    message = texts.preempted(cluster, preemptor.unit, facts.priority, preemptor.priority)
    task = GracefulEvictionTask(
        from_cluster=cluster,
        replicas=facts.held.get(cluster, 0),
        reason=PREEMPTED,
        message=message,
        creation_timestamp=now,
    )
    left = without(facts, {cluster})
    spec = msgspec.structs.replace(left.spec, graceful_eviction_tasks=(*left.spec.graceful_eviction_tasks, task))
    condition = Condition(type=SCHEDULED, status="False", reason=PREEMPTED, message=message, last_transition_time=now)
    others = tuple(item for item in left.status.conditions if item.type != SCHEDULED)
    status = msgspec.structs.replace(left.status, conditions=(*others, condition))
    changed = msgspec.structs.replace(left, spec=spec, status=status)
    return changed, Event(facts.unit, PREEMPTED, message)


def _with_clusters(binding: ResourceBinding, replicas: Mapping[str, int]) -> ResourceBinding:
    clusters = tuple(TargetCluster(name=name, replicas=count) for name, count in replicas.items())
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, clusters=clusters))
