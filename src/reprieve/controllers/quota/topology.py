"""Sends the pods of Jobs and JobSets to the domains that their workloads were admitted in.

Such a Job makes pods that a gate holds back. Each gets the node selector of a domain that lacks one, in the order of
their Jobs and completion indexes, and is let go in the same write. A pod that takes the place of another one gets its
domain.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from reprieve.controllers.pods.job_sets import INDEX as JOB_INDEX
from reprieve.controllers.pods.job_tally import INDEX
from reprieve.controllers.pods.templates import is_finished
from reprieve.controllers.quota import conditions as standing
from reprieve.controllers.quota.shapes import MAIN
from reprieve.controllers.quota.topology_domains import domains_left, is_held, send, topology_of
from reprieve.controllers.runner import OWNED, BaseController
from reprieve.manifests.job_sets import REPLICATED_JOB, UID
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
        self._pods = self.watch(PODS, _maker, {"owner": _maker, "held": _held_of}, concern=_concern, mark=OWNED)

    async def reconcile(self, key: str) -> None:
        if not self._pods.count("held", key):
            return
        pods = [pod for pod in self._pods.by("owner", key) if not is_leaving(pod)]
        held = sorted((pod for pod in pods if is_held(pod)), key=_order)
        for workload in self._workloads.by("owner", key) if held else ():
            if standing.may_run(workload):
                for pod_set in dict.fromkeys(map(_pod_set, held)):
                    topology = topology_of(workload, pod_set)
                    waiting = [pod for pod in held if _pod_set(pod) == pod_set]
                    selectors = domains_left(topology, pod_set, pods) if topology is not None else ()
                    for pod, selector in zip(waiting, selectors, strict=False):
                        await self._send(pod, workload, pod_set, selector)

    async def _send(self, pod: Record, workload: Record, pod_set: str, selector: dict[str, str]) -> None:
        def change(data: dict[str, Any]) -> None:
            send(data, workload, pod_set, selector)

        await self.modify(pod, change)


def _maker(pod: Record) -> Iterable[Hashable]:
    """Whose Workload a pod runs with: its Job's, or that of the JobSet which the Job is of."""
    return (pod.labels[UID],) if UID in pod.labels else by_controller(pod)


def _pod_set(pod: Record) -> str:
    return pod.labels.get(REPLICATED_JOB, MAIN) if UID in pod.labels else MAIN


def _owner(workload: Record) -> Iterable[Hashable]:
    owner = controller_uid(workload)
    return (owner,) if owner else ()


def _held_of(pod: Record) -> Iterable[Hashable]:
    """An index of those that wait for a domain: most never do."""
    return _maker(pod) if is_held(pod) else ()


def _concern(pod: Record) -> tuple[Any, ...]:
    return is_held(pod), is_finished(pod), is_leaving(pod)


def _order(pod: Record) -> tuple[Any, ...]:
    numbers = (pod.labels.get(JOB_INDEX, ""), pod.annotations.get(INDEX, ""))
    known = [int(number) if number.isdecimal() else _LAST for number in numbers]
    return *known, pod.metadata.get("creationTimestamp", ""), pod.name
