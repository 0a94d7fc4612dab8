"""What pod sets ask of topologies, and which flavors that leaves them.

1. A pod set asks by its `topologyRequest`, or by the annotations of its template: required, preferred, unconstrained.
2. One that asks gets only flavors with a topology that has the level it names; one that does not gets none of these,
   unless its queue has no others: then it asks for nothing in particular (unconstrained).
3. It may say, in the same two ways, that so many of its pods at a time stay together in one domain of a level: slices.
   That level has to be in the topology, and not above the one that it asks for.
"""

from typing import Any

import msgspec

from reprieve.manifests.kueue import ClusterQueueSpec, PodSet
from reprieve.manifests.kueue_topology import PREFERRED, REQUIRED, SLICE_LEVEL, SLICE_SIZE, UNCONSTRAINED
from reprieve.manifests.pods import pod_slots
from reprieve.manifests.priorities import parse_integer
from reprieve.policies.quota.topology import TopologyLedger
from reprieve.policies.quota.topology_domains import PlaceRequest, Wish
from reprieve.policies.quota.world import QuotaWorld

Asked = tuple[Wish, str]
"""What is wished, and at which level."""


def asked_by(pod_set: PodSet) -> Asked | None:
    said = pod_set.topology_request
    if said is not None:
        named: Any = (("required", said.required), ("preferred", said.preferred))
        found = next(((wish, level) for wish, level in named if level), None)
        return found or (("unconstrained", "") if said.unconstrained else None)
    annotations = pod_set.template.metadata.annotations
    if annotations.get(REQUIRED):
        return "required", annotations[REQUIRED]
    if annotations.get(PREFERRED):
        return "preferred", annotations[PREFERRED]
    return ("unconstrained", "") if annotations.get(UNCONSTRAINED) == "true" else None


def slices_of(pod_set: PodSet) -> tuple[int, str]:
    """How many pods stay together, and in a domain of which level; one: nobody has to."""
    said = pod_set.topology_request
    if said is not None:
        size, level = said.pod_set_slice_size, said.pod_set_slice_required_topology
    else:
        annotations = pod_set.template.metadata.annotations
        size, level = parse_integer(annotations.get(SLICE_SIZE, ""), 32), annotations.get(SLICE_LEVEL)
    return (size, level) if size is not None and size > 1 and level else (1, "")


def place_request(ledger: TopologyLedger, pod_set: PodSet, flavor: str, pods: int) -> PlaceRequest:
    """What so many pods of a set ask of the topology of a flavor."""
    wish, level = asked_by(pod_set) or ("unconstrained", "")
    size, together = slices_of(pod_set)
    spec, levels = pod_set.template.spec, ledger.levels(flavor)
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return PlaceRequest(
        pod_set=pod_set.name,
        flavor=flavor,
        wish=wish,
        level=levels.index(level) if level else len(levels) - 1,
        pods=pods,
        each=tuple(sorted(pod_slots(spec).items())),
        spec=spec,
        says=msgspec.msgpack.encode((spec.tolerations, sorted(spec.node_selector.items()), affinity)),
        size=size,
        slice_level=levels.index(together) if together else 0,
    )


def suits_topology(quota: QuotaWorld, spec: ClusterQueueSpec, pod_set: PodSet, flavor: str) -> bool:
    """Rule 2."""
    ledger = quota.topology
    if ledger is None:
        return asked_by(pod_set) is None and not slices_of(pod_set)[1]
    asked = asked_by(pod_set) or (("unconstrained", "") if slices_of(pod_set)[1] else None)
    if asked is None:
        return flavor not in ledger or _only_topologies(ledger, spec)
    return flavor in ledger and _has_levels(ledger.levels(flavor), asked[1], slices_of(pod_set)[1])


def _has_levels(levels: tuple[str, ...], asked: str, together: str) -> bool:
    if any(level and level not in levels for level in (asked, together)):
        return False
    return not asked or not together or levels.index(asked) <= levels.index(together)


def _only_topologies(ledger: TopologyLedger, spec: ClusterQueueSpec) -> bool:
    return all(flavor.name in ledger for group in spec.resource_groups for flavor in group.flavors)
