"""What of pods and nodes counts for those who wait: versions that are the same in it are no reason to wake anybody."""

from typing import Any

from reprieve.scheduler.mirror import Seen
from reprieve.stores.records import Record


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


def looks_different(seen: Seen) -> bool:
    """Whether others see something else in a pod than before: its labels, or that it leaves."""
    return seen.old is not None and seen.new is not None and _looks(seen.old) != _looks(seen.new)


def _looks(record: Record) -> tuple[Any, ...]:
    return record.manifest.metadata.labels, record.manifest.terminating


def keeps_away(record: Record) -> bool:
    """Whether a pod keeps others away that do not mind the pods around them themselves."""
    affinity = record.manifest.spec.affinity
    return affinity is not None and affinity.pod_anti_affinity is not None and bool(affinity.pod_anti_affinity.required)


def asks_anew(seen: Seen) -> bool:
    """Whether a pod that waits asks for something else now; what the scheduler writes in its status is no reason."""
    if seen.old is None or seen.new is None:
        return True
    old, new = seen.old.manifest, seen.new.manifest
    return bool(old.spec != new.spec or old.metadata.labels != new.metadata.labels)


def offers(record: Record) -> tuple[object, ...]:
    """What a node offers to pods."""
    node = record.manifest
    return node.allocatable, node.metadata.labels, node.spec
