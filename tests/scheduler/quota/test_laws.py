"""The laws of quota in random lives on the real loop, in virtual time: agreement, rest, order, peace, and not in vain.

Any tree of cohorts, with limits, flavors, fair sharing, partial admission and both queueing strategies; workloads
come, end and go, queues are stopped and resumed, quotas, cohorts and classes change, and everything starts anew from
disk. The scheduler's last resort, to try again after five minutes, is off. With the variable REPRIEVE_LIVES there are
so many lives; REPRIEVE_FIRST_LIFE is the number of the first.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from reprieve.manifests.kinds import QUOTA_WORKLOADS
from tests.generators.quota_lives import LASTS, quota_life
from tests.planes.agreement import judged
from tests.planes.laws import Eye
from tests.planes.promises import PromiseKeeper
from tests.planes.quota_laws import QuotaWitness, most_evictions
from tests.planes.rest import what_is_wrong
from tests.planes.running import Plane, live

LIVES = int(os.environ.get("REPRIEVE_LIVES", "20"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 20
_SOON = 60.0


pytestmark = pytest.mark.usefixtures("no_last_resort")


def _live(seed: int, directory: Path | None = None) -> tuple[list[str], int]:
    """What was wrong in a life, and how many decisions and admissions were looked at."""
    made = quota_life(seed)
    moments = [Random(seed * 10 + number).uniform(1, LASTS) for number in range(3 if directory else 0)]  # noqa: S311

    async def story(plane: Plane) -> tuple[list[str], int]:
        witness = QuotaWitness(plane)
        judge = await judged(plane, made, moments, witness.watch)
        witness.close()
        return [*judge.faults, *witness.overtaken], judge.asked + witness.seen

    found: tuple[list[str], int] = live(story, made.settings, directory=directory, longest=120)
    return found


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
def test_the_loop_decides_as_plan_does_and_nobody_sleeps_or_is_overtaken(batch: int) -> None:
    seen = 0
    for seed in range(batch, min(batch + _BATCH, FIRST + LIVES)):
        faults, looked = _live(seed)
        assert faults == [], seed
        seen += looked
    assert seen > _BATCH


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(6, LIVES // 20)))
def test_that_holds_with_restarts_too(seed: int, tmp_path: Path) -> None:
    assert _live(seed, tmp_path)[0] == []


def _closed(seed: int) -> tuple[int, int]:
    """How many were evicted in a closed life, and how many could be at most."""
    made = quota_life(seed, closed=True)

    async def story(plane: Plane) -> tuple[int, int]:
        eye, keeper = Eye(plane.plane.store), PromiseKeeper(plane)
        await made.begin(plane)
        witness = QuotaWitness(plane)
        assert await plane.rests(quiet=80.0, within=600) <= _SOON
        assert await what_is_wrong(plane, eye) == [], seed
        assert max(witness.pairs.values(), default=0) <= 1, seed
        assert keeper.faults == [], seed
        workloads = (await plane.store.list(QUOTA_WORKLOADS)).records
        queues = Counter(record.data["spec"]["queueName"] for record in workloads)
        return witness.victims, most_evictions(queues.values())

    found: tuple[int, int] = live(story, made.settings, longest=60)
    return found


@pytest.mark.parametrize("batch", range(FIRST, FIRST + 2 * LIVES, 2 * _BATCH))
def test_in_a_closed_world_evictions_come_to_an_end_within_the_bound(batch: int) -> None:
    for seed in range(batch, min(batch + 2 * _BATCH, FIRST + 2 * LIVES)):
        evicted, most = _closed(seed)
        assert evicted <= most, seed
