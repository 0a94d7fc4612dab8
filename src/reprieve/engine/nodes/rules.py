"""Rules over the pods of all nodes at once: who may not be asked to leave."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.engine.reasons import (
    AboveMinimum,
    NotLower,
    Reason,
    SparedByBudget,
    Tolerates,
    UnknownClass,
    UnreadableToleration,
)
from reprieve.engine.rules import PoolRule
from reprieve.manifests.priorities import PreemptionToleration, PriorityClasses, preemption_toleration
from reprieve.manifests.scheduling import TOLERATION_PREFIX
from reprieve.world import NEVER, PodFacts

_SECOND = 1_000_000
_LONGEST = 10**11
"""Seconds; three thousand years are as good as for ever, and can be added to a moment."""


class Ranked(NamedTuple):
    """The pods of some nodes, rank by rank, for rules to look at."""

    table: NodeTable
    nodes: slice | Ints
    depth: int

    def get(self, name: str) -> Ints:
        return self.table.ranks[name][: self.depth, self.nodes]


class Resident(NamedTuple):
    """A pod on a node, and the unit that it is preempted with."""

    unit: Unit
    facts: PodFacts


class NodeRule(PoolRule[Ranked, Resident], Protocol):
    """A rule over ranks and nodes. One that spoils takes the whole node out of the search."""

    spoils: bool

    def good_until(self) -> int:
        """When its answer may change with time alone."""


class Lasting:
    """A rule that neither spoils a node nor changes its answer with time."""

    spoils = False

    def good_until(self) -> int:
        return NEVER


class OnlyLowerPriority(Lasting):
    """Nobody who does not rank strictly below the preemptor makes way."""

    def __init__(self, priority: int) -> None:
        self._priority = priority

    def protects(self, pods: Ranked) -> Mask:
        return pods.get("priority") >= self._priority

    def reason(self, unit: Resident) -> Reason:
        return NotLower(unit.unit.priority, self._priority)


class NobodyAbove(Lasting):
    """Nobody above the lowest priority that is enough makes way."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def protects(self, pods: Ranked) -> Mask:
        return np.asarray(pods.get("priority") > self._limit)

    def reason(self, unit: Resident) -> Reason:
        return AboveMinimum(unit.unit.priority, self._limit)


class KeptByBudget(Lasting):
    """A unit whose budget would break has been reprieved before priorities were looked at."""

    def protects(self, pods: Ranked) -> Mask:
        return np.asarray(pods.get("kept") != 0)

    def reason(self, unit: Resident) -> Reason:  # noqa: ARG002 - no more to say
        return SparedByBudget()


class KnownClass(Lasting):
    """A lower pod whose priority class cannot be looked up takes its node out: nobody knows what it tolerates."""

    spoils = True

    def __init__(self, table: NodeTable, classes: PriorityClasses) -> None:
        self._table = table
        self._classes = classes

    def protects(self, pods: Ranked) -> Mask:
        unknown = np.array(
            [bool(name) and self._classes.get(name or "") is None for name in self._table.tolerates.items],
            dtype=np.bool_,
        )
        return unknown[pods.get("tolerates")]

    def reason(self, unit: Resident) -> Reason:
        return UnknownClass(unit.facts.pod.spec.priority_class_name)


class ReadableToleration(Lasting):
    """A lower pod whose class says what it tolerates in words that are no numbers takes its node out, too."""

    spoils = True

    def __init__(self, table: NodeTable, classes: PriorityClasses) -> None:
        self._table = table
        self._classes = classes

    def protects(self, pods: Ranked) -> Mask:
        unreadable = np.array([self._unreadable(name) for name in self._table.tolerates.items], dtype=np.bool_)
        return unreadable[pods.get("tolerates")]

    def _unreadable(self, name: str | None) -> bool:
        item = self._classes.get(name) if name else None
        return item is not None and preemption_toleration(item) is None

    def reason(self, unit: Resident) -> Reason:
        return UnreadableToleration(unit.facts.pod.spec.priority_class_name)


class Tolerating(Lasting):
    """A pod is exempt while its priority class tolerates preemptors of this rank.

    1. The preemptor ranks below the class's minimum-preemptable-priority.
    2. And the toleration is for ever (negative seconds), or it is not known when the pod was scheduled, or the
       seconds since then have not passed yet; at the exact moment they have.

    With `patience`, tolerations that are limited in time count as over: what could be done if one waited.
    """

    def __init__(self, table: NodeTable, classes: PriorityClasses, priority: int, now: int, *, patience: bool) -> None:
        self._table = table
        self._classes = classes
        self._priority = priority
        self._now = now
        self._patience = patience
        self._good_until = NEVER

    def protects(self, pods: Ranked) -> Mask:
        policies = [self._policy(name) for name in self._table.tolerates.items]
        if not any(policies):
            return np.zeros(pods.get("tolerates").shape, dtype=np.bool_)
        shielded = np.array([policy is not None for policy in policies], dtype=np.bool_)
        seconds = np.array([policy.toleration_seconds if policy else 0 for policy in policies], dtype=np.int64)
        number = pods.get("tolerates")
        return shielded[number] & self._lasts(seconds[number], pods.get("scheduled"))

    def _lasts(self, seconds: Ints, scheduled: Ints) -> Mask:
        forever = np.asarray(seconds < 0)
        if self._patience:
            return forever
        ends = np.where(scheduled == NEVER, NEVER, scheduled + np.clip(seconds, 0, _LONGEST) * _SECOND)
        lasting = np.asarray(ends > self._now)
        self._good_until = min(self._good_until, int(ends[lasting].min(initial=NEVER)))
        return forever | lasting

    def _policy(self, name: str | None) -> PreemptionToleration | None:
        """The toleration of a class, if it asks for one and it holds against this preemptor."""
        item = self._classes.get(name) if name else None
        if item is None or not any(key.startswith(TOLERATION_PREFIX) for key in item.metadata.annotations):
            return None
        policy = preemption_toleration(item)
        return policy if policy is not None and self._priority < policy.minimum_preemptable_priority else None

    def reason(self, unit: Resident) -> Reason:
        facts = unit.facts
        name = facts.pod.spec.priority_class_name
        policy = self._policy(name) or PreemptionToleration(facts.priority + 1, 0)
        limited = policy.toleration_seconds >= 0 and facts.scheduled != NEVER
        until = facts.scheduled + policy.toleration_seconds * _SECOND if limited else None
        return Tolerates(name, policy.minimum_preemptable_priority, self._priority, until)

    def good_until(self) -> int:
        return self._good_until


def preemption_rules(
    table: NodeTable, classes: PriorityClasses, priority: int, now: int, *, patience: bool = False
) -> list[NodeRule]:
    """Who may not be asked by a preemptor of this priority; the last rule is the one about tolerations."""
    return [
        OnlyLowerPriority(priority),
        KnownClass(table, classes),
        ReadableToleration(table, classes),
        Tolerating(table, classes, priority, now, patience=patience),
    ]
