"""Which pods and groups are worth another try after what has happened.

1. Room that became free on a node: pods that are nominated there, at once; others that could fit there once everybody
   below them (below their group, where they have one) is gone. Groups (but see 5), pods in queues, and pods that mind
   the pods around them look at more than one node: always. Whoever is nominated to a node that was taken from it looks
   again.
2. What pods look at besides room (budgets, classes, labels of namespaces and nodes, queues, a pod that kept others away
   and has left): all of them.
3. Somebody whose being there, labels or leaving others ask for or avoid: those who mind the pods around them. Pods in
   queues that may preempt by law 4 mind everybody: whoever comes may take its queue over its guarantee, whoever leaves
   takes the own one below it. So do applications that start as a whole, and those who wait for the limit of a user,
   group or queue. Those that must run on one node mind who is there: it may be somebody that makes way.
4. Of pods that are alike the first is tried for all: see `alike`.
5. Room that became free may help many, and is gone when the first has taken it: whoever was woken for nothing else, and
   could not fit when its turn has come, sleeps on. So does a group for which there are not places enough.
"""

import logging

from reprieve.manifests.yunikorn import APPLICATION
from reprieve.model.names import Key, kind_of
from reprieve.policies.podgroup.groups import Group
from reprieve.policies.queue.entry import QueueEntry
from reprieve.policies.registry import Policies
from reprieve.scheduler.lanes import Helps
from reprieve.scheduler.pods.alike import AlikePods, PodsAlike, minds_neighbours
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.room import Ceiling, NodeRoom
from reprieve.world import PodFacts

_log = logging.getLogger(__name__)

_MOST_REMEMBERED = 10_000
_FITS = "fits"
"""What is asked of a shape, beside whether it could fit if others left."""


