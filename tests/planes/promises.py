"""Nobody leaves in vain for quota, looked at from outside: whoever has preempted gets what its victims left.

In a world in which nothing happens from outside, a workload gives up what it holds when it is admitted, or because a
more important one of its queue was admitted since it has preempted.
"""

from __future__ import annotations

from typing import Any

import msgspec

from reprieve.manifests.kinds import QUOTA_WORKLOADS, WORKLOAD_PRIORITY_CLASSES
from reprieve.stores.records import Record, WatchEvent
from tests.planes.agreement import now
from tests.planes.running import Plane

HOLD = "reprieve.scheduling/hold"


class PromiseKeeper:
    """Sees every version of every quota workload from now on."""

    def __init__(self, plane: Plane) -> None:
        self.faults: list[str] = []
        self.kept = 0
        """How often somebody was admitted who had preempted."""
        self._held: dict[str, list[str]] = {}
        """Whom those who hold something have preempted."""
        self._admitted: set[str] = set()
        self._overtaken: set[str] = set()
        self._known: dict[str, Record] = {}
        self._store = plane.plane.store
        watch = self._store.watch(QUOTA_WORKLOADS, self._store.version)
        watch.feed = self._see

    def _see(self, event: WatchEvent) -> None:
        record = event.record
        before, held = self._held.get(record.uid), _victims(record)
        self._known[record.uid] = record
        if record.data.get("status", {}).get("admission"):
            if record.uid not in self._admitted:
                self._admitted.add(record.uid)
                self._overtake(record)
        else:
            self._admitted.discard(record.uid)
        if held is not None:
            self._held[record.uid] = held
        elif before is not None:
            del self._held[record.uid]
            self._over(record, before)

    def _overtake(self, record: Record) -> None:
        for uid in self._held:
            other = self._known[uid]
            same = record.data["spec"]["queueName"] == other.data["spec"]["queueName"]
            if uid != record.uid and same and self._rank(record) < self._rank(other):
                self._overtaken.add(uid)

    def _rank(self, record: Record) -> tuple[int, str]:
        spec = record.data["spec"]
        if "priority" in spec:
            return -spec["priority"], record.metadata["creationTimestamp"]
        found = now(self._store.get(WORKLOAD_PRIORITY_CLASSES, spec["priorityClassRef"]["name"], ""))
        return -found.data["value"], record.metadata["creationTimestamp"]

    def _over(self, record: Record, victims: list[str]) -> None:
        if record.uid in self._admitted:
            self.kept += 1
        elif record.uid not in self._overtaken:
            self.faults.append(f"{record.unit} gets nothing, and in vain {' and '.join(victims)} had to leave")
        self._overtaken.discard(record.uid)


def _victims(record: Record) -> list[str] | None:
    text = (record.metadata.get("annotations") or {}).get(HOLD)
    if text is None:
        return None
    hold: dict[str, Any] = msgspec.json.decode(text)
    return [victim["unit"] for victim in hold.get("victims", ())]
