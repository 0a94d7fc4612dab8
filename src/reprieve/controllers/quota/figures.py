"""Who waits in a queue and who holds how much of its quota, counted from the tree that decisions are made over."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Any

from reprieve.engine.quota_tree import Amounts, FlavorQuota, FlavorResource
from reprieve.manifests.kueue import LocalQueue
from reprieve.manifests.meta import find_condition
from reprieve.model.resources import print_amount
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import World

LocalKey = tuple[str, str]
"""Namespace and name of a LocalQueue."""


class Figures:
    """What one queue has: reserved is what has quota, admitted what may also run."""

    def __init__(self) -> None:
        self.pending = self.reserving = self.admitted = 0
        self._reserved: dict[FlavorResource, int] = {}
        self._used: dict[FlavorResource, int] = {}

    def add_holding(self, facts: WorkloadFacts) -> None:
        self.reserving += 1
        _add(self._reserved, facts.usage)
        condition = find_condition(facts.workload.status.conditions, "Admitted")
        if condition is not None and condition.status == "True":
            self.admitted += 1
            _add(self._used, facts.usage)

    def status(self, nominal: Mapping[FlavorResource, FlavorQuota], *, borrowed: bool) -> dict[str, Any]:
        """As the status of a queue says it; in a LocalQueue nobody borrows."""
        return {
            "pendingWorkloads": self.pending,
            "reservingWorkloads": self.reserving,
            "admittedWorkloads": self.admitted,
            "flavorsReservation": _flavors(self._reserved, nominal, borrowed=borrowed),
            "flavorsUsage": _flavors(self._used, nominal, borrowed=borrowed),
        }


def _add(amounts: dict[FlavorResource, int], more: Amounts) -> None:
    for key, amount in more.items():
        amounts[key] = amounts.get(key, 0) + amount


def _flavors(
    amounts: Mapping[FlavorResource, int], nominal: Mapping[FlavorResource, FlavorQuota], *, borrowed: bool
) -> list[dict[str, Any]]:
    """All flavors and resources that there is quota for, in their order; then what is still used beyond these."""
    flavors: dict[str, list[dict[str, str]]] = {}
    beyond = sorted(key for key, amount in amounts.items() if amount and key not in nominal)
    for key in (*nominal, *beyond):
        flavor, resource = key
        used = amounts.get(key, 0)
        line = {"name": resource, "total": print_amount(resource, used)}
        if borrowed:
            more = used - nominal[key].nominal if key in nominal else used
            line["borrowed"] = print_amount(resource, max(0, more))
        flavors.setdefault(flavor, []).append(line)
    return [{"name": flavor, "resources": lines} for flavor, lines in flavors.items()]


def queue_figures(quota: QuotaWorld, world: World) -> tuple[dict[str, Figures], dict[LocalKey, Figures]]:
    """The figures of every ClusterQueue and every LocalQueue that has any."""
    by_queue: dict[str, Figures] = defaultdict(Figures)
    by_local: dict[LocalKey, Figures] = defaultdict(Figures)
    for name, holding in quota.admitted.items():
        for facts in holding:
            by_queue[name].add_holding(facts)
            by_local[_local(facts)].add_holding(facts)
    waiting = Counter(map(_local, chain(quota.stranded, *quota.waiting.values())))
    for key, number in waiting.items():
        by_local[key].pending += number
        local: LocalQueue | None = world.get(LocalQueue, key[1], key[0])
        if local is not None:
            by_queue[local.spec.cluster_queue].pending += number
    return by_queue, by_local


def _local(facts: WorkloadFacts) -> LocalKey:
    return facts.workload.namespace, facts.workload.spec.queue_name
