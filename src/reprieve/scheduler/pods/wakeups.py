"""Who is worth another try after what has happened.

1. Room that became free on a node: pods that are nominated there, at once; others that could fit there once everybody
   below them (below their group, where they have one) is gone. Groups, pods in queues, and pods that mind their company
   look at more than one node: always.
2. What pods look at besides room (budgets, classes, labels of namespaces and nodes, queues, a pod that kept others away
   and has left): all of them.
3. Somebody whose being there, labels or leaving is company that others ask for or avoid: those who mind their company.
4. A cluster that has changed, or a binding that left something: bindings.
5. About whom it cannot be said whether it helps: it is tried.
Looking through all who wait takes longer the more they are, so it is done a few times a second at most, on a clock that
nobody can set.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from math import inf

from reprieve.engine.nodes.table import NodeTable
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.world import PodFacts

_log = logging.getLogger(__name__)

_INTERVAL = 0.05
_LOWEST = -(2**62)
_BINDINGS = ("ResourceBinding/", "ClusterResourceBinding/")


class Wakeups:
    """Gathers what has happened, and wakes whom it could help."""

    def __init__(
        self, queue: SchedulingQueue, pending: PendingUnits, deciding: Deciding, clock: Callable[[], float]
    ) -> None:
        self._clock = clock
        self._next = 0.0
        self._direct: set[str] = set()
        self._queue = queue
        self._pending = pending
        self._deciding = deciding
        self._table = deciding.pods.table
        self._freed: set[str] = set()
        self._everybody = False
        self._company = False
        self._bindings = False

    def freed(self, node: str) -> None:
        """There is more room on a node than before."""
        self._freed.add(node)
        self._direct.add(node)

    def lost(self, node: str) -> None:
        """A node is gone: who was to go there looks elsewhere; and nobody there is anybody's company any more."""
        self._direct.add(node)
        self._everybody = True

    def everybody(self) -> None:
        self._everybody = True

    def company(self) -> None:
        self._company = True

    def bindings(self) -> None:
        self._bindings = True

    def wake(self) -> None:
        """Move whoever could be helped, and forget what has happened."""
        if self._direct:
            self._table.sync()
            self._push(facts for node in sorted(self._direct) for facts in self._next_on(node))
            self._direct.clear()
        if not self._something or self.due_in() > 0:
            return
        if self._queue.size("unschedulable"):
            self._next = self._clock() + _INTERVAL
            self._table.sync()
            room = _Room(self._table, self._freed)
            self._queue.move(lambda unit: self._may_help(unit, room))
        self._freed.clear()
        self._everybody = self._company = self._bindings = False

    def _next_on(self, node: str) -> list[PodFacts]:
        """Of those who are nominated to a node, the ones whose place is free by now; groups see for themselves."""
        nominated = self._pending.nominated_to(node)
        index = self._table.index.get(node)
        if index is None:
            return nominated
        free = dict(zip(self._table.resources, self._table.free(index), strict=False))
        ready = []
        for facts in sorted(nominated, key=lambda facts: facts.importance):
            alone = self._pending.unit_of(facts) == facts.unit
            if not alone or all(units <= free.get(name, 0) for name, units in facts.requests.items()):
                ready.append(facts)
                free = {name: left - facts.requests.of(name) for name, left in free.items()}
        return ready

    @property
    def _something(self) -> bool:
        return bool(self._freed or self._everybody or self._company or self._bindings)

    def due_in(self) -> float:
        """Seconds until those who wait are looked through, if anything has happened; infinite: nothing has."""
        return max(0.0, self._next - self._clock()) if self._something else inf

    def _may_help(self, unit: str, room: _Room) -> bool:
        try:
            return self._helps(unit, room)
        except Exception:
            _log.exception("it cannot be said what helps %s: it is tried", unit)
            return True

    def _helps(self, unit: str, room: _Room) -> bool:
        if unit.startswith(_BINDINGS):
            return self._bindings
        if unit not in self._pending:
            return False
        if self._everybody:
            return True
        pods = self._pending.pods(unit)
        company = any(_minds_company(facts) for facts in pods)
        if self._company and company:
            return True
        if len(pods) == 1 and pods[0].nominated:
            return room.is_free_for(pods[0])  # it has a place to wait for: only one that is free is better
        widely = company or len(pods) > 1 or self._deciding.queues is not None
        return bool(pods) and bool(self._freed) and (widely or room.could_hold(pods[0], self._pending.priority(unit)))

    def _push(self, pods: Iterable[PodFacts]) -> None:
        for unit in {self._pending.unit_of(facts): None for facts in pods}:
            if unit in self._pending:
                self._queue.push(unit, self._pending.priority(unit))


def _minds_company(facts: PodFacts) -> bool:
    """Whether other pods decide where it may go."""
    spec = facts.pod.spec
    affinity = spec.affinity
    among = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    return among or bool(spec.topology_spread_constraints)


class _Room:
    """What some nodes could hold for somebody of a priority, if everybody below made way; asked once for each shape."""

    def __init__(self, table: NodeTable, names: Iterable[str]) -> None:
        self._table = table
        self._nodes = [table.index[name] for name in sorted(names) if name in table.index]
        self._answers: dict[object, bool] = {}

    def could_hold(self, facts: PodFacts, priority: int) -> bool:
        """`priority` is the one it is scheduled at: that of its group may be above its own."""
        shape = priority, facts.requests
        known = self._answers.get(shape)
        if known is None:
            known = self._answers[shape] = any(self._holds(node, facts, priority) for node in self._nodes)
        return known

    def is_free_for(self, facts: PodFacts) -> bool:
        return any(self._holds(node, facts, _LOWEST) for node in self._nodes)

    def _holds(self, node: int, facts: PodFacts, priority: int) -> bool:
        table = self._table
        below = [share for share in table.residents[node] if share.unit.priority < priority]
        free = table.free(node)
        for name, units in facts.requests.items():
            row = table.resources.get(name)
            if row is None:
                return False
            removable = sum(other.requests.of(name) for share in below for other in share.pods)
            if units > free[row] + removable:
                return False
        return True
