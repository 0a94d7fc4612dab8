"""What workloads may ask of their preemption, as the quota policy counts it; nothing changes where nobody asks."""

from typing import NamedTuple

from reprieve.manifests.kueue import ClusterQueueSpec, QuotaWorkload
from reprieve.manifests.kueue_annotations import wait_seconds


class Wait(NamedTuple):
    """How long a workload waits before it may preempt."""

    seconds: int
    from_attempt: bool = False
    """Counted from the first time that it was attempted; else from its creation."""


def wait_of(workload: QuotaWorkload, queue: ClusterQueueSpec, default: int) -> Wait:
    """As it says itself, else as its queue says, else as the settings say."""
    said = wait_seconds(workload.metadata.annotations)
    if said is not None:
        return Wait(said)
    of_queue = queue.preemption.trigger_after_workload_waiting_seconds
    if of_queue is None:
        of_queue = queue.wait_before_preemption_seconds
    return Wait(default) if of_queue is None else Wait(of_queue, from_attempt=True)
