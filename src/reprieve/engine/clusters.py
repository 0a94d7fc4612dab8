"""What member clusters have left, from what they report and from what bindings use there.

1. A binding uses a cluster for what its result gives it there and for what is still leaving it.
2. A cluster has left what it last reported, changed by what bindings use more or less since that report. A new report
   is believed: it is taken to know all bindings as they are. A cluster that is written anew with the same amounts, for
   a label or a heartbeat, has reported nothing.
3. A hollow cluster runs nothing but what bindings bring: what it has left is counted, and its reports, which may come
   late, are not needed. So it is never given more than it has.
"""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from reprieve.manifests.karmada import Cluster, ResourceSummary, is_hollow
from reprieve.model.resources import NOTHING, Resources

Uses = Mapping[str, Resources]


class Usage:
    """What all bindings use, by cluster."""

    def __init__(self) -> None:
        self._by_binding: dict[Hashable, Uses] = {}
        self._total: dict[str, Resources] = {}

    def of(self, cluster: str) -> Resources:
        return self._total.get(cluster, NOTHING)

    def put(self, binding: Hashable, now: Uses) -> set[str]:
        """A binding uses this now; the clusters where that is a change."""
        before = self._by_binding.pop(binding, {})
        if now:
            self._by_binding[binding] = now
        changed = {name for name in {*before, *now} if before.get(name, NOTHING) != now.get(name, NOTHING)}
        for name in changed:
            self._total[name] = self.of(name) - before.get(name, NOTHING) + now.get(name, NOTHING)
        return changed


class _Report(NamedTuple):
    summary: ResourceSummary
    hollow: bool
    counted: Resources
    """What bindings used when the report came: it is taken to be in it."""


class ClusterLedger:
    """What each cluster has left, brought up to date with every report and every binding."""

    def __init__(self) -> None:
        self.free: dict[str, Resources] = {}
        self.usage = Usage()
        self._reports: dict[str, _Report] = {}

    def report(self, cluster: Cluster) -> None:
        summary = cluster.status.resource_summary or ResourceSummary()
        last = self._reports.get(cluster.name)
        counted = last.counted if last is not None and last.summary == summary else self.usage.of(cluster.name)
        self._reports[cluster.name] = _Report(summary, is_hollow(cluster), counted)
        self._count(cluster.name)

    def forget(self, cluster: str) -> None:
        self._reports.pop(cluster, None)
        self.free.pop(cluster, None)

    def put(self, binding: Hashable, now: Uses) -> None:
        for name in self.usage.put(binding, now):
            self._count(name)

    def _count(self, cluster: str) -> None:
        report = self._reports.get(cluster)
        if report is None:
            return
        used, summary = self.usage.of(cluster), report.summary
        if report.hollow:
            self.free[cluster] = summary.allocatable - used
        else:
            reported = summary.allocatable - summary.allocated - summary.allocating
            self.free[cluster] = reported - (used - report.counted)


def smaller(one: Resources, other: Resources) -> Resources:
    """The smaller amount of each resource."""
    return one - (one - other).positive()


def less(free: Resources, held: Resources) -> Resources:
    """What is left of something when another one holds a part of it: never less than nothing because of that."""
    return free - smaller(held, free.positive())
