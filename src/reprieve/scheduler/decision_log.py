"""What every decision leaves behind, whatever the policy: a record with its plan, lines in stories, numbers."""

from __future__ import annotations

from collections.abc import Iterable

from reprieve import texts
from reprieve.engine.plan import Plan
from reprieve.model.clock import Clock
from reprieve.scheduler.history import History, Step
from reprieve.scheduler.metrics import Metrics
from reprieve.texts import events as loop
from reprieve.world import PodFacts, World


class Journal:
    """Writes down what was decided, before anybody acts on it."""

    def __init__(self, history: History, metrics: Metrics, world: World, clock: Clock) -> None:
        self.history = history
        self.metrics = metrics
        self._world = world
        self._clock = clock
        self._told: dict[str, int] = {}
        """For whoever waits, the decision that its story ends with."""

    def decided(self, plan: Plan, seconds: float, *, never: bool = False) -> int:
        """Keep a decision; its number."""
        number = self.history.record(plan, never=never, pods=len(self._world.pods))
        self.metrics.tried(plan, seconds)
        if plan.outcome == "Preempt":
            self.metrics.preempted(plan, seconds)
            self.metrics.lost(self._pods(victim.unit for victim in plan.victims), self._clock())
        return number

    def acted(self, plan: Plan, number: int, units: Iterable[str] = ()) -> None:
        """What became of the preemptor and its victims, in their stories; `units` are the pods of a group."""
        step: Step = {"Fits": "bound", "Preempt": "nominated"}.get(plan.outcome, "tried")  # type: ignore[assignment]
        if plan.policy in _OWN_STEP and plan.outcome == "Fits":
            step = _OWN_STEP[plan.policy]
        if step == "tried" and not self._is_news(plan.preemptor, number):
            return
        for unit in dict.fromkeys((plan.preemptor, *units)):
            self.history.note(unit, step, plan.message, number)
        for victim in plan.victims:
            cause = loop.made_way(plan.preemptor, plan.domain, texts.describe(victim.reason))
            self.history.note(victim.unit, "evicted", cause, number)

    def _is_news(self, unit: str, number: int) -> bool:
        """The same answer again, which is counted with the decision, is no new line in a story."""
        if self._told.get(unit) == number:
            return False
        if len(self._told) >= _MOST_TOLD:
            self._told.clear()
        self._told[unit] = number
        return True

    def _pods(self, units: Iterable[str]) -> Iterable[PodFacts]:
        keys = (tuple(unit.split("/")[1:]) for unit in units if unit.startswith("Pod/"))
        return [self._world.pods[key] for key in keys if key in self._world.pods]


_MOST_TOLD = 20_000
_OWN_STEP: dict[str, Step] = {"quota": "admitted", "federation": "scheduled"}
