"""Who may be preempted by bindings: a new one of each class that may preempt, and those who wait.

An asker asks for just what a binding holds in a cluster, of the scheduler that placed it or another that is in use.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from reprieve.engine.exposure import ALLOWED, NO_CLASS, Asker, Exposure, Numbers, Overcommitted, ask, levels
from reprieve.engine.reasons import NobodyAsked, Reason
from reprieve.model.names import UnitName, unit_name
from reprieve.model.resources import NOTHING
from reprieve.policies.federation.policy import FederationPolicy
from reprieve.policies.federation.residents import ResidentBinding, Residents
from reprieve.policies.federation.rules import BindingRule, rules_everywhere
from reprieve.policies.federation.world import Federation

USUAL_SCHEDULER = "default-scheduler"
"""Karmada's own; askers of another one say so."""
_GATE = 100
"""Beyond the numbers of rules: bindings do not preempt at all."""


class FederationExposure:
    """All bindings that hold something, each once, wherever it is."""

    def __init__(self, policy: FederationPolicy) -> None:
        policy.federation.refresh()
        self._policy = policy
        self._pool = Residents("")
        self._pool.bindings = [facts for facts in policy.federation.bindings if facts.held]

    def askers(self) -> list[Asker]:
        """Who names no class never preempts. Where several schedulers are in use, each asks for itself."""
        everybody = self._policy.federation.bindings
        waiting = (facts.priority for facts in everybody if facts.pending and facts.preemption_policy != "Never")
        names = {facts.binding.spec.scheduler_name for facts in everybody}
        schedulers = sorted("" if name == USUAL_SCHEDULER else name for name in names)
        named = [asker for asker in levels(self._policy.world, waiting) if asker.name != NO_CLASS]
        return [asker._replace(where=scheduler) for scheduler in schedulers for asker in named]

    def of(self, askers: Sequence[Asker]) -> Exposure:
        protected = ask(askers, self._row, len(self._pool.bindings))
        return Exposure(
            askers,
            [facts.unit for facts in self._pool.bindings],
            protected,
            lambda asker, unit: self._reason(askers[asker], unit, int(protected[asker, unit])),
        )

    def _row(self, asker: Asker) -> Numbers:
        row: Numbers = np.zeros(len(self._pool.bindings), dtype=np.int16)
        if not self._policy.settings.gate("PriorityBasedPreemptiveScheduling"):
            row[:] = _GATE
            return row
        for number, rule in enumerate(self._rules(asker), 1):
            mask = rule.protects(self._pool)
            if mask is not None:
                row[(row == ALLOWED) & mask] = number
        return row

    def _rules(self, asker: Asker) -> list[BindingRule]:
        return rules_everywhere(asker.where or USUAL_SCHEDULER, asker.priority)

    def _reason(self, asker: Asker, unit: int, number: int) -> Reason:
        if number == _GATE:
            return NobodyAsked()
        return self._rules(asker)[number - 1].reason(ResidentBinding(self._pool.bindings[unit], ""))


def overcommitted_clusters(federation: Federation) -> Iterator[Overcommitted]:
    """Clusters that have less than nothing left; those who rank lowest would have to go first."""
    federation.refresh()
    for name, free in federation.free.items():
        for resource, over in (NOTHING - free).positive().items():
            lowest = _lowest(federation, name, resource, over)
            yield Overcommitted(unit_name("Cluster", "", name), resource, over, lowest)


def _lowest(federation: Federation, cluster: str, resource: str, over: int) -> list[UnitName]:
    going = []
    for facts in federation.in_cluster(cluster).bindings:
        amount = facts.request.of(resource) * facts.held[cluster]
        if over > 0 and amount > 0:
            going.append(facts.unit)
            over -= amount
    return going
