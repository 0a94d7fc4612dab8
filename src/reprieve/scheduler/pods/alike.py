"""Pods that wait and are alike: what is decided for one of them holds for all, so that one is tried for the others.

Thousands of pods of one Job wait for the same. When room appears, trying each of them would be thousands of decisions,
of which all but the first few say what was said before.

1. Who was refused, and is alike to others, sleeps beside them. What could help wakes the oldest of them: it leads.
2. It is refused again: so would be the others, which sleep on. Whatever else comes of its turn (a place, a nomination,
   a wait that has an end, a failure, or that it is gone), the next one leads, before anybody less important has a turn.
3. Alike are pods that the search cannot tell apart, and that have the same policy, queue, application, user and
   namespace; not those that mind the pods around them, or that were promised a place.
"""

from collections.abc import Callable

from reprieve.engine.plan import Plan
from reprieve.model.names import kind_of
from reprieve.policies.queue.pods import application, queue_name, required_node
from reprieve.policies.queue.users import user_of
from reprieve.scheduler.pods.pending import PendingUnits
from reprieve.scheduler.pods.room import NodeRoom
from reprieve.scheduler.scheduling_queue import SchedulingQueue
from reprieve.world import PodFacts


class PodsAlike:
    """Pods that are alike, and sleep."""

    def __init__(self, what: object) -> None:
        self.what = what
        self.asleep: dict[str, tuple[int, str]] = {}
        self.leader = ""


class AlikePods:
    """Who sleeps beside whom, and who is tried for the others."""

    def __init__(self, queue: SchedulingQueue, pending: PendingUnits, room: NodeRoom) -> None:
        self._queue = queue
        self._pending = pending
        self._room = room
        self._known: dict[object, PodsAlike] = {}
        self._beside: dict[str, PodsAlike] = {}
        self._leads: dict[str, PodsAlike] = {}

    def beside(self, unit: str) -> PodsAlike | None:
        """Those whom a pod sleeps beside; None: it does not sleep, or is like nobody else."""
        return self._beside.get(unit)

    def refused(self, unit: str, plan: Plan) -> None:
        """It was decided that there is no place for a unit: others that are alike need not be asked."""
        pods = self._pending.pods(unit)
        if kind_of(unit) != "Pod" or len(pods) != 1 or pods[0].nominated:
            return
        if not minds_neighbours(pods[0]):
            what = self._what(pods[0], plan.policy)
            alike = self._beside[unit] = self._known.setdefault(what, PodsAlike(what))
            alike.asleep[unit] = pods[0].created, unit

    def _what(self, facts: PodFacts, policy: str) -> object:
        meta, namespace = facts.pod.metadata, facts.key[0]
        queue = queue_name(meta), application(facts), user_of(meta), namespace
        terms = policy, facts.preemption_policy, *queue, required_node(facts)
        return (self._room.shape(facts), *terms)

    def takes_turn(self, unit: str) -> Callable[[], None]:
        """A unit has its turn; what is returned is to be called when that is over."""
        self._forget(unit)
        led = self._leads.pop(unit, None)
        if led is None:
            return lambda: None
        led.leader = ""

        def over() -> None:
            if self._beside.get(unit) is not led:
                self._next(led)

        return over

    def sleeps_on(self, unit: str) -> None:
        """What a unit was woken for is over, for all who are like it."""
        led = self._leads.pop(unit, None)
        if led is not None:
            led.leader = ""

    def gone(self, unit: str) -> None:
        """A unit waits no more."""
        self.takes_turn(unit)()

    def _next(self, alike: PodsAlike) -> None:
        """The oldest of those who are alike has a turn, for all of them."""
        unit = self.first(alike)
        if unit is not None:
            self.leads(unit, alike)
            self._queue.push(unit, *self._pending.rank(unit))

    def first(self, alike: PodsAlike) -> str | None:
        """Who would lead; None: somebody does already, or nobody sleeps."""
        if alike.leader and self._queue.part(alike.leader) == "active":
            return None
        asleep = (age for unit, age in alike.asleep.items() if self._queue.part(unit) == "unschedulable")
        _, unit = min(asleep, default=(0, None))
        return unit

    def leads(self, unit: str, alike: PodsAlike) -> None:
        self._leads[unit] = alike
        alike.leader = unit

    def _forget(self, unit: str) -> None:
        alike = self._beside.pop(unit, None)
        if alike is not None:
            del alike.asleep[unit]
            if not alike.asleep and self._known.get(alike.what) is alike:
                del self._known[alike.what]


def minds_neighbours(facts: PodFacts) -> bool:
    """Whether other pods decide where it may go."""
    spec = facts.pod.spec
    affinity = spec.affinity
    among = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    return among or bool(spec.topology_spread_constraints)
