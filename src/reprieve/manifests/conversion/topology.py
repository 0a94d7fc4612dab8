"""Topology assignments of workloads: one by one in v1beta1, in parallel lists in v1beta2.

Only what says the same in both forms is written in the other one: what Reprieve or Kueue has made, and no more than it.
Anything else stays as it is; both forms are read in all versions.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from reprieve.manifests.kueue_topology import TopologyAssignment, assignment_data, domains_data

Data = dict[str, Any]


def assignments_from_v1beta1(data: Data) -> None:
    for item in _assignments(data):
        if _is_plain(item) and item["domains"] == domains_data(_read(item).all_domains()):
            item["slices"] = assignment_data(item["levels"], _read(item).all_domains())["slices"]
            del item["domains"]


def assignments_to_v1beta1(data: Data) -> None:
    for item in _assignments(data):
        found = _read(item).all_domains() if set(item) == {"levels", "slices"} else []
        if found and _fits(item["levels"], found) and item == assignment_data(item["levels"], found):
            item["domains"] = domains_data(found)
            del item["slices"]


def _is_plain(item: Data) -> bool:
    return set(item) == {"levels", "domains"} and _fits(item["levels"], _read(item).all_domains())


def _fits(levels: list[str], domains: list[Any]) -> bool:
    """Whether every domain has a value for each level."""
    return bool(levels and domains) and all(len(values) == len(levels) for values, _ in domains)


def _read(item: Data) -> TopologyAssignment:
    return msgspec.convert(item, TopologyAssignment)


def _assignments(data: Data) -> Iterator[Data]:
    admission = (data.get("status") or {}).get("admission") or {}
    for pod_set in admission.get("podSetAssignments") or ():
        if pod_set.get("topologyAssignment"):
            yield pod_set["topologyAssignment"]
