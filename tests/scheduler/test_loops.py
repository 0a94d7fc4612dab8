"""Loops cannot happen: whatever arrives, victims that are made again by Jobs and ReplicaSets come to rest.

Each life is random, about one policy or all of them, and made from a number. After the last arrival nothing may be
written for ten minutes of virtual time; until then all that `planes.laws` says must hold, and then what `planes.rest`
says, too. With the variable REPRIEVE_LIVES there are so many lives for each policy; REPRIEVE_FIRST_LIFE is the number
of the first.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.generators.planes import POLICIES, life
from tests.planes.laws import Eye
from tests.planes.rest import what_is_wrong
from tests.planes.running import Plane, live

LIVES = int(os.environ.get("REPRIEVE_LIVES", "15"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 25
_LONGEST_UNREST = 3600.0
_MOST_EVICTIONS = 40
"""Of one owner or workload, in one life: they are small, and nobody is asked again and again."""


def _live_through(policy: str, seed: int) -> int:
    """One life; how many had to make way."""
    made = life(policy, seed)
    counted: Counter[str] = Counter()

    async def story(plane: Plane) -> list[str]:
        eye = Eye(plane.plane.store)
        await made.begin(plane)
        await plane.rests(within=_LONGEST_UNREST)
        counted.update(eye.evictions)
        counted.update(eye.bindings.told)
        return await what_is_wrong(plane, eye)

    assert live(story, made.settings, longest=60) == [], f"{policy} {seed}"
    assert max(counted.values(), default=0) <= _MOST_EVICTIONS, f"{policy} {seed}: {counted.most_common(3)}"
    return counted.total()


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
@pytest.mark.parametrize("policy", POLICIES)
def test_every_life_comes_to_rest(policy: str, batch: int) -> None:
    evictions = [_live_through(policy, seed) for seed in range(batch, min(batch + _BATCH, FIRST + LIVES))]
    assert sum(evictions) > 0, "a life in which nobody makes way proves nothing"


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "federation"])
@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(4, LIVES // 20)))
def test_lives_with_restarts_come_to_rest_too(policy: str, seed: int, tmp_path: Path) -> None:
    """Everything ends and starts anew from disk, four times at random moments, while things arrive."""
    made = life(policy, seed)
    moments = sorted(Random(seed).uniform(1, 200) for _ in range(4))  # noqa: S311 - not a secret

    async def story(plane: Plane) -> list[str]:
        eye = Eye(plane.plane.store)
        arrivals = asyncio.create_task(made.begin(plane))
        passed = 0.0
        for moment in moments:
            await plane.passes(moment - passed)
            passed = moment
            await plane.restart()
            await eye.look_again(plane.plane.store)
        await arrivals
        await plane.rests(within=_LONGEST_UNREST)
        return await what_is_wrong(plane, eye)

    assert live(story, made.settings, directory=tmp_path, longest=60) == []
