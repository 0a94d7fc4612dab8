"""Workloads that a cycle need not tell apart: what one of them was nominated for, all of them are.

Everybody is nominated over the tree as it was when the cycle began. That goes by the queue of a workload, its pods and
its priority; by its age only where its queue preempts newer ones of the same priority, and then by who these are.
Whoever has preempted is nominated by itself: what it was promised, and whom it has preempted, is its own.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from reprieve.engine.claims import Claim
from reprieve.engine.quota_tree import QuotaNode
from reprieve.engine.reasons import GateOff
from reprieve.manifests.kueue import PodSet
from reprieve.manifests.pods import pod_requests
from reprieve.policies.quota.topology_wishes import asked_by
from reprieve.policies.quota.view import Nomination, WorkloadView
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld

_NEWER = "LowerOrNewerEqualPriority"
Kind = tuple[object, ...]


class _Known(NamedTuple):
    """All that nominating one has brought."""

    nomination: Nomination
    short: list[Claim]
    off: dict[str, GateOff]


class NominatedAlike:
    """What the workloads of one cycle were nominated for, by their kind."""

    def __init__(self, quota: QuotaWorld) -> None:
        self._quota = quota
        self._known: dict[Kind, _Known] = {}
        self._times: dict[QuotaNode, dict[int, list[int]]] = {}

    def nominate(self, view: WorkloadView, nominate: Callable[[WorkloadView], Nomination]) -> None:
        """As one was that is alike; else by itself."""
        kind = self._kind(view) if _has_no_past(view.facts) else None
        known = self._known.get(kind) if kind is not None else None
        if known is not None:
            view.nominate(known.nomination)
            view.short, view.off = list(known.short), dict(known.off)
            return
        nomination = nominate(view)
        view.nominate(nomination)
        if kind is not None:
            self._known[kind] = _Known(nomination, list(view.short), dict(view.off))

    def _kind(self, view: WorkloadView) -> Kind:
        facts, preemption = view.facts, view.spec.preemption
        newer = self._newer(view.queue, facts) if preemption.within_cluster_queue == _NEWER else 0
        return view.queue, facts.boosted, newer, _pods(facts)

    def _newer(self, queue: QuotaNode, facts: WorkloadFacts) -> int:
        """How many are newer that have its priority in its queue: of two with as many, it is the same ones."""
        if queue not in self._times:
            self._times[queue] = _times(self._quota.admitted[queue.name])
        times = self._times[queue].get(facts.boosted, [])
        return len(times) - bisect_right(times, facts.order_time)


def _has_no_past(facts: WorkloadFacts) -> bool:
    return facts.hold is None and not facts.has_preempted


def _times(workloads: Iterable[WorkloadFacts]) -> dict[int, list[int]]:
    """Since when workloads are there, by priority, in order."""
    times: dict[int, list[int]] = {}
    for facts in workloads:
        times.setdefault(facts.boosted, []).append(facts.order_time)
    for of_priority in times.values():
        of_priority.sort()
    return times


def _pods(facts: WorkloadFacts) -> Kind:
    """What it asks for, and all that says which flavors suit it; not what its pods run."""
    if not facts.pods:
        facts.pods = tuple(map(_pod_set, facts.pod_sets))
    return facts.pods


def _pod_set(item: PodSet) -> Kind:
    spec = item.template.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    places = spec.tolerations, sorted(spec.node_selector.items()), affinity
    # Amounts in their order: it is the one in which a person reads what is not covered.
    size = item.name, item.count, item.min_count
    return *size, *pod_requests(spec).items(), asked_by(item), msgspec.msgpack.encode(places)
