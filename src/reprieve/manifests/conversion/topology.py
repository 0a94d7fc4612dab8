"""Topology assignments of workloads: one by one in v1beta1, in parallel lists in v1beta2."""

from collections.abc import Iterator
from typing import Any

from msgspec import convert

from reprieve.manifests.kueue_topology import TopologyAssignment, assignment_data, domains_data

Data = dict[str, Any]


def assignments_from_v1beta1(data: Data) -> None:
    for item in _assignments(data):
        if item.get("domains"):
            item |= assignment_data(item["levels"], convert(item, TopologyAssignment).all_domains())
            del item["domains"]


def assignments_to_v1beta1(data: Data) -> None:
    for item in _assignments(data):
        if item.get("slices"):
            item["domains"] = domains_data(convert(item, TopologyAssignment).all_domains())
            del item["slices"]


def _assignments(data: Data) -> Iterator[Data]:
    admission = (data.get("status") or {}).get("admission") or {}
    for pod_set in admission.get("podSetAssignments") or ():
        if pod_set.get("topologyAssignment"):
            yield pod_set["topologyAssignment"]
