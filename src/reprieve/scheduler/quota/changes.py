"""What of quota workloads and queues counts for workloads that wait."""

from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.meta import find_condition
from reprieve.stores.records import Record


class QuotaState:
    """What counts of a quota workload: whether it waits, uses quota, or has been told to go."""

    __slots__ = ("evicted", "uses", "waits")

    def __init__(self, record: Record | None) -> None:
        self.waits = self.uses = self.evicted = False
        if record is None:
            return
        workload: QuotaWorkload = record.manifest
        over = _is(workload, "Finished")
        admitted = workload.status.admission is not None
        self.uses = admitted and not over
        self.waits = not admitted and not over and workload.spec.active and not _is(workload, "Requeued", "False")
        self.evicted = _is(workload, "Evicted")


def _is(workload: QuotaWorkload, kind: str, status: str = "True") -> bool:
    found = find_condition(workload.status.conditions, kind)
    return found is not None and found.status == status


def generation(record: Record | None) -> object:
    return record.metadata.get("generation") if record is not None else None


def spec_of(record: Record | None) -> object:
    return None if record is None else {k: v for k, v in record.data.items() if k not in ("metadata", "status")}
