"""Bindings over member clusters in the registry of policies."""

from collections.abc import Iterable
from typing import Any

from reprieve.engine.exposure import Exposure, Overcommitted
from reprieve.engine.plan import Plan
from reprieve.engine.preemption import decide
from reprieve.manifests.karmada import ResourceBinding
from reprieve.model.names import UnitName
from reprieve.policies.entry import Asked, Entry, Ground, Known, Preemptor
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.exposure import FederationExposure, overcommitted_clusters
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.policies.federation.templates import bindings_of_templates, missing_bindings
from reprieve.texts import federation as texts


class FederationEntry(Entry):
    """Bindings that wait for clusters."""

    name = FederationPolicy.name
    ledger = "clusters"
    kinds = ("ResourceBinding", "ClusterResourceBinding")
    config_maps = frozenset[str]()

    def __init__(self, ground: Ground) -> None:
        self._mine = ground.mine
        self.policy = FederationPolicy(ground.world, ground.settings)

    def names(self) -> Iterable[UnitName]:
        self.policy.federation.refresh()
        return (facts.unit for facts in self.policy.federation.bindings)

    def _facts(self, asked: Asked) -> BindingFacts | None:
        self.policy.federation.refresh()
        return self.policy.federation.find(asked.unit)

    def find(self, asked: Asked) -> Preemptor | None:
        facts = self._facts(asked)
        return None if facts is None else self.preemptor(facts)

    def preemptor(self, facts: BindingFacts) -> Preemptor:
        by_priority = self.policy.settings.gate("PriorityBasedScheduling")
        never = facts.preemption_policy == "Never"
        priority = facts.priority if by_priority else 0
        return Preemptor(facts.unit, self.name, priority, facts.created, facts, (), never)

    def known(self, asked: Asked) -> Known | None:
        facts = self._facts(asked)
        if facts is None:
            return None
        unrelated = texts.NOT_RELATED if facts.held else ""
        whereabouts = texts.whereabouts(facts.unit, list(facts.held))
        conditions = facts.binding.status.conditions
        return Known(facts.unit, self.ledger, facts.wants, True, whereabouts, conditions, unrelated)

    def pending(self, taken: set[UnitName]) -> list[Preemptor]:  # noqa: ARG002 - clusters are a ledger of their own
        mine = (facts for facts in self.policy.pending() if self._mine(facts.binding.spec.scheduler_name))
        return [self.preemptor(facts) for facts in mine]

    def decide(self, preemptor: Preemptor, now: int) -> Plan:
        return decide(self.policy, preemptor.facts, now)

    def commit(self, preemptor: Preemptor, plan: Plan) -> None:  # noqa: ARG002 - the plan knows its binding
        self.policy.commit(plan)

    def exposure(self, now: int) -> Exposure:  # noqa: ARG002 - nothing here goes by time
        exposure = FederationExposure(self.policy)
        return exposure.of(exposure.askers())

    def overcommitted(self) -> Iterable[Overcommitted]:
        return overcommitted_clusters(self.policy.federation)

    def follows(self) -> Iterable[ResourceBinding]:
        return bindings_of_templates(self.policy.world, self.policy.settings)

    def missing(self) -> Iterable[ResourceBinding]:
        return missing_bindings(self.policy.world, self.policy.settings)

    def priorities(self, pending: list[Preemptor]) -> dict[UnitName, dict[str, Any]]:  # noqa: ARG002 - of all bindings
        return {
            facts.unit: {"priority": facts.priority, "preemptionPolicy": facts.preemption_policy}
            for facts in self.policy.federation.bindings
        }
