"""What of an object counts for others who wait: two versions that are the same in it are no reason to wake anybody."""

from __future__ import annotations

from typing import Any

from reprieve.manifests.meta import find_condition
from reprieve.scheduler.mirror import Seen
from reprieve.stores.records import Record


class QuotaState:
    """What counts of a quota workload: whether it waits, uses quota, or has been told to go."""

    __slots__ = ("evicted", "uses", "waits")

    def __init__(self, record: Record | None) -> None:
        self.waits = self.uses = self.evicted = False
        if record is None:
            return
        workload = record.manifest
        finished = find_condition(workload.status.conditions, "Finished")
        over = finished is not None and finished.status == "True"
        self.uses = workload.status.admission is not None and not over
        requeued = find_condition(workload.status.conditions, "Requeued")
        kept_out = not workload.spec.active or (requeued is not None and requeued.status == "False")
        self.waits = workload.status.admission is None and not over and not kept_out
        evicted = find_condition(workload.status.conditions, "Evicted")
        self.evicted = evicted is not None and evicted.status == "True"


def node_of(record: Record | None) -> str:
    """The node that a pod takes room on."""
    if record is None or record.manifest.finished:
        return ""
    name: str = record.manifest.spec.node_name
    return name


def nomination_of(record: Record | None) -> str:
    """The node on which a pod that waits is promised a place; one that leaves will not take it."""
    if record is None:
        return ""
    pod = record.manifest
    if pod.finished or pod.terminating or pod.spec.node_name:
        return ""
    name: str = pod.status.nominated_node_name
    return name


def company(record: Record) -> tuple[Any, ...]:
    """What others see in a pod: its labels, and whether it stays."""
    return record.manifest.metadata.labels, record.manifest.terminating


def keeps_away(record: Record) -> bool:
    """Whether a pod keeps others away that do not mind their company themselves."""
    affinity = record.manifest.spec.affinity
    return affinity is not None and affinity.pod_anti_affinity is not None and bool(affinity.pod_anti_affinity.required)


def asks_anew(seen: Seen) -> bool:
    """Whether a pod that waits asks for something else now; what the scheduler writes in its status is no reason."""
    if seen.old is None or seen.new is None:
        return True
    old, new = seen.old.manifest, seen.new.manifest
    return bool(old.spec != new.spec or old.metadata.labels != new.metadata.labels)


def offers(record: Record) -> tuple[object, ...]:
    node = record.manifest
    return node.allocatable, node.metadata.labels, node.spec


def generation(record: Record | None) -> object:
    return record.metadata.get("generation") if record is not None else None


def spec_of(record: Record | None) -> object:
    return None if record is None else {k: v for k, v in record.data.items() if k not in ("metadata", "status")}
