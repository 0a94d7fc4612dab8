"""Rules over the pods of all nodes at once: who may not be asked to leave."""

from collections.abc import Sequence

import numpy as np

from reprieve.engine.arrays import Ints, Mask
from reprieve.engine.claims import Protected
from reprieve.engine.nodes.columns import NOBODY, Classes
from reprieve.engine.nodes.pool import Lasting, NodeRule, Ranked, Resident, told_by
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import Unit
from reprieve.engine.nodes.whose import Own, whose_rules
from reprieve.engine.reasons import (
    AboveMinimum,
    MissingClass,
    NotLower,
    OptionalPods,
    Reason,
    SparedByBudget,
    Tolerates,
    UnknownClass,
    UnreadableToleration,
)
from reprieve.engine.toleration import (
    NOT_AT_ALL,
    end_of,
    is_unknown,
    is_unreadable,
    tolerates_until,
    toleration_against,
)
from reprieve.manifests.priorities import PreemptionToleration, PriorityClasses
from reprieve.model.names import UnitName
from reprieve.world import NEVER, PodFacts


class OnlyLowerPriority(Lasting):
    """Nobody who does not rank strictly below the preemptor makes way."""

    tells_by: tuple[str, ...] = ("priority",)

    def __init__(self, priority: int) -> None:
        self._priority = priority

    def protects(self, pods: Ranked) -> Mask:
        return pods.get("priority") >= self._priority

    def reason(self, unit: Resident) -> Reason:
        return NotLower(unit.unit.priority, self._priority)

    def told(self, pods: Ranked, mask: Mask) -> list[Protected]:
        equal = mask & (pods.get("priority") == self._priority)
        return told_by(pods, {"EqualPriority": equal, "HigherPriority": mask & ~equal})


class NobodyAbove(Lasting):
    """Nobody above the lowest priority that is enough makes way."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def protects(self, pods: Ranked) -> Mask:
        return np.asarray(pods.get("priority") > self._limit)

    def reason(self, unit: Resident) -> Reason:
        return AboveMinimum(unit.unit.priority, self._limit)


class NobodyAboveEarlier(NobodyAbove):
    """Nobody above those who made way for the pods that a group needs makes way for more of them."""

    name = OptionalPods.rule

    def reason(self, unit: Resident) -> Reason:
        return OptionalPods(unit.unit.priority, self._limit)


class KeptByBudget(Lasting):
    """A unit whose budget would break has been reprieved before priorities were looked at."""

    def protects(self, pods: Ranked) -> Mask:
        return np.asarray(pods.get("kept") != 0)

    def reason(self, unit: Resident) -> Reason:  # noqa: ARG002 - no more to say
        return SparedByBudget()


class _ByClass(Lasting):
    """A rule that goes by the priority classes of a unit's pods: one of them is enough."""

    def __init__(self, table: NodeTable, classes: PriorityClasses) -> None:
        self._table = table
        self._classes = classes

    def protects(self, pods: Ranked) -> Mask | None:
        of_kind = [any(self._protected_by(name) for name, _ in kind or ()) for kind in self._table.tolerates.items]
        return np.array(of_kind, dtype=np.bool_)[pods.get("tolerates")] if True in of_kind else None

    def _protected_by(self, name: str) -> bool:
        raise NotImplementedError

    def _because_of(self, unit: Resident) -> tuple[str, UnitName | None]:
        """The class that is to blame, and whose it is where it is not the pod's own but another's of its group."""
        facts = next(facts for facts in (unit.facts, *unit.unit.pods) if self._protected_by(_class_of(facts)))
        return _class_of(facts), None if facts.key == unit.facts.key else facts.unit


class KnownClass(_ByClass):
    """A lower pod whose priority class cannot be looked up takes its node out: nobody knows what it tolerates."""

    spoils = True
    name = UnknownClass.rule

    def _protected_by(self, name: str) -> bool:
        return is_unknown(self._classes, name)

    def reason(self, unit: Resident) -> Reason:
        return UnknownClass(*self._because_of(unit))

    def named_by(self, unit: Unit) -> dict[str, list[UnitName]]:
        """The classes that are missing, and those of a unit's pods that name them."""
        found: dict[str, list[UnitName]] = {}
        for facts in unit.pods:
            if self._protected_by(_class_of(facts)):
                found.setdefault(_class_of(facts), []).append(facts.unit)
        return found


class ReadableToleration(_ByClass):
    """A lower pod whose class says what it tolerates in words that are no numbers takes its node out, too."""

    spoils = True
    name = UnreadableToleration.rule

    def _protected_by(self, name: str) -> bool:
        return is_unreadable(self._classes, name)

    def reason(self, unit: Resident) -> Reason:
        return UnreadableToleration(*self._because_of(unit))


