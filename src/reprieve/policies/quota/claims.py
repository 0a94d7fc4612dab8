"""Why a workload gets no quota, with numbers: its queue, its flavors, and what is left of them."""

from collections.abc import Iterable, Iterator, Mapping

from reprieve.engine.claims import (
    ChecksUnusable,
    Claim,
    FlavorMissing,
    FlavorUnsuited,
    NamespaceNotTaken,
    QueueMissing,
    QueueStopped,
    QueueTerminating,
    QuotaShort,
    TopologyMissing,
    TopologyUnsuited,
)
from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.manifests import kueue
from reprieve.policies.quota.checks import inactive as inactive_checks
from reprieve.policies.quota.checks import missing as missing_checks
from reprieve.policies.quota.flavor_labels import suits
from reprieve.policies.quota.topology_wishes import suits_topology
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld


def out_of_queues(quota: QuotaWorld, facts: WorkloadFacts) -> Claim:
    """Why a workload waits in no queue: it names none, or one that is not there, is stopped or does not take it."""
    name, namespace = facts.workload.spec.queue_name, facts.key[0]
    local: kueue.LocalQueue | None = quota.world.get(kueue.LocalQueue, name, namespace)
    if local is None:
        return QueueMissing(queue_kind="LocalQueue", queue=name)
    if local.spec.stop_policy != "None":
        return QueueStopped(queue_kind="LocalQueue", queue=name, policy=local.spec.stop_policy)
    target = local.spec.cluster_queue
    spec = quota.specs.get(target)
    if spec is None:
        return QueueMissing(queue_kind="ClusterQueue", queue=target)
    queue = quota.world.get(kueue.ClusterQueue, target)
    if queue is not None and queue.metadata.deletion_timestamp is not None:
        return QueueTerminating(queue=target)
    if spec.stop_policy != "None":
        return QueueStopped(queue_kind="ClusterQueue", queue=target, policy=spec.stop_policy)
    named = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
    missing = tuple(dict.fromkeys(flavor for flavor in named if flavor not in quota.flavors))
    if missing:
        return FlavorMissing(queue=target, flavors=missing)
    topologies = quota.missing_topologies(named)
    if topologies:
        return TopologyMissing(queue=target, topologies=tuple(topologies))
    checks = [named(spec, quota.checks) for named in (missing_checks, inactive_checks)]
    if any(checks):
        return ChecksUnusable(queue=target, missing=checks[0], inactive=checks[1])
    return NamespaceNotTaken(queue=target, namespace=namespace)


def quota_short(queue: QuotaNode, key: FlavorResource, needed: int) -> QuotaShort:
    """What is left of a flavor for a queue, and what it could be at most."""
    flavor, resource = key
    return QuotaShort(
        queue=queue.name,
        flavor=flavor,
        resource=resource,
        needed=needed,
        used=queue.used(key),
        nominal=queue.quota(key).nominal,
        free=max(0, queue.available(key)),
        most=max(0, queue.most(key)),
        cohort=queue.parent.name if queue.parent is not None else "",
    )


def no_flavor(
    quota: QuotaWorld,
    queue: QuotaNode,
    pod_set: kueue.PodSet,
    flavors: Iterable[str],
    wanted: Mapping[FlavorResource, int],
) -> Iterator[Claim]:
    """Why none of some flavors holds what a pod set asks for; `wanted` with what other pod sets take of it."""
    for name in flavors:
        flavor = quota.flavors.get(name)
        if flavor is not None and not suits(flavor, pod_set.template.spec):
            yield FlavorUnsuited(flavor=name, pod_set=pod_set.name)
            continue
        if not suits_topology(quota, quota.specs[queue.name], pod_set, name):
            yield TopologyUnsuited(flavor=name, pod_set=pod_set.name)
            continue
        for key, needed in wanted.items():
            if key[0] == name and needed > max(0, queue.available(key)):
                yield quota_short(queue, key, needed)
