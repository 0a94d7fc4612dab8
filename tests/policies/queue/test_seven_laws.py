"""The seven laws by a checker that knows the design and manifests only: random worlds, and lives until nothing moves.

QUEUE_LAW_WORLDS says how many worlds there are, QUEUE_LAW_LIVES how many lives; QUEUE_LAW_FIRST is the number of the
first of either.
"""

from __future__ import annotations

import copy
import os

import pytest

from reprieve.engine.plan import Plan
from reprieve.manifests.loading import load_objects
from reprieve.policies.entry import Preemptor
from reprieve.world import PodFacts
from tests.builders.pods import Dict, node
from tests.builders.queues import Search, at, decide, policies_over, victims
from tests.generators.queue_rivals import Rivalry, rivalry
from tests.generators.queues import Features, queue_world
from tests.policies.queue.cycles import Cycles
from tests.policies.queue.test_peace import pods_of
from tests.reference.seven_laws import SevenLaws

WORLDS = int(os.environ.get("QUEUE_LAW_WORLDS", "300"))
LIVES = int(os.environ.get("QUEUE_LAW_LIVES", "100"))
FIRST = int(os.environ.get("QUEUE_LAW_FIRST", "0"))
_BATCH = 100
_MOST_CYCLES = 200


def batches(number: int) -> list[range]:
    return [range(start, min(start + _BATCH, FIRST + number)) for start in range(FIRST, FIRST + number, _BATCH)]


def the_moment(search: Search, minute: float = 0) -> int | None:
    """Which the laws need to know where lost work counts."""
    return at(minute) if search == "Best" else None


@pytest.mark.parametrize("search", ["Design", "Best"])
@pytest.mark.parametrize("batch", batches(WORLDS), ids=str)
def test_no_preemption_in_a_random_world_breaks_a_law(batch: range, search: Search) -> None:
    preempted = 0
    for seed in batch:
        objects = queue_world(seed, Features())
        made = decide(objects, preemptor="ask-0", search=search)
        if made.outcome == "Preempt":
            preempted += 1
            assert made.domain is not None
            assert SevenLaws(objects, the_moment(search)).broken("ask-0", victims(made), made.domain) == [], seed
    assert preempted > 0, "worlds in which nobody makes way prove nothing"


class Watched(Cycles):
    """A life in which every preemption is looked at before it happens. Rivals arrive one after the other, those with
    the fewest guarantees first, each when those before it are at rest."""

    def __init__(self, made: Rivalry, search: Search) -> None:
        nodes = [node(name, cpu=str(cpu), memory=f"{memory}Gi") for name, (cpu, memory) in made.nodes.items()]
        self._first = [made.configuration, *nodes]
        self._late = made.rivals
        self._pods: dict[str, Dict] = {}
        self.broken: list[str] = []
        self.preempted = 0
        self._search = search
        super().__init__(policies_over(self._first, search))

    def live(self) -> None:
        laws = SevenLaws(self._first)
        for one in sorted(self._late, key=lambda one: laws.guarantees(one.queue)):
            for item in pods_of([one]):
                self._pods[item["metadata"]["name"]] = item
                (pod,) = load_objects([item]).objects
                self.world.put(pod)
            self.until_rest(_MOST_CYCLES)

    def step(self) -> list[Plan]:
        decide = self.policies.decide

        def looked_at(one: Preemptor, now: int) -> Plan:
            plan = decide(one, now)
            if plan.outcome == "Preempt":
                self._look_at(plan)
            return plan

        self.policies.decide = looked_at  # type: ignore[method-assign, assignment]
        try:
            return super().step()
        finally:
            self.policies.decide = decide  # type: ignore[method-assign]

    def _look_at(self, plan: Plan) -> None:
        self.preempted += 1
        asking, *gone = (unit.rpartition("/")[2] for unit in (plan.preemptor, *(one.unit for one in plan.victims)))
        laws = SevenLaws(self._objects(), the_moment(self._search, self.cycle))
        self.broken += laws.broken(asking, gone, plan.domain)

    def _objects(self) -> list[Dict]:
        return [*self._first, *(self._as_it_is(facts) for facts in self.world.pods.values())]

    def _as_it_is(self, facts: PodFacts) -> Dict:
        """The manifest that it was made from, and what has become of it."""
        item = copy.deepcopy(self._pods[facts.pod.name.partition("+")[0]])
        item["metadata"].update(name=facts.pod.name, creationTimestamp=f"{facts.created:020}")
        item["spec"]["nodeName"] = facts.node
        item["status"] = {"nominatedNodeName": facts.nominated}
        if facts.pod.terminating:
            item["metadata"]["deletionTimestamp"] = "now"
        return item


@pytest.mark.parametrize("search", ["Design", "Best"])
@pytest.mark.parametrize("batch", batches(LIVES), ids=str)
def test_no_preemption_in_a_life_breaks_a_law(batch: range, search: Search) -> None:
    preempted = 0
    for seed in batch:
        life = Watched(rivalry(seed), search)
        life.live()
        preempted += life.preempted
        assert life.broken == [], seed
    assert preempted > 0, "lives in which nobody makes way prove nothing"
