"""Sends the pods of Jobs to the domains that their workloads were admitted in.

Such a Job makes pods that a gate holds back. Each gets the node selector of a domain that lacks one, in the order of
their completion indexes, and is let go in the same write. A pod that takes the place of another one gets its domain.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from reprieve.controllers.pods.job_tally import INDEX
from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota.shapes import MAIN
from reprieve.controllers.quota.topology_domains import domains_left, is_held, send, topology_of
from reprieve.controllers.runner import OWNED, BaseController
from reprieve.manifests.kinds import PODS, QUOTA_WORKLOADS
from reprieve.model.clock import Clock
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, controller_uid, is_leaving

_LAST = 2**31


class TopologyUngater(BaseController):
    component = "reprieve-quota"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._workloads = self.watch(QUOTA_WORKLOADS, _owner, {"owner": _owner})
        self._pods = self.watch(PODS, by_controller, {"owner": by_controller}, concern=_concern, mark=OWNED)

    async def reconcile(self, key: str) -> None:
        pods = [pod for pod in self._pods.by("owner", key) if not is_leaving(pod)]
        held = sorted((pod for pod in pods if is_held(pod)), key=_order)
        for workload in self._workloads.by("owner", key) if held else ():
            topology = topology_of(workload)
            if topology is not None and standing.may_run(workload):
                for pod, selector in zip(held, domains_left(topology, MAIN, pods), strict=False):
                    await self._send(pod, workload, selector)

    async def _send(self, pod: Record, workload: Record, selector: dict[str, str]) -> None:
        def change(data: dict[str, Any]) -> None:
            send(data, workload, MAIN, selector)

        await self.modify(pod, change)


def _owner(workload: Record) -> Iterable[Hashable]:
    owner = controller_uid(workload)
    return (owner,) if owner else ()


def _concern(pod: Record) -> tuple[Any, ...]:
    return is_held(pod), is_finished(pod), is_leaving(pod)


def _order(pod: Record) -> tuple[Any, ...]:
    index = pod.annotations.get(INDEX, "")
    return int(index) if index.isdecimal() else _LAST, pod.metadata.get("creationTimestamp", ""), pod.name
