"""The federation policy: Karmada's binding priority and preemption, as proposed.

1. Bindings are taken by priority, then in the order in which they came; without the gate, only in that order.
2. A binding goes where it fits without preemption, its affinity groups tried in order. Only when it fits nowhere, the
   gate is on and its own policy allows, does it preempt. Cluster-scoped bindings take no part.
3. While those who were told to leave still do so, and their room is enough, it waits and asks nobody else. The place
   that it waits for is held against all who rank as it does or lower.
4. In a cluster, the gap is what the binding asks for above what is free there.
5. Bindings of the cluster are asked from the lowest priority up, only lower ones, never cluster-scoped ones, those that
   ask for nothing or those of another scheduler: one that covers the gap alone is taken alone, else they accumulate
   until they cover it.
6. The cluster with the fewest victims is chosen, then the one whose victims rank lowest. Not enough: nobody goes.
7. A victim loses its result in that cluster only. In a cycle, later bindings see what earlier ones got and freed.
"""

from __future__ import annotations

from reprieve.configuration import Settings
from reprieve.engine.holds import Hold
from reprieve.engine.plan import Plan
from reprieve.manifests.karmada import Cluster
from reprieve.policies.federation.bindings import BindingFacts, BindingKey
from reprieve.policies.federation.clusters import affinity_groups, obstacle
from reprieve.policies.federation.effects import after, held, scheduled, without
from reprieve.policies.federation.placement import place
from reprieve.policies.federation.plans import NAME, Explanation, FederationPlan, plan
from reprieve.policies.federation.preemption import PreemptionSearch
from reprieve.policies.federation.world import Federation
from reprieve.texts import federation as texts
from reprieve.world import World

__all__ = ["NAME", "FederationPolicy"]


class FederationPolicy:
    """Decides for bindings over the member clusters of one world."""

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.settings = settings
        self.federation = Federation(world)

    def pending(self) -> list[BindingFacts]:
        """All that wait, in the order in which they are taken."""
        self.federation.refresh()
        by_priority = self.settings.gate("PriorityBasedScheduling")
        return sorted(
            (facts for facts in self.federation.bindings if facts.pending),
            key=lambda facts: (-facts.priority if by_priority else 0, facts.created, facts.unit),
        )

    def decide(self, facts: BindingFacts) -> FederationPlan:
        self.federation.refresh()
        facts = self.federation.find(facts.key) or facts
        if not facts.pending:
            clusters = list(facts.held)
            return plan(facts, "Fits", texts.already_scheduled(facts.unit, clusters), domain=",".join(clusters))
        groups = self._groups(facts)
        early = self._fits(facts, groups) or self._refusal(facts) or self._waits(facts, groups)
        return early or self._preempts(facts, groups)

    def _groups(self, facts: BindingFacts) -> list[dict[str, Cluster]]:
        """The clusters within reach, one affinity group after the other."""
        known = sorted(self.federation.clusters.items())
        spec = facts.binding.spec
        return [
            {name: cluster for name, cluster in known if not obstacle(cluster, spec, group)}
            for group in affinity_groups(facts.placement)
        ]

    # 2. Without preemption

    def _fits(self, facts: BindingFacts, groups: list[dict[str, Cluster]]) -> FederationPlan | None:
        free = self.federation.free_now(facts)
        for clusters in groups:
            division = place(facts, clusters, free)
            if division is not None:
                grows = division and all(count >= 0 for count in division.values())
                where = division if grows else after(facts, division)
                message = texts.fits(facts.unit, where)
                return plan(facts, "Fits", message, domain=",".join(where), division=division)
        return None

    def _refusal(self, facts: BindingFacts) -> FederationPlan | None:
        """Why a binding that fits nowhere may not preempt."""
        if not self.settings.gate("PriorityBasedPreemptiveScheduling"):
            return self._refuse(facts, texts.nowhere(facts.unit, texts.GATE_OFF))
        if facts.preemption_policy == "Never":
            return self._refuse(facts, texts.nowhere(facts.unit, texts.NEVER))
        if facts.binding.kind != "ResourceBinding":
            return self._refuse(facts, texts.nowhere(facts.unit, texts.CLUSTER_SCOPED_PREEMPTOR))
        return None

    def _refuse(self, facts: BindingFacts, message: str, *, asked: bool = False) -> FederationPlan:
        details = Explanation(self.federation, facts, None, asked=asked)
        return plan(facts, "Unschedulable", message, details=details)

    # 3. Victims that are still leaving

    def _waits(self, facts: BindingFacts, groups: list[dict[str, Cluster]]) -> FederationPlan | None:
        now, soon = self.federation.free_now(facts), self.federation.free_soon(facts)
        if soon == now:
            return None
        for clusters in groups:
            division = place(facts, clusters, soon)
            if division is not None:
                leaving = self._awaited(facts, [name for name in division if soon[name] != now[name]])
                message = texts.waits(facts.unit, list(division), leaving)
                domain = ",".join(division)
                return plan(facts, "Wait", message, domain=domain, division=division, waiting_for=leaving)
        return None

    def _awaited(self, facts: BindingFacts, clusters: list[str]) -> list[str]:
        """Those who leave the clusters that it will go to."""
        units = (other.unit for name in clusters for other in self.federation.leaving(name) if other.key != facts.key)
        return list(dict.fromkeys(units))

    # 4. to 6. Preemption

    def _preempts(self, facts: BindingFacts, groups: list[dict[str, Cluster]]) -> FederationPlan:
        soon = self.federation.free_soon(facts)
        for clusters in groups:
            answer = PreemptionSearch(self.federation, facts, clusters, soon).run()
            if answer is None:
                continue
            victims = list(dict.fromkeys(other.unit for other, _ in answer.evictions))
            return plan(
                facts,
                "Preempt",
                texts.preempts(facts.unit, answer.domain, victims, answer.gap, answer.division),
                domain=answer.domain,
                division=answer.division,
                answer=answer,
                details=Explanation(self.federation, facts, answer, asked=True),
            )
        why = texts.NOBODY_HOLDS_IT if any(groups) else texts.NO_CLUSTERS
        return self._refuse(facts, texts.refused(facts.unit, why), asked=True)

    # 7. What a cycle does with a plan

    def commit(self, made: Plan) -> None:
        """In the world that is looked at: victims have left, the binding is scheduled or its place is held."""
        if not isinstance(made, FederationPlan):
            return
        gone: dict[BindingKey, set[str]] = {}
        for other, cluster in made.evictions:
            gone.setdefault(other.key, set()).add(cluster)
        for key, clusters in gone.items():
            self.world.put(without(self._current(key), clusters))
        if made.outcome == "Fits":
            self.world.put(scheduled(self._current(made.key), made.division))
        elif made.division:
            self.world.put(held(self._current(made.key).binding, Hold(clusters=made.division)))
        self.federation.refresh()

    def _current(self, key: BindingKey) -> BindingFacts:
        facts = self.federation.find(key)
        if facts is None:
            raise LookupError(f"{'/'.join(key)} is gone")
        return facts
