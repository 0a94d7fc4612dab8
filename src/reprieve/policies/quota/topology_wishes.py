"""What pod sets ask of topologies, and which flavors that leaves them.

1. A pod set asks by its `topologyRequest`, or by the annotations of its template: required, preferred, unconstrained.
2. One that asks gets only flavors with a topology that has the level it names; one that does not gets none of these,
   unless its queue has no others: then it asks for nothing in particular (unconstrained).
"""

from typing import Any

from reprieve.manifests.kueue import ClusterQueueSpec, PodSet
from reprieve.manifests.kueue_topology import PREFERRED, REQUIRED, UNCONSTRAINED
from reprieve.policies.quota.topology import TopologyLedger
from reprieve.policies.quota.topology_domains import Wish
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


def suits_topology(quota: QuotaWorld, spec: ClusterQueueSpec, pod_set: PodSet, flavor: str) -> bool:
    """Rule 2."""
    ledger = quota.topology
    if ledger is None:
        return asked_by(pod_set) is None
    asked = asked_by(pod_set)
    if asked is None:
        return flavor not in ledger or _only_topologies(ledger, spec)
    return flavor in ledger and (not asked[1] or asked[1] in ledger.levels(flavor))


def _only_topologies(ledger: TopologyLedger, spec: ClusterQueueSpec) -> bool:
    return all(flavor.name in ledger for group in spec.resource_groups for flavor in group.flavors)
