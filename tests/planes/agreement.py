"""The plan, the loop and rest: what the loop decides is what `plan` over the store decides; nobody sleeps beside room.

`Judge` sees every decision of the loop at the moment at which it is made, and asks a planner that knows nothing but the
objects in the store. Whenever nothing has been written for a while, it asks for everybody who waits whether there is
something to be done.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec

from reprieve.engine.plan import Plan
from reprieve.manifests.kinds import BINDINGS, CLUSTER_BINDINGS, EVENTS, PODS, RESOURCES
from reprieve.manifests.loading import load_objects
from reprieve.manifests.yunikorn import APPLICATION
from reprieve.model.names import kind_of
from reprieve.planning.planner import Planner
from reprieve.planning.result import Decision
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.scheduler.queues.configuration import in_force
from tests.generators.lives import Life
from tests.planes.nominations import Nominations
from tests.planes.running import Plane

A_WHILE = 3.0
"""Seconds without a write after which everybody must have got what there was."""
A_MOMENT = 0.1
_BINDINGS = {each.kind: each for each in (BINDINGS, CLUSTER_BINDINGS)}
_LONGEST_UNREST = 3600.0
_MOST_PREEMPTIONS = 25
"""Of one unit in one life: these are short, and whoever is made room for again and again does not get it."""


class Judge:
    """Finds fault with the loop of one control plane."""

    def __init__(self, plane: Plane) -> None:
        self.faults: list[str] = []
        self.asked = 0
        """How many decisions were compared."""
        self.rests = 0
        """How often there was rest."""
        self._plane = plane
        self._preempted: Counter[str] = Counter()
        self.nominations = Nominations(self.faults)
        """Of quota, by both searches."""
        self.watch()

    def watch(self) -> None:
        """Be told every decision, before anybody acts on it; to be called again after a restart."""
        history = self._plane.plane.history
        record = history.record

        def judged(plan: Plan, **options: Any) -> int:
            if not plan.preemptor.startswith("Queue/"):
                self._compare(plan)
                self._compare_with_design(plan)
                self._count(plan)
            number: int = record(plan, **options)
            return number

        history.record = judged
        policies = self._plane.plane.scheduler.policies
        self.nominations.watch(policies[QuotaEntry.name].policy)

    def _compare(self, plan: Plan) -> None:
        planner = self._planner()
        made = planner.single(plan.preemptor).decisions[0]
        self.asked += 1
        if plan.outcome == "Fits" and plan.policy != "quota":  # which admits many at once: see `quota_laws`
            self._compare_order(planner, plan)
        if _of_plan(made) != _of_loop(plan):
            self.faults.append(f"{plan.preemptor}: the loop says {_of_loop(plan)}, the plan {_of_plan(made)}")

    def _compare_with_design(self, plan: Plan) -> None:
        """Where it was looked for less, it is no more than the design's order finds. Of a group that gets places for
        more of its pods, more may have to leave."""
        if plan.outcome != "Preempt" or plan.policy == "quota":  # which is compared head by head: see `nominations`
            return
        plane = self._plane.plane
        settings = msgspec.structs.replace(plane.settings, search="Design")
        planner = Planner(load_objects(everything(self._plane)), settings, self._plane.clock(), names=plane._names)
        made = planner.single(plan.preemptor).decisions[0]
        more = len(plan.victims) > len(made.victims) and len(plan.placement) <= len(made.placement)
        if made.outcome == "Preempt" and more:
            self.faults.append(f"{plan.preemptor}: {_of_loop(plan)}, where the design's order finds {_of_plan(made)}")

    def _count(self, plan: Plan) -> None:
        self._preempted[plan.preemptor] += plan.outcome == "Preempt"
        if self._preempted[plan.preemptor] == _MOST_PREEMPTIONS:
            self.faults.append(f"{plan.preemptor} preempts for the {_MOST_PREEMPTIONS}th time: {plan.message}")

    def _compare_order(self, planner: Planner, plan: Plan) -> None:
        """Nobody gets a place while somebody more important waits that there is such a place for."""
        order: list[str] = planner.cycle().order
        before = order[: order.index(plan.preemptor)] if plan.preemptor in order else []
        bindings = {record.unit for each in _BINDINGS.values() for record in now(self._plane.store.list(each)).records}
        for unit in before:
            if kind_of(unit) in _BINDINGS and unit not in bindings:
                continue  # a plan makes what the detector has not made yet: nobody can be overtaken before it is there
            other = self._planner().single(unit).decisions[0]
            same = planner.policies.ledger_of(other.policy) == planner.policies.ledger_of(plan.policy)
            if other.outcome == "Fits" and same and not self._is_refused(unit):
                self.faults.append(f"{plan.preemptor} overtakes {unit}: {other.message}")

    def _planner(self) -> Planner:
        made: Planner = self._plane.plane.planner(load_objects(everything(self._plane)), self._plane.clock())
        return made

    async def rest(self) -> None:
        """Until cancelled: look whether anybody sleeps although something can be done."""
        looked, version, since = -1, -1, self._plane.clock()
        while True:
            await self._plane.passes(0.5)
            store: Any = self._plane.plane.store
            if store.version != version:
                version, since = store.version, self._plane.clock()
            elif looked != version and (self._plane.clock() - since).total_seconds() >= A_WHILE:
                looked = version
                self.rests += 1
                self.faults += await self._still_asleep(version)

    async def _still_asleep(self, version: int) -> list[str]:
        """Who could be helped, and is not helped a moment later: what it waited for may be over this very moment."""
        found = [f"{self._plane.clock():%X}: {fault}" for fault in self._sleepers()]
        if found:
            await self._plane.passes(A_MOMENT)
        return found if self._plane.plane.store.version == version else []

    def _sleepers(self) -> list[str]:
        decisions: list[Decision] = self._planner().cycle().decisions
        leaving = self._leaving()
        return [
            f"{made.preemptor} sleeps: {made.outcome}: {made.message}"
            for made in decisions
            if _acts(made, leaving)
            and not self._is_refused(made.preemptor)
            and (made.preemptor.startswith("Queue/") or _acts(self._alone(made.preemptor), leaving))
        ]

    def _alone(self, unit: str) -> Decision:
        """What is decided for a unit as things are: in a cycle, whoever is counted on to leave has left."""
        made: Decision = self._planner().single(unit).decisions[0]
        return made

    def _is_refused(self, unit: str) -> bool:
        """Whether the store has not taken an application's placeholders, for a ResourceQuota: that has a back-off."""
        return kind_of(unit) == APPLICATION and self._plane.plane.scheduler.queue.part(unit) == "backOff"

    def _leaving(self) -> set[str]:
        """Pods that leave already: whoever counts on them waits for them, and has nothing else to do."""
        pods = now(self._plane.store.list(PODS)).records
        return {record.unit for record in pods if "deletionTimestamp" in record.metadata}