class Tolerating(Lasting):
    """A pod is exempt while its priority class tolerates preemptors of this rank; a whole group, while one of its is.

    With `patience`, tolerations that are limited in time count as over: what could be done if one waited.
    """

    tells_by: tuple[str, ...] = ("tolerates", "scheduled")

    def __init__(self, table: NodeTable, classes: PriorityClasses, priority: int, now: int, *, patience: bool) -> None:
        self._table = table
        self._classes = classes
        self._priority = priority
        self._now = NEVER if patience else now
        self._good_until = NEVER

    def protects(self, pods: Ranked) -> Mask | None:
        until = self._until(pods)
        if until is None:
            return None
        lasting = until > self._now
        self._good_until = min(self._good_until, int(until[lasting].min(initial=NEVER)))
        return np.asarray(lasting)

    def _until(self, pods: Ranked) -> Ints | None:
        """Until when each tolerates the preemptor: for ever, not at all, or to a moment; None: nobody ever does."""
        kinds = [self._tolerated_for(kind or ()) for kind in self._table.tolerates.items]
        if all(seconds is None and ends == NOT_AT_ALL for seconds, ends in kinds):
            return None
        columns = [(seconds is not None, seconds or 0, ends) for seconds, ends in kinds]
        by_pod, seconds, ends = (np.array(column, dtype=np.int64) for column in zip(*columns, strict=True))
        number = pods.get("tolerates")
        return np.where(by_pod[number] > 0, end_of(seconds[number], pods.get("scheduled")), ends[number])

    def told(self, pods: Ranked, mask: Mask) -> list[Protected]:
        until = self._until(pods)
        if until is None:
            return []
        limited = mask & (until < NEVER)
        lasting = told_by(pods, {Tolerates.rule: mask & ~limited})
        number = pods.count(limited)
        return [*lasting, *([Protected(Tolerates.rule, number, int(until[limited].min()))] if number else [])]

    def _tolerated_for(self, kind: Classes) -> tuple[int | None, int]:
        """Of one class: so many seconds since each was scheduled. Else: until one moment for all (-1: not at all)."""
        policies = [(self._policy(name), since) for name, since in kind]
        if len(policies) == 1 and policies[0][0] is not None:
            return policies[0][0].toleration_seconds, NOT_AT_ALL
        return None, max((tolerates_until(policy, since) for policy, since in policies), default=NOT_AT_ALL)

    def _policy(self, name: str) -> PreemptionToleration | None:
        return toleration_against(self._classes, name, self._priority)

    def reason(self, unit: Resident) -> Reason:
        facts, policy = self._who_tolerates(unit)
        until = tolerates_until(policy, facts.scheduled)
        member = None if facts.key == unit.facts.key else facts.unit
        minimum = policy.minimum_preemptable_priority
        return Tolerates(_class_of(facts), minimum, self._priority, until if until < NEVER else None, member)

    def _who_tolerates(self, unit: Resident) -> tuple[PodFacts, PreemptionToleration]:
        """The pod itself, or the one of its group that does so longest."""
        found = [(facts, policy) for facts in unit.unit.pods if (policy := self._policy(_class_of(facts))) is not None]
        own = [one for one in found if one[0].key == unit.facts.key and _ends(one) > self._now]
        return own[0] if own else max(found, key=lambda one: (_ends(one), one[0].unit))

    def good_until(self) -> int:
        return self._good_until


def _ends(one: tuple[PodFacts, PreemptionToleration]) -> int:
    return tolerates_until(one[1], one[0].scheduled)


def _class_of(facts: PodFacts) -> str:
    return facts.pod.spec.priority_class_name


def missing_classes(table: NodeTable, rules: Sequence[NodeRule], nodes: Mask) -> list[MissingClass]:
    """For each class that is missing, the pods that name it and the nodes which these take out, among some nodes.

    `rules` are asked in order, as a search does: a pod that an earlier rule protects takes nothing out.
    """
    pods = Ranked(table, slice(0, table.size), table.depth)
    if not nodes.any() or all(rule.protects(pods) is None for rule in rules if isinstance(rule, KnownClass)):
        return []  # as nearly always
    before = np.zeros((table.depth, table.size), dtype=np.bool_)
    found: dict[str, tuple[dict[UnitName, None], dict[str, None]]] = {}
    for rule in rules:
        mask = rule.protects(pods)
        if mask is None:
            continue
        if isinstance(rule, KnownClass):
            for node, rank in np.argwhere((mask & ~before & nodes).T):
                for name, units in rule.named_by(table.residents[node][rank].unit).items():
                    who, where = found.setdefault(name, ({}, {}))
                    who |= dict.fromkeys(units)
                    where[table.names[node]] = None
        before |= mask
    return [
        MissingClass(name, tuple(sorted(who)), tuple(sorted(where))) for name, (who, where) in sorted(found.items())
    ]


def preemption_rules(
    table: NodeTable,
    classes: PriorityClasses,
    priority: int,
    now: int,
    *,
    own: Own | None = None,
    patience: bool = False,
) -> list[NodeRule]:
    """Who may not be asked by a preemptor of this priority; the last rule is the one about tolerations."""
    return [
        OnlyLowerPriority(priority),
        *whose_rules(table, own),
        KnownClass(table, classes),
        ReadableToleration(table, classes),
        Tolerating(table, classes, priority, now, patience=patience),
    ]


def judge(rules: Sequence[NodeRule], pods: Ranked) -> tuple[Ints, Mask]:
    """The number of the first rule that protects each, from 1 (0: none does; -1: nobody is there); and the nodes that
    a rule takes out."""
    protected: Ints = -(pods.get("priority") == NOBODY).view(np.int8)
    spoiled = np.zeros(protected.shape[1], dtype=np.bool_)
    for number, rule in enumerate(rules, 1):
        mask = rule.protects(pods)
        if mask is None:
            continue
        meant = mask & (protected == 0)
        np.putmask(protected, meant, number)
        if rule.spoils:
            spoiled |= meant.any(axis=0)
    return protected, spoiled
