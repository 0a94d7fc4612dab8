"""How things stand in queues of quota, under Kueue's names: worked out when somebody asks, from what cycles go by."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.manifests.kueue import ClusterQueue, LocalQueue
from reprieve.manifests.meta import find_condition
from reprieve.model.resources import CPU
from reprieve.policies.quota.workloads import WorkloadFacts, backs_off
from reprieve.policies.quota.world import QuotaWorld

Known = Callable[[WorkloadFacts], bool]
"""Whether a workload that waits is known to be inadmissible as things are."""
_PLACE = ("cohort", "cluster_queue", "flavor", "resource")
_LOCAL = ("name", "namespace")
_NO_WEIGHT = 2**63 - 1
"""The share of a queue that borrows and has no weight, as Kueue reports it."""


class QuotaGauges(Collector):
    def __init__(self, quota: QuotaWorld, inadmissible: Known) -> None:
        self._quota = quota
        self._inadmissible = inadmissible

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: what there is follows from the queues, and whoever registers this must not ask for them yet."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        self._quota.sync()
        yield from self._pending()
        yield from self._holding()
        yield from self._statuses()
        yield from self._quotas()
        if self._quota.settings.fair_sharing.enable:
            yield self._shares()

    # Who waits

    def _pending(self) -> Iterator[GaugeMetricFamily]:
        quota = self._quota
        by_queue = dict.fromkeys(((name, status) for name in quota.queues for status in _STATUSES), 0)
        by_local = dict.fromkeys(((*key, status) for key in self._local_queues() for status in _STATUSES), 0)
        for facts in chain(quota.stranded, *quota.waiting.values()):
            status = "active" if facts.queue is not None and self._is_active(facts) else "inadmissible"
            key = facts.workload.spec.queue_name, facts.workload.namespace
            local: LocalQueue | None = quota.world.get(LocalQueue, *key)
            if local is not None:
                by_local[*key, status] += 1
                if local.spec.cluster_queue in quota.queues:
                    by_queue[local.spec.cluster_queue, status] += 1
        what = "Workloads that wait: in turn (active), or until something changes (inadmissible)."
        yield _family("kueue_pending_workloads", what, ("cluster_queue", "status"), by_queue)
        yield _family("kueue_local_queue_pending_workloads", what, (*_LOCAL, "status"), by_local)

    def _is_active(self, facts: WorkloadFacts) -> bool:
        """The head of a strict queue is tried again and again, and those behind it have not failed."""
        if facts.queue is not None and self._quota.specs[facts.queue.name].queueing_strategy == "StrictFIFO":
            return True
        return not backs_off(facts, self._quota.now) and not self._inadmissible(facts)

    def _local_queues(self) -> Iterator[tuple[str, str]]:
        return ((local.name, local.namespace) for local in self._quota.world.all(LocalQueue))

    # Who has quota

    def _holding(self) -> Iterator[GaugeMetricFamily]:
        quota = self._quota
        holding = [(name, facts) for name, there in quota.admitted.items() for facts in there]
        sets = (("reserving_active", "have quota", holding), ("admitted_active", "are admitted", _admitted(holding)))
        for name, what, there in sets:
            by_queue = Counter((queue,) for queue, _ in there)
            by_local = Counter(_local(facts) for _, facts in there)
            zeros: dict[Any, int] = dict.fromkeys(((name,) for name in quota.queues), 0)
            yield _family(f"kueue_{name}_workloads", f"Workloads that {what}.", ("cluster_queue",), zeros | by_queue)
            zeros = dict.fromkeys(self._local_queues(), 0)
            yield _family(f"kueue_local_queue_{name}_workloads", f"Workloads that {what}.", _LOCAL, zeros | by_local)
        sets = (("reservation", "reserved", holding), ("usage", "used", _admitted(holding)))
        for name, what, there in sets:
            yield from self._amounts(name, what, there)

    def _amounts(self, name: str, what: str, there: list[tuple[str, WorkloadFacts]]) -> Iterator[GaugeMetricFamily]:
        by_queue: Counter[tuple[str, FlavorResource]] = Counter()
        by_local: Counter[tuple[str, str, FlavorResource]] = Counter()
        for queue, facts in there:
            for key, amount in facts.usage.items():
                by_queue[queue, key] += amount
                by_local[*_local(facts), key] += amount
        declared = {(queue, key): 0 for queue, node in self._quota.queues.items() for key in node.quotas}
        every = {
            self._place(self._quota.queues[queue], key): _amount(key, used)
            for (queue, key), used in (declared | by_queue).items()
        }
        local = {(*where, *key): _amount(key, used) for (*where, key), used in by_local.items()}
        sentence = f"What is {what} of each flavor and resource."
        yield _family(f"kueue_cluster_queue_resource_{name}", sentence, _PLACE, every)
        yield _family(f"kueue_local_queue_resource_{name}", sentence, (*_LOCAL, "flavor", "resource"), local)

    # What queues are

    def _statuses(self) -> Iterator[GaugeMetricFamily]:
        quota = self._quota
        by_queue = {
            (queue.name, status): int(status == self._status(queue))
            for queue in quota.world.all(ClusterQueue)
            for status in ("pending", "active", "terminating")
        }
        yield _family("kueue_cluster_queue_status", "1 for its status.", ("cluster_queue", "status"), by_queue)
        by_local = {
            (local.name, local.namespace, active): int((active == "True") == self._is_open(local))
            for local in quota.world.all(LocalQueue)
            for active in ("True", "False")
        }
        yield _family("kueue_local_queue_status", "1 for whether it is active.", (*_LOCAL, "active"), by_local)

    def _status(self, queue: ClusterQueue) -> str:
        if queue.metadata.deletion_timestamp is not None:
            return "terminating"
        return "pending" if queue.name in self._quota.closed else "active"

    def _is_open(self, local: LocalQueue) -> bool:
        name = local.spec.cluster_queue
        return local.spec.stop_policy == "None" and name in self._quota.queues and name not in self._quota.closed

    def _quotas(self) -> Iterator[GaugeMetricFamily]:
        nodes = self._quota.queues.values()
        given = [(self._place(node, key), key, quota) for node in nodes for key, quota in node.quotas.items()]
        nominal = {place: _amount(key, quota.nominal) for place, key, quota in given}
        limits = (
            ("borrowing", {place: (key, quota.borrowing_limit) for place, key, quota in given}),
            ("lending", {place: (key, quota.lending_limit) for place, key, quota in given}),
        )
        yield _family("kueue_cluster_queue_nominal_quota", "Its own quota.", _PLACE, nominal)
        for name, said in limits:
            amounts = {place: _amount(key, limit) for place, (key, limit) in said.items() if limit is not None}
            sentence = f"Its {name} limit; none where it has no limit."
            yield _family(f"kueue_cluster_queue_{name}_limit", sentence, _PLACE, amounts)

    def _shares(self) -> GaugeMetricFamily:
        shares = {(name,): node.share().key for name, node in self._quota.queues.items()}
        values = {labels: _NO_WEIGHT if weightless else share for labels, (weightless, share) in shares.items()}
        sentence = "What it borrows, of what could be borrowed, at worst over resources, divided by its weight."
        return _family("kueue_cluster_queue_weighted_share", sentence, ("cluster_queue",), values)

    def _place(self, node: QuotaNode, key: FlavorResource) -> tuple[str, ...]:
        return (node.parent.name if node.parent is not None else "", node.name, *key)


_STATUSES = ("active", "inadmissible")


def _family(name: str, sentence: str, labels: tuple[str, ...], values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, sentence, labels=labels)
    for each, value in values.items():
        family.add_metric(each, value)
    return family


def _admitted(holding: list[tuple[str, WorkloadFacts]]) -> list[tuple[str, WorkloadFacts]]:
    found = ((name, facts, find_condition(facts.workload.status.conditions, "Admitted")) for name, facts in holding)
    return [(name, facts) for name, facts, said in found if said is not None and said.status == "True"]


def _local(facts: WorkloadFacts) -> tuple[str, str]:
    return facts.workload.spec.queue_name, facts.workload.namespace


def _amount(key: FlavorResource, units: int) -> float:
    """As Prometheus has amounts: cores, bytes, pieces."""
    return units / 1000 if key[1] == CPU else units
