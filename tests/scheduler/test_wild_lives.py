"""The laws of agreement and rest in lives in which everything meets everything, and everything changes.

`wild`: all policies on one plane, with all kinds of work. `task groups`: queues with work that starts as a whole.
`quota`: quota alone, many workloads that nobody owns. The scheduler's last resort, to try everybody again after five
minutes, is off. With the variable REPRIEVE_LIVES there are so many lives; REPRIEVE_FIRST_LIFE is the number of the
first.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.generators.hostile import LASTS
from tests.generators.lives import Life
from tests.generators.wild import task_group_life, wild_life
from tests.generators.wild_quota import wild_quota_life
from tests.planes.agreement import judged
from tests.planes.running import Plane, live

LIVES = int(os.environ.get("REPRIEVE_LIVES", "10"))
FIRST = int(os.environ.get("REPRIEVE_FIRST_LIFE", "0"))
_BATCH = 10
KINDS: dict[str, Callable[[int], Life]] = {
    "wild": wild_life,
    "task groups": task_group_life,
    "quota": wild_quota_life,
}


pytestmark = pytest.mark.usefixtures("no_last_resort")


def _faults(kind: str, seed: int, directory: Path | None = None) -> tuple[list[str], int]:
    made = KINDS[kind](seed)
    moments = [Random(seed * 10 + number).uniform(1, LASTS) for number in range(3 if directory else 0)]  # noqa: S311

    async def story(plane: Plane) -> tuple[list[str], int]:
        judge = await judged(plane, made, moments)
        return judge.faults, judge.asked

    found: tuple[list[str], int] = live(story, made.settings, directory=directory, longest=120)
    return found


@pytest.mark.parametrize("batch", range(FIRST, FIRST + LIVES, _BATCH))
@pytest.mark.parametrize("kind", KINDS)
def test_the_loop_decides_as_plan_does_and_nobody_sleeps(kind: str, batch: int) -> None:
    asked = 0
    for seed in range(batch, min(batch + _BATCH, FIRST + LIVES)):
        faults, compared = _faults(kind, seed)
        assert faults == [], f"{kind} {seed}"
        asked += compared
    assert asked > 0


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(2, LIVES // 10)))
@pytest.mark.parametrize("kind", KINDS)
def test_that_holds_with_restarts_too(kind: str, seed: int, tmp_path: Path) -> None:
    assert _faults(kind, seed, tmp_path)[0] == []