class PodWakeups:
    """Gathers what has happened, and tells whom it could help."""

    def __init__(self, pending: PendingUnits, policies: Policies, room: NodeRoom, alike: AlikePods) -> None:
        self._pending = pending
        self._alike = alike
        self._policies = policies
        self._room = room
        self._touched: set[str] = set()
        """Nodes whose nominated pods have not been looked at since."""
        self._happened = _Happened()
        self._for_room = _WokenForRoom()

    def freed(self, node: str) -> None:
        """There is more room on a node than before."""
        self._happened.freed.add(node)
        self._for_room.freed(node)
        self._touched.add(node)

    def taken(self, node: str) -> None:
        """There is less room on a node than before: who was promised a place there may have lost it."""
        self._touched.add(node)
        self._happened.taken.add(node)

    def lost(self, node: str) -> None:
        """A node is gone: who was to go there looks elsewhere; and nobody there is anybody's neighbour any more."""
        self._touched.add(node)
        self.everybody()

    def everybody(self) -> None:
        self._happened.everybody = True
        self._for_room.clear()

    def neighbours(self, node: str) -> None:
        """Others have somebody else around them, on this node."""
        self._happened.neighbours.add(node)

    @property
    def something(self) -> bool:
        """Whether anything has happened."""
        happened = self._happened
        return bool(happened.freed or happened.everybody or happened.neighbours)

    def next_in_line(self) -> list[str]:
        """The units that were promised a place which is free by now, or cannot be had any more."""
        touched, self._touched = self._touched, set()
        ready = [facts for node in sorted(touched) for facts in self._next_on(node)]
        return list(dict.fromkeys(map(self._pending.unit_of, ready)))

    def _next_on(self, node: str) -> list[PodFacts]:
        """Of those who are nominated to a node, the more important first: who fits beside those before it, and who will
        not fit there even when all have left who are leaving. Groups see for themselves."""
        ready: list[PodFacts] = []
        behind = {
            facts.key: facts for facts in sorted(self._pending.nominated_to(node), key=lambda facts: facts.importance)
        }
        for key, facts in list(behind.items()):
            alone = self._pending.unit_of(facts) == facts.unit
            if not alone or self._ends_here(facts, node, frozenset(behind)):
                ready.append(facts)
                del behind[key]
        return ready

    def _ends_here(self, facts: PodFacts, node: str, behind: frozenset[Key]) -> bool:
        """Whether the wait for a place on a node is over, well or not."""
        try:
            return self._room.fits_on(facts, [node], apart_from=behind) or not self._room.will_fit_on(facts, node)
        except Exception:
            _log.exception("it cannot be said whether %s fits on %s: it is tried", facts.unit, node)
            return True

    def whom_it_helps(self) -> Helps:
        """To be asked before anything else happens."""
        happened, self._happened = self._happened, _Happened()
        return lambda unit: self._tried(unit, happened)

    def _tried(self, unit: str, happened: "_Happened") -> bool:
        """Whether a unit is to be tried; of pods that are alike, whether it is the one that is tried for all."""
        alike = self._alike.beside(unit)
        if alike is None:
            return self._helps(unit, happened)
        if alike not in happened.first:
            first = self._alike.first(alike)
            helped = first is not None and self._helps(first, happened)
            happened.first[alike] = first if helped else None
        if happened.first[alike] != unit:
            return False
        self._alike.leads(unit, alike)
        return True

    def _helps(self, unit: str, happened: "_Happened") -> bool:
        if unit not in self._pending:
            return False
        pods = self._pending.pods(unit)
        minds = kind_of(unit) == APPLICATION or any(minds_neighbours(facts) for facts in pods)
        queues: QueueEntry = self._policies[QueueEntry.name]
        if happened.everybody or (happened.neighbours and minds):
            return True
        alone = len(pods) == 1 and not pods[0].nominated
        if happened.neighbours and alone and self._minds_who_is_there(pods[0], queues, happened):
            return True
        if not pods or not happened.freed:
            return False
        if len(pods) == 1 and pods[0].nominated:
            return self._has_better(pods[0], happened)
        if minds or queues.policy is not None or any(facts.nominated for facts in pods):
            return True
        if len(pods) > 1:
            self._for_room.add(unit, happened.freed)
            return True
        could_fit = self._could_fit(pods[0], self._pending.priority(unit), happened)
        if could_fit:
            self._for_room.add(unit, happened.freed)
        return could_fit

    def room_for(self, unit: str) -> set[str]:
        """The nodes on which there was more room when a unit was woken for that, or is since; it is then forgotten."""
        return self._for_room.take(unit)

    def is_room(self, unit: str, nodes: set[str]) -> bool:
        """Whether a unit could fit if those below it left: one of its pods on these nodes, and so many as a group needs
        on all nodes."""
        pods, priority = self._pending.pods(unit), self._pending.priority(unit)
        ceiling = self._room.ceiling(nodes, priority)
        if not any(ceiling.allows(facts) and self._room.could_fit_on(facts, nodes, priority) for facts in pods):
            return False
        waiting = self._pending.waiting(unit) if len(pods) > 1 else None
        if waiting is None or not isinstance(waiting.facts, Group) or waiting.facts.gang.groups:
            return True
        return self._room.places(pods, priority) >= waiting.facts.gang.required

    def _has_better(self, facts: PodFacts, happened: "_Happened") -> bool:
        """Whether a pod that has a place to wait for could have one that is free, or waits in vain. Who is nominated
        to another node gets the answer of all of its shape: thousands may wait for their victims at once."""
        place = facts.nominated
        if place in happened.freed:
            return self._room.fits_on(facts, happened.freed) or not self._room.will_fit_on(facts, place)
        shape = self._room.shape(facts), _FITS
        known = happened.answers.get(shape)
        if known is None:
            known = happened.answers[shape] = self._room.fits_on(facts, happened.freed)
        return known or (place in happened.taken and not self._room.will_fit_on(facts, place))

    def _minds_who_is_there(self, facts: PodFacts, queues: QueueEntry, happened: "_Happened") -> bool:
        """Whether queues may let it preempt somebody who was not there, or not to be asked, before."""
        return queues.minds_everybody(facts) or queues.node_for(facts) in happened.neighbours

    def _could_fit(self, facts: PodFacts, priority: int, happened: "_Happened") -> bool:
        """Asked once for each shape of pod, however many wait."""
        if priority not in happened.ceilings:
            happened.ceilings[priority] = self._room.ceiling(happened.freed, priority)
        if not happened.ceilings[priority].allows(facts):
            return False
        shape = self._room.shape(facts), priority
        known = happened.answers.get(shape)
        if known is None:
            known = happened.answers[shape] = self._room.could_fit_on(facts, happened.freed, priority)
        return known


class _WokenForRoom:
    """Units that were woken for room on some nodes and for nothing else, and all nodes with more room since then."""

    def __init__(self) -> None:
        self._freed: list[str] = []
        self._since: dict[str, int] = {}
        self._last: set[str] | None = None
        """The nodes that were added last, together, and from where on they stand."""
        self._first = 0

    def freed(self, node: str) -> None:
        if len(self._freed) > _MOST_REMEMBERED:
            self.clear()
        if self._since:
            self._freed.append(node)

    def add(self, unit: str, nodes: set[str]) -> None:
        if nodes is not self._last:
            self._last, self._first = nodes, len(self._freed)
            self._freed += nodes
        self._since[unit] = self._first

    def take(self, unit: str) -> set[str]:
        since = self._since.pop(unit, None)
        nodes = set(self._freed[since:]) if since is not None else set()
        if not self._since:
            self.clear()
        return nodes

    def clear(self) -> None:
        """Something else has happened that could help anybody."""
        self._freed.clear()
        self._since.clear()
        self._last = None


class _Happened:
    """What has happened since those who wait were last looked through."""

    def __init__(self) -> None:
        self.freed: set[str] = set()
        self.taken: set[str] = set()
        self.everybody = False
        self.neighbours: set[str] = set()
        """Nodes on which somebody else is, or looks different."""
        self.answers: dict[object, bool] = {}
        """What was asked about the room that became free."""
        self.ceilings: dict[int, Ceiling] = {}
        """What there could be on these nodes, by the priority of who asks."""
        self.first: dict[PodsAlike, str | None] = {}
        """Who is tried for all that are alike; None: nobody, it helps none of them."""
