"""Quota workloads as decisions see them: what they use, who is asked to leave first, and who is at the head."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert
from msgspec.structs import replace

from reprieve.engine.holds import HeldVictim, Hold, hold_of
from reprieve.engine.lost_work import disruption_cost
from reprieve.engine.quota_tree import FlavorResource, QuotaNode
from reprieve.manifests import kueue
from reprieve.manifests.kueue_annotations import Milestones
from reprieve.manifests.meta import Condition, find_condition
from reprieve.manifests.pods import pod_requests
from reprieve.model.names import unit_name
from reprieve.model.resources import Resources
from reprieve.policies.quota.repetition import PREEMPTED_ANNOTATION, hash_of
from reprieve.policies.quota.topology import Places, TopologyLedger
from reprieve.texts import quota as texts
from reprieve.world import NEVER, microseconds

CHECKED, NOT_READY = "AdmissionCheck", "PodsReadyTimeout"
_REQUEUED = (CHECKED, NOT_READY)
_Moment = Annotated[datetime, Meta(tz=True)]


Order = tuple[Any, ...]
Importance = tuple[int, int]


class WorkloadFacts:
    """What decisions ask about a quota workload."""

    __slots__ = (
        "attempted_at",
        "boosted",
        "created",
        "digest",
        "evicted",
        "has_preempted",
        "hold",
        "key",
        "milestones",
        "order_time",
        "places",
        "pod_sets",
        "pods",
        "priority",
        "queue",
        "rank",
        "requeued",
        "reserved_at",
        "topology",
        "uid",
        "unit",
        "usage",
        "workload",
    )

    def __init__(
        self,
        workload: kueue.QuotaWorkload,
        priority: int,
        boost: int,
        queue: QuotaNode | None,
        created: int,
        milestones: Milestones = (),
        anew: Collection[str] = _REQUEUED,
        pod_sets: tuple[kueue.PodSet, ...] | None = None,
    ) -> None:
        """`anew`: who was evicted for such a reason is put in order by when that was. `pod_sets`: with all that its
        pods do not say themselves."""
        self.workload = workload
        self.key = (workload.namespace, workload.name)
        self.unit = unit_name("Workload", *self.key)
        self.uid = workload.metadata.uid
        self.priority = priority
        self.boosted = priority + boost
        self.queue = queue
        self.created = created
        conditions = workload.status.conditions
        evicted = find_condition(conditions, "Evicted")
        self.evicted = evicted is not None and evicted.status == "True"
        self.requeued = self.evicted and evicted is not None and evicted.reason in _REQUEUED
        counts = self.requeued and evicted is not None and evicted.reason in anew
        self.order_time = microseconds(evicted.last_transition_time) if counts and evicted else self.created
        self.reserved_at = _reserved_at(conditions)
        self.attempted_at = _attempted_at(conditions)
        self.milestones = milestones
        """What an interruption costs after so many seconds."""
        self.pod_sets = pods_to_run(workload, workload.spec.pod_sets if pod_sets is None else pod_sets)
        """What it asks for, or would ask for if it had to ask again."""
        self.usage = _usage(workload, self.pod_sets)
        self.digest = hash_of(self.unit, self.uid, self.boosted, workload.metadata.generation, *_done(workload))
        """What preemption does not change about it."""
        self.has_preempted = PREEMPTED_ANNOTATION in workload.metadata.annotations
        self.hold = _hold(workload, self.unit)
        """It has preempted, and still waits; None: it has not."""
        self.topology: TopologyLedger | None = None
        self.places: Places = ()
        """Where it is, if its admission says so."""
        self.pods: tuple[object, ...] = ()
        """What its pods ask for, once somebody wanted to compare that."""
        self.rank: Order = ()
        """Its place among candidates, as long as that does not change with time."""

    def leave(self) -> None:
        """Take it out of all ledgers; until `come_back`."""
        if self.queue is not None:
            self.queue.remove(self.usage)
        if self.topology is not None:
            self.topology.move(self.places, 1)

    def come_back(self) -> None:
        if self.queue is not None:
            self.queue.add(self.usage)
        if self.topology is not None:
            self.topology.move(self.places, -1)

    @property
    def pending(self) -> bool:
        """Whether it waits for quota."""
        return self.workload.status.admission is None

    def is_leaving(self, victim: HeldVictim) -> bool:
        """Whether it is the one that had to leave, and has not left and come back since."""
        same = self.uid == victim.uid and self.reserved_at == _moment(victim.since)
        return same and self.evicted and not self.pending


def _hold(workload: kueue.QuotaWorkload, unit: str) -> Hold | None:
    """What it holds is over once it is admitted."""
    hold = hold_of(workload.metadata.annotations) if workload.status.admission is None else None
    return hold if hold is not None and hold.preemptor == unit else None


def _moment(text: str) -> int | None:
    try:
        return microseconds(convert(text, _Moment))
    except ValidationError:
        return None  # somebody else has written it


def _reserved_at(conditions: tuple[Condition, ...]) -> int:
    """Since when it has its quota; where nothing says so, it got it just now. v1alpha2 only knows Admitted."""
    for name in ("QuotaReserved", "Admitted"):
        condition = find_condition(conditions, name)
        if condition is not None and condition.status == "True":
            return microseconds(condition.last_transition_time)
    return NEVER


def _attempted_at(conditions: tuple[Condition, ...]) -> int | None:
    """When it was first attempted since it waits, as KEP-83 has it written; None: it was not, or nobody counts."""
    condition = find_condition(conditions, "Admitted")
    return (
        microseconds(condition.last_transition_time) if condition is not None and condition.status == "False" else None
    )


def _done(workload: kueue.QuotaWorkload) -> Iterator[tuple[str, int]]:
    """How many pods of each set have done their work."""
    return ((item.name, item.count) for item in workload.status.reclaimable_pods if item.count)


def pods_to_run(workload: kueue.QuotaWorkload, pod_sets: tuple[kueue.PodSet, ...]) -> tuple[kueue.PodSet, ...]:
    """Its pod sets, without the pods that have done their work."""
    done = dict(_done(workload))
    if not done:
        return pod_sets
    return tuple(_without(item, done[item.name]) if item.name in done else item for item in pod_sets)


def _without(pod_set: kueue.PodSet, done: int) -> kueue.PodSet:
    count = max(0, pod_set.count - done)
    least = None if pod_set.min_count is None else min(pod_set.min_count, count) or None
    return replace(pod_set, count=count, min_count=least)


def _usage(workload: kueue.QuotaWorkload, to_run: Iterable[kueue.PodSet]) -> dict[FlavorResource, int]:
    """What an admitted workload uses: as much as it was given, but nothing for pods that have done their work."""
    usage: dict[FlavorResource, int] = {}
    admission = workload.status.admission
    whole = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    left = {pod_set.name: pod_set.count for pod_set in to_run}
    for assignment in admission.pod_set_assignments if admission else ():
        amounts = _given(assignment, whole.get(assignment.name), left.get(assignment.name))
        for resource, flavor in assignment.flavors.items():
            key = (flavor, resource)
            usage[key] = usage.get(key, 0) + amounts.of(resource)
    return usage


def _given(assignment: kueue.PodSetAssignment, pod_set: kueue.PodSet | None, left: int | None) -> Resources:
    """An older form does not say how much, so the pods do."""
    if pod_set is None:
        return assignment.resource_usage
    count = pod_set.count if assignment.count is None else assignment.count
    amounts = assignment.resource_usage or pod_requests(pod_set.template.spec) * count
    if left is None or left >= count:
        return amounts
    return Resources({name: units // count * left for name, units in amounts.items()})


class CandidateOrder:
    """Who is asked first: already evicted, then by some criteria (lower priority, shorter run), then uid."""

    def __init__(self, criteria: tuple[kueue.Sorting, ...], now: int, *, keeps: bool = True) -> None:
        """`keeps`: places are kept with the workloads. One order may do that."""
        self._criteria = criteria
        self._now = now
        self.lasting = "ByLowestCost" not in criteria
        """Whether the order holds whatever the time."""
        self.kept = self.lasting and keeps
        """Whether lists are kept in it."""
        self.by_priority = self._criteria[:1] == ("ByLowestPriority",)
        self.cheapest_first = self._criteria[:2] == ("ByLowestPriority", "ByLowestRuntime")

    def __call__(self, facts: WorkloadFacts) -> Order:
        if not self.kept:
            return self._work_out(facts)
        if not facts.rank:
            facts.rank = self._work_out(facts)
        return facts.rank

    def _work_out(self, facts: WorkloadFacts) -> Order:
        return not facts.evicted, *(self._value(name, facts) for name in self._criteria), facts.uid, facts.unit

    def _value(self, name: str, facts: WorkloadFacts) -> int:
        match name:
            case "ByLowestPriority":
                return facts.boosted
            case "ByLowestCost":
                return disruption_cost(facts.milestones, facts.reserved_at, self._now)
            case _:
                return facts.reserved_at if name == "ByLongestRuntime" else -facts.reserved_at


def importance(facts: WorkloadFacts) -> Importance:
    """Who stands before whom in a queue: higher priority, older."""
    return -facts.boosted, facts.order_time


def head_order(facts: WorkloadFacts) -> tuple[int, int, str, str]:
    """Who is at the head of its queue; among equals anybody, but always the same one."""
    return *importance(facts), facts.uid, facts.unit


def backs_off(facts: WorkloadFacts, now: int) -> bool:
    """Whether a workload that was evicted for a check or a timeout waits for the time at which it is queued again."""
    state = facts.workload.status.requeue_state
    requeued = find_condition(facts.workload.status.conditions, "Requeued")
    if requeued is not None and requeued.status == "False":
        return True
    return facts.requeued and state is not None and microseconds(state.requeue_at, now) > now


def whereabouts(facts: WorkloadFacts) -> str:
    """What a workload is doing, in a sentence."""
    queue = facts.queue
    if facts.pending or queue is None:
        return texts.quota_pending(facts.unit, facts.workload.spec.queue_name)
    used = [(*key, queue.used(key), queue.quota(key).nominal) for key in sorted(facts.usage)]
    return texts.quota_whereabouts(facts.unit, queue.name, used, leaving=facts.evicted)
