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
    SLICE_LEVEL,
    SLICE_SIZE,
    UNCONSTRAINED,
    PodSetTopologyRequest,
    Topology,
)
from reprieve.manifests.priorities import parse_integer
from reprieve.manifests.problems import Finding, did_you_mean, found, join_path, show

_ONE = "allowed: one of required, preferred and unconstrained"
WISHES = frozenset((REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_SIZE, SLICE_LEVEL, *LEFT_OUT))


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


def check_request(path: str, request: PodSetTopologyRequest | None, pods: int) -> Iterator[Finding]:
    """What a pod set of a Workload asks for."""
    if request is None:
        return
    if sum(map(bool, (request.required, request.preferred, request.unconstrained))) > 1:
        yield Finding(path, "found more than one wish", _ONE)
    if request.pod_set_group_name is not None:
        yield _left_out(f"{path}.podSetGroupName")
    level, size = request.pod_set_slice_required_topology, request.pod_set_slice_size
    if (level is None) != (size is None):
        field, other = ("podSetSliceSize", "podSetSliceRequiredTopology")[:: 1 if size is None else -1]
        yield Finding(f"{path}.{field}", "missing", f"it is needed beside {other}")
    if size and pods % size:
        right = f"allowed: a size that {pods} pods can be divided by"
        yield Finding(f"{path}.podSetSliceSize", found(size), right)


def check_wishes(path: str, annotations: Mapping[str, str]) -> Iterator[Finding]:
    """What the annotations of pods or their templates ask for."""
    if WISHES.isdisjoint(annotations):
        return
    asked = [name for name in (REQUIRED, PREFERRED, UNCONSTRAINED) if name in annotations]
    if len(asked) > 1:
        yield Finding(join_path(path, asked[1]), f"found beside {asked[0]}", _ONE)
    if annotations.get(UNCONSTRAINED) not in (None, "true", "false"):
        yield Finding(join_path(path, UNCONSTRAINED), found(annotations[UNCONSTRAINED]), "allowed: true, false")
    size = annotations.get(SLICE_SIZE)
    if size is not None and (parse_integer(size, 32) or 0) < 1:
        yield Finding(join_path(path, SLICE_SIZE), found(size), "allowed: a number of pods, at least 1")
    if (SLICE_LEVEL in annotations) != (SLICE_SIZE in annotations):
        there, other = (SLICE_SIZE, SLICE_LEVEL)[:: 1 if SLICE_SIZE in annotations else -1]
        yield Finding(join_path(path, there), f"found without {other}", "allowed: both or none")
    for name in LEFT_OUT:
        if name in annotations:
            yield _left_out(join_path(path, name))


def _left_out(place: str) -> Finding:
    message = "it is not supported: pod sets are placed as if it were not there"
    return Finding(place, message, "", "", "warning")
