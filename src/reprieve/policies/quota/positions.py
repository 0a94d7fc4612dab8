"""Where in its queue a workload waits: the very order in which a cycle lets workloads have their turn."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from reprieve.manifests.kueue import LocalQueue
from reprieve.policies.quota.workloads import WorkloadFacts, head_order
from reprieve.policies.quota.world import QuotaWorld


class PlaceInLine(NamedTuple):
    """How many stand before a workload."""

    facts: WorkloadFacts
    in_cluster_queue: int
    in_local_queue: int


def positions(quota: QuotaWorld, cluster_queue: str) -> Iterator[PlaceInLine]:
    """All who wait in a ClusterQueue, the first one first; those of one that admits nobody keep their order."""
    waiting = quota.waiting.get(cluster_queue, [])
    shut = [facts for facts in quota.stranded if _waits_for(quota, facts) == cluster_queue]
    before: Counter[tuple[str, str]] = Counter()
    for index, facts in enumerate(chain(waiting, sorted(shut, key=head_order))):
        local = facts.workload.namespace, facts.workload.spec.queue_name
        yield PlaceInLine(facts, index, before[local])
        before[local] += 1


def _waits_for(quota: QuotaWorld, facts: WorkloadFacts) -> str:
    """The ClusterQueue that it will have its turn in; none where its LocalQueue is not there, or stopped."""
    local: LocalQueue | None = quota.world.get(LocalQueue, facts.workload.spec.queue_name, facts.workload.namespace)
    return local.spec.cluster_queue if local is not None and local.spec.stop_policy == "None" else ""
