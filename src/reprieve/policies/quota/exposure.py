"""Who may be preempted by quota workloads: a new one of each class in each queue, and those who wait.

An asker asks for the least there is of every flavor that a workload uses, when nothing of it is free: whoever is
protected from the least is protected from more. A new workload is younger than all; one that waits asks with its age.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from reprieve.engine.exposure import ALLOWED, Asker, Exposure, Numbers, Overcommitted, ask, levels, what_waits
from reprieve.engine.quota_tree import FlavorResource
from reprieve.engine.reasons import NoSuchPreemptor, OtherCohort, Reason
from reprieve.manifests import kueue
from reprieve.manifests.meta import ObjectMeta, find_condition
from reprieve.manifests.pods import Container, PodSpec, PodTemplate
from reprieve.manifests.priorities import BUILT_IN
from reprieve.model.names import UnitName, unit_name
from reprieve.policies.quota.assignments import FlavorDemand
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import PendingWorkload
from reprieve.policies.quota.workloads import WorkloadFacts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.world import NEVER

Protection = Callable[[WorkloadFacts], Reason | None]


class QuotaExposure:
    """All admitted workloads, as others may ask for their quota."""

    def __init__(self, policy: QuotaPolicy, now: int) -> None:
        self._policy = policy
        self._quota = policy.quota
        self._now = now
        self._admitted = [facts for workloads in self._quota.admitted.values() for facts in workloads]
        self._oldest: dict[tuple[str, int], int] = {}
        for name, waiting in self._quota.waiting.items():
            for facts in waiting:
                key = (name, facts.boosted)
                self._oldest[key] = min(facts.order_time, self._oldest.get(key, NEVER))
        self._said: dict[Asker, dict[Hashable, Reason | None]] = {}
        self._numbers: dict[str, int] = {}

    def askers(self) -> list[Asker]:
        world = self._quota.world
        own = [Asker(f"{item.kind}/{item.name}", item.value) for item in world.all(kueue.WorkloadPriorityClass)]
        built_in = {f"PriorityClass/{name}" for name in BUILT_IN}
        new = [*own, *(asker for asker in levels(world) if asker.name not in built_in)]
        queues = [name for name in self._quota.queues if name not in self._quota.closed]
        waiting = [Asker(what_waits(priority), priority, name, named=False) for name, priority in sorted(self._oldest)]
        return [asker._replace(where=name) for name in queues for asker in new] + waiting

    def of(self, askers: Sequence[Asker]) -> Exposure:
        protected = ask(askers, self._row, len(self._admitted))
        return Exposure(
            askers,
            [facts.unit for facts in self._admitted],
            protected,
            lambda asker, unit: self._reason(askers[asker], self._admitted[unit]) or NoSuchPreemptor(),
        )

    def _row(self, asker: Asker) -> Numbers:
        protections: dict[frozenset[FlavorResource], Protection] = {}
        for facts in self._admitted:
            said = self._said.setdefault(asker._replace(name=""), {})
            key = self._alike(asker, facts)
            if key not in said:
                said[key] = self._protection(asker, facts, protections)
        row = [self._number(self._reason(asker, facts)) for facts in self._admitted]
        return np.array(row, dtype=np.int16)

    def _reason(self, asker: Asker, facts: WorkloadFacts) -> Reason | None:
        return self._said[asker._replace(name="")][self._alike(asker, facts)]

    def _number(self, reason: Reason | None) -> int:
        return ALLOWED if reason is None else self._numbers.setdefault(reason.rule, len(self._numbers) + 1)

    def _alike(self, asker: Asker, facts: WorkloadFacts) -> Hashable:
        """What makes workloads alike to the rules: shares compare amounts, and those who wait compare ages."""
        fair = self._policy.settings.fair_sharing.enable
        used = frozenset(facts.usage.items()) if fair else frozenset(facts.usage)
        age = None if asker.named else facts.order_time
        protects = self._quota.long_runners
        runs_long = protects is not None and protects(facts) is not None
        return facts.queue.name if facts.queue else "", used, facts.boosted, age, runs_long

    def _protection(
        self, asker: Asker, facts: WorkloadFacts, protections: dict[frozenset[FlavorResource], Protection]
    ) -> Reason | None:
        queue = self._quota.queues[asker.where]
        if facts.queue is None or facts.queue.root is not queue.root:
            return OtherCohort(facts.queue.name if facts.queue else "", queue.name)
        contested = frozenset(facts.usage)
        if contested not in protections:
            view = self._policy.view(PendingWorkload(self._workload(asker)), self._now)
            domain = FlavorDemand(dict.fromkeys(contested, 1), contested)
            protections[contested] = self._policy.protection(view, domain)
        return protections[contested](facts)

    def _workload(self, asker: Asker) -> WorkloadFacts:
        pods = kueue.PodSet(template=PodTemplate(spec=PodSpec(containers=(Container(name="asker"),))))
        spec = kueue.QuotaWorkloadSpec(pod_sets=(pods,), priority=asker.priority)
        workload = kueue.QuotaWorkload(metadata=ObjectMeta(name="asker"), spec=spec)
        created = NEVER if asker.named else self._oldest[asker.where, asker.priority]
        return WorkloadFacts(workload, asker.priority, 0, self._quota.queues[asker.where], created)


def overcommitted_quota(quota: QuotaWorld) -> Iterator[Overcommitted]:
    """Queues that use more than they have and can borrow; and workloads whose queue is not there."""
    for name, queue in quota.queues.items():
        for flavor in queue.usages():
            over = -queue.available(flavor)
            if over > 0 and queue.exceeds(flavor):
                over = min(over, queue.used(flavor) - queue.cell(flavor).quota)
                place = f"{unit_name('ClusterQueue', '', name)} ({flavor[0]})"
                yield Overcommitted(place, flavor[1], over, _first_asked(quota, name, flavor, over))
    yield from _without_queue(quota)


def _first_asked(quota: QuotaWorld, queue: str, flavor: FlavorResource, over: int) -> list[UnitName]:
    """Those of a queue who would be asked first, until it is no longer over."""
    going = []
    for facts in quota.candidates(queue):
        if over > 0 and facts.usage.get(flavor):
            going.append(facts.unit)
            over -= facts.usage[flavor]
    return going


def _without_queue(quota: QuotaWorld) -> Iterator[Overcommitted]:
    for workload in quota.world.all(kueue.QuotaWorkload):
        admission = workload.status.admission
        finished = find_condition(workload.status.conditions, "Finished")
        if admission is None or admission.cluster_queue in quota.queues or (finished and finished.status == "True"):
            continue
        facts = WorkloadFacts(workload, 0, 0, None, 0)
        for (flavor, resource), amount in facts.usage.items():
            place = f"{unit_name('ClusterQueue', '', admission.cluster_queue)} ({flavor})"
            yield Overcommitted(place, resource, amount, [facts.unit])
