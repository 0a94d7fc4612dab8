"""Who may not be asked to leave a cluster: the rules that the search goes by, and that explanations are made from.

1. Cluster-scoped bindings take no part in preemption.
2. What another scheduler has placed is left alone: two must not preempt in circles.
3. Whoever is being deleted goes anyway; what it uses is as good as free.
4. Whoever asks for nothing would free nothing.
5. Only bindings of strictly lower priority make way.
6. Whoever holds nothing of what is missing in its cluster would not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Protocol

import msgspec
import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.reasons import (
    BeingDeleted,
    ClusterScoped,
    NoRequirements,
    NotContested,
    NotLower,
    OtherScheduler,
    Reason,
)
from reprieve.engine.rules import PoolRule
from reprieve.model.resources import Resources
from reprieve.policies.federation.bindings import BindingFacts
from reprieve.policies.federation.residents import Resident, Residents


class BindingRule(PoolRule[Residents, Resident], Protocol):
    """A rule over the bindings in one cluster. A lasting one looks at nothing but a binding itself."""

    lasting: ClassVar[bool]


class NamespacedOnly(msgspec.Struct, frozen=True):
    lasting: ClassVar[bool] = True

    def protects(self, pool: Residents) -> Mask:
        return pool.where(lambda facts: facts.binding.kind != "ResourceBinding")

    def reason(self, unit: Resident) -> Reason:  # noqa: ARG002 - the same for all
        return ClusterScoped()


class OwnScheduler(msgspec.Struct, frozen=True):
    lasting: ClassVar[bool] = True
    scheduler: str

    def protects(self, pool: Residents) -> Mask:
        return pool.where(lambda facts: facts.binding.spec.scheduler_name != self.scheduler)

    def reason(self, unit: Resident) -> Reason:
        return OtherScheduler(unit.facts.binding.spec.scheduler_name, self.scheduler)


class NotBeingDeleted(msgspec.Struct, frozen=True):
    lasting: ClassVar[bool] = True

    def protects(self, pool: Residents) -> Mask:
        return pool.where(lambda facts: facts.deleted)

    def reason(self, unit: Resident) -> Reason:  # noqa: ARG002 - the same for all
        return BeingDeleted()


class AsksForSomething(msgspec.Struct, frozen=True):
    lasting: ClassVar[bool] = True

    def protects(self, pool: Residents) -> Mask:
        return pool.where(lambda facts: not facts.request)

    def reason(self, unit: Resident) -> Reason:  # noqa: ARG002 - the same for all
        return NoRequirements()


class OnlyLowerPriority(msgspec.Struct, frozen=True):
    lasting: ClassVar[bool] = False
    priority: int

    def protects(self, pool: Residents) -> Mask:
        mask: Mask = pool.priorities() >= self.priority
        return mask

    def reason(self, unit: Resident) -> Reason:
        return NotLower(unit.facts.priority, self.priority)


class HoldsWhatIsMissing:
    """Knows what is missing in each cluster."""

    lasting: ClassVar[bool] = False

    def __init__(self, missing: Callable[[str], Resources]) -> None:
        self._missing = missing

    def protects(self, pool: Residents) -> Mask:
        mask: Mask = np.ones(len(pool.bindings), dtype=np.bool_)
        for name in self._missing(pool.cluster):
            mask &= pool.holds_none(name)
        return mask

    def reason(self, unit: Resident) -> Reason:  # noqa: ARG002 - the same for all
        return NotContested()


def lasting_rules(scheduler: str) -> list[BindingRule]:
    """Those that are the same for all preemptors of a scheduler."""
    return [NamespacedOnly(), OwnScheduler(scheduler), NotBeingDeleted(), AsksForSomething()]


def rules_for(preemptor: BindingFacts, missing: Callable[[str], Resources]) -> list[BindingRule]:
    """All rules for a preemptor, where so much is missing in each cluster."""
    lasting = lasting_rules(preemptor.binding.spec.scheduler_name)
    return [*lasting, OnlyLowerPriority(preemptor.priority), HoldsWhatIsMissing(missing)]


class Protection:
    """Rules taken together. Whom the lasting ones protect is known until somebody comes or goes."""

    def __init__(self, rules: Sequence[BindingRule]) -> None:
        self._lasting = tuple(rule for rule in rules if rule.lasting)
        self._others = [rule for rule in rules if not rule.lasting]

    def of(self, residents: Residents) -> Mask:
        """Whom any rule protects."""
        found = residents.kept(self._lasting, lambda: _any(self._lasting, residents))
        for rule in self._others:
            found = found | rule.protects(residents)
        return found


def _any(rules: Iterable[BindingRule], residents: Residents) -> Mask:
    found: Mask = np.logical_or.reduce([rule.protects(residents) for rule in rules])
    return found


def judge(rules: Sequence[BindingRule], residents: Residents) -> Iterator[tuple[Resident, Reason | None]]:
    """All bindings of a cluster, the most important first, with the reason of the first rule that protects them."""
    masks = [(rule, rule.protects(residents)) for rule in rules]
    for rank in reversed(range(len(residents.bindings))):
        resident = Resident(residents.bindings[rank], residents.cluster)
        yield resident, next((rule.reason(resident) for rule, mask in masks if mask[rank]), None)
