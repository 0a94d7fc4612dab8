"""Sees another scheduler decide, and decides the same over the world as that one had it.

What another scheduler decided shows in the objects: a pod gets a node, or is nominated to one, and its victims get the
condition DisruptionTarget before they are deleted.

1. The own decision is made when the first of this arrives, before the world has it: all that was decided earlier is
   there, nothing of what follows from this decision is.
2. Victims may be marked before their preemptor is nominated. Marks of which nobody knows yet whose they are do not
   count in an own decision: for that moment these pods are as they were before.
3. For whom a victim has to go is said by an event (`shadow.told`). Where none has come it is guessed: for a unit of
   higher priority that is nominated to the victim's node; of several, for the one that was nominated at the nearest
   moment, before or after. Where that comes to another answer than the own one, it may be the guess that is wrong: such
   a case is unclear. A victim may have to go for several units, who decided one after the other.
4. A unit may choose another node, or more victims on its own one, because somebody took its place: these are decisions
   of their own. On the same node a second one shows in what is written about the pod, which is nominated anew or waits
   in other words than before, or in a victim that came to the node after the first. Else the two are taken for one.
5. A unit's case is closed when nothing more of it has come for a while: then both answers are compared.
6. Where it cannot be known what was there before, because a pod is found decided on after watching was interrupted,
   nothing is compared: that is late. What was decided before anybody looked is nobody's business.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

from reprieve.manifests.kinds import PODS
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import Pod
from reprieve.model.clock import Clock
from reprieve.model.names import Key, NameParts, parts_of, unit_name
from reprieve.policies.entry import Asked, NothingToDecide
from reprieve.policies.pod import PodEntry
from reprieve.policies.registry import Policies
from reprieve.scheduler.history import History
from reprieve.scheduler.history.comparisons import LATE, Answer, ShadowComparison
from reprieve.scheduler.metrics import Metrics
from reprieve.scheduler.mirror import Seen
from reprieve.scheduler.shadow.cases import ForeignVictim, ShadowCase
from reprieve.scheduler.shadow.told import ToldVictims
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.world import World, microseconds

_log = logging.getLogger(__name__)

_QUIET_SECONDS = 2.0
_NEAR_SECONDS = 1.5
"""So long before or after a nomination its victims may be marked."""
_AT_ONCE_SECONDS = 0.3
"""Writes that one scheduler has under way side by side arrive in any order: so near, what comes first says nothing."""


class Observer:
    """`elapsed` is a clock that nobody can set."""

    def __init__(
        self,
        world: World,
        policies: Policies,
        names: frozenset[str],
        history: History,
        metrics: Metrics,
        clock: Clock,
        elapsed: Callable[[], float],
    ) -> None:
        self._world = world
        self._policies = policies
        self._names = names
        self._history = history
        self._metrics = metrics
        self._clock = clock
        self._elapsed = elapsed
        self._cases: list[ShadowCase] = []
        """Those that are not closed yet; of one unit, the oldest first."""
        self._marks: dict[Key, ForeignVictim] = {}
        """Victims of cases that are not closed yet, or of nobody who is known."""
        self._told = ToldVictims()
        self._began = False

    async def follow(self, store: Store, signal: asyncio.Event) -> None:
        """Take in what the other one says; `signal` is set when there is more."""
        await self._told.follow(store, signal)

    def stop(self) -> None:
        self._told.close()

    def before(self, seen: Seen, listed: bool) -> None:
        """A change that the world does not have yet. Whatever goes wrong here concerns nobody else."""
        if seen.resource != PODS:
            return
        try:
            self._see(seen.old, seen.new, listed=listed)
        except Exception:
            _log.exception("what another scheduler decided about %s could not be compared", seen.record.unit)

    def settle(self) -> None:
        """All that has come so far has been seen: close what is complete."""
        self._began = True
        now = self._elapsed()
        for case in [case for case in self._cases if case.last + _QUIET_SECONDS <= now]:
            self._close(case)
        self._marks = {key: mark for key, mark in self._marks.items() if self._counts(mark, now)}

    def due_in(self) -> float:
        """Seconds until there is something to close; infinite: there is nothing."""
        first = min((case.last + _QUIET_SECONDS for case in self._cases), default=inf)
        return max(0.0, first - self._elapsed())

    # What is seen

    def _see(self, old: Record | None, new: Record | None, *, listed: bool) -> None:
        record = new or old
        assert record is not None  # noqa: S101 - a change is of something
        if record.key in self._marks:
            self._marks[record.key].now = new
        if new is None:
            return
        if new.manifest.preempted_by_scheduler and not (old is not None and old.manifest.preempted_by_scheduler):
            self._see_mark(old, new)
        place = _place(new.manifest)
        if place and place != (_place(old.manifest) if old is not None else "") and self._mine(new.manifest):
            self._see_place(old, new, place, listed=listed)
        elif old is not None and _tried_again(old.manifest, new.manifest):
            self._see_attempt(new, place)

    def _mine(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._names

    def _see_mark(self, old: Record | None, new: Record) -> None:
        facts = self._world.pods.get(new.key)
        if old is None or facts is None or not facts.node:
            return
        mark = self._marks[new.key] = ForeignVictim(old, new, facts.priority, self._elapsed())
        self._decide_again(mark)
        for case in self._cases_with(mark):
            case.last = mark.at

    def _decide_again(self, mark: ForeignVictim) -> None:
        """Where a unit had chosen this node before the victim came there, it has decided once more."""
        earlier = [case for case in self._cases if case.may_have(mark) and not case.may_be_of_this_decision(mark)]
        for unit in {case.unit for case in earlier} - {case.unit for case in self._cases_with(mark)}:
            opened = self._open(parts_of(unit), mark.node, bound=False, again=True)
            if opened is not None:
                opened.is_announced = False

    def _see_attempt(self, pod: Record, place: str) -> None:
        """A pod that waits for a node has been tried again: whether more have to go there remains to be seen."""
        known = self._case_of(pod.unit)
        if known is None or not known.is_alone or not known.waits_on(place):
            return
        if known.is_announced:
            self._open(parts_of(pod.unit), place, bound=False, again=True)
        known.is_announced = True

    def _see_place(self, old: Record | None, new: Record, place: str, *, listed: bool) -> None:
        known = self._case_of(new.unit)
        bound = bool(new.manifest.spec.node_name)
        if known is not None and known.is_alone and known.waits_on(place) and not bound:
            self._open(parts_of(new.unit), place, bound=False, again=True)  # it had lost its nomination meanwhile
        elif known is not None and (known.nodes.get(new.unit) == place or not known.is_alone):
            known.place(new.unit, place, self._elapsed(), bound=bound)
        elif listed:
            if self._began:
                self._is_late(new)
        elif old is None:
            return  # it was made with its node, by somebody who is no scheduler
        elif old.manifest.status.nominated_node_name != place:
            known = self._open(parts_of(new.unit), place, bound=bound)
        if known is not None and known.needs_nobody:
            self._close(known)

    def _case_of(self, pod: str) -> ShadowCase | None:
        return next((case for case in reversed(self._cases) if pod in case.members), None)

    def _is_late(self, pod: Record) -> None:
        nothing = Answer()
        placed = Answer({pod.unit: _place(pod.manifest)})
        self._keep(ShadowComparison(pod.unit, PodEntry.name, LATE, nothing, placed))

    # Cases

    def _open(self, pod: NameParts, place: str, *, bound: bool, again: bool = False) -> ShadowCase | None:
        with self._without(self._marks_of_nobody(place)):
            try:
                preemptor = self._policies.find(Asked("Pod", pod.namespace, pod.name))
            except NothingToDecide:
                preemptor = None
            if preemptor is None:
                return None
            plan = self._policies.decide(preemptor, microseconds(self._clock()))
            if again and plan.outcome == "Wait":
                return None  # it waits for those who have been told, and so does the other one
            case = ShadowCase(preemptor, plan, self._policies.nodes, self._elapsed(), place=place, again=again)
        if not again:
            self._contest(case, place)
        self._cases.append(case)
        case.place(unit_name(*pod), place, self._elapsed(), bound=bound)
        return case

    def _contest(self, case: ShadowCase, place: str) -> None:
        """Victims there may be those of another unit."""
        for other in self._cases:
            if other.unit != case.unit and other.waits_on(place) and case.began - other.began <= 2 * _NEAR_SECONDS:
                case.contested = other.contested = True

    def _cases_with(self, mark: ForeignVictim) -> list[ShadowCase]:
        """Whose victim it is, as far as can be told now: of one unit, or of several that have said so."""
        near = [case for case in self._cases if case.waits_on(mark.node) and case.may_be_of_this_decision(mark)]
        near.sort(key=lambda case: _apart(case, mark))
        if said := self._told.preemptors(mark.before):
            found = [case for case in near if not case.uids.isdisjoint(said)]
            return list({case.unit: case for case in reversed(found)}.values())
        return [case for case in near if case.may_have(mark) and _apart(case, mark) <= _NEAR_SECONDS][:1]

    def _marks_of_nobody(self, place: str) -> list[ForeignVictim]:
        """Those that may be for a unit that is nominated to a place right now, or for one of which nothing is known."""
        now = self._elapsed()
        owned = {key: self._cases_with(mark) for key, mark in self._marks.items()}
        return [
            mark
            for key, mark in self._marks.items()
            if all(mark.node == place and now - mark.at < _apart(case, mark) for case in owned[key])
        ]

    def _counts(self, mark: ForeignVictim, now: float) -> bool:
        return now - mark.at <= _NEAR_SECONDS or bool(self._cases_with(mark))

    def _close(self, case: ShadowCase) -> None:
        owned = {key: self._cases_with(mark) for key, mark in self._marks.items()}
        marks = [self._marks[key] for key, cases in owned.items() if case in cases]
        self._share()
        self._doubt(case)
        self._cases.remove(case)
        for key, cases in owned.items():
            if cases == [case]:
                del self._marks[key]
        if marks or not case.again:
            self._keep(case.compared(marks))

    def _share(self) -> None:
        """Victims that have to go for somebody who decided earlier, or at the same time as far as can be seen, are no
        difference between two answers."""
        for mark in self._marks.values():
            said = set(self._told.preemptors(mark.before))
            for case in self._cases if said else ():
                if any(began < case.began + _AT_ONCE_SECONDS for began in self._decided(said - case.uids, mark)):
                    case.elsewhere.add(mark.unit)

    def _decided(self, uids: set[str], mark: ForeignVictim) -> Iterator[float]:
        """When each of these units had decided that somebody has to go: at the latest when that was marked."""
        for uid in uids:
            began = [case.began for case in self._cases if uid in case.uids and case.waits_on(mark.node)]
            yield min([mark.at, *began])

    def _doubt(self, case: ShadowCase) -> None:
        """Where a victim's preemptor is guessed, it may be any of those that have been nominated to its node."""
        guessed = {mark.node for mark in self._marks.values() if not self._told.preemptors(mark.before)}
        for other in self._cases if any(map(case.waits_on, guessed)) else ():
            other.doubted |= other is case or any(node in guessed and case.waits_on(node) for node in other.promised)

    def _keep(self, made: ShadowComparison) -> None:
        self._metrics.compared(made.policy, made.result)
        self._history.compared(made)

    @contextmanager
    def _without(self, marks: list[ForeignVictim]) -> Iterator[None]:
        """The world as it was before these were marked."""
        for mark in marks:
            self._world.put(mark.before.manifest)
        try:
            yield
        finally:
            for mark in marks:
                if mark.now is not None:
                    self._world.put(mark.now.manifest)
                else:
                    self._world.delete(Pod, mark.before.name, mark.before.namespace)


def _apart(case: ShadowCase, mark: ForeignVictim) -> float:
    """Seconds between a nomination and a mark."""
    return abs(case.began - mark.at)


def _tried_again(old: Pod, new: Pod) -> bool:
    """Whether it still waits for the same node, and is said to do so for another reason."""
    waits = [find_condition(pod.status.conditions, "PodScheduled") for pod in (old, new)]
    return bool(_place(new)) and not new.spec.node_name and waits[0] != waits[1]


def _place(pod: Pod) -> str:
    """The node that a pod is on, or is to go to."""
    return pod.spec.node_name or ("" if pod.terminating else pod.status.nominated_node_name)
