"""The law of peace on the real loop, in virtual time: rivals whose ReplicaSets make every victim again come to rest.

With the variable QUEUE_LIVES there are so many lives; QUEUE_FIRST_LIFE is the number of the first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reprieve.agents.hollow.nodes import hollow_node
from reprieve.configuration import Settings
from tests.builders.pods import priority_class
from tests.builders.queues import OPTED_OUT
from tests.generators.lives import Life, arrives
from tests.generators.queue_rivals import Rival, Rivalry, rivalry
from tests.planes.agreement import judged
from tests.planes.laws import Eye
from tests.planes.rest import could_still_act, what_is_wrong
from tests.planes.running import Dict, Plane, live, replica_set
from tests.policies.queue.test_peace import asking
from tests.reference.queue_peace import most_preemptions

LIVES = int(os.environ.get("QUEUE_LIVES", "40"))
FIRST = int(os.environ.get("QUEUE_FIRST_LIFE", "0"))
_BATCH = 20


pytestmark = pytest.mark.usefixtures("no_last_resort")


def _set(one: Rival, leaves: float) -> Dict:
    made = replica_set(
        one.name,
        replicas=one.replicas,
        cpu=str(one.cpu),
        priority=f"p{one.priority}-keep" if one.opted_out else f"p{one.priority}",
        leaves=leaves,
        labels={"queue": one.queue, "applicationId": one.name},
    )
    if one.memory:
        resources: Any = made["spec"]["template"]["spec"]["containers"][0]["resources"]
        resources["requests"]["memory"] = f"{one.memory}Gi"
    return made


def life_of(made: Rivalry, random: Random, moments: Sequence[float] = ()) -> Life:
    """The rivals arrive one after the other, or together; after that nobody does anything but the scheduler. `moments`:
    when each of them does."""
    nodes = [hollow_node(name, cpu=str(cpu), memory=f"{memory}Gi") for name, (cpu, memory) in made.nodes.items()]
    classes = [priority_class(f"p{value}", value) for value in range(2)]
    classes += [priority_class(f"p{value}-keep", value, annotations=OPTED_OUT) for value in range(2)]
    configuration = {**made.configuration, "metadata": {"name": "yunikorn-configs", "namespace": "default"}}
    sets = [_set(one, random.choice([0, 0, 3])) for one in made.rivals]
    return Life(
        Settings(validate=True),
        [*nodes, *classes, configuration],
        [
            (moments[n] if moments else random.choice([0.0, 5.0, 10.0, 15.0]), arrives(item))
            for n, item in enumerate(sets)
        ],
    )


def _preemptions(plane: Plane) -> int:
    decisions = plane.plane.history.decisions(limit=100_000)
    return sum(made["times"] for made in decisions if made["outcome"] == "Preempt")


def _fought(seed: int, directory: Path | None = None) -> int:
    """One life; how often somebody preempted."""
    made, random = rivalry(seed, sound=True), Random(seed)  # noqa: S311 - not a secret
    life = life_of(made, random)

    async def story(plane: Plane) -> tuple[list[str], int]:
        eye = Eye(plane.plane.store)
        restarts = [random.uniform(1, 30) for _ in range(3 if directory else 0)]
        judge = await judged(plane, life, restarts)
        faults = [*judge.faults, *await could_still_act(plane), *([] if directory else await what_is_wrong(plane, eye))]
        return faults, _preemptions(plane)

    faults, fights = live(story, life.settings, directory=directory, longest=60)
    assert faults == [], seed
    assert fights <= most_preemptions(made.configuration, asking(made.rivals)), seed
    return int(fights)


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
def test_rivals_come_to_rest_and_the_loop_agrees_with_the_plan(batch: int) -> None:
    fights = [_fought(seed) for seed in range(batch, min(batch + _BATCH, FIRST + LIVES))]
    assert sum(fights) > 0, "lives in which nobody makes way prove nothing"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(6, LIVES // 10)))
def test_so_they_do_when_everything_ends_and_starts_anew(seed: int, tmp_path: Path) -> None:
    _fought(seed, tmp_path)
