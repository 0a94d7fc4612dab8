"""Kueue's topologies: how nodes lie to each other, what pod sets ask of that, and where their pods are sent.

An assignment lists domains of the lowest level, each with so many pods. v1beta1 writes them one by one (`domains`),
v1beta2 in parallel lists (`slices`); both are read, whatever the version.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Annotated, Any, Literal

from msgspec import Meta

from reprieve.manifests import meta

HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
GATE = "kueue.x-k8s.io/topology"
"""Holds a pod back until it has the node selector of its domain."""
TAS_LABEL = "kueue.x-k8s.io/tas"
POD_SET_LABEL = "kueue.x-k8s.io/podset"
WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
LEFT_OUT = ("kueue.x-k8s.io/podset-slice-required-topology-constraints", "kueue.x-k8s.io/podset-group-name")
"""Annotations that mean something to Kueue, and nothing here."""
Domain = tuple[tuple[str, ...], int]
"""The values of a domain at the levels of an assignment, and how many pods are there."""


class TopologyLevel(meta.Model):
    node_label: Annotated[str, Meta(min_length=1, max_length=316)]


class TopologySpec(meta.Model):
    levels: Annotated[tuple[TopologyLevel, ...], Meta(min_length=1, max_length=16)]


class Topology(meta.Manifest):
    api_version: Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha1"] = (
        "kueue.x-k8s.io/v1beta2"
    )
    kind: Literal["Topology"] = "Topology"
    spec: TopologySpec

    @property
    def levels(self) -> tuple[str, ...]:
        """Labels of nodes, from the largest domains to the smallest."""
        return tuple(level.node_label for level in self.spec.levels)


class PodSetTopologyRequest(meta.Model):
    """At most one of the first three."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: meta.Count | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: meta.Count | None = None


class TopologyDomainAssignment(meta.Model):
    values: tuple[str, ...]
    count: meta.PositiveCount


class IndividualValues(meta.Model):
    roots: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""


class LevelValues(meta.Model):
    universal: str | None = None
    individual: IndividualValues | None = None

    def all(self, number: int) -> list[str]:
        if self.individual is None:
            return [self.universal or ""] * number
        found = self.individual
        return [f"{found.prefix}{root}{found.suffix}" for root in found.roots]


class PodCounts(meta.Model):
    universal: meta.PositiveCount | None = None
    individual: tuple[meta.PositiveCount, ...] = ()


class TopologyAssignmentSlice(meta.Model):
    domain_count: meta.PositiveCount
    values_per_level: tuple[LevelValues, ...]
    pod_counts: PodCounts

    def domains(self) -> Iterator[Domain]:
        number, said = self.domain_count, self.pod_counts
        counts = said.individual or (said.universal or 1,) * number
        return zip(zip(*(level.all(number) for level in self.values_per_level), strict=False), counts, strict=False)


class TopologyAssignment(meta.Model):
    levels: tuple[str, ...]
    domains: tuple[TopologyDomainAssignment, ...] = ()
    slices: tuple[TopologyAssignmentSlice, ...] = ()

    def all_domains(self) -> list[Domain]:
        return [
            *((item.values, item.count) for item in self.domains),
            *(domain for part in self.slices for domain in part.domains()),
        ]


# Writing


def topology_request(annotations: Mapping[str, str]) -> dict[str, Any]:
    """What the annotations of a template ask for, as a Workload has it; empty: nothing."""
    slices: dict[str, Any] = {}
    size = annotations.get(SLICE_SIZE, "")
    if annotations.get(SLICE_LEVEL) and size.isdecimal():
        slices = {"podSetSliceRequiredTopology": annotations[SLICE_LEVEL], "podSetSliceSize": int(size)}
    if annotations.get(REQUIRED):
        return {"required": annotations[REQUIRED], **slices}
    if annotations.get(PREFERRED):
        return {"preferred": annotations[PREFERRED], **slices}
    return {"unconstrained": True, **slices} if annotations.get(UNCONSTRAINED) == "true" else slices


def assignment_data(levels: Iterable[str], domains: list[Domain]) -> dict[str, Any]:
    """An assignment as v1beta2 writes it: one slice."""
    counts = [count for _, count in domains]
    columns = zip(*(values for values, _ in domains), strict=True)
    part = {
        "domainCount": len(domains),
        "valuesPerLevel": [_level_data(list(values)) for values in columns],
        "podCounts": {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts},
    }
    return {"levels": list(levels), "slices": [part]}


def _level_data(values: list[str]) -> dict[str, Any]:
    if len(set(values)) == 1:
        return {"universal": values[0]}
    prefix = _shared(min(values), max(values))
    said = {"prefix": prefix} if prefix else {}
    return {"individual": {**said, "roots": [value[len(prefix) :] for value in values]}}


def _shared(first: str, last: str) -> str:
    """What the first and the last of some values begin with, and so do all between; something is left of each."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first[:-1], last, strict=False))
    return "".join(letter for letter, _ in same)


def domains_data(domains: Iterable[Domain]) -> list[dict[str, Any]]:
    """The same as v1beta1 writes it."""
    return [{"values": list(values), "count": count} for values, count in domains]
