"""Who may not be asked to leave a cluster: the rules that the search goes by, and that explanations are made from.

1. Cluster-scoped bindings take no part in preemption.
2. What another scheduler has placed is left alone: two must not preempt in circles.
3. Whoever is being deleted goes anyway; what it uses is as good as free.
4. Whoever asks for nothing would free nothing.
5. Only bindings of strictly lower priority make way.
6. Whoever holds nothing of what is missing in its cluster would not help.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import and_, or_

import numpy as np

from reprieve.engine import reasons
from reprieve.engine.arrays import Mask
from reprieve.engine.reasons import Reason
from reprieve.engine.rules import PoolRule
from reprieve.model.resources import Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.residents import ResidentBinding, Residents

BindingRule = PoolRule[Residents, ResidentBinding]


class TakesPart:
    """Rules 1 to 4, which look at nothing but a binding itself: their answer is good until somebody comes or goes."""

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler

    def protects(self, pool: Residents) -> Mask:
        return pool.kept(self._scheduler, lambda: [self._outside(facts) is not None for facts in pool.bindings])

    def reason(self, unit: ResidentBinding) -> Reason:
        return self._outside(unit.facts) or reasons.NobodyAsked()

    def _outside(self, facts: BindingFacts) -> Reason | None:
        if facts.binding.kind != "ResourceBinding":
            return reasons.ClusterScoped()
        if facts.binding.spec.scheduler_name != self._scheduler:
            return reasons.OtherScheduler(facts.binding.spec.scheduler_name, self._scheduler)
        if facts.deleted:
            return reasons.BeingDeleted()
        return None if facts.request else reasons.NoRequirements()


class OnlyLowerBindings:
    def __init__(self, priority: int) -> None:
        self._priority = priority

    def protects(self, pool: Residents) -> Mask:
        mask: Mask = pool.priorities() >= self._priority
        return mask

    def reason(self, unit: ResidentBinding) -> Reason:
        return reasons.NotLower(unit.facts.priority, self._priority)


class HoldsWhatIsMissing:
    def __init__(self, missing: Callable[[str], Resources]) -> None:
        self._missing = missing

    def protects(self, pool: Residents) -> Mask:
        masks = [pool.holds_none(name) for name in self._missing(pool.cluster)]
        return reduce(and_, masks) if masks else np.ones(len(pool.bindings), dtype=np.bool_)

    def reason(self, unit: ResidentBinding) -> Reason:  # noqa: ARG002 - the same for all
        return reasons.NotContested()


def rules_for(preemptor: BindingFacts, missing: Callable[[str], Resources]) -> list[BindingRule]:
    """All rules for a preemptor, where so much is missing in each cluster."""
    return [*rules_everywhere(preemptor.binding.spec.scheduler_name, preemptor.priority), HoldsWhatIsMissing(missing)]


def rules_everywhere(scheduler: str, priority: int) -> list[BindingRule]:
    """Rules 1 to 5: those that hold in every cluster, whatever is missing there."""
    return [TakesPart(scheduler), OnlyLowerBindings(priority)]


def candidates(rules: Iterable[BindingRule], residents: Residents) -> Mask:
    """Whom no rule protects."""
    masks = [mask for _, mask in _protected(rules, residents)]
    return np.invert(reduce(or_, masks)) if masks else np.ones(len(residents.bindings), dtype=np.bool_)


def judge(rules: Sequence[BindingRule], residents: Residents) -> Iterator[tuple[BindingFacts, Reason | None]]:
    """All bindings of a cluster, the most important first, with the reason of the first rule that protects them."""
    masks = _protected(rules, residents)
    for rank in reversed(range(len(residents.bindings))):
        resident = ResidentBinding(residents.bindings[rank], residents.cluster)
        yield resident.facts, next((rule.reason(resident) for rule, mask in masks if mask[rank]), None)


def _protected(rules: Iterable[BindingRule], residents: Residents) -> list[tuple[BindingRule, Mask]]:
    return [(rule, mask) for rule in rules if (mask := rule.protects(residents)) is not None]
