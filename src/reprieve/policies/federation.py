"""The federation policy: Karmada's binding priority and preemption, as proposed.

1. Bindings are taken by priority, then in the order in which they came; without the gate, only in that order.
2. A binding that fits in its clusters preempts nobody. Preemption needs the gate and the binding's own policy.
3. In a cluster, the gap is what the binding asks for above what is free there.
4. Bindings of the cluster are asked from the lowest priority up, only lower ones, never cluster-scoped ones or those
   that ask for nothing: one that covers the gap alone is taken alone, else they accumulate until they cover it.
5. The cluster with the fewest victims is chosen, then the one whose victims rank lowest. Not enough: nobody goes.
6. Only bindings of one's own scheduler are touched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reprieve import texts
from reprieve.configuration import Settings
from reprieve.engine.plan import Cost, Details, Plan, StalePlan, Victim
from reprieve.engine.reasons import LowerPriority
from reprieve.engine.search import TIE_BREAK, Criterion, choose
from reprieve.policies.federation_world import BindingFacts, Federation
from reprieve.resources import Resources
from reprieve.world import World

NAME = "federation"


class FederationPolicy:
    """Decides for bindings over the member clusters of one world."""

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.settings = settings
        self.federation = Federation(world)

    def pending(self) -> list[BindingFacts]:
        """All that wait, in the order in which they are taken."""
        by_priority = self.settings.gate("PriorityBasedScheduling")
        return sorted(
            (facts for facts in self.federation.bindings if facts.pending),
            key=lambda facts: (-facts.priority if by_priority else 0, facts.created, facts.unit),
        )

    def decide(self, facts: BindingFacts) -> Plan:
        if not facts.pending:
            clusters = [target.name for target in facts.binding.spec.clusters]
            message = texts.already_scheduled(facts.unit, clusters)
            return Plan(facts.unit, NAME, "Fits", message, domain=",".join(clusters))
        clusters = self.federation.reachable(facts)
        fitting = self._fits(facts, clusters)
        if fitting is not None:
            return fitting
        if not self.settings.gate("PriorityBasedPreemptiveScheduling"):
            return self._refuse(facts, texts.preemption_gate_off(facts.unit))
        if facts.preemption_policy == "Never":
            return self._refuse(facts, texts.never_preempts(facts.unit))
        return self._duplicate(facts, clusters) if facts.duplicated else self._divide(facts, clusters)

    def _refuse(self, facts: BindingFacts, message: str) -> Plan:
        return Plan(facts.unit, NAME, "Unschedulable", message)

    # 2. Fits

    def _fits(self, facts: BindingFacts, clusters: list[str]) -> Plan | None:
        if facts.duplicated:
            chosen = clusters if clusters and all(not self._gap(facts, name) for name in clusters) else []
        else:
            chosen = self._room(facts, clusters)
        if not chosen:
            return None
        message = texts.fits(facts.unit, texts.listed(chosen))
        domain = ",".join(chosen)
        return Plan(facts.unit, NAME, "Fits", message, domain=domain, placement={facts.unit: domain})

    def _room(self, facts: BindingFacts, clusters: list[str]) -> list[str]:
        """One cluster that takes all replicas, the emptiest first; else as few as hold them together."""
        able = sorted(((self._replicas(facts, name), name) for name in clusters), key=lambda item: (-item[0], item[1]))
        chosen: list[str] = []
        left = facts.binding.spec.replicas
        for replicas, name in able:
            if replicas > 0 or not facts.request:
                chosen.append(name)
                left -= replicas
            if left <= 0 or not facts.request:
                return chosen
        return []

    def _replicas(self, facts: BindingFacts, cluster: str) -> int:
        """How many replicas a cluster has room for."""
        free = self.federation.free[cluster]
        fits = [max(0, free.of(name)) // units for name, units in facts.request.items() if units]
        return min([*fits, facts.binding.spec.replicas])

    def _gap(self, facts: BindingFacts, cluster: str) -> Resources:
        """3. What is missing in a cluster for the whole binding."""
        return (facts.whole - Resources({n: max(0, u) for n, u in self.federation.free[cluster].items()})).positive()

    # 4. and 5. Preemption

    def _divide(self, facts: BindingFacts, clusters: list[str]) -> Plan:
        answers = {name: found for name in clusters if (found := self._victims(facts, name)) is not None}
        if not answers:
            return self._refuse(facts, texts.no_cluster_can_be_freed(facts.unit))
        names = sorted(answers)
        criteria = [
            Criterion("FewestVictims", np.array([len(answers[name]) for name in names], dtype=np.int64)),
            Criterion(
                "LowestHighestPriority",
                np.array([max(other.priority for other in answers[name]) for name in names], dtype=np.int64),
            ),
            Criterion(TIE_BREAK, np.arange(len(names))),
        ]
        choice = choose(np.ones(len(names), dtype=np.bool_), criteria)
        chosen = names[choice.domain if choice else 0]
        return self._plan(facts, chosen, answers[chosen], answers, choice.criterion if choice else "")

    def _duplicate(self, facts: BindingFacts, clusters: list[str]) -> Plan:
        """All replicas in every cluster: each one without room has to make some."""
        answers: dict[str, list[BindingFacts]] = {}
        for name in clusters:
            found = self._victims(facts, name) if self._gap(facts, name) else []
            if found is None:
                return self._refuse(facts, texts.no_cluster_can_be_freed(facts.unit))
            answers[name] = found
        victims = list({other.unit: other for found in answers.values() for other in found}.values())
        if not victims:
            return self._refuse(facts, texts.no_cluster_can_be_freed(facts.unit))
        return self._plan(facts, ",".join(clusters), victims, answers, "OnlyCandidate")

    def _victims(self, facts: BindingFacts, cluster: str) -> list[BindingFacts] | None:
        gap = self._gap(facts, cluster)
        remembered: list[BindingFacts] = []
        freed = Resources()
        for other in self._candidates(facts, cluster):
            share = other.on(cluster)
            if gap <= share:
                return [other]
            remembered.append(other)
            freed += share
            if gap <= freed:
                return remembered
        return None

    def _candidates(self, facts: BindingFacts, cluster: str) -> list[BindingFacts]:
        """Lower ones that are scheduled there, of the same scheduler, from the lowest priority up."""
        scheduler = facts.binding.spec.scheduler_name
        return sorted(
            (
                other
                for other in self.federation.bindings
                if other.binding.kind == "ResourceBinding"
                and other.priority < facts.priority
                and other.binding.spec.scheduler_name == scheduler
                and other.on(cluster).positive()
            ),
            key=lambda other: (other.priority, -other.created, other.unit),
        )

    def _plan(
        self,
        facts: BindingFacts,
        domain: str,
        victims: list[BindingFacts],
        answers: dict[str, list[BindingFacts]],
        criterion: str,
    ) -> Plan:
        return Plan(
            facts.unit,
            NAME,
            "Preempt",
            texts.preempts(facts.unit, domain, [other.unit for other in victims], 0),
            domain=domain,
            placement={facts.unit: domain},
            victims=[Victim(other.unit, LowerPriority(other.priority, facts.priority)) for other in victims],
            criterion=criterion,
            details=self._explain(answers),
        )

    def _explain(self, answers: dict[str, list[BindingFacts]]) -> Callable[[], Details]:
        return partial(self._details, answers, self.world.version)

    def _details(self, answers: dict[str, list[BindingFacts]], version: int) -> Details:
        if self.world.version != version:
            raise StalePlan("the world has moved on since the plan was made")
        return Details({name: Cost([other.unit for other in victims]) for name, victims in answers.items()})
