"""In a closed world, whose controllers make victims again, preemptions come to an end, within a bound that is known.

Pods, groups and bindings are preempted by higher ranks only; `planes.peace` says how many times at most.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from reprieve.manifests.kinds import BINDINGS, PODS
from tests.generators.planes import life
from tests.planes.laws import Eye
from tests.planes.peace import most_preemptions
from tests.planes.running import Plane, live

LIVES = int(os.environ.get("REPRIEVE_LIVES", "10"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 20
_LONGEST_UNREST = 3600.0


def _preemptions(policy: str, seed: int) -> tuple[int, int]:
    """How many had to leave in a life, and how many could at most."""
    made = life(policy, seed, closed=True)

    async def story(plane: Plane) -> tuple[int, int]:
        eye = Eye(plane.plane.store)
        await made.begin(plane)
        await plane.rests(within=_LONGEST_UNREST)
        counted: Counter[str] = Counter(eye.evictions)
        counted.update(eye.bindings.told)
        ranks = await _ranks(plane)
        units = len(ranks)
        return counted.total(), most_preemptions(ranks, units) * units

    found: tuple[int, int] = live(story, made.settings, longest=120)
    return found


async def _ranks(plane: Plane) -> list[int]:
    """At rest everybody is there who ever wants a place: running, or waiting for it."""
    pods = [record.data["spec"].get("priority", 0) for record in (await plane.store.list(PODS)).records]
    bindings = [
        record.data["spec"].get("schedulePriority", {}).get("priority", 0)
        for record in (await plane.store.list(BINDINGS)).records
    ]
    return [*pods, *bindings]


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
@pytest.mark.parametrize("policy", ["pods", "groups", "federation"])
def test_preemptions_end_within_the_bound(policy: str, batch: int) -> None:
    happened = 0
    for seed in range(batch, min(batch + _BATCH, FIRST + LIVES)):
        evicted, most = _preemptions(policy, seed)
        assert evicted <= most, f"{policy} {seed}"
        happened += evicted
    assert happened > 0, "closed worlds in which nobody is preempted prove nothing"
