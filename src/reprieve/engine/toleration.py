"""Whether a pod tolerates preemption, as its priority class says: one rule, for one pod or for columns of them.

1. The preemptor ranks below the class's minimum-preemptable-priority.
2. And the toleration is for ever (negative seconds), or it is not known when the pod was scheduled, or the seconds
   since then have not passed yet; at the exact moment they have.
3. A class without any of the annotations grants nothing. One that does not exist, or writes no numbers, leaves it open.
"""

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.manifests.priorities import PreemptionToleration, PriorityClasses, preemption_toleration
from reprieve.manifests.scheduling import TOLERATION_PREFIX
from reprieve.world import NEVER

FOR_EVER = NEVER + 1
"""When a toleration ends that has no end: after one that waits to be scheduled."""
NOT_AT_ALL = -1
_SECOND = 1_000_000
_LONGEST = 10**11
"""Seconds; three thousand years are as good as for ever, and can be added to a moment."""


def toleration_against(classes: PriorityClasses, name: str, priority: int) -> PreemptionToleration | None:
    """The toleration of a class, if it grants one and it holds against preemptors of this priority."""
    item = classes.get(name) if name else None
    if item is None or not any(key.startswith(TOLERATION_PREFIX) for key in item.metadata.annotations):
        return None
    policy = preemption_toleration(item)
    return policy if policy is not None and priority < policy.minimum_preemptable_priority else None


def is_unknown(classes: PriorityClasses, name: str) -> bool:
    """Whether a class is named that does not exist: nobody knows what it tolerates."""
    return bool(name) and classes.get(name) is None


def is_unreadable(classes: PriorityClasses, name: str) -> bool:
    """Whether a class says what it tolerates in something other than numbers."""
    item = classes.get(name) if name else None
    return item is not None and preemption_toleration(item) is None


def end_of(seconds: Ints, scheduled: Ints) -> Ints:
    """When tolerations of so many seconds are over, for pods that were scheduled then."""
    limited = np.where(scheduled == NEVER, NEVER, scheduled + np.clip(seconds, 0, _LONGEST) * _SECOND)
    return np.where(seconds < 0, FOR_EVER, limited)


def tolerates_until(policy: PreemptionToleration | None, scheduled: int) -> int:
    """The same for one pod: until when it tolerates; it does as long as that is ahead."""
    if policy is None:
        return NOT_AT_ALL
    return int(end_of(np.int64(policy.toleration_seconds), np.int64(scheduled)))  # type: ignore[arg-type]
