"""Kueue's topologies, and what flavors, workloads and templates say about them."""

from collections.abc import Iterator, Mapping

from reprieve.manifests import kueue
from reprieve.manifests.admission.metadata import check_unique
from reprieve.manifests.admission.neighbours import Neighbours
from reprieve.manifests.kueue_topology import (
    HOSTNAME,
    LEFT_OUT,
    PREFERRED,
    REQUIRED,
    UNCONSTRAINED,
    PodSetTopologyRequest,
    Topology,
)
from reprieve.manifests.problems import Finding, did_you_mean, found, join_path, show

_FIELDS_LEFT_OUT = ("podSetGroupName", "podSetSliceRequiredTopology", "podSetSliceSize")
_ONE = "allowed: one of required, preferred and unconstrained"


def check_topology(topology: Topology, _: Neighbours) -> Iterator[Finding]:
    path = "$.spec.levels"
    yield from check_unique(path, list(topology.levels), "nodeLabel")
    for index, level in enumerate(topology.levels[:-1]):
        if level == HOSTNAME:
            yield Finding(f"{path}[{index}].nodeLabel", found(level), "allowed: only as the last level")


def check_flavor_topology(flavor: kueue.ResourceFlavor, neighbours: Neighbours) -> Iterator[Finding]:
    name = flavor.spec.topology_name
    if not name:
        return
    if not flavor.spec.node_labels:
        yield Finding("$.spec.nodeLabels", "missing", "a flavor with a topologyName needs at least one label")
    known = neighbours.names("Topology")
    if name not in known:
        message = f"there is no Topology {show(name)}, so nothing is admitted on it"
        yield Finding("$.spec.topologyName", message, "", did_you_mean(name, known), "warning")


def check_request(path: str, request: PodSetTopologyRequest | None) -> Iterator[Finding]:
    """What a pod set of a Workload asks for."""
    if request is None:
        return
    if sum(map(bool, (request.required, request.preferred, request.unconstrained))) > 1:
        yield Finding(path, "found more than one wish", _ONE)
    said = (request.pod_set_group_name, request.pod_set_slice_required_topology, request.pod_set_slice_size)
    for field, value in zip(_FIELDS_LEFT_OUT, said, strict=True):
        if value is not None:
            yield _left_out(f"{path}.{field}")


def check_wishes(path: str, annotations: Mapping[str, str]) -> Iterator[Finding]:
    """What the annotations of pods or their templates ask for."""
    asked = [name for name in (REQUIRED, PREFERRED, UNCONSTRAINED) if name in annotations]
    if len(asked) > 1:
        yield Finding(join_path(path, asked[1]), f"found beside {asked[0]}", _ONE)
    if annotations.get(UNCONSTRAINED) not in (None, "true", "false"):
        yield Finding(join_path(path, UNCONSTRAINED), found(annotations[UNCONSTRAINED]), "allowed: true, false")
    for name in LEFT_OUT:
        if name in annotations:
            yield _left_out(join_path(path, name))


def _left_out(place: str) -> Finding:
    message = "it is not supported: slices and groups of pod sets are placed as if it were not there"
    return Finding(place, message, "", "", "warning")
