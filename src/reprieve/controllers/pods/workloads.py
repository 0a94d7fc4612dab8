"""Workloads that hold their groups: priorities that were not recorded yet, and pods whose own priority is another.

1. The priorities of a Workload are recorded once, from its classes. A store that admits objects does it at once; here
   it is done for those that were made otherwise. A class that is missing is waited for.
2. What counts for its pods is the Workload's priority. Where some of them say something else, the condition
   PodsNotMatchingPriority names them; it goes back to False when none does any more.
"""

from collections.abc import Hashable, Iterable
from typing import Any

from reprieve.controllers.runner import BaseController, own_key, patience_for
from reprieve.manifests.kinds import PODS, PRIORITY_CLASSES, WORKLOADS
from reprieve.manifests.priorities import PriorityClasses, recorded_priorities
from reprieve.manifests.scheduling import Workload
from reprieve.model.clock import Clock
from reprieve.model.conditions import find_condition, set_condition
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import is_leaving
from reprieve.texts import controllers as texts

NOT_MATCHING = "PodsNotMatchingPriority"
_REFERENCE = b'"workloadRef"'


class WorkloadController(BaseController):
    component = "workload-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._workloads = self.watch(WORKLOADS, own_key, {"unrecorded": _unrecorded})
        self._pods = self.watch(
            PODS,
            _workload_of,
            {"workload": _workload_of},
            concern=_what_counts,
            patience=self._patience,
            mark=_REFERENCE,
        )
        self._classes = self.watch(PRIORITY_CLASSES, self._waiting, {"all": lambda _: ("",)})

    def _patience(self, key: Any) -> float:
        return patience_for(self._pods.count("workload", key))

    def _waiting(self, _: Record) -> Iterable[Hashable]:
        """A class that comes may be the one that some have waited for."""
        return [record.key for record in self._workloads.by("unrecorded", "")]

    async def reconcile(self, key: Any) -> None:
        record = self._workloads.get(key[1], key[0])
        if record is None or is_leaving(record) or not record.manifest.holds_groups:
            return
        workload: Workload = record.manifest
        if workload.status.priority is None:
            classes = PriorityClasses(each.manifest for each in self._classes.by("all", ""))
            if not (classes.of_workload(workload).found and classes.to_preempt_workload(workload).found):
                return
            recorded = recorded_priorities(workload, classes)
            record = await self.modify_status(record, lambda status: status.update(recorded), tries=1)
        await self.modify_status(record, lambda status: self._say(status, key), tries=1)

    def _say(self, status: dict[str, Any], key: Any) -> None:
        priority = status["priority"]
        pods = sorted(self._pods.by("workload", key), key=lambda pod: pod.key)
        others = [(pod.name, _priority_of(pod)) for pod in pods if not pod.manifest.finished]
        others = [(name, own) for name, own in others if own != priority]
        if others:
            said = ("True", "PriorityDiffers", texts.pods_not_matching(others, priority))
        else:
            said = ("False", "PrioritiesMatch", texts.pods_match(priority))
        if others or find_condition(status.get("conditions", ()), NOT_MATCHING):
            set_condition(status, NOT_MATCHING, *said, now=self.clock())


def _unrecorded(record: Record) -> Iterable[Hashable]:
    workload: Workload = record.manifest
    return ("",) if workload.holds_groups and workload.status.priority is None else ()


def _workload_of(pod: Record) -> Iterable[Hashable]:
    reference = pod.manifest.spec.workload_ref
    return ((pod.namespace, reference.name),) if reference is not None else ()


def _what_counts(pod: Record) -> tuple[int, bool]:
    return _priority_of(pod), pod.manifest.finished


def _priority_of(pod: Record) -> int:
    return int(pod.manifest.spec.priority or 0)
