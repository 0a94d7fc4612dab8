"""Who made way for whom, and whether everybody is back: worked out from history and from the objects as they are.

1. Only what a decision says counts as having made way, and only decisions of the scene's own policy.
2. A pod has left when it is gone; a quota workload or a binding when it has a place again after it lost one.
3. A work is back when it runs as many pods as it should, none of whom is a victim.
"""

from typing import Any, NamedTuple

from reprieve.demo.scenes import Scene
from reprieve.demo.stage import Progress, Stage, Work
from reprieve.manifests.kinds import PODS
from reprieve.model.clock import Clock, precise_timestamp
from reprieve.model.names import parts_of
from reprieve.scheduler.history import History
from reprieve.texts import demo as texts

Decision = dict[str, Any]
_MOST = 2_000
_PLACED = ("admitted", "scheduled")


class Account(NamedTuple):
    """The victims of one work that made way for another, by one policy."""

    policy: str
    work: Work
    preemptor: str
    victims: list[str]
    whys: list[str]
    left: bool
    standing: Progress

    @property
    def back(self) -> bool:
        return self.left and self.standing.whole

    def __str__(self) -> str:
        way = texts.made_way(self.policy, str(self.work), len(self.victims), self.preemptor, self.whys)
        return texts.outcome(way, texts.came_back(self.standing.running, self.standing.wanted, left=self.left))


class Accounts:
    """Reads history, of each scene from its beginning on."""

    def __init__(self, history: History, stage: Stage, clock: Clock) -> None:
        self._history = history
        self._stage = stage
        self._clock = clock
        self._began: dict[str, str] = {}

    def begin(self, namespace: str) -> None:
        """What was decided there before is none of the scene's."""
        self._began[namespace] = precise_timestamp(self._clock())

    def decisions(self, namespace: str) -> list[Decision]:
        """Decisions about a scene that were made, or made again, since it began; the oldest first."""
        if (began := self._began.get(namespace)) is None:
            return []
        found = (each for each in reversed(self._history.decisions(limit=_MOST)) if each["last"] >= began)
        return [each for each in found if f"/{namespace}/" in each["preemptor"]]

    def plan(self, decision: Decision) -> dict[str, Any]:
        whole = self._history.decision(decision["id"])
        plan: dict[str, Any] = whole["plan"] if whole is not None else {}
        return plan

    def of(self, scene: Scene) -> list[Account]:
        """All who made way in a scene, by their work and the work for which they did."""
        found: dict[tuple[Work, str], tuple[dict[str, None], dict[str, None]]] = {}
        for decision in self._preemptions(scene):
            plan = self.plan(decision)
            preemptor = self.preemptor(decision, plan)
            for victim in plan.get("victims", ()):
                work = self._stage.owner(victim["unit"])
                if work is not None:
                    victims, whys = found.setdefault((work, str(preemptor or decision["preemptor"])), ({}, {}))
                    victims[victim["unit"]] = whys[victim["message"]] = None
        return [
            self._account(scene, work, preemptor, list(victims), list(whys))
            for (work, preemptor), (victims, whys) in found.items()
        ]

    def _account(self, scene: Scene, work: Work, preemptor: str, victims: list[str], whys: list[str]) -> Account:
        left = all(self._has_left(unit) for unit in victims)
        return Account(scene.policy, work, preemptor, victims, whys, left, self._stage.standing(work))

    def _preemptions(self, scene: Scene) -> list[Decision]:
        made = self.decisions(scene.namespace)
        return [each for each in made if each["outcome"] == "Preempt" and each["policy"] == scene.policy]

    def preemptor(self, decision: Decision, plan: dict[str, Any]) -> Work | None:
        """For whose sake it was; a gang is known by its pods."""
        units = (decision["preemptor"], *plan.get("placement", ()))
        return next((work for unit in units if (work := self._stage.owner(unit)) is not None), None)

    def _has_left(self, unit: str) -> bool:
        kind, namespace, name = parts_of(unit)
        if kind == PODS.kind:
            return self._stage.find(PODS, name, namespace) is None
        steps = [line["step"] for line in self._history.story(unit)]
        last = max((number for number, step in enumerate(steps) if step == "evicted"), default=len(steps))
        return any(step in _PLACED for step in steps[last:])

    # How far a scene has come

    def missing(self, scene: Scene) -> str:
        """What a scene still lacks to be over; empty: nothing."""
        accounts = self.of(scene)
        if not accounts:
            return texts.NOBODY_MADE_WAY
        preemptors = [self.preemptor(each, self.plan(each)) for each in self._preemptions(scene)]
        if not all(work is not None and self._stage.is_complete(work) for work in preemptors):
            return texts.PREEMPTOR_NOT_DONE
        return "" if all(account.back for account in accounts) else texts.NOT_ALL_BACK

    def refused(self, scene: Scene, unit: str) -> bool:
        """Whether a unit was found to fit nowhere."""
        made = self.decisions(scene.namespace)
        return any(unit in each["preemptor"] and each["outcome"] == "Unschedulable" for each in made)