def _acts(made: Decision, leaving: set[str]) -> bool:
    """Whether there is something to be done for a unit now, and not only once somebody has left."""
    if made.outcome == "Preempt":
        return not {victim["unit"] for victim in made.victims} <= leaving
    return made.outcome == "Fits" and not made.preemptor.startswith("Queue/")


Answer = tuple[str, str, dict[Any, str], list[str]]


def _of_loop(plan: Plan) -> Answer:
    return plan.outcome, plan.domain, dict(plan.placement), sorted(victim.unit for victim in plan.victims)


def _of_plan(made: Decision) -> Answer:
    return made.outcome, made.domain or "", dict(made.placement), sorted(victim["unit"] for victim in made.victims)


def everything(plane: Plane) -> list[dict[str, Any]]:
    """All objects, as a plan over a live control plane reads them."""
    found = [record for resource in RESOURCES.values() for record in now(plane.store.list(resource)).records]
    return [record.data for record in in_force(found) if record.resource != EVENTS]


def now(work: Coroutine[Any, Any, Any]) -> Any:
    """What a store in memory answers, without giving anybody else the time to change it."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it had to wait")


async def judged(
    plane: Plane, life: Life, restarts: Iterable[float] = (), again: Callable[[], None] = lambda: None
) -> Judge:
    """A life, watched from its beginning to its rest; at some moments everything ends and starts anew from disk.

    `again` is called after each of these moments.
    """
    judge = Judge(plane)
    looking = asyncio.create_task(judge.rest())
    arrivals = asyncio.create_task(life.begin(plane))
    passed = 0.0
    for moment in sorted(restarts):
        await plane.passes(moment - passed)
        passed = moment
        await plane.restart()
        judge.watch()
        again()
    await arrivals
    await plane.rests(within=_LONGEST_UNREST)
    looking.cancel()
    return judge
