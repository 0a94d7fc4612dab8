"""Who belongs together: a Job and its pods, a group and its pods, a Job and the quota workload that waits for it.

1. The attempts of what makes others are those that it made: the pods of a Job, in the order of time. A pod, and
   whatever makes nothing, was tried as itself.
2. What is decided about a pod may be decided about its group, or about the quota workload of whoever made it.
"""

from typing import Any

from reprieve.model.names import kind_of
from reprieve.scheduler.history.objects import WORKLOAD, KnownObject, Objects
from reprieve.scheduler.history.stories import Stories

_MOST_TOLD = 5
_GROUPING = ("PodGroup", "CompositePodGroup", "Workload")


class Families:
    """Relations between the objects that a history knows."""

    def __init__(self, objects: Objects, stories: Stories) -> None:
        self._objects = objects
        self._stories = stories

    def attempts(self, unit: str, uid: str, *, silent: bool = False) -> list[dict[str, Any]]:
        """What a unit was tried as, the oldest first, each with how it stands and since when; with `silent` also those
        that nothing is told of, because nobody here decided about them."""
        below = [] if kind_of(unit) == "Pod" else self._objects.below(unit, uid)
        pods = [each for each in below if kind_of(each.unit) == "Pod"]
        tried = pods or below or self._itself(unit, uid)
        told = [found for each in tried if (found := self._attempt(each) or (_silent(each) if silent else None))]
        return sorted(told, key=lambda each: str(each["first"]))

    def earlier(self, unit: str, uid: str) -> list[dict[str, Any]]:
        """Those who had the same name before, the oldest first."""
        known = self._objects.by_name(unit)
        before = next((place for place, each in enumerate(known) if each.uid == uid), 0)
        return [found for each in known[:before] if (found := self._attempt(each) or _silent(each))]

    def others(self, unit: str, uid: str) -> list[tuple[str, str]]:
        """Who else is to be told of, in the order of time: what belongs to it, and what it is decided about with. Of
        many pods the last few."""
        below = self._objects.below(unit, uid)
        found = [*below, *self._with(uid)] if kind_of(unit) == "Pod" else below
        told = [each for each in found if self._stories.state(each.unit, each.uid) is not None]
        told.sort(key=lambda each: each.first)
        pods = [each for each in told if kind_of(each.unit) == "Pod"]
        left_out = set(pods[:-_MOST_TOLD])
        return list(dict.fromkeys((each.unit, each.uid) for each in told if each not in left_out))

    def evicted_with(self, uid: str) -> str:
        """The quota workload that a pod has to leave with: one that was evicted and is not admitted again. Or empty."""
        beside = [each for each in self._with(uid) if kind_of(each.unit) == WORKLOAD]
        return next((each.unit for each in beside if self._stories.is_evicted(each.unit, each.uid)), "")

    def _with(self, uid: str) -> list[KnownObject]:
        """The group of a pod, and the quota workload of its owner."""
        found: list[KnownObject] = []
        for above in self._objects.above(uid):
            if "/" in above:
                found.append(KnownObject(above, self._objects.uid_of(above), ""))
                continue
            found += (each for each in self._objects.by_uid(above) if kind_of(each.unit) in _GROUPING)
            found += self._objects.workloads_below(above)
        return found

    def _itself(self, unit: str, uid: str) -> list[KnownObject]:
        known = [each for each in self._objects.by_name(unit) if each.uid == uid]
        return known or [KnownObject(unit, uid, "")]

    def _attempt(self, each: KnownObject) -> dict[str, Any] | None:
        stands = self._stories.state(each.unit, each.uid)
        if stands is None:
            return None
        state, since = stands
        return {"unit": each.unit, "uid": each.uid, "first": each.first or since, "state": state, "since": since}


def _silent(each: KnownObject) -> dict[str, Any]:
    """Nothing happened to it that is still known; it was there."""
    since = each.gone or each.first
    state = "deleted" if each.gone else "unknown"
    return {"unit": each.unit, "uid": each.uid, "first": each.first, "state": state, "since": since}
