"""What a plan does to bindings, as new objects: whoever commits it writes them; nothing is changed here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from reprieve.engine.holds import HOLD_ANNOTATION, Hold
from reprieve.manifests.karmada import GracefulEvictionTask, ResourceBinding, TargetCluster
from reprieve.manifests.meta import Condition
from reprieve.policies.federation.bindings import PREEMPTED, SCHEDULED, BindingFacts
from reprieve.policies.federation.evictions import EVICTED_ANNOTATION, evictions_of, settled, written
from reprieve.texts import federation as texts


class Event(NamedTuple):
    """What is recorded for a victim."""

    unit: str
    reason: str
    message: str


def scheduled(facts: BindingFacts, division: Mapping[str, int]) -> ResourceBinding:
    """A binding with its new replicas beside those it has; that it had lost a cluster, or held a place, is over."""
    placed = _settled(held(_with_clusters(facts.binding, after(facts, division)), None))
    others = tuple(item for item in placed.status.conditions if item.type != SCHEDULED)
    return msgspec.structs.replace(placed, status=msgspec.structs.replace(placed.status, conditions=others))


def after(facts: BindingFacts, division: Mapping[str, int]) -> dict[str, int]:
    """Where a binding is, and with how many replicas, when a division has been added to what it has."""
    total = dict(facts.held)
    for name, replicas in division.items():
        total[name] = total.get(name, 0) + replicas
    return total if facts.style == "Duplicated" else {name: count for name, count in total.items() if count}


def held(binding: ResourceBinding, hold: Hold | None) -> ResourceBinding:
    """A binding that holds a place, or that holds none any more."""
    said = {key: value for key, value in binding.metadata.annotations.items() if key != HOLD_ANNOTATION}
    if hold is not None:
        said[HOLD_ANNOTATION] = hold.text()
    return msgspec.structs.replace(binding, metadata=msgspec.structs.replace(binding.metadata, annotations=said))


def _settled(binding: ResourceBinding) -> ResourceBinding:
    """A binding that waits for no other place any more."""
    said = binding.metadata.annotations
    if EVICTED_ANNOTATION not in said:
        return binding
    said = {**said, EVICTED_ANNOTATION: written(settled(evictions_of(said)))}
    return msgspec.structs.replace(binding, metadata=msgspec.structs.replace(binding.metadata, annotations=said))


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
