"""Which domain each pod of a workload with a topology assignment is sent to: as many to each as the assignment says."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import convert

from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota.shapes import MAIN, assignment_of, set_or_drop
from reprieve.manifests.kueue_topology import (
    GATE,
    POD_SET_LABEL,
    TAS_LABEL,
    WORKLOAD_ANNOTATION,
    TopologyAssignment,
)
from reprieve.stores.records import Record

Data = dict[str, Any]


def topology_of(workload: Record, pod_set: str = MAIN) -> TopologyAssignment | None:
    found = assignment_of(workload, pod_set).get("topologyAssignment")
    return convert(found, TopologyAssignment) if found else None


def is_held(pod: Record) -> bool:
    """Whether a pod waits for its domain."""
    return any(gate["name"] == GATE for gate in pod.data["spec"].get("schedulingGates") or ())


def domains_left(topology: TopologyAssignment, pod_set: str, pods: Iterable[Record]) -> Iterator[dict[str, str]]:
    """Node selectors for pods that have none yet: one for each that is missing in a domain, domain by domain."""
    there = [pod for pod in pods if pod.labels.get(POD_SET_LABEL) == pod_set and not is_finished(pod)]
    for values, count in topology.all_domains():
        selector = dict(zip(topology.levels, values, strict=False))
        taken = sum(selector.items() <= (pod.data["spec"].get("nodeSelector") or {}).items() for pod in there)
        for _ in range(count - taken):
            yield selector


def send(data: Data, workload: Record, pod_set: str, selector: dict[str, str]) -> None:
    """Send a pod to a domain, and let it go."""
    spec, metadata = data["spec"], data["metadata"]
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
    set_or_drop(spec, "schedulingGates", [gate for gate in spec.get("schedulingGates") or () if gate["name"] != GATE])
    metadata["labels"] = {**(metadata.get("labels") or {}), TAS_LABEL: "true", POD_SET_LABEL: pod_set}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), WORKLOAD_ANNOTATION: workload.name}
