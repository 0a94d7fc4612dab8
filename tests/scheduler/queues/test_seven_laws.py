"""The seven laws on the real loop: every preemption is looked at by the design's laws before anybody acts on it.

QUEUE_LAW_PLANES says how many lives there are, QUEUE_LAW_FIRST is the number of the first.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from reprieve.engine.plan import Plan
from reprieve.world import microseconds
from tests.generators.queue_rivals import rivalry
from tests.planes.agreement import everything
from tests.planes.running import Dict, Plane, live
from tests.reference.seven_laws import SevenLaws
from tests.scheduler.queues.test_peace import life_of

LIVES = int(os.environ.get("QUEUE_LAW_PLANES", "20"))
FIRST = int(os.environ.get("QUEUE_LAW_FIRST", "0"))
_BATCH = 20
_LONGEST_UNREST = 3600.0

pytestmark = pytest.mark.usefixtures("no_last_resort")


class Looked:
    """Sees every decision of a loop at the moment at which it is made."""

    def __init__(self, plane: Plane) -> None:
        self.broken: list[str] = []
        self.preempted = 0
        self._clock = plane.clock
        history = plane.plane.history
        record = history.record

        def looked_at(plan: Plan, **options: Any) -> int:
            if plan.outcome == "Preempt":
                self._look_at(plan, everything(plane))
            number: int = record(plan, **options)
            return number

        history.record = looked_at

    def _look_at(self, plan: Plan, objects: list[Dict]) -> None:
        self.preempted += 1
        asking, *gone = (unit.rpartition("/")[2] for unit in (plan.preemptor, *(one.unit for one in plan.victims)))
        self.broken += SevenLaws(objects, microseconds(self._clock())).broken(asking, gone, plan.domain)


def _lived(seed: int) -> int:
    """One life; how often somebody preempted. Those with the fewest guarantees are there first."""
    made, random = rivalry(seed, sound=True), Random(seed)  # noqa: S311 - not a secret
    laws = SevenLaws([made.configuration])
    life = life_of(made, random, [20.0 * laws.guarantees(one.queue) for one in made.rivals])

    async def story(plane: Plane) -> Looked:
        looked = Looked(plane)
        await life.begin(plane)
        await plane.rests(within=_LONGEST_UNREST)
        return looked

    looked: Looked = live(story, life.settings, longest=60)
    assert looked.broken == [], seed
    return looked.preempted


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
def test_no_preemption_of_the_loop_breaks_a_law(batch: int) -> None:
    preempted = [_lived(seed) for seed in range(batch, min(batch + _BATCH, FIRST + LIVES))]
    assert sum(preempted) > 0, "lives in which nobody makes way prove nothing"
