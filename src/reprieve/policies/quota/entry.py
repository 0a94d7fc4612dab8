"""Quota workloads in the registry of policies."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reprieve.engine.exposure import Exposure, Overcommitted
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Decided, Entry, Ground, Known, NothingToDecide, Preemptor
from reprieve.policies.quota.claims import out_of_queues
from reprieve.policies.quota.cycle import cycle
from reprieve.policies.quota.exposure import QuotaExposure, overcommitted_quota
from reprieve.policies.quota.flavors import Forced
from reprieve.policies.quota.policy import QuotaPolicy
from reprieve.policies.quota.view import PendingWorkload, Terms
from reprieve.policies.quota.workloads import WorkloadFacts, whereabouts
from reprieve.policies.quota.world import QuotaWorld
from reprieve.texts import quota as texts

_GROUPS = "scheduling.k8s.io/"
"""The other API that has a kind Workload."""


class QuotaEntry(Entry):
    """Workloads that wait for quota."""

    name = QuotaPolicy.name
    ledger = "quota"
    kinds = ("Workload",)

    def __init__(self, ground: Ground) -> None:
        self.policy = QuotaPolicy(QuotaWorld(ground.world, ground.settings, ground.moment))

    def _facts(self, asked: Asked) -> WorkloadFacts | None:
        if asked.api_version.startswith(_GROUPS):
            return None
        self.policy.quota.sync()
        return self.policy.quota.find((asked.namespace, asked.name))

    def find(self, asked: Asked) -> Preemptor | None:
        facts = self._facts(asked)
        if facts is None:
            return None
        admission = facts.workload.status.admission
        if admission is not None:
            raise NothingToDecide(texts.already_admitted(facts.unit, admission.cluster_queue))
        if not self.policy.quota.takes(facts):
            raise NothingToDecide(self._no_queue(facts))
        return self._preemptor(facts, forced_flavors(asked.assignment))

    def _preemptor(self, facts: WorkloadFacts, forced: Forced | None = None) -> Preemptor:
        pending = PendingWorkload(facts, forced, facts.hold)
        return Preemptor(facts.unit, self.name, facts.boosted, facts.created, pending)

    def known(self, asked: Asked) -> Known | None:
        facts = self._facts(asked)
        if facts is None:
            return None
        conditions = facts.workload.status.conditions
        if facts.pending and not self.policy.quota.takes(facts):
            return Known(facts.unit, self.ledger, False, False, f"{self._no_queue(facts)}.", conditions)
        unrelated = "" if facts.pending else texts.NOT_RELATED
        return Known(facts.unit, self.ledger, facts.pending, True, whereabouts(facts), conditions, unrelated)

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:  # noqa: ARG002 - quota is a ledger of its own
        return [self._preemptor(facts) for queue in self.policy.quota.waiting.values() for facts in queue]

    def waiting(self) -> Iterable[UnitName]:
        """All who wait, also in queues that are not there."""
        return sorted(facts.unit for facts in self._everyone())

    def _everyone(self) -> list[WorkloadFacts]:
        queued = (facts for queue in self.policy.quota.waiting.values() for facts in queue)
        return [*queued, *self.policy.quota.stranded]

    def without_turn(self) -> Mapping[UnitName, str]:
        quota = self.policy.quota
        return {
            facts.unit: texts.waits_for_its_turn(facts.unit) if quota.takes(facts) else f"{self._no_queue(facts)}."
            for facts in self._everyone()
        }

    def _no_queue(self, facts: WorkloadFacts) -> str:
        return texts.no_queue(facts.unit, out_of_queues(self.policy.quota, facts))

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        """Its plan in the cycle, which others take part in; one who has no turn in it is decided for as if it had."""
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
        return (Decided(waiting[plan.preemptor], plan) for plan in cycle(self.policy))

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

    def carried(self) -> Iterable[QuotaWorkload]:
        self.policy.quota.sync()
        return self.policy.quota.carried()

    def answer(self, decided: Decided) -> Mapping[str, Mapping[str, Any]]:
        unit, terms = decided.plan.preemptor, decided.plan.terms
        if decided.plan.outcome != "Fits" or not isinstance(terms, Terms):
            return {}
        return {"flavors": {unit: terms.assignment.chosen()}, "counts": {unit: terms.assignment.sizes}}


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
