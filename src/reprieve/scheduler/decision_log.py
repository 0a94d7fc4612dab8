"""What every decision leaves behind, whatever the policy: a record with its plan, lines in stories, numbers.

1. A decision is written down before anybody acts on it.
2. Preemptions, victims and what they lost are counted when the victims have been told: a decision that the store
   refused, and that is made again, counts once; what the scheduler before has done counts for that one.
3. In shadow nobody is told. What would have been done is counted once, however often it is decided.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from reprieve.engine.holds import HeldVictim, Hold
from reprieve.engine.plan import Plan
from reprieve.manifests.karmada import ResourceBinding
from reprieve.manifests.kueue import QuotaWorkload
from reprieve.model.clock import Clock
from reprieve.model.names import parts_of
from reprieve.scheduler.history import History, Step
from reprieve.scheduler.metrics import Metrics
from reprieve.world import PodFacts, World

_log = logging.getLogger(__name__)

_STEPS: dict[str, Step] = {"Preempt": "nominated", "Wait": "tried", "Unschedulable": "tried"}
_MOST_REMEMBERED = 20_000
_NOT_PODS: dict[str, tuple[type[Any], str]] = {
    "quota": (QuotaWorkload, "workloads"),
    "federation": (ResourceBinding, "bindings"),
}
"""What policies decide about that do not decide about pods, and what a person calls it."""


class DecisionLog:
    """Writes down what was decided and what came of it."""

    def __init__(
        self,
        history: History,
        metrics: Metrics,
        world: World,
        clock: Clock,
        *,
        shadow: bool = False,
        waiting: Callable[[], int] = lambda: 0,
    ) -> None:
        """`waiting`: how many wait for a decision now."""
        self._waiting = waiting
        self.history = history
        self._metrics = metrics.shadow if shadow else metrics.acting
        self._world = world
        self._clock = clock
        self._shadow = shadow
        self._ends_with: dict[str, object] = {}
        """For whoever waits, the decision that its story ends with; in shadow, the victims it would have."""
        self._told: Counter[str] = Counter()
        """For each preemptor, how many victims have been told of those that are being told."""

    def decided(self, plan: Plan, seconds: float, *, beside: int = 0) -> int:
        """Keep a decision, made together with so many others; its number."""
        units, kind = self._units(plan.policy)
        number = self.history.record(plan, units=units, kind=kind, waiting=max(beside, self._waiting()))
        _log.info(plan.message, extra={"decision": number, "unit": plan.preemptor, "outcome": plan.outcome})
        self._metrics.tried(plan, seconds)
        if self._shadow and plan.victims and self._is_news(plan.preemptor, [victim.unit for victim in plan.victims]):
            for victim in plan.victims:
                self._lost(victim.unit, pdb_violation=victim.pdb_violation)
            self._metrics.preempted(plan.policy, len(plan.victims))
        return number

    def _units(self, policy: str) -> tuple[int, str]:
        """How many a plan of a policy gives reasons for, and what they are."""
        kind, name = _NOT_PODS.get(policy, (None, "pods"))
        return (len(self._world.pods) if kind is None else self._world.number(kind)), name

    def failed(self, kind: str) -> None:
        """Something went wrong with a unit of this kind."""
        self._metrics.failed(kind)

    def told(self, hold: Hold, victim: HeldVictim, *also: HeldVictim) -> None:
        """A victim has just been told; to be called while the world still has it. `also`: what else it has to leave."""
        self._told[hold.preemptor] += 1
        self._lost(victim.unit, pdb_violation=victim.pdb_violation)
        for each in (victim, *also):
            self.history.note(each.unit, "evicted", each.message, hold.decision, uid=each.uid)

    def carried_out(self, hold: Hold) -> None:
        """All victims of a hold have been told, or are gone by themselves. One of no policy is no preemption: those who
        leave with the rest of their group."""
        self.history.flush()
        victims = self._told.pop(hold.preemptor, 0)
        if victims and hold.policy:
            self._metrics.preempted(hold.policy, victims)

    def acted(self, plan: Plan, number: int, units: Iterable[str] = (), *, fits: Step = "bound") -> None:
        """What became of a unit, in its story; `units` are the pods of a group. Victims' say when they were told.

        `fits` is the step of a unit that has got its place.
        """
        step = _STEPS.get(plan.outcome, fits)
        if step == "tried" and not self._is_news(plan.preemptor, number):
            return
        for unit in dict.fromkeys((plan.preemptor, *units)):
            self.history.note(unit, step, plan.message, number)

    def _is_news(self, unit: str, answer: object) -> bool:
        """The same answer again, which is counted with the decision, is no new line in a story."""
        if self._ends_with.get(unit) == answer:
            return False
        if len(self._ends_with) >= _MOST_REMEMBERED:
            self._ends_with.clear()
        self._ends_with[unit] = answer
        return True

    def _lost(self, unit: str, *, pdb_violation: bool) -> None:
        self._metrics.told(self._pod(unit), self._clock(), pdb_violation=pdb_violation)

    def _pod(self, unit: str) -> PodFacts | None:
        name = parts_of(unit)
        return self._world.pods.get(name.key) if name.kind == "Pod" else None
