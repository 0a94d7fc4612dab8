"""What workloads may ask of their preemption, as the quota policy counts it; nothing changes where nobody asks."""

from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.kueue_annotations import cost_milestones, ends_when_preempted, wait_seconds

_SECOND = 1_000_000


def seconds_to_wait(workload: QuotaWorkload, default: int) -> int:
    """How long it waits before it may preempt: as it says, else as the settings say."""
    said = wait_seconds(workload.metadata.annotations)
    return default if said is None else said


def ends(workload: QuotaWorkload) -> bool:
    return ends_when_preempted(workload.metadata.annotations)


def disruption_cost(workload: QuotaWorkload, reserved_at: int, now: int) -> int:
    """What an interruption costs now, in thousandths: from 0 at the start, linear between milestones, level after."""
    running = max(0, now - reserved_at)
    before = (0, 0)
    for seconds, cost in cost_milestones(workload.metadata.annotations):
        if running < seconds * _SECOND:
            passed, span = running - before[0] * _SECOND, (seconds - before[0]) * _SECOND
            return before[1] * 1000 + (cost - before[1]) * 1000 * passed // span
        before = (seconds, cost)
    return before[1] * 1000
