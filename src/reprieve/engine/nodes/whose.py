"""Rules about whose a pod is: another scheduler's, or its kubelet's own."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reprieve.engine.arrays import Mask
from reprieve.engine.nodes.pool import Lasting, NodeRule, Ranked, Resident
from reprieve.engine.nodes.table import NodeTable
from reprieve.engine.nodes.units import PlacedBy
from reprieve.engine.reasons import MirrorPod, OtherScheduler, Reason
from reprieve.engine.rules import Rule
from reprieve.world import PodFacts


class Own(NamedTuple):
    """The scheduler that a preemptor names, and all names that are this one's."""

    scheduler: str
    names: frozenset[str]


class OnlyOwn(Lasting):
    """Nobody makes way whom another scheduler placed, nor anybody of one group with such a pod."""

    name = OtherScheduler.rule

    def __init__(self, table: NodeTable, own: Own) -> None:
        self._table = table
        self._own = own

    def protects(self, pods: Ranked) -> Mask | None:
        return _by_kind(pods, [kind is not None and not kind.schedulers <= self._own.names for kind in self._kinds])

    @property
    def _kinds(self) -> Sequence[PlacedBy | None]:
        return self._table.placed_by.items

    def reason(self, unit: Resident) -> Reason:
        names = [facts.pod.spec.scheduler_name for facts in (unit.facts, *unit.unit.pods)]
        return OtherScheduler(next(name for name in names if name not in self._own.names), self._own.scheduler)


class NoMirrorPods(Lasting):
    """Nobody makes way whom only its kubelet can end: deleting what mirrors a static pod frees nothing."""

    name = MirrorPod.rule

    def __init__(self, table: NodeTable) -> None:
        self._table = table

    def protects(self, pods: Ranked) -> Mask | None:
        return _by_kind(pods, [kind is not None and kind.mirror for kind in self._table.placed_by.items])

    def reason(self, unit: Resident) -> Reason:  # noqa: ARG002 - no more to say
        return MirrorPod()


def _by_kind(pods: Ranked, of_kind: list[bool]) -> Mask | None:
    """The mask over pods of what holds of each kind; None: of nobody."""
    return np.array(of_kind, dtype=np.bool_)[pods.get("placed_by")] if True in of_kind else None


def whose_rule(own: Own | None) -> Rule[PodFacts]:
    """The same for whoever looks at one pod after the other."""

    def rule(facts: PodFacts, /) -> Reason | None:
        scheduler = facts.pod.spec.scheduler_name
        if own is not None and scheduler not in own.names:
            return OtherScheduler(scheduler, own.scheduler)
        return MirrorPod() if facts.pod.mirror else None

    return rule


def whose_rules(table: NodeTable, own: Own | None) -> list[NodeRule]:
    """Who is not this scheduler's to ask, whatever its priority."""
    return [*([OnlyOwn(table, own)] if own is not None else []), NoMirrorPods(table)]
