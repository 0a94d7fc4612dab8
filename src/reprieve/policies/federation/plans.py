"""Plans of the federation policy, with everything that explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reprieve.engine.plan import Cost, Details, Outcome, Plan, Spared, StalePlan, Victim
from reprieve.engine.reasons import CheaperElsewhere, LowerPriority, Reason, Reprieved
from reprieve.policies.federation.bindings import BindingFacts, BindingKey, protection
from reprieve.policies.federation.clusters import affinity_groups, obstacle
from reprieve.policies.federation.division import Division
from reprieve.policies.federation.effects import after
from reprieve.policies.federation.preemption import Answer, PreemptionSearch, Seat
from reprieve.policies.federation.world import Federation
from reprieve.texts import federation as texts

NAME = "federation"


class FederationPlan(Plan):
    """A plan that also says how many replicas go where, and who loses which cluster."""

    key: BindingKey
    facts: BindingFacts
    division: Division
    evictions: list[Seat]


def plan(
    facts: BindingFacts,
    outcome: Outcome,
    message: str,
    *,
    domain: str = "",
    division: Division | None = None,
    waiting_for: list[str] | None = None,
    answer: Answer | None = None,
    details: Callable[[], Details] = Details,
) -> FederationPlan:
    evictions = answer.evictions if answer else []
    victims = {other.unit: LowerPriority(other.priority, facts.priority) for other, _ in evictions}
    made = FederationPlan(
        facts.unit,
        NAME,
        outcome,
        message,
        domain=domain,
        placement={facts.unit: written(facts, division)} if division else {},
        victims=[Victim(unit, reason) for unit, reason in victims.items()],
        waiting_for=waiting_for,
        criterion=answer.criterion if answer else "",
        details=details,
    )
    made.key = facts.key
    made.facts = facts
    made.division = division or {}
    made.evictions = evictions
    return made


def written(facts: BindingFacts, division: Division) -> str:
    """`dublin`; `dublin=3,frankfurt=2` where it is more than one, with the replicas that are there already."""
    total = after(facts, division)
    if len(total) == 1:
        return next(iter(total))
    return ",".join(f"{name}={replicas}" if replicas else name for name, replicas in total.items())


class Explanation:
    """What every cluster would have cost, everybody who stays and by which rule, and why clusters are out."""

    def __init__(self, federation: Federation, facts: BindingFacts, answer: Answer | None, *, asked: bool) -> None:
        self._federation = federation
        self._facts = facts
        self._answer = answer
        self._asked = asked
        self._version = federation.world.version
        free = federation.free_soon(facts) if asked else federation.free_now(facts)
        self._search = PreemptionSearch(federation, facts, federation.clusters, free)

    def __call__(self) -> Details:
        if self._federation.world.version != self._version:
            raise StalePlan("the world has moved on since the plan was made")
        costs: Mapping[str, list[BindingFacts]] = self._answer.costs if self._answer else {}
        out = {name: why for name in sorted(self._federation.clusters) if (why := self._out_of_reach(name))}
        spared: list[Spared] = []
        for name in sorted(self._federation.clusters):
            if name in out:
                continue
            stays = self._stay(name) if self._asked else []
            spared += stays
            if name not in costs:
                out[name] = self._short(name, stays)
        return Details({name: Cost([other.unit for other in found]) for name, found in costs.items()}, spared, out)

    def _out_of_reach(self, cluster: str) -> str:
        """Why no affinity group leads to a cluster; where several have a reason, the last."""
        why = ""
        for group in affinity_groups(self._facts.placement):
            why = obstacle(self._federation.clusters[cluster], self._facts.binding.spec, group)
            if not why:
                return ""
        return why

    def _short(self, cluster: str, stays: list[Spared]) -> str:
        gap = self._search.gap(cluster, self._facts.missing)
        if not gap:
            return texts.CLUSTER_BREAKS_SPREAD
        if not self._asked:
            return texts.lacking(gap)
        return texts.short_of(
            gap, candidates=any(isinstance(item.reason, (Reprieved, CheaperElsewhere)) for item in stays)
        )

    def _stay(self, cluster: str) -> list[Spared]:
        residents = self._federation.residents.get(cluster)
        gone = {other.key for other, name in self._answer.evictions if name == cluster} if self._answer else set()
        gap = self._search.gap(cluster, self._facts.missing)
        return [
            Spared(other.unit, protection(self._facts, other, cluster, gap) or self._not_needed(cluster), cluster)
            for other in (reversed(residents.bindings) if residents else ())
            if other.key not in gone
        ]

    def _not_needed(self, cluster: str) -> Reason:
        answer = self._answer
        if answer is None or cluster in answer.domain.split(","):
            return Reprieved()
        return CheaperElsewhere(answer.domain, answer.criterion)
