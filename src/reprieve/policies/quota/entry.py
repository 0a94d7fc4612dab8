"""Quota workloads in the registry of policies."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reprieve.engine.claims import Claim
from reprieve.engine.exposure import Exposure, Overcommitted
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.manifests.kueue_topology import domains_data
from reprieve.manifests.meta import is_true
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Decided, Entry, Ground, Known, NothingToDecide, Preemptor
from reprieve.policies.quota.assignments import Forced
from reprieve.policies.quota.claims import out_of_queues
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.exposure import QuotaExposure, overcommitted_quota
from reprieve.policies.quota.makers import missing_workloads
from reprieve.policies.quota.pods_in_queues import unmade
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.topology import PlacedPods
from reprieve.policies.quota.view import PendingWorkload, Terms
from reprieve.policies.quota.workloads import WorkloadFacts, whereabouts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.texts import quota as texts
from reprieve.texts.questions import nothing_to_decide

_GROUPS = "scheduling.k8s.io/"
"""The other API that has a kind Workload."""


class QuotaEntry(Entry):
    """Workloads that wait for quota."""

    name = QuotaPolicy.name
    ledger = "quota"
    kinds = ("Workload",)
    config_maps = frozenset[str]()

    def __init__(self, ground: Ground) -> None:
        self.policy = QuotaPolicy(QuotaWorld(ground.world, ground.settings, ground.moment))

    def _facts(self, asked: Asked) -> WorkloadFacts | None:
        if not _is_quota(asked):
            return None
        self.policy.quota.sync()
        return self.policy.quota.find((asked.namespace, asked.name))

    def find(self, asked: Asked) -> Preemptor | None:
        facts = self._facts(asked)
        if facts is None:
            return self._without_facts(asked)
        admission = facts.workload.status.admission
        if admission is not None:
            raise NothingToDecide(texts.already_admitted(facts.unit, admission.cluster_queue))
        if not self.policy.quota.takes(facts):
            return Preemptor(facts.unit, self.name, facts.boosted, facts.created, self._why_none(facts))
        return self._preemptor(facts, forced_flavors(asked.assignment))

    def _without_facts(self, asked: Asked) -> Preemptor | None:
        """A group of pods that has no Workload waits; one that is inactive, or has finished, does not."""
        over = self._over(asked)
        if over is not None:
            raise NothingToDecide(nothing_to_decide(over.whereabouts))
        why = self._unmade(asked)
        return None if why is None else Preemptor(asked.unit, self.name, 0, 0, why)

    def _over(self, asked: Asked) -> Known | None:
        world = self.policy.quota.world
        workload = world.get(QuotaWorkload, asked.name, asked.namespace) if _is_quota(asked) else None
        if workload is None:
            return None
        conditions = workload.status.conditions
        finished = is_true(conditions, "Finished")
        if not finished and workload.spec.active:
            return None
        sentence = texts.waits_for_nothing(asked.unit, finished=finished)
        return Known(asked.unit, self.ledger, False, False, sentence, conditions)

    def _unmade(self, asked: Asked) -> Claim | None:
        return dict(unmade(self.policy.quota.world)).get(asked.unit) if _is_quota(asked) else None

    def _preemptor(self, facts: WorkloadFacts, forced: Forced | None = None) -> Preemptor:
        pending = PendingWorkload(facts, forced)
        return Preemptor(facts.unit, self.name, facts.boosted, facts.created, pending)

    def known(self, asked: Asked) -> Known | None:
        facts = self._facts(asked)
        if facts is None:
            why = self._unmade(asked)
            waits = None if why is None else Known(asked.unit, self.ledger, False, False, _sentence(asked.unit, why))
            return waits or self._over(asked)
        conditions = facts.workload.status.conditions
        if facts.pending and not self.policy.quota.takes(facts):
            return Known(facts.unit, self.ledger, False, False, self._no_queue(facts), conditions)
        unrelated = "" if facts.pending else texts.NOT_RELATED
        return Known(facts.unit, self.ledger, facts.pending, True, whereabouts(facts), conditions, unrelated)

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:  # noqa: ARG002 - quota is a ledger of its own
        self.policy.quota.sync()
        return [self._preemptor(facts) for queue in self.policy.quota.waiting.values() for facts in queue]

    def waiting(self) -> Iterable[UnitName]:
        """All who wait, also in queues that are not there, and groups of pods that have no Workload."""
        groups = (unit for unit, _ in unmade(self.policy.quota.world))
        return sorted([*(facts.unit for facts in self._everyone()), *groups])

    def _everyone(self) -> list[WorkloadFacts]:
        self.policy.quota.sync()
        queued = (facts for queue in self.policy.quota.waiting.values() for facts in queue)
        return [*queued, *self.policy.quota.stranded]

    def without_turn(self) -> Mapping[UnitName, str]:
        quota = self.policy.quota
        groups = {unit: _sentence(unit, why) for unit, why in unmade(quota.world)}
        return groups | {
            facts.unit: texts.waits_for_its_turn(facts.unit) if quota.takes(facts) else self._no_queue(facts)
            for facts in self._everyone()
        }

    def _no_queue(self, facts: WorkloadFacts) -> str:
        return _sentence(facts.unit, self._why_none(facts))

    def _why_none(self, facts: WorkloadFacts) -> Claim:
        return out_of_queues(self.policy.quota, facts)

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        """Its plan in the cycle, which others take part in; one who has no turn in it is decided for as if it had."""
        if isinstance(why := preemptor.facts, Claim):
            return Plan(preemptor.unit, self.name, "Unschedulable", _sentence(preemptor.unit, why), claims=(why,))
        self.policy.quota.sync()
        self.policy.quota.at(now)
        pending: PendingWorkload = preemptor.facts
        plans = cycle(self.policy) if pending.forced is None else []
        return next((plan for plan in plans if plan.preemptor == preemptor.unit), None) or decide(
            self.policy, pending, now
        )

    def cycle(self, pending: list[Preemptor], now: int) -> Iterator[Decided]:
        self.policy.quota.at(now)
        waiting = {one.unit: one for one in pending}
        plans = (plan for plan in cycle(self.policy) if plan.preemptor in waiting)  # others take part, and are not told
        return (Decided(waiting[plan.preemptor], plan) for plan in plans)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:
        """A cycle admits nobody in the world it looks at: heads see what the ones before took."""

    def exposure(self, now: int) -> Exposure:
        self.policy.quota.sync()
        self.policy.quota.at(now)
        exposure = QuotaExposure(self.policy, now)
        return exposure.of(exposure.askers())

    def overcommitted(self) -> Iterable[Overcommitted]:
        self.policy.quota.sync()
        return overcommitted_quota(self.policy.quota)

    def missing(self) -> Iterable[Any]:
        return missing_workloads(self.policy.quota.world)

    def carried(self) -> Iterable[QuotaWorkload]:
        self.policy.quota.sync()
        return self.policy.quota.carried()

    def answer(self, decided: Decided) -> Mapping[str, Mapping[str, Any]]:
        unit, terms = decided.plan.preemptor, decided.plan.terms
        if decided.plan.outcome != "Fits" or not isinstance(terms, Terms):
            return {}
        answer: dict[str, Mapping[str, Any]] = {"flavors": {unit: terms.assignment.chosen()}}
        answer["counts"] = {unit: terms.assignment.sizes}
        if terms.placed:
            answer["domains"] = {unit: {name: _places(placed) for name, placed in terms.placed.items()}}
        return answer


def _is_quota(asked: Asked) -> bool:
    return not asked.api_version.startswith(_GROUPS)


def _sentence(unit: UnitName, why: Claim) -> str:
    """Why somebody waits in no queue."""
    return f"{texts.no_queue(unit, why)}."


def _places(placed: PlacedPods) -> dict[str, Any]:
    return {"levels": list(placed.levels), "domains": domains_data(placed.domains)}


def forced_flavors(assignment: Mapping[str, Any] | None) -> Forced | None:
    """`{cpu: spot}`, or by pod set `{main: {cpu: {flavor: spot, mode: Preempt}}}`. Raises `NothingToDecide`."""
    if not assignment:
        return None
    flavors: dict[tuple[str, str], str] = {}
    preempt = False
    for name, value in assignment.items():
        if isinstance(value, str):
            flavors["", name] = value
            continue
        for resource, item in value.items() if isinstance(value, Mapping) else ():
            chosen = item.get("flavor") if isinstance(item, Mapping) else item
            if not isinstance(chosen, str):
                raise NothingToDecide(f"{resource} of {name} names no flavor", "assignment")
            flavors[name, resource] = chosen
            preempt = preempt or (isinstance(item, Mapping) and item.get("mode") == "Preempt")
    return Forced(flavors, preempt)
