"""Workloads that were admitted on a node which fails: they make a new start elsewhere.

1. Only where the lowest level of a topology are nodes (kubernetes.io/hostname): larger domains outlive a node.
2. A node has failed when it is gone, or has not been ready for 30 seconds. Its name is written on each workload whose
   assignment names it (status.unhealthyNodes), unless all of its pods there have done their work.
3. Such a workload is evicted (reason NodeFailures) and queued again at once: what it gets is decided as for everybody.
"""

from collections.abc import Hashable, Iterable
from datetime import timedelta
from typing import Any

from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota.leaving import QuotaLeaving
from reprieve.controllers.quota.topology_domains import topology_of
from reprieve.controllers.runner import earliest, own_key
from reprieve.manifests.kinds import NODES, PODS, QUOTA_WORKLOADS
from reprieve.manifests.kueue_topology import HOSTNAME, POD_SET_LABEL, WORKLOAD_ANNOTATION
from reprieve.model.clock import Clock, moment_of
from reprieve.model.conditions import condition_of
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import controllers as texts

REASON = "NodeFailures"
PATIENCE = timedelta(seconds=30)
_MARK = WORKLOAD_ANNOTATION.encode()


class QuotaNodeFailures(QuotaLeaving):
    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._workloads = self.watch(QUOTA_WORKLOADS, own_key, {"node": _hosts})
        self._nodes = self.watch(NODES, self._on, concern=_health)
        self._pods = self.watch(PODS, _workload_of, {"workload": _workload_of}, concern=is_finished, mark=_MARK)

    def _on(self, node: Record) -> Iterable[Hashable]:
        return [workload.key for workload in self._workloads.by("node", node.name)]

    async def reconcile(self, key: tuple[str, str]) -> float | None:
        workload = self._workloads.get(key[1], key[0])
        if workload is None or is_leaving(workload) or not standing.may_run(workload):
            return None
        left = {name: self._seconds_left(name) for name in _hosts(workload) if not self._has_done(workload, name)}
        failed = sorted(name for name, seconds in left.items() if seconds is not None and seconds <= 0)
        if not failed:
            return earliest(*left.values())

        def say(status: dict[str, Any]) -> None:
            status["unhealthyNodes"] = [{"name": name} for name in failed]

        workload = await self.modify_status(workload, say)
        await self.evict(workload, REASON, texts.nodes_failed(failed))
        return None

    def _seconds_left(self, name: str) -> float | None:
        """Until it counts as failed; None: it is well."""
        node = self._nodes.get(name)
        if node is None:
            return 0.0
        ready = condition_of(node.data, "Ready")
        if not ready or ready.get("status") == "True":
            return None
        since = moment_of(ready.get("lastTransitionTime") or node.metadata["creationTimestamp"])
        return (since + PATIENCE - self.clock()).total_seconds()

    def _has_done(self, workload: Record, node: str) -> bool:
        """Whether all that were to run there have done their work."""
        pods = [pod for pod in self._pods.by("workload", workload.key) if _selects(pod, node)]
        meant = sum(count for host, count in _assigned(workload) if host == node)
        return len(pods) >= meant > 0 and all(is_finished(pod) for pod in pods)


def _assigned(workload: Record) -> Iterable[tuple[str, int]]:
    """The nodes that its assignments name, each with how many pods."""
    for item in (standing.admission_of(workload) or {}).get("podSetAssignments", ()):
        topology = topology_of(workload, item["name"]) if "topologyAssignment" in item else None
        if topology is not None and topology.levels[-1:] == (HOSTNAME,):
            yield from ((values[-1], count) for values, count in topology.all_domains())


def _hosts(workload: Record) -> Iterable[str]:
    return list(dict.fromkeys(host for host, _ in _assigned(workload))) if standing.holds_quota(workload) else ()


def _workload_of(pod: Record) -> Iterable[Hashable]:
    name = pod.annotations.get(WORKLOAD_ANNOTATION)
    return ((pod.namespace, name),) if name and POD_SET_LABEL in pod.labels else ()


def _selects(pod: Record, node: str) -> bool:
    return bool((pod.data["spec"].get("nodeSelector") or {}).get(HOSTNAME) == node)


def _health(node: Record) -> tuple[Any, ...]:
    ready = condition_of(node.data, "Ready")
    return ready.get("status"), ready.get("lastTransitionTime")
